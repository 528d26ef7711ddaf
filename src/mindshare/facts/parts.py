"""What each part of a prompt gets → a few sentences, each number with its cell.

One prompt supports no test: these are its numbers, and no claim about other prompts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from mindshare.facts.cells import Cell, Number
from mindshare.facts.sentences import Sentence
from mindshare.facts.words import count

IGNORED = 0.5  # of the attention that the length of a part would give it among the parts
FIRST, OTHER = "first-token", "other"  # classes that are no parts
Row = dict[str, Number]  # by part


def percent(share: float) -> str:
    """`38 %`, `3.1 %`, `0.46 %`: two digits, not to be broken."""
    points = 100 * share
    return f"{points:.{0 if points >= 9.95 else 1 if points >= 0.995 else 2}f}\u00a0%"


def _quoted(name: str) -> str:
    """Names of parts are ordinary words."""
    return f"“{name}”"


def part_sentences(
    summary: pa.Table, expected: pa.Table, labels: Mapping[str, str]
) -> tuple[Sentence, ...]:
    """What stands out: the part with the most, the ones nearly ignored, what is no part.

    `summary` and `expected` have the mass and the expected mass of every part, once per wording
    (or model); `labels` are the parts' names in the order of the prompt → what they are called.
    """
    masses, even = _by_series(summary, "summary"), _by_series(expected, "expected")
    several = len(masses) > 1
    found = [*_differences(masses, labels)] if several else [*_most(masses, labels)]
    for series, mass in masses.items():
        lead = f"in {_quoted(series)}, " if several else ""
        found += [Sentence(lead + s, s.numbers) for s in _ignored(mass, even[series], labels)]
    if not several:
        found += _rest(next(iter(masses.values())))
    return tuple(Sentence(f"{s[0].upper()}{s[1:]}.", s.numbers) for s in found)


def _by_series(table: pa.Table, name: str) -> dict[str, Row]:
    series: dict[str, Row] = {}
    for row in table.to_pylist():
        if row["mean"] is not None:
            number = Number.from_row(row, "mean", cell=Cell.of(name, row, "mean"))
            series.setdefault(row["model"], {})[row["class"]] = number
    return series


def _most(masses: Mapping[str, Row], labels: Mapping[str, str]) -> Iterator[Sentence]:
    (mass,) = masses.values()
    parts = [part for part in labels if part in mass]
    if len(parts) > 1:
        top = max(parts, key=lambda part: mass[part].value)
        what = f"of the prompt's {len(parts)} parts, {_quoted(labels[top])} gets the most attention"
        yield Sentence(f"{what}: {percent(mass[top].value)}", [mass[top]])


def _ignored(mass: Row, even: Row, labels: Mapping[str, str]) -> Iterator[Sentence]:
    parts = [part for part in labels if part in mass and even[part].value > 0]
    if len(parts) < 2:
        return
    whole = sum(mass[part].value for part in parts) / sum(even[part].value for part in parts)
    lift = {part: mass[part].value / even[part].value / whole for part in parts}
    low = sorted((part for part in parts if lift[part] < IGNORED), key=lift.__getitem__)
    if not low:
        each = "each gets at least half of what an even spread of attention would give it"
        yield Sentence(f"no part of the prompt is ignored: {each}")
        return
    part, more = low[0], len(low) - 1
    got, due = mass[part], even[part]
    least = f"the part {_quoted(labels[part])} gets the least attention for its length"
    others = f"; {count(more, 'more part')} get{'s' * (more == 1)} less than half" if more else ""
    text = f"{least}: {percent(got.value)}, where an even spread would give {percent(due.value)}"
    yield Sentence(text + others, [got, due])


def _rest(mass: Row) -> Iterator[Sentence]:
    first, other = mass.get(FIRST), mass.get(OTHER)
    if first is not None and other is not None and other.value > 0:
        text = f"of all attention, {percent(first.value)} goes to the first token"
        rest = f"{percent(other.value)} to other tokens that are in no part"
        yield Sentence(f"{text} and {rest}", [first, other])
    elif first is not None:
        yield Sentence(f"of all attention, {percent(first.value)} goes to the first token", [first])


def _differences(masses: Mapping[str, Row], labels: Mapping[str, str]) -> Iterator[Sentence]:
    """The part that gains or loses most between the first wording and each of the others."""
    (a, first), *others = masses.items()
    for b, mass in others:
        both = [part for part in labels if part in first and part in mass]
        if both:
            part = max(both, key=lambda part: abs(mass[part].value - first[part].value))
            yield _difference(labels[part], a, b, first[part], mass[part])
        for label, one in (
            (b, [p for p in labels if p in mass and p not in first]),
            (a, [p for p in labels if p in first and p not in mass]),
        ):
            if one:
                yield _only(label, one, masses[label], labels)


def _difference(part: str, a: str, b: str, first: Number, second: Number) -> Sentence:
    numbers = [second, first]
    shown = [percent(number.value) for number in numbers]
    if shown[0] == shown[1]:
        text = f"{_quoted(a)} and {_quoted(b)} hardly differ; most in {_quoted(part)}"
        return Sentence(f"{text}: {shown[0]} against {shown[1]} of the attention", numbers)
    more = "more" if second.value > first.value else "less"
    ends = f"in {_quoted(b)} ({shown[0]}) than in {_quoted(a)} ({shown[1]})"
    return Sentence(f"{_quoted(part)} gets {more} attention {ends}", numbers)


def _only(label: str, parts: Sequence[str], mass: Row, labels: Mapping[str, str]) -> Sentence:
    if len(parts) == 1:
        part = parts[0]
        gets = f"which gets {percent(mass[part].value)} of the attention"
        text = f"only {_quoted(label)} has the part {_quoted(labels[part])}, {gets}"
        return Sentence(text, [mass[part]])
    return Sentence(
        f"{count(len(parts), 'part')} are only in {_quoted(label)} and can't be compared"
    )
