"""A statement of order → whether the table orders its numbers so.

Where a series is highest, and which of two cells is larger. Nothing is guessed: a statement that
leaves open which series or which cells it is about has no answer. Equal numbers are in any order.
"""

from __future__ import annotations

from dataclasses import replace

from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.lookup import NO_NUMBER, Answer, Lookup, left_open
from mindshare.report.describing.phrases import single
from mindshare.report.describing.places import Place, where
from mindshare.report.describing.statements import Statement


def ranked(lookup: Lookup, statement: Statement) -> Answer:
    """Whether these places have the largest numbers of their series, or the smallest."""
    series, why = _series(lookup, statement)
    if not series:
        return Answer(why=why)
    if any(place not in series for place in statement.places):
        return Answer(why=NO_NUMBER)
    if statement.what == "most":  # of differences, whichever their sign
        series = {place: abs(value) for place, value in series.items()}
    sign = 1 if statement.what == "lowest" else -1
    order = sorted(series, key=lambda place: sign * series[place])
    worst = max(sign * series[place] for place in statement.places)
    before = [p for p in order if sign * series[p] < worst and p not in statement.places]
    words = f"{where(order[0])} ({single(series[order[0]])})"
    return Answer((series[order[0]],), holds=not before, words=words)


def _series(lookup: Lookup, statement: Statement) -> tuple[dict[Place, float], str]:
    """Place → number, over the layers, or over the single heads if one is named."""
    by_head = statement.places[0][1] is not None
    found = {
        key: number
        for key, number in lookup.numbers.cells.items()
        if key.layer is not None
        and (key.head is not None) == by_head
        and (not statement.among or key.layer in statement.among)
        and lookup.meant(key, statement.given)
    }
    if not found:
        return {}, NO_NUMBER
    if not lookup.numbers.classes and "measure" not in statement.given:
        return {}, "it is not said which measure"
    bare = list(dict.fromkeys(replace(key, layer=None, head=None) for key in found))
    if len(bare) > 1:
        return {}, f"it is not said {left_open(bare)}"
    return {(key.layer, key.head): number.value for key, number in found.items()}, ""


def compared(lookup: Lookup, statement: Statement) -> Answer:
    """Whether one cell is larger, or smaller, than the other."""
    assert statement.than is not None
    found: list[tuple[Key, Number]] = []
    for given in (statement.given, statement.than):
        cells, why = lookup.cells(replace(statement, given=given))
        if len(cells) != 1:
            return Answer(why=why or "it is about several numbers")
        found += cells.items()
    one, other = (number.value for _, number in found)
    holds = one >= other if statement.what == "larger" else one <= other
    return Answer((one, other), holds=holds, words=f"{single(one)} and {single(other)}")
