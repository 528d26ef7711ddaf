"""The title of a chart over prompts: a finding where its numbers support one, or what is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa

from mindshare.facts import evidence
from mindshare.facts.cells import Number, metadata
from mindshare.facts.titles import title_of_differences
from mindshare.facts.words import name
from mindshare.figures.captions import cell_words, condition_label, in_common, whose
from mindshare.figures.selection import Row, Selection
from mindshare.measures import Measure
from mindshare.tables import DEPTH, ONE_BASED, one_based


def summary_title(
    data: Selection, rows: Sequence[Row], *, by: str, differences: pa.Table | None = None
) -> str:
    """What the findings say of the differences; else what stands out; else what is shown.

    `differences` are those between the means of two models, if the chart draws the means.
    """
    what, who = f"{data.measure.title}{in_common(data)}", whose(data)
    tested = data.table if data.is_difference else differences
    if tested is not None:
        return _found(data, tested) or f"{what} by {by}{': ' * data.is_difference}{who}"
    top = stands_out(data, rows) if data.has_intervals and len(rows) > 1 else None
    if top is None or not told_apart(data, top[1], rows):
        return f"{what} by {by}{who}"
    word, row = top
    varying = [n for n in ("model", "condition", "class") if len(data.values(n)) > 1 and row[n]]
    names = [
        condition_label(row[n], data.style) if n == "condition" else str(row[n]) for n in varying
    ]
    which = f" ({', '.join(names)})" if names else ""
    return f"{what} is {word} in {cell_words(row['layer'], row['head'], data.style)}{which}{who}"


def _found(data: Selection, differences: pa.Table) -> str | None:
    """The largest significant difference in the layers that are drawn, as they are counted."""
    style = data.style
    if not data.is_difference and DEPTH in metadata(differences):
        return None  # a layer of one model was compared with another layer of the other

    def called(word: str) -> str:
        return style.label.get(word) or name(word)

    table = one_based(differences) if style.labels == ONE_BASED else differences
    layers = [None if layer is None else style.number(layer) for layer in data.layers]
    return title_of_differences(table, called, layers=layers)


def stands_out(data: Selection, rows: Sequence[Row]) -> tuple[str, Row] | None:
    """The row that is furthest from saying that nothing happens, and on which side it is."""
    if not rows:
        return None
    measure = data.measure
    high = max(rows, key=lambda row: float(row[data.value]))
    low = min(rows, key=lambda row: float(row[data.value]))
    if high[data.value] == low[data.value]:
        return None
    if measure.scale == "falling":
        return "lowest", low
    if measure.scale == "diverging" and measure.neutral is not None:
        below, above = (distance(row[data.value], measure) for row in (low, high))
        return ("highest", high) if above >= below else ("lowest", low)
    return "highest", high


def told_apart(data: Selection, row: Row, rows: Sequence[Row]) -> bool:
    """Whether chance can't have put this row before any of the others: a title is a claim."""
    numbers = [Number.from_row(one, data.value) for one in (row, *(o for o in rows if o != row))]
    series = dict(enumerate(numbers))
    return not evidence.rivals(series, 0, comparisons=evidence.pairs(len(series)))


def distance(value: float, measure: Measure) -> float:
    """How far the number is from neutral; of ratios, a half is as far as a double."""
    if measure.neutral == 1.0:
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(value - (measure.neutral or 0.0))
