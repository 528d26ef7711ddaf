"""What a head map draws → its title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks or colours beyond their
names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mindshare.figures import wording
from mindshare.figures.heads import Heads
from mindshare.table import DEFINITIONS


def name(heads: Heads) -> str:
    kind = "head_map_difference" if heads.is_difference else "head_map"
    safe = re.sub(r"[^\w-]+", "_", heads.token_class).strip("_") or "class"
    return f"{kind}_{heads.shown.measure}_{safe}"


def title(heads: Heads) -> str:
    measure = f"{heads.shown.measure.capitalize()} of {heads.token_class} by layer and head"
    if not heads.is_difference:
        return f"{measure}: {heads.models[0]}"
    return f"{measure}: {_minus(heads)}"


def legend(heads: Heads) -> str:
    measure = heads.shown.measure.capitalize()
    return f"Difference in {measure.lower()}" if heads.is_difference else measure


def caption(heads: Heads, about: Mapping[str, str]) -> str:
    marks = []
    if heads.all_zero:
        marks.append("All differences are exactly 0.")
    if heads.is_difference and heads.testable:
        n, total = heads.marked, len(heads.numbers)
        marks.append(f"Dots: p_family\xa0<\xa0{heads.options.alpha:g} ({n} of {total} heads).")
    elif heads.is_difference:
        marks.append("Too few prompts for a test: no dots.")
    return wording.caption(heads.shown, about=about, style=heads.options, marks=" ".join(marks))


def definition(heads: Heads, about: Mapping[str, str]) -> str:
    marks = [f"Token class shown: {heads.token_class}"]
    if heads.is_difference:
        marks += [
            f"Difference ({_minus(heads)}): {DEFINITIONS['difference']}",
            f"p_value: {DEFINITIONS['p_value']}",
            f"p_family: {DEFINITIONS['p_family']}; a dot marks p_family < {heads.options.alpha:g}",
        ]
    if wording.has_intervals(heads.shown):
        marks.append(f"Intervals in the table: {wording.interval_word(heads.shown)}")
    return wording.definition(heads.shown, about=about, style=heads.options, marks=marks)


def description(heads: Heads) -> str:
    style, shown = heads.options, heads.shown
    bottom = style.number(min(n for n in shown.layers if n is not None))
    parts = [
        f"Map of {wording.count(len(shown.layers), 'layer')} (vertical, layer {bottom} at the "
        f"bottom) and {wording.count(len(shown.heads), 'head')} (horizontal), {style.labels}, "
        f"over {wording.prompts_word(shown)}.",
        _colours(heads),
    ]
    if heads.numbers:
        parts.append("All differences are exactly 0." if heads.all_zero else _extremes(heads))
    if heads.is_difference and not heads.testable:
        parts.append("There are too few prompts to test any difference, so no cell has a dot.")
    elif heads.is_difference:
        parts.append(
            f"{heads.marked} of {len(heads.numbers)} heads have p_family < {style.alpha:g} "
            "and carry a dot."
        )
    empty = len(shown.rows) - len(heads.numbers)
    if empty:
        parts.append(f"{wording.count(empty, 'cell')} without a number stay light grey.")
    return " ".join(parts)


def _colours(heads: Heads) -> str:
    low, high = heads.domain
    what = f"{heads.shown.measure} of {heads.token_class}"
    if heads.all_zero:
        return f"Colour: difference in {what}, {_minus(heads)}; white is 0."
    if heads.is_difference:
        first, _, last = ("blue", "white", "red" if heads.options.palette == "seed" else "orange")
        return (
            f"Colour: difference in {what}, {_minus(heads)}, from {wording.number(low)} ({first}) "
            f"over 0 (white) to {wording.number(high)} ({last})."
        )
    return f"Colour: {what} in {heads.models[0]}, from 0 (light) to {wording.number(high)} (dark)."


def _extremes(heads: Heads) -> str:
    rows = [row for row in heads.shown.rows if row[heads.column] is not None]
    high = max(rows, key=lambda row: row[heads.column])
    low = min(rows, key=lambda row: row[heads.column])

    def at(row: dict[str, object]) -> str:
        layer, head = heads.options.number(int(str(row["layer"]))), int(str(row["head"]))
        value = wording.number(float(str(row[heads.column])))
        return f"{value} (layer {layer}, head {heads.options.number(head)})"

    mean = sum(heads.numbers) / len(rows)
    return f"Highest {at(high)}, lowest {at(low)}, mean over the heads {wording.number(mean)}."


def _minus(heads: Heads) -> str:
    b, a = heads.models
    return f"{b} minus {a}"
