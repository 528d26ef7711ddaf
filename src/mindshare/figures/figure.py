"""A chart that can stand alone, and the files it becomes: complete, or not there at all.

A `Figure` holds the Vega-Lite spec with the data inside, the table of the same numbers, and two
texts: the definition (how it was measured) and the description (what the picture shows). Knows
nothing about chart kinds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import MindshareError, OutputError
from mindshare.figures import render
from mindshare.figures.meanwhile import helper_at_hand
from mindshare.figures.page import page

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

FILES = ("png", "svg", "pdf", "html", "csv", "parquet", "json")
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

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.startswith("."):
            raise OutputError(
                f"{self.name!r} can't be the name of files",
                allowed="letters, digits, '_', '-' and '.'",
            )

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.title}; {self.table.num_rows} numbers)"

    def save(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        manifest: Mapping[str, Any] | None = None,
    ) -> Path:
        """A folder with this figure in every format."""
        return save_figures([self], folder, replace=replace, manifest=manifest)

    def to_altair(self) -> altair.Chart:
        """The same chart as an Altair object, to be changed in Python."""
        try:
            import altair
        except ImportError as error:
            raise MindshareError(
                "altair is not installed", next_step="pip install 'mindshare[altair]'"
            ) from error
        chart: altair.Chart = altair.Chart.from_dict(self.spec)
        return chart

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Notebooks draw the spec, or the SVG if they can't."""
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "image/svg+xml": self._svg(render.draw(self.spec)),
            "text/plain": f"{self!r}\n{self.description}",
        }

    def _svg(self, drawn: render.Drawn) -> str:
        return drawn.svg(title=self.title, description=self.description)


def save_figures(
    figures: Sequence[Figure],
    folder: str | Path,
    *,
    tables: Mapping[str, pa.Table] | None = None,
    manifest: Mapping[str, Any] | None = None,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
    beside: Mapping[str, str] | None = None,
) -> Path:
    """Several figures, the tables they come from and a manifest in one folder, or nothing.

    `progress` is told how many figures are drawn, and of how many; `beside` are further text files.
    Inside of `drawing_meanwhile` the folder is written by the helper, and there a little later.
    """
    _check_names([figure.name for figure in figures], tables or {})
    whole = _Whole(tuple(figures), dict(tables or {}), dict(manifest or {}), dict(beside or {}))
    helper = helper_at_hand()
    if helper is None:
        return whole.save(Path(folder), replace=replace, progress=progress)
    helper.ask(whole.save, Path(folder).absolute(), replace=replace)
    return Path(folder)


@dataclass(frozen=True)
class _Whole:
    """Everything that a folder will hold."""

    figures: tuple[Figure, ...]
    tables: dict[str, pa.Table]
    manifest: dict[str, Any]
    beside: dict[str, str]

    def save(
        self,
        folder: Path,
        *,
        replace: bool,
        progress: Callable[[int, int], None] | None = None,
    ) -> Path:
        from mindshare.folders import whole_folder, write_manifest, write_parquet, write_texts
        from mindshare.runs import into_run, is_run

        manifest = _manifest(self.figures, self.tables, self.manifest)

        def fill(building: Path) -> None:
            for done, figure in enumerate(self.figures):
                if progress is not None:
                    progress(done, len(self.figures))
                _write(figure, building)
            write_texts(building, self.beside)
            write_parquet(building, self.tables)
            write_manifest(building, manifest)

        if is_run(folder):  # beside the answers it was made from
            return into_run(folder, fill, manifest)
        return whole_folder(folder, fill, replace=replace)


def _check_names(names: Sequence[str], tables: Mapping[str, pa.Table]) -> None:
    twice = [name for name, times in Counter([*names, *tables]).items() if times > 1]
    if twice or "manifest" in names:
        raise OutputError(
            f"two files can't both be called {twice[0] if twice else 'manifest'!r}",
            next_step="give the figures names of their own, e.g. options with name='…'",
        )


def _manifest(
    figures: Sequence[Figure], tables: Mapping[str, pa.Table], more: Mapping[str, Any]
) -> dict[str, Any]:
    shown = {
        figure.name: {
            "title": figure.title,
            "definition": figure.definition,
            "description": figure.description,
            "files": [f"{figure.name}.{ending}" for ending in FILES],
        }
        for figure in figures
    }
    return {**more, "tables": sorted(tables), "figures": shown}


def _write(figure: Figure, folder: Path) -> None:
    """NAME.png, .svg, .pdf, .html, .csv, .parquet and .json"""
    from pyarrow import csv

    from mindshare.folders import write_parquet

    drawn = render.draw(figure.spec)
    svg = figure._svg(drawn)
    texts = {
        "svg": svg,
        "html": page(figure, picture=svg, script=render.script()),
        "json": json.dumps(figure.spec, indent=1, ensure_ascii=False) + "\n",
    }
    for ending, text in texts.items():
        (folder / f"{figure.name}.{ending}").write_text(text, encoding="utf-8")
    (folder / f"{figure.name}.png").write_bytes(drawn.png())
    (folder / f"{figure.name}.pdf").write_bytes(drawn.pdf())
    write_parquet(folder, {figure.name: figure.table})
    csv.write_csv(figure.table, folder / f"{figure.name}.csv")
