"""A folder of results → what a report is made from: manifest, tables, pictures, study file.

Reads what `Chart.save` wrote and refuses anything else, with the reason; a folder may come from
anyone, so no name in it may lead outside. There are two kinds: charts of token classes, and
insertions.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mindshare.errors import OutputError
from mindshare.figures import saved_figure
from mindshare.figures.theme import INCH, POINTS, Style
from mindshare.naming import file_word
from mindshare.tables import metadata

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["classes", "insertion"]
STUDY, PROMPTS = "study.toml", "prompts.jsonl"
ENDINGS = ("png", "svg", "csv")
ALT, CAPTION = 300, 25  # characters, words
# All that charts of ours are made of. What else an SVG may have (links, images, styles, scripts,
# entities) could read other files or load something, and is refused.
_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = """
    svg g path line rect circle text tspan title desc defs clipPath linearGradient radialGradient
    stop
"""
_ATTRIBUTES = """
    class clip-path cx cy d direction display dominant-baseline dx dy fill fill-opacity fill-rule
    font-family font-size font-style font-variant font-weight fx fy gradientTransform gradientUnits
    height id offset opacity pointer-events r role rx ry spreadMethod stop-color stop-opacity
    stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit
    stroke-opacity stroke-width text-anchor transform version viewBox visibility width x x1 x2 y y1
    y2
