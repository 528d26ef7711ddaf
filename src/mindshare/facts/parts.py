"""What each part of a prompt gets → a few sentences, each number with its cell.

One prompt supports no test: these are its numbers, and no claim about other prompts. Parts differ
in length, so that they are compared by their lift: what they get / what an even spread of attention
would give them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from mindshare.facts.cells import Cell, Number
from mindshare.facts.sentences import Sentence
from mindshare.facts.words import count, decimals, listed, written

FIRST, OTHER = "first-token", "other"  # classes that are no parts
Row = dict[str, Number]  # by part
Labels = Mapping[str, str]  # part → what it is called, in the order of the prompt


def percent(share: float) -> str:
    """`38 %`, `3.1 %`, `0.46 %`: two digits, not to be broken."""
    points = 100 * share
    return f"{points:.{0 if points >= 9.95 else 1 if points >= 0.995 else 2}f}\u00a0%"


def times(lift: float) -> str:
    """`0.54`, `12`: two digits; parts for which they are the same are a tie."""
    return written(lift, decimals(lift, 2))


def _quoted(name: str) -> str:
    """Names of parts are ordinary words."""
    return f"“{name}”"


# ── claims: what a title says, and a sentence before its numbers ──────────────────────────────────


def extreme(lifts: Mapping[str, float], word: str) -> list[str]:
    """The parts with the `least` or the `most` attention for their length."""
    end = (min if word == "least" else max)(lifts.values())
    return [part for part, lift in lifts.items() if times(lift) == times(end)]


def extreme_claim(lifts: Mapping[str, float], labels: Labels, word: str = "least") -> str:
    """`“rule” is read least for its length`; of several parts."""
    parts = extreme(lifts, word)
    if len(parts) == len(lifts):
        return f"all {len(parts)} parts are read alike for their length"
    if len(parts) == 1:
        return f"{_quoted(labels[parts[0]])} is read {word} for its length"
    two = listed([_quoted(labels[part]) for part in parts])
    who = two if len(parts) == 2 else f"{len(parts)} parts"
    return f"{who} are read {word} for their length"


def most_changed(
    a: Mapping[str, float], b: Mapping[str, float], reworded: Collection[str]
) -> str | None:
    """The part whose attention for its length differs most; of those reworded, if there are any."""
    both = [part for part in a if part in b]
    parts = [part for part in both if part in reworded] or both

    def size(part: str) -> float:  # a half is as far as a double
        low, high = sorted((a[part], b[part]))
        return math.log(high / low) if low > 0 else math.inf if high > 0 else 0.0

    return max(parts, key=size) if parts else None


def change_claim(part: str, a: tuple[str, float], b: tuple[str, float]) -> str:
    """`“rule” is read more for its length in “B” than in “A”`; a and b: whose lift it is, lift."""
    if times(a[1]) == times(b[1]):
        return (
            f"{_quoted(part)} is read alike for its length in {_quoted(b[0])} and {_quoted(a[0])}"
        )
    more = "more" if b[1] > a[1] else "less"
    ends = f"in {_quoted(b[0])} than in {_quoted(a[0])}"
    return f"{_quoted(part)} is read {more} for its length {ends}"


def claim_as_title(claim: str) -> str:
    return f"{claim[0].upper()}{claim[1:]}"


# ── sentences ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Reading:
    """What the parts get in one wording or model."""

    label: str
    mass: Row
    even: Row
    lift: Row
    labels: Labels
    texts: Mapping[str, str]

    def called(self, other: _Reading) -> str:
        """How to speak of another one beside this: texts that differ are wordings."""
        wording = "" if self.texts == other.texts else "wording "
        return f"{wording}{_quoted(other.label)}"

    @property
    def lifts(self) -> dict[str, float]:
        return {part: self.lift[part].value for part in self.labels if part in self.lift}


def part_sentences(
    tables: Mapping[str, pa.Table], labels: Labels, texts: Mapping[str, Mapping[str, str]]
) -> tuple[Sentence, ...]:
    """Which parts are read least and most for their length; of wordings, what differs.

    `tables` are the means of mass (`summary`), `expected` and `lift` of every part, once per
    wording or model; `texts` the characters of each part by wording or model.
    """
    names = ("summary", "expected", "lift")
    masses, evens, lifts = (_by_series(tables[name], name) for name in names)
    readings = [
        _Reading(s, mass, evens[s], lifts.get(s, {}), labels, texts[s])
        for s, mass in masses.items()
    ]
    first, *others = readings
    found = [sentence for other in others for sentence in _compared(first, other)]
    for reading in readings:
        beside = next((other for other in readings if other is not reading), reading)
        lead = f"in {beside.called(reading)}, " if others else ""
        words = ("least",) if others else ("least", "most")
        found += [Sentence(lead + s, s.numbers) for s in _extremes(reading, words)]
    if not others:
        found += _rest(first.mass)
    return tuple(Sentence(f"{claim_as_title(s)}.", s.numbers) for s in found)


def _by_series(table: pa.Table, name: str) -> dict[str, Row]:
    series: dict[str, Row] = {}
    for row in table.to_pylist():
        if row["mean"] is not None:
            number = Number.from_row(row, "mean", cell=Cell.of(name, row, "mean"))
            series.setdefault(row["model"], {})[row["class"]] = number
    return series


def _extremes(reading: _Reading, words: Sequence[str]) -> Iterator[Sentence]:
    lifts = reading.lifts
    among = f"of {len(lifts)} parts, "
    for word in words if len(lifts) > 1 else ():
        parts, claim = extreme(lifts, word), extreme_claim(lifts, reading.labels, word)
        got, due, lift = (row[parts[0]] for row in (reading.mass, reading.even, reading.lift))
        if len(parts) == 1:
            text = f"{among}{claim}: {percent(got.value)} of attention; {_spread(due)}"
            if word == "most" and lift.value < 1:  # the first token and the template get the rest
                shares = f"{percent(got.value)} of attention against {percent(due.value)}"
                text = f"{among}{claim}, yet below an even spread: {shares}"
            yield Sentence(text, [got, due])
        else:
            yield Sentence(f"{among}{claim}: {times(lift.value)} times their even share", [lift])
        if len(parts) == len(lifts):
            return


def _spread(due: Number) -> str:
    return f"an even spread would give {percent(due.value)}"


def _rest(mass: Row) -> Iterator[Sentence]:
    first, other = mass.get(FIRST), mass.get(OTHER)
    if first is not None and other is not None and other.value > 0:
        text = f"of all attention, {percent(first.value)} goes to the first token"
        rest = f"{percent(other.value)} to tokens outside the parts"
        yield Sentence(f"{text} and {rest}", [first, other])
    elif first is not None:
        yield Sentence(f"of all attention, {percent(first.value)} goes to the first token", [first])


def _compared(a: _Reading, b: _Reading) -> Iterator[Sentence]:
    """What the reworded parts get for their length, else the others; parts that only one has."""
    both = [part for part in a.lifts if part in b.lifts]
    reworded = [part for part in both if a.texts[part] != b.texts[part]]
    part = most_changed(a.lifts, b.lifts, reworded)
    if part is not None:
        numbers = [b.lift[part], a.lift[part]]
        pair = ((a.label, a.lift[part].value), (b.label, b.lift[part].value))
        shown = " against ".join(times(number.value) for number in numbers)
        claim = change_claim(a.labels[part], *pair)
        yield Sentence(f"{claim}: {shown} times its even share", numbers)
    if reworded and part is not None:
        yield _reworded(part, len(reworded) - 1, a, b)
    for one, other in ((b, a), (a, b)):
        alone = [part for part in one.lifts if part not in other.lifts]
        if alone:
            yield _only(one, alone)


def _reworded(part: str, more: int, a: _Reading, b: _Reading) -> Sentence:
    numbers = [a.even[part], b.even[part]]
    one, two = (percent(number.value) for number in numbers)
    others = f", like {count(more, 'more part')}," if more else ""
    name = _quoted(a.labels[part])
    text = f"{name}{others} is not the same text: by its length alone it would get"
    ends = f"{one} of attention in {b.called(a)} and {two} in {_quoted(b.label)}"
    return Sentence(f"{text} {ends}", numbers)


def _only(reading: _Reading, parts: Sequence[str]) -> Sentence:
    label = _quoted(reading.label)
    if len(parts) > 1:
        return Sentence(f"{count(len(parts), 'part')} are only in {label} and can't be compared")
    got, due = reading.mass[parts[0]], reading.even[parts[0]]
    name = _quoted(reading.labels[parts[0]])
    text = f"only {label} has the part {name}: {percent(got.value)} of attention; {_spread(due)}"
    return Sentence(text, [got, due])
