"""What a map of responses draws → its title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks or colours beyond their
names.
"""

from __future__ import annotations

from collections.abc import Mapping

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.response_cells import SYMBOLS, ResponseCells
from mindshare.figures.insertion.response_measures import asked, label_words, needed, short
from mindshare.figures.insertion.version_words import named, sentences
from mindshare.figures.selection import Row
from mindshare.figures.wording import (
    count,
    has_intervals,
    interval_word,
    listed,
    number,
    prompts_word,
)
from mindshare.stats.labels import thresholds_of_metadata


def name(cells: ResponseCells) -> str:
    return version_words.file_name("map", cells.measure, cells.condition)


def title(cells: ResponseCells) -> str:
    return f"{named(cells.measure)} by layer and head with {cells.words}: {cells.model}"


def caption(cells: ResponseCells, about: Mapping[str, str]) -> str:
    facts = [*asked(cells.measure, about, cells.shown.about), prompts_word(cells.shown)]
    one_based = cells.options.labels != "zero-based"
    return sentences(
        [
            f"{short(cells.measure)} ({'; '.join(facts)}).",
            _outside(cells),
            _small(cells),
            _rests(cells),
            f"Layers and heads are {cells.options.labels}." if one_based else None,
        ]
    )


def _small(cells: ResponseCells) -> str | None:
    wanted = cells.options.symbols and cells.labels
    if not wanted:
        return None
    return (
        "A symbol is the head's label."
        if cells.has_symbols
        else "The cells are too small for a symbol of each head's label; above, how many have it."
    )


def _rests(cells: ResponseCells) -> str | None:
    if not cells.resting:
        return None
    floor = thresholds_of_metadata(cells.shown.about).floor
    return f"Grey: heads that rest, with less than {floor:g} of their attention on these tokens."


def _outside(cells: ResponseCells) -> str | None:
    n = cells.shade.outside(cells.numbers)
    return f"{count(n, 'number')} beyond the ends of the scale." if n else None


def definition(cells: ResponseCells, about: Mapping[str, str]) -> str:
    marks = [f"Mean over {prompts_word(cells.shown)}"]
    if has_intervals(cells.shown):
        marks.append(f"Intervals in the table: {interval_word(cells.shown)}")
    if cells.labels:
        marks.append(label_words(cells.labels, cells.shown.about))
    return version_words.definition(
        needed([cells.measure]),
        about=about,
        metadata=cells.shown.about,
        style=cells.options,
        marks=marks,
    )


def description(cells: ResponseCells) -> str:
    style, shown = cells.options, cells.shown
    bottom = style.number(min(n for n in shown.layers if n is not None))
    empty = len(shown.rows) - len(cells.rows)
    return sentences(
        [
            f"Map of {count(len(shown.layers), 'layer')} (vertical, layer {bottom} at the bottom) "
            f"and {count(len(shown.heads), 'head')} (horizontal) of {cells.model}, {style.labels}.",
            _colours(cells),
            _extremes(cells) if cells.rows else None,
            _outside(cells),
            _labels(cells),
            f"{count(empty, 'cell')} without a number {'stays' if empty == 1 else 'stay'} grey"
            + (f", {cells.resting:,} because the head rests." if cells.resting else ".")
            if empty
            else None,
        ]
    )


def _colours(cells: ResponseCells) -> str:
    what = f"Colour: {named(cells.measure).lower()} with {cells.words}"
    low, high = number(cells.shade.low), number(cells.shade.high)
    if cells.shade.middle is None:
        first, last = ("dark", "light") if cells.shade.falling else ("light", "dark")
        return f"{what}, from {low} ({first}) to {high} ({last})."
    last = "red" if cells.options.palette == "seed" else "orange"
    over = f"{cells.shade.middle:g} (white)"
    doublings = ", by doublings" if cells.shade.doublings else ""
    return f"{what}, from {low} (blue) over {over} to {high} ({last}){doublings}."


def _extremes(cells: ResponseCells) -> str:
    high = max(cells.rows, key=lambda row: float(row["mean"]))
    low = min(cells.rows, key=lambda row: float(row["mean"]))
    mean = sum(cells.numbers) / len(cells.numbers)

    def at(row: Row) -> str:
        layer, head = cells.options.number(row["layer"]), cells.options.number(row["head"])
        return f"{number(row['mean'])} (layer {layer}, head {head})"

    return f"Highest {at(high)}, lowest {at(low)}, mean over the heads {number(mean)}."


def _labels(cells: ResponseCells) -> str | None:
    if not cells.labels:
        return None
    marks = {word: f" ({SYMBOLS[word]})" if cells.has_symbols else "" for word in SYMBOLS}
    found = [f"{n:,} {word}{marks.get(word, '')}" for word, n in cells.labels.items()]
    return f"Heads by label: {listed(found)}."
