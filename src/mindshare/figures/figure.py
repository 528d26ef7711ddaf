"""A chart that can stand alone: a picture with its numbers, its words and how it was drawn.

A `Figure` holds the Vega-Lite spec with the data inside, the table of the same numbers, and two
texts: the definition (how it was measured) and the description (what the picture shows). Knows
nothing about chart kinds.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from mindshare.errors import MindshareError, OutputError, checked, require_all_known
from mindshare.figures.render import Drawn, csv_bytes, draw, page, parquet_bytes
from mindshare.figures.theme import Style
from mindshare.tables import LABELS, metadata

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

P = ParamSpec("P")
FILES = ("png", "svg", "pdf", "csv", "html", "parquet", "json")
FORMATS = FILES[:4]  # those that are saved unless others are asked for
_OF_ALL = ("$schema", "description", "title", "config", "usermeta")  # keys that no view has
_NAME = re.compile(r"[\w.-]*\w")


@dataclass(frozen=True, repr=False)
class Figure:
    """One chart with everything a reader needs to trust it."""

    name: str  # of its files
    spec: dict[str, Any]  # Vega-Lite, with the data inside
    table: pa.Table  # the numbers that are drawn
    title: str
    definition: str
    description: str
    source: Source | None = None  # how to draw it again

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.startswith("."):
            raise OutputError(
                f"{self.name!r} can't be the name of files",
                allowed="letters, digits, '_', '-' and '.'",
            )

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.title}; {self.table.num_rows} numbers)"

    @checked
    def save(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        manifest: Mapping[str, Any] | None = None,
        formats: Sequence[str] = FORMATS,
    ) -> Path:
        """A folder with this figure in these formats."""
        from mindshare.figures.saving import save_figures

        return save_figures([self], folder, replace=replace, manifest=manifest, formats=formats)

    def to_altair(self) -> altair.VConcatChart:
        """The same picture as an Altair object, to be changed in Python.

        Of every chart kind a `VConcatChart`: its rows, mostly one, are in `vconcat`; title, size of
        text and colours of all charts are changed by `properties` and `configure_…`.
        """
        try:
            import altair
        except ImportError as error:
            raise MindshareError(
                "altair is not installed", next_step="pip install 'mindshare[altair]'"
            ) from error
        outer = {k: v for k, v in self.spec.items() if k in _OF_ALL}
        view = {k: v for k, v in self.spec.items() if k not in _OF_ALL}
        rows = view if "vconcat" in view else {"vconcat": [view]}
        chart: altair.VConcatChart = altair.VConcatChart.from_dict(outer | rows)
        return chart

    def svg(self) -> str:
        return draw(self.spec).svg(title=self.title, description=self.description)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Notebooks draw the spec, or the SVG if they can't."""
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "image/svg+xml": self.svg(),
            "text/plain": f"{self!r}\n{self.description}",
        }

    def entry(self, formats: Sequence[str]) -> dict[str, Any]:
        """What a manifest says about it."""
        return {
            "title": self.title,
            "definition": self.definition,
            "description": self.description,
            "files": [f"{self.name}.{ending}" for ending in formats],
        }

    def write(self, folder: Path, formats: Sequence[str] = FORMATS) -> None:
        """NAME.png, .svg, …"""
        drawn = draw(self.spec)
        for ending in formats:
            (folder / f"{self.name}.{ending}").write_bytes(self._content(ending, drawn))

    def _content(self, ending: str, drawn: Drawn) -> bytes:
        picture = drawn.svg(title=self.title, description=self.description)
        contents: dict[str, Callable[[], bytes]] = {
            "png": drawn.png,
            "pdf": drawn.pdf,
            "svg": lambda: picture.encode(),
            "html": lambda: page(self, picture=picture).encode(),
            "json": lambda: f"{json.dumps(self.spec, indent=1, ensure_ascii=False)}\n".encode(),
            "csv": lambda: csv_bytes(self.table),
            "parquet": lambda: parquet_bytes(self.table),
        }
        return contents[ending]()


@dataclass(frozen=True)
class Source:
    """The call that drew a figure."""

    chart: str  # the function
    arguments: Mapping[str, Any]


CHARTS: dict[str, tuple[Callable[..., Figure], type[Style]]] = {}  # name → function, options


def redrawable(options: type[Style]) -> Callable[[Callable[P, Figure]], Callable[P, Figure]]:
    """Figures of this function know how they were drawn, so that they can be drawn again."""

    def of(function: Callable[P, Figure]) -> Callable[P, Figure]:
        signature = inspect.signature(function)

        @wraps(function)
        def draw(*args: P.args, **kwargs: P.kwargs) -> Figure:
            arguments = signature.bind(*args, **kwargs).arguments
            return replaced(function(*args, **kwargs), source=Source(function.__name__, arguments))

        CHARTS[function.__name__] = draw, options
        return draw

    return of


def labels_of(figures: Sequence[Figure]) -> str:
    """How layers and heads are counted in all of these figures; else from 0."""
    counted = {metadata(figure.table).get(LABELS, "zero-based") for figure in figures}
    return counted.pop() if len(counted) == 1 else "zero-based"


def check_formats(formats: Sequence[str]) -> None:
    require_all_known(formats, FILES, "format of figures")
