"""What a chart of bars draws → its title, caption, definition and description.

The description is exact: it is made from the drawn numbers, and a reader who cannot see the picture
loses nothing of it that the words can carry. Knows nothing about marks or colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mindshare.figures import wording
from mindshare.figures.bars import Bars
from mindshare.figures.selection import Row

_ALL_BARS = 12  # up to so many bars each one is described


def title(bars: Bars) -> str:
    measure = bars.shown.measure.capitalize()
    models = bars.shown.models
    some = [str(bars.options.number(n)) for n in bars.options.layers or ()]
    where = f"in layer{'s' if len(some) > 1 else ''} {wording.listed(some)}" if some else ""
    what = f"{measure} by token class {where}" if some else f"{measure} by token class and layer"
    return what + (f": {models[0]}" if len(models) == 1 else "")


def caption(bars: Bars) -> str:
    which = "each class but the top one" if bars.ends_at_1 else "each class"
    whiskers = f"Whiskers: {wording.level(bars.shown)} bootstrap interval of {which}."
    marks = whiskers if bars.whiskers else ""
    return wording.caption(bars.shown, about=bars.about, style=bars.options, marks=marks)


def definition(bars: Bars) -> str:
    marks = []
    if bars.whiskers:
        where = (
            "; each is the interval of that class's own mean, measured from the foot of its own "
            "segment, not an interval of the total"
            if bars.stacked
            else ""
        )
        top = "; none passes 1, and the top segment, which ends there, has none"
        top = top if bars.ends_at_1 else ""
        marks.append(f"Whiskers: {wording.interval_word(bars.shown)}{where}{top}")
    elif not wording.has_intervals(bars.shown):
        marks.append("No intervals: too few prompts")
    if not bars.stacked:
        marks.append(
            f"{bars.shown.measure.capitalize()} does not add up over classes, so the "
            "bars are not stacked"
        )
    return wording.definition(bars.shown, about=bars.about, style=bars.options, marks=marks)


def description(bars: Bars) -> str:
    parts = [_axes(bars), _contents(bars)]
    drawn = _drawn(bars)
    for model in bars.shown.models:
        parts += _extremes(bars, model, [bar for bar in drawn if bar.model == model])
    if len(drawn) <= _ALL_BARS and bars.stacked:
        parts += [_bar(bars, bar) for bar in drawn]
    return " ".join(parts)


def _axes(bars: Bars) -> str:
    shown, options = bars.shown, bars.options
    layers = [wording.layer_word(n, options).removeprefix("layer ") for n in shown.layers]
    names = wording.listed(layers) if len(layers) <= _ALL_BARS else f"{layers[0]} to {layers[-1]}"
    kind = "Stacked bars" if bars.stacked else "Bars"
    models = f"{wording.count(len(shown.models), 'model')} ({wording.listed(shown.models)})"
    return (
        f"{kind} of {models}, over {wording.prompts_word(shown)}. Horizontal: "
        f"{wording.count(len(layers), 'layer')} ({names}, {options.labels}). "
        f"Vertical: {shown.measure}, from 0."
    )


def _contents(bars: Bars) -> str:
    labels = [bars.label(name) for name in bars.order]
    if bars.stacked:
        return f"Each bar stacks, from the bottom: {wording.listed(labels)}."
    rule = " A dashed line marks 1, no preference." if bars.shown.measure == "lift" else ""
    rows = [bars.label(name) for name in bars.shown.classes]  # from the top
    return f"A row for each token class: {wording.listed(rows)}.{rule}"


@dataclass(frozen=True)
class _Bar:
    """One bar: a stack of classes, or a single class where classes do not add up."""

    model: str
    layer: int | None
    head: int | None
    parts: dict[str, float]  # class → mean, bottom to top

    def value(self, kind: str | None = None) -> float:
        """Of one class, or of all together."""
        return sum(self.parts.values()) if kind is None else self.parts[kind]


def _drawn(bars: Bars) -> list[_Bar]:
    """By layer, then in the order of the table: model, head."""
    grouped: dict[tuple[object, ...], list[Row]] = {}
    for row in sorted(bars.shown.rows, key=lambda row: bars.shown.layers.index(row["layer"])):
        single = None if bars.stacked else row["class"]
        if row["mean"] is not None:
            key = (row["layer"], row["model"], row["head"], single)
            grouped.setdefault(key, []).append(row)
    return [_one(bars, rows) for rows in grouped.values()]


def _one(bars: Bars, rows: list[Row]) -> _Bar:
    rows = sorted(rows, key=lambda row: bars.order.index(row["class"]))
    first = rows[0]
    parts = {row["class"]: row["mean"] for row in rows}
    return _Bar(first["model"], first["layer"], first["head"], parts)


def _extremes(bars: Bars, model: str, drawn: list[_Bar]) -> Iterable[str]:
    """The highest and the lowest bar of one model; by class where totals say nothing."""
    by_total = bars.stacked and bars.shown.measure != "share"
    for kind in [None] if by_total else bars.order[::-1]:
        found = [(bar.value(kind), bar) for bar in drawn if kind is None or kind in bar.parts]
        what = "total" if kind is None else bars.label(kind)
        if not found:
            yield f"{model}: no prompt has this number for {what}."
            continue
        high, low = max(found, key=lambda x: x[0]), min(found, key=lambda x: x[0])
        yield (
            f"{model}: highest {what} {wording.number(high[0])} ({_place(bars, high[1])}), "
            f"lowest {wording.number(low[0])} ({_place(bars, low[1])})."
        )


def _place(bars: Bars, bar: _Bar) -> str:
    layer = wording.layer_word(bar.layer, bars.options)
    several = len(bars.shown.heads) > 1
    return f"{layer}, {wording.head_word(bar.head, bars.options)}" if several else layer


def _bar(bars: Bars, bar: _Bar) -> str:
    parts = ", ".join(f"{bars.label(name)} {wording.number(x)}" for name, x in bar.parts.items())
    where = f"{_place(bars, bar)}, {bar.model}"
    return f"{where[0].upper()}{where[1:]}: {parts}; total {wording.number(bar.value())}."
