"""The title of a chart over prompts: a finding where its numbers support one, or what is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa

from mindshare.facts import evidence
from mindshare.facts.cells import Number, hidden_together
from mindshare.facts.find import EFFECTS
from mindshare.facts.titles import title_of_differences, title_of_effects
from mindshare.facts.words import name
from mindshare.figures.captions import (
    cell_words,
    condition_label,
    heads_words,
    in_common,
    whose,
)
from mindshare.figures.selection import Row, Selection
from mindshare.measures import Measure
from mindshare.tables import DEPTH, ONE_BASED, metadata, one_based


def summary_title(
    data: Selection, rows: Sequence[Row], *, by: str, differences: pa.Table | None = None
) -> str:
    """What the findings say of the differences; else what stands out; else what is shown.

    `differences` are those between the means of two models, if the chart draws the means.
    """
    what, who = f"{data.measure.title}{in_common(data)}", whose(data)
    if data.measure.level == "effect" and not data.is_difference and differences is None:
        classes = data.values("class")
        hidden = classes[0] if len(classes) == 1 else "token classes"
        shown = f"Effect of hiding {hidden}"
        if data.measure.name not in EFFECTS:
            shown = f"{data.measure.title} with {hidden} hidden"
        where = f"at {heads_words(data)}" if hidden_together(data.metadata) else f"by {by}"
        return effect_title(data) or f"{shown} {where}{who}"
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
    if not data.is_difference and DEPTH in metadata(differences):
        return None  # a layer of one model was compared with another layer of the other
    return title_of_differences(_numbered(data, differences), _called(data), layers=_layers(data))


def effect_title(data: Selection) -> str | None:
    """The largest effect that can be told from 0; None: there is none."""
    if not data.has_intervals:
        return None
    return title_of_effects(_numbered(data, data.table), _called(data), layers=_layers(data))


def _called(data: Selection) -> Callable[[str], str]:
    return lambda word: data.style.label.get(word) or name(word)


def _numbered(data: Selection, table: pa.Table) -> pa.Table:
    """As layers and heads are counted."""
    return one_based(table) if data.style.labels == ONE_BASED else table


def _layers(data: Selection) -> list[int | None]:
    return [None if layer is None else data.style.number(layer) for layer in data.layers]


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
    return not evidence.rivals(series, 0)


def distance(value: float, measure: Measure) -> float:
    """How far the number is from neutral; of ratios, a half is as far as a double."""
    if measure.neutral == 1.0:
        return abs(math.log(value)) if value > 0 else math.inf
    return abs(value - (measure.neutral or 0.0))
