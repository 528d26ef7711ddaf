"""Tables of results → tables to read: rounded, without columns that say the same in every row.

What every row has in common goes into the caption; a mean and its interval become one cell. All
digits stay in the files beside the figures. Computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mindshare.report.parts import Column, NumberTable
from mindshare.report.question import conditions_of, listed, measure_of
from mindshare.report.saved import Saved, SavedFigure
from mindshare.stats.labels import meanings, thresholds_of
from mindshare.table import DEFINITIONS, defined

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
_ALWAYS = ("layer", "head", "class", "mean", "difference")  # columns that are never left out
_CROWDED = 12  # columns of classes that a table can have


def overview_tables(saved: Saved) -> list[NumberTable]:
    """The main numbers of the results."""
    if saved.kind == "insertion":
        return [_overall(saved), _labels(saved)]
    return [*_by_class(saved), *_contrasts(saved)]


def figure_table(figure: SavedFigure) -> NumberTable:
    """The numbers that a figure draws."""
    return plain_table(figure.table(), f"Numbers of “{figure.title}”", csv=figure)


def plain_table(table: pa.Table, caption: str, *, csv: SavedFigure | None = None) -> NumberTable:
    """Any table, as it is; constant columns go into the caption."""
    rows: list[dict[str, Any]] = table.to_pylist()
    same = [name for name in table.column_names if _constant(rows, name)]
    shown = [name for name in table.column_names if name not in same]
    words = {str(f.name) for f in table.schema if str(f.type) in ("string", "bool")}
    about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    tips = {name: defined(name, about) for name in shown if name in DEFINITIONS}
    common = "; ".join(f"{name} {shown_value(rows[0][name])}" for name in same) if rows else ""
    return NumberTable(
        caption=f"{caption} ({common})" if common else caption,
        columns=tuple(Column(n, tips.get(n), n not in words) for n in shown),
        rows=tuple(tuple(shown_value(row[name]) for name in shown) for row in rows),
        csv=None if csv is None else csv.file("csv"),
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
    """`0.0613 [0.0541, 0.0688]`: three significant digits"""
    if row.get("low") is None or row.get("high") is None:
        return shown_value(row[name])
    mean, low, high = (_three(row[key]) for key in (name, "low", "high"))
    return f"{mean} [{low}, {high}]"


def _three(value: float) -> str:
    """Zeros at the end are kept, so that numbers stand in line."""
    return f"{value:#.3g}".rstrip(".").replace("-", "−")


def _by_class(saved: Saved) -> list[NumberTable]:
    """Layers down, classes across; one table a model."""
    rows = saved.summary.to_pylist()
    word = measure_of(saved).capitalize()
    found: list[NumberTable] = []
    for label in saved.models:
        own = [row for row in rows if row["model"] == label]
        classes = list(dict.fromkeys(row["class"] for row in own))
        if len(classes) > _CROWDED:
            return [plain_table(saved.summary, f"{word} by token class")]
        caption = f"{word} by token class, {label}: mean over the prompts{_level(saved)}"
        found.append(_pivoted(own, caption, across="class", names=classes))
    return found


def _level(saved: Saved) -> str:
    if saved.summary["low"].null_count == saved.summary.num_rows:
        return ""
    return f" [{100 * float(saved.about('confidence', '0.95')):.4g} % interval]"


def _pivoted(
    rows: Sequence[Row], caption: str, *, across: str, names: Sequence[str]
) -> NumberTable:
    """One row a cell of the other keys."""
    keys = [k for k in ("queries", "measure", "layer", "head") if _telling(rows, k)]
    cells: dict[tuple[Any, ...], dict[str, str]] = {}
    for row in rows:
        place = tuple(row[k] for k in keys)
        cells.setdefault(place, {})[row[across]] = with_interval(row)
    words = ("queries", "measure")
    columns = [Column(k, DEFINITIONS.get(k), k not in words) for k in keys]
    return NumberTable(
        caption=caption,
        columns=(*columns, *(Column(name) for name in names)),
        rows=tuple(
            (*(shown_value(k) for k in place), *(found.get(name, "–") for name in names))
            for place, found in cells.items()
        ),
    )


def _telling(rows: Sequence[Row], key: str) -> bool:
    """Whether the column is there and tells rows apart; layers are always named."""
    values = {row.get(key) for row in rows}
    return len(values) > 1 or (key == "layer" and values not in ({None}, set()))


def _contrasts(saved: Saved) -> list[NumberTable]:
    found: list[NumberTable] = []
    for name, table in saved.tables.items():
        if "difference" not in table.column_names or "model_a" not in table.column_names:
            continue
        rows = table.to_pylist()
        if rows:
            about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
            word = about.get("mindshare.measure", measure_of(saved)).capitalize()
            caption = f"{word} of {_differing(rows)}, paired by prompt{_level(saved)}"
            found.append(_contrast(rows, f"{caption} (table {name})"))
    return found


def _differing(rows: Sequence[Row]) -> str:
    """`hash and star by layer: tuned minus base`"""
    classes = dict.fromkeys(str(row["class"]) for row in rows)
    named = [name for name in classes if name != "other"] or list(classes)
    by = [key for key in ("layer", "head") if {row[key] for row in rows} != {None}]
    where = f"by {listed(by)}" if by else "mean over its layers"
    return f"{listed(named)} {where}: {rows[0]['model_b']} minus {rows[0]['model_a']}"


def _contrast(rows: Sequence[Row], caption: str) -> NumberTable:
    a, b = rows[0]["model_a"], rows[0]["model_b"]
    keys = [k for k in ("queries", "layer", "head", "class") if _telling(rows, k)]
    wide = [*keys, a, b, f"{b} − {a}", "p, corrected"]
    tips = {"p, corrected": DEFINITIONS["p_family"], f"{b} − {a}": DEFINITIONS["difference"]}
    return NumberTable(
        caption=caption,
        columns=tuple(
            Column(n, tips.get(n, DEFINITIONS.get(n)), n not in ("queries", "class")) for n in wide
        ),
        rows=tuple(
            (
                *(shown_value(row[k]) for k in keys),
                shown_value(row["mean_a"]),
                shown_value(row["mean_b"]),
                with_interval(row, "difference"),
                shown_value(row["p_family"]),
            )
            for row in rows
        ),
    )


def _overall(saved: Saved) -> NumberTable:
    """Response numbers over all heads: one row a measure, one column a version."""
    rows = saved.tables["overall"].to_pylist() if "overall" in saved.tables else []
    several = len(saved.models) > 1
    named = [
        {**row, "version": f"{row['model']}: {row['condition']}" if several else row["condition"]}
        for row in rows
    ]
    names = list(dict.fromkeys(row["version"] for row in named))
    caption = f"What the insertion does, mean over all heads and prompts{_level(saved)}"
    return _pivoted(named, caption, across="version", names=names)


def _labels(saved: Saved) -> NumberTable:
    """How many heads are smoothed, sharpened, … in each version."""
    from mindshare.stats import LABELS, label_counts

    rows = []
    for label in saved.models:
        own = _of_model(saved.summary, label)
        counts = label_counts(own)
        for condition in conditions_of(saved):
            found = counts.get(condition, {})
            rows.append((label, condition, *(str(found.get(word, 0)) for word in LABELS)))
    told = meanings(thresholds_of(saved.summary))
    return NumberTable(
        caption="Heads by what the insertion does to them",
        columns=(
            *(Column(name, DEFINITIONS[name], numeric=False) for name in ("model", "condition")),
            *(Column(word, told.get(word)) for word in LABELS),
        ),
        rows=tuple(rows),
    )


def _of_model(table: pa.Table, label: str) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter(pc.equal(table["model"], label))
