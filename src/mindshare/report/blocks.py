"""What the folded part of a report is made of, and tables of results as such parts.

Tables are for reading: rounded, without columns that say the same in every row. What every row has
in common goes into the caption; a mean and its interval become one cell. All digits stay in the CSV
files of the figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.facts.cells import measure_of
from mindshare.facts.words import listed
from mindshare.measures import MEASURES
from mindshare.naming import UNNAMED
from mindshare.report.saved import Picture, SavedResults
from mindshare.stats import meanings, thresholds_of
from mindshare.tables import DEFINITIONS, defined, metadata

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
_ALWAYS = ("layer", "head", "class", "mean", "difference")  # columns that are never left out
_WORDS = ("queries", "measure", "class")  # columns of words, not of numbers
_CROWDED = 12  # columns of classes that a table can have


class Block:
    """The templates have one form for each kind, by the name of its class."""


@dataclass(frozen=True)
class Heading(Block):
    text: str


@dataclass(frozen=True)
class Paragraph(Block):
    text: str


@dataclass(frozen=True)
class Bullets(Block):
    items: tuple[str, ...]


@dataclass(frozen=True)
class Term(Block):
    """A measure in words and as a formula, written for pages and for Markdown."""

    title: str
    words: str
    mathml: str
    latex: str


@dataclass(frozen=True)
class Column:
    name: str
    definition: str | None = None
    numeric: bool = True


@dataclass(frozen=True)
class NumberTable(Block):
    """Cells are written as they are shown; `csv` is the file that has all rows and digits."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    csv: Path | None = None


@dataclass(frozen=True)
class Colour:
    """A line of a legend: what stands on this colour, and how much of it."""

    name: str
    colour: str
    note: str = ""


@dataclass(frozen=True)
class ColouredText(Block):
    """Tokens with the name of their colour; a legend names every colour."""

    label: str
    tokens: tuple[tuple[str, str], ...]  # (characters, name in the legend)
    legend: tuple[Colour, ...]
    left_out: int = 0  # tokens that are not shown


@dataclass(frozen=True)
class Code(Block):
    text: str
    language: str = ""


@dataclass(frozen=True)
class Attached(Block):
    """A small text file that travels with the report."""

    name: str
    text: str


@dataclass(frozen=True)
class Pairs(Block):
    items: tuple[tuple[str, str], ...]  # name, value


@dataclass(frozen=True)
class Details(Block):
    """Parts that stay folded until they are opened."""

    summary: str
    parts: tuple[Block, ...]


# Tables of results to read.


def overview_tables(saved: SavedResults) -> list[NumberTable]:
    """The main numbers of the results."""
    if saved.kind == "insertion":
        return [_overall(saved), _labels(saved)]
    return [*_by_class(saved), *_contrasts(saved)]


def figure_table(picture: Picture) -> NumberTable:
    """The numbers that a figure draws."""
    caption = f"Numbers of “{picture.title}”"
    return plain_table(picture.numbers, caption, csv=picture.file("csv"))


def plain_table(table: pa.Table, caption: str, *, csv: Path | None = None) -> NumberTable:
    """Any table, as it is; constant columns go into the caption."""
    rows: list[dict[str, Any]] = table.to_pylist()
    constant = [name for name in table.column_names if _constant(rows, name)]
    shown = [name for name in table.column_names if name not in constant]
    words = {str(f.name) for f in table.schema if str(f.type) in ("string", "bool")}
    tips = {name: defined(name, metadata(table)) for name in shown if name in DEFINITIONS}
    common = "; ".join(f"{name} {shown_value(rows[0][name])}" for name in constant) if rows else ""
    return NumberTable(
        caption=f"{caption} ({common})" if common else caption,
        columns=tuple(Column(n, tips.get(n), n not in words) for n in shown),
        rows=tuple(tuple(shown_value(row[name]) for name in shown) for row in rows),
        csv=csv,
    )


def _constant(rows: Sequence[Row], name: str) -> bool:
    if len(rows) < 2 or (name in _ALWAYS and any(row[name] is not None for row in rows)):
        return False
    return len({str(row[name]) for row in rows}) == 1


def shown_value(value: Any) -> str:
    """Four significant digits; – is what is not there."""
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return str(value)


def with_interval(row: Row, name: str = "mean") -> str:
    """`0.0613 [0.0541, 0.0688]`: three significant digits, zeros at the end too."""
    if row.get("low") is None or row.get("high") is None:
        return shown_value(row[name])
    mean, low, high = (
        f"{row[key]:#.3g}".rstrip(".").replace("-", "−") for key in (name, "low", "high")
    )
    return f"{mean} [{low}, {high}]"