"""
_FUNCTION = re.compile(r"url\s*\((?!#[\w-]+\))|@import|image\s*\(|\\", re.I)
_DRAWN_AT = 3  # pixels of a PNG for one unit of the spec
_WIDE = 420  # units: more is drawn for the width of a page, not of a column
# Units that charts are laid out in anew for screens, where text of 12 units is 12 pixels or more:
# over the page, over half of it, and on a phone, for which charts of a column are drawn already.
_PAGE, _HALF, _PHONE = 890, 470, 326
_NEXT = "name a folder that `mindshare shares`, `head-map` or `insert` wrote with --out"


@dataclass(frozen=True)
class Picture:
    """One saved figure: its spec, its words and the files it was drawn to."""

    name: str
    title: str
    description: str  # at length, for whoever can't see it
    spec: dict[str, Any] = field(compare=False)
    numbers: pa.Table = field(compare=False, repr=False)
    folder: Path
    size: tuple[int, int]  # width and height, in units of the screen
    is_map: bool  # one cell per layer and head
    kind: str = ""  # the function that drew it
    style: Style = field(default_factory=Style, compare=False)  # what it was drawn with
    measures: frozenset[str] = frozenset()
    layouts: Mapping[int, dict[str, Any]] = field(default_factory=dict, compare=False)  # by units
    anchor: str = ""  # what links lead to
    label: str = ""  # on the switch of a gallery

    def file(self, ending: str) -> Path:
        return self.folder / f"{self.name}.{ending}"

    def text(self, ending: str) -> str:
        """What stands in one of its files."""
        from mindshare.folders import read_text

        return read_text(self.folder, f"{self.name}.{ending}")

    @property
    def wide(self) -> bool:
        return self.size[0] > _WIDE

    @property
    def alt(self) -> str:
        """What it shows, in a sentence or two."""
        return shortened(self.description, ALT)

    @property
    def caption(self) -> str:
        """What stands below the title in the chart itself."""
        title = self.spec.get("title")
        lines = title.get("subtitle") if isinstance(title, dict) else None
        text = " ".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
        return shortened(text, CAPTION, by_word=True)


def shortened(text: str, length: int, *, by_word: bool = False) -> str:
    """Whole sentences, as many as fit; a long first one is cut at a word."""
    size = (lambda words: len(words.split())) if by_word else len
    short = ""
    for sentence in text.replace(". ", ".\n").splitlines():
        longer = f"{short} {sentence}".strip()
        if size(longer) > length:
            break
        short = longer
    if short or not text:
        return short
    if by_word:
        return " ".join(text.split()[:length]).rstrip(",;:(") + "…"
    return text[: length - 1].rsplit(" ", 1)[0] + "…"


@dataclass(frozen=True)
class SavedResults:
    """A whole folder: tables, figures, and how they were made."""

    path: Path
    kind: Kind
    manifest: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    figures: tuple[Picture, ...]
    study: str | None  # the study file's text
    prompts: str | None  # the prompts' file, as JSON Lines

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """label → how it was measured, in the order of the tables"""
        known: dict[str, dict[str, Any]] = self.manifest["models"]
        order = dict.fromkeys(self.tables["summary"]["model"].to_pylist())
        return {label: known[label] for label in [*order, *known] if label in known}

    @property
    def date(self) -> date:
        """When it was written."""
        from mindshare.folders import MANIFEST

        return date.fromtimestamp((self.path / MANIFEST).stat().st_mtime)

    @property
    def study_definition(self) -> Mapping[str, Any]:
        """What was measured, which all models share."""
        definition: Mapping[str, Any] = next(iter(self.models.values()))["study"]
        return definition

    @property
    def n_prompts(self) -> int:
        return max(self.summary["n_prompts"].to_pylist(), default=0)

    @property
    def has_intervals(self) -> bool:
        return bool(self.summary["low"].null_count < self.summary.num_rows)

    @property
    def summary(self) -> pa.Table:
        return self.tables["summary"]

    def model_table(self, name: str, label: str) -> pa.Table | None:
        """A table of one model: `tokens_LABEL`, or `places` if there is one model only."""
        for candidate in (f"{name}_{file_word(label)}", name):
            if candidate in self.tables:
                return self.tables[candidate]
        return None

    @property
    def metadata(self) -> dict[str, str]:
        """Everything that the summary says about itself."""
        return metadata(self.summary)

    def about(self, key: str, default: str = "") -> str:
        """What the summary says about itself: measure, confidence, seed, …"""
        return self.metadata.get(f"mindshare.{key}", default)


def read_saved(path: Path) -> SavedResults:
    from mindshare.folders import read_folder, reading

    _check_written(path)
    tables, manifest = read_folder(path, as_labelled=True)
    every, _ = read_folder(path, of_figures=True)
    with reading(path):
        kind = _kind(path, tables, manifest)
        known = manifest["figures"]
        figures = tuple(_picture(path, n, known[n], every) for n in _order(manifest))
    return SavedResults(
        path=path,
        kind=kind,
        manifest=manifest,
        tables=tables,
        figures=figures,
        study=_text(path, STUDY),
        prompts=_text(path, PROMPTS),
    )


def _order(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the figures as the study has them, the main one first."""
    names = list(manifest["figures"])
    given = [name for name in manifest.get("figure_order", ()) if name in names]
    return [*given, *(name for name in names if name not in given)]