def _keys(rows: Sequence[Row], names: Iterable[str]) -> list[str]:
    """The columns that tell rows apart; layers are always named."""
    values = {name: {row.get(name) for row in rows} for name in names}
    layers = values["layer"] - {None}
    return [name for name in values if len(values[name]) > 1 or (name == "layer" and layers)]


def _columns(names: Iterable[str]) -> list[Column]:
    return [Column(name, DEFINITIONS.get(name), name not in _WORDS) for name in names]


def _pivoted(
    rows: Sequence[Row], caption: str, *, across: str, names: Sequence[str]
) -> NumberTable:
    """One row per cell of the other keys."""
    keys = _keys(rows, ("queries", "measure", "layer", "head"))
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        cells.setdefault(tuple(row[k] for k in keys), {})[row[across]] = with_interval(row)
    return NumberTable(
        caption=caption,
        columns=(*_columns(keys), *(Column(name) for name in names)),
        rows=tuple(
            (*(shown_value(k) for k in key), *(values.get(name, "–") for name in names))
            for key, values in cells.items()
        ),
    )


def _level(saved: SavedResults) -> str:
    if not saved.has_intervals:
        return ""
    return f" [{100 * float(saved.about('confidence', '0.95')):.4g} % interval]"


def _by_class(saved: SavedResults) -> list[NumberTable]:
    """Layers down, classes across; one table per model. A measure of heads is one column."""
    rows = saved.summary.to_pylist()
    measure = MEASURES[saved.about("measure", "mass")]
    by = " by token class" if any(row["class"] for row in rows) else ""
    rows = [{**row, "class": row["class"] or measure.word} for row in rows]
    tables: list[NumberTable] = []
    for label in saved.models:
        of_model = [row for row in rows if row["model"] == label]
        classes = list(dict.fromkeys(row["class"] for row in of_model))
        if len(classes) > _CROWDED:
            return [plain_table(saved.summary, f"{measure.title}{by}")]
        caption = f"{measure.title}{by}, {label}: mean over the prompts{_level(saved)}"
        tables.append(_pivoted(of_model, caption, across="class", names=classes))
    return tables


def _contrasts(saved: SavedResults) -> list[NumberTable]:
    """The paired differences between models, one table per table."""
    tables: list[NumberTable] = []
    for name, table in saved.tables.items():
        if not {"difference", "model_a"} <= set(table.column_names) or not table.num_rows:
            continue
        rows = [
            {**row, "difference": with_interval(row, "difference")} for row in table.to_pylist()
        ]
        pair = f"{rows[0]['model_b']} minus {rows[0]['model_a']}{_all_but(rows)}"
        caption = f"{MEASURES[measure_of(table)].title}, {pair}, paired by prompt{_level(saved)}"
        keys = _keys(rows, ("queries", "layer", "head", "class"))
        first = ["rank"] if "rank" in table.column_names else []
        shown = (*first, *keys, "mean_a", "mean_b", "difference", "effect", "p_family")
        cells = tuple(tuple(shown_value(row[k]) for k in shown) for row in rows)
        tables.append(NumberTable(f"{caption} (table {name})", tuple(_columns(shown)), cells))
    return tables


def _all_but(rows: Sequence[Row]) -> str:
    """What `other` is in this table: tables of one study may name other classes."""
    classes = dict.fromkeys(row.get("class") for row in rows)
    named = [str(name) for name in classes if name not in UNNAMED]
    return f"; other: all but {listed(named)}" if "other" in classes else ""


def _overall(saved: SavedResults) -> NumberTable:
    """Response numbers over all heads: one row per measure, one column per version."""
    rows = saved.tables["overall"].to_pylist() if "overall" in saved.tables else []
    several = len(saved.models) > 1
    for row in rows:
        row["version"] = f"{row['model']}: {row['condition']}" if several else row["condition"]
    names = list(dict.fromkeys(row["version"] for row in rows))
    caption = f"What the insertion does, mean over all heads and prompts{_level(saved)}"
    return _pivoted(rows, caption, across="version", names=names)


def _labels(saved: SavedResults) -> NumberTable:
    """How many heads are smoothed, sharpened, … in each version."""
    import pyarrow.compute as pc

    from mindshare.stats import LABELS, label_counts

    rows = []
    for model in saved.models:
        counts = label_counts(saved.summary.filter(pc.equal(saved.summary["model"], model)))
        for condition in dict.fromkeys(saved.summary["condition"].to_pylist()):
            of_condition = counts.get(condition, {})
            rows.append((model, condition, *(str(of_condition.get(word, 0)) for word in LABELS)))
    meaning = meanings(thresholds_of(saved.summary))
    return NumberTable(
        caption="Heads by what the insertion does to them",
        columns=(
            *(Column(name, DEFINITIONS[name], numeric=False) for name in ("model", "condition")),
            *(Column(word, meaning.get(word)) for word in LABELS),
        ),
        rows=tuple(rows),
    )