def _picture(
    path: Path, name: str, words: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> Picture:
    from mindshare.folders import inside, read_text

    # Earlier versions kept each figure's spec and table instead of what it was drawn of.
    for ending in ENDINGS if "drawn" in words else (*ENDINGS, "json", "parquet"):
        if file_word(name) == name and f"{name}.{ending}" not in words.get("files", ()):
            raise OutputError(
                f"a report needs {name}.{ending}, which was not saved in {path}",
                next_step=f"mindshare redraw {path} --formats {','.join(ENDINGS)}",
            )
        inside(path, f"{name}.{ending}")
    if not _is_drawn(read_text(path, f"{name}.svg")):
        raise ValueError(f"{name}.svg is not a chart that mindshare drew")
    figure, size = saved_figure(path, name, words, tables), _size(path, f"{name}.png")
    is_map, layouts, drawn = _is_map(figure.table), {}, Style()
    if figure.source is not None:
        drawn = figure.source.arguments["options"]
        points = drawn.font_size / POINTS
        of_column = (_HALF,) if is_map else (_PAGE, _HALF)
        for units in (_PAGE, _PHONE) if size[0] > _WIDE else of_column:
            style = {"width": f"{units / INCH * points:.3f}in"}
            layouts[units] = _harmless(saved_figure(path, name, words, tables, style).spec)
    return Picture(
        name=name,
        title=figure.title,
        description=figure.description,
        spec=_harmless(figure.spec),
        folder=path,
        size=size,
        numbers=figure.table,
        is_map=is_map,
        kind=figure.source.chart if figure.source else "",
        style=drawn,
        measures=_measures(figure.table),
        layouts=layouts,
    )


def _harmless(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Without what could tell the browser how to embed the chart."""
    return {name: part for name, part in spec.items() if name != "usermeta"}


def _measures(table: pa.Table) -> frozenset[str]:
    """What a figure's table is about; tokens receive attention."""
    if "measure" in table.column_names:
        return frozenset(table["measure"].unique().to_pylist())
    known = metadata(table).get("mindshare.measure")
    return frozenset(known.split(", ") if known else ("received",))


def _is_drawn(svg: str) -> bool:
    """Whether an SVG has nothing but the elements and attributes that charts are drawn with."""
    from xml.etree import ElementTree

    if "<!" in svg or "<?" in svg:  # entities, comments, style sheets
        return False
    try:
        elements = list(ElementTree.fromstring(svg).iter())
    except ElementTree.ParseError:
        return False
    attributes = {(name, value) for element in elements for name, value in element.items()}
    # Texts for readers may say what they like.
    drawn = {(name, value) for name, value in attributes if not name.startswith("aria-")}
    return (
        {element.tag for element in elements} <= {_SVG + name for name in _ELEMENTS.split()}
        and {name for name, _ in drawn} <= set(_ATTRIBUTES.split())
        and not any(_FUNCTION.search(value) for _, value in drawn)
    )


def _size(path: Path, name: str) -> tuple[int, int]:
    """Width and height on a screen, as a PNG's header (signature, length, IHDR) tells."""
    with (path / name).open("rb") as file:
        head = file.read(24)
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{name} is not a PNG")
    width, height = struct.unpack(">II", head[16:24])
    return round(width / _DRAWN_AT), round(height / _DRAWN_AT)


def _is_map(table: pa.Table) -> bool:
    columns = set(table.column_names)
    several = {"layer", "head"} <= columns and "position" not in columns
    return several and all(len(table[axis].unique()) > 1 for axis in ("layer", "head"))


def _check_written(path: Path) -> None:
    from mindshare.folders import MANIFEST

    if not os.path.isdir(path):
        what = "is not a folder" if os.path.exists(path) else "does not exist"
        raise OutputError(f"{path} {what}", next_step=_NEXT)
    if not os.path.isfile(path / MANIFEST):
        raise OutputError(f"{path} holds no results: there is no {MANIFEST}", next_step=_NEXT)


def _kind(path: Path, tables: Mapping[str, pa.Table], manifest: Mapping[str, Any]) -> Kind:
    if "report" in manifest:
        raise OutputError(f"{path} is a report, not results", next_step=_NEXT)
    columns = set(tables["summary"].column_names) if "summary" in tables else set()
    complete = manifest.get("models") and manifest.get("figures")
    if complete and {"model", "class", "mean"} <= columns:
        return "classes"
    if complete and {"model", "condition", "measure", "mean"} <= columns:
        return "insertion"
    if "summary" not in tables and "mass" in tables:
        raise OutputError(
            f"{path} holds the tables of `mindshare measure`, and a report is made of charts",
            next_step="draw them: mindshare shares MODEL … --out FOLDER, with the same options",
        )
    raise OutputError(
        f"{path} holds results that no report can be made of: a report needs figures, models and a "
        "table `summary`",
        allowed="charts of token classes, maps of heads, and insertions",
        next_step=_NEXT,
    )


def _text(path: Path, name: str) -> str | None:
    from mindshare.folders import read_text

    return read_text(path, name) if os.path.lexists(path / name) else None
