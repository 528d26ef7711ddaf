"""Several texts about one chart → where they contradict one another.

Two texts contradict each other where they give the same model, layer and class numbers that no
single number could satisfy: farther apart than half a unit of the last digits, doubled for "about",
and the tolerance. Who is right, a table would have to say. Statements that could not be read are
kept, so that silence is not taken for agreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import overload

from mindshare.report.describing.learning import learn
from mindshare.report.describing.outline import Given
from mindshare.report.describing.reader import read_statements
from mindshare.report.describing.statements import Statement, about

_NEEDED = {"value": ("kind",), "share": ("kind",), "total": (), "together": ()}


@dataclass(frozen=True)
class Said:
    """A statement and the name of the text it stands in."""

    text: str
    statement: Statement

    def __str__(self) -> str:
        return f"{self.statement.said} ({self.text}, line {self.statement.line})"


@dataclass(frozen=True)
class Disagreement:
    """What all of these are about, and what each says."""

    given: Given
    what: str
    said: tuple[Said, ...]

    @property
    def spread(self) -> float:
        values = [one.statement.number.value for one in self.said]
        return max(values) - min(values)

    def __str__(self) -> str:
        first = self.said[0].statement
        where = _about(self.given, self.what, first.together)
        return f"{where}: {'; '.join(str(one) for one in self.said)}"


@dataclass(frozen=True)
class Compared(Sequence[Disagreement]):
    """The disagreements, the widest first; what agrees; and what could not be read or compared."""

    disagreements: tuple[Disagreement, ...]
    leaders: tuple[str, ...]  # where they do not agree which class is the largest
    agreed: int  # things that several texts say alike
    alone: tuple[Said, ...]  # that only one text says
    unread: tuple[Said, ...]

    @overload
    def __getitem__(self, index: int) -> Disagreement: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Disagreement]: ...

    def __getitem__(self, index: int | slice) -> Disagreement | Sequence[Disagreement]:
        return self.disagreements[index]

    def __len__(self) -> int:
        return len(self.disagreements)

    @property
    def counts(self) -> str:
        return (
            f"{len(self)} numbers contradict one another, {self.agreed} are said alike by several "
            f"texts, {len(self.alone)} by one only, {len(self.unread)} could not be read."
        )

    @property
    def unread_lines(self) -> list[str]:
        """What could not be read or compared, a line each, and why."""
        return [
            f"{one.text}, line {one.statement.line}: {one.statement.words!r} could not be read "
            f"({one.statement.why})"
            for one in self.unread
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader of the list should know, a line each."""
        return [self.counts, *self.leaders, *self.unread_lines]


def compare_texts(texts: Mapping[str, str], *, tolerance: float = 0.0) -> Compared:
    """Where these texts, by name, contradict one another or themselves."""
    vocabulary = learn(texts.values())
    groups: dict[tuple[object, ...], list[Said]] = {}
    unread: list[Said] = []
    for name, text in texts.items():
        for statement in read_statements(text, vocabulary):
            if statement.what == "mention":
                continue
            one = _clear(statement)
            if one.what == "unread":
                unread.append(Said(name, one))
            else:
                groups.setdefault(one.key, []).append(Said(name, one))
    found = [_disagreement(group, tolerance) for group in groups.values() if len(group) > 1]
    differ = sorted((one for one in found if one is not None), key=lambda d: -d.spread)
    alone = tuple(group[0] for group in groups.values() if len(group) == 1)
    leaders = tuple(_leaders(groups))
    return Compared(tuple(differ), leaders, len(found) - len(differ), alone, tuple(unread))


def _leaders(groups: Mapping[tuple[object, ...], Sequence[Said]]) -> Iterator[str]:
    """Where the texts name different classes as the largest, by the numbers they give."""
    values: dict[str, dict[str, dict[str, float]]] = {}  # where → text → class → number
    for one in (one for group in groups.values() for one in group):
        if one.statement.what == "value":
            where = about({k: v for k, v in one.statement.given.items() if k != "kind"})
            kinds = values.setdefault(where, {}).setdefault(one.text, {})
            kinds.setdefault(one.statement.given["kind"], one.statement.number.value)
    for where, texts in values.items():
        largest = {text: found for text, kinds in texts.items() if (found := _largest(kinds))}
        if len(set(largest.values())) > 1:
            said = "; ".join(f"{kind} ({text})" for text, kind in largest.items())
            yield f"{where}: the largest class is not the same: {said}"


def _largest(kinds: Mapping[str, float]) -> str | None:
    """The class with the largest number, if there is one."""
    most = max(kinds.values())
    found = [kind for kind, value in kinds.items() if value == most]
    return found[0] if len(found) == 1 and len(kinds) > 1 else None


def _clear(statement: Statement) -> Statement:
    """As it is, or unread if it does not say what it is about."""
    if statement.what == "unread":
        return statement
    why = next(_unclear(statement), None)
    return statement if why is None else replace(statement, what="unread", why=why)


def _unclear(statement: Statement) -> Iterator[str]:
    if statement.what not in _NEEDED or statement.number.relation != "=":
        yield "not one number of a model, layer and class"
        return
    for part in ("model", "layer", *_NEEDED[statement.what]):
        if part not in statement.given:
            yield f"it is not said which {'token class' if part == 'kind' else part}"
        elif isinstance(statement.given[part], tuple):
            yield f"it is about several {part}s"


def _disagreement(group: list[Said], tolerance: float) -> Disagreement | None:
    far = any(
        _contradict(one.statement, other.statement, tolerance)
        for i, one in enumerate(group)
        for other in group[i + 1 :]
    )
    first = group[0].statement
    return Disagreement(first.given, first.what, tuple(group)) if far else None


def _contradict(one: Statement, other: Statement, tolerance: float) -> bool:
    """No number is what both say."""
    slack = tolerance * (2 if one.number.about or other.number.about else 1)
    slack += sum(s.number.half * (2 if s.number.about else 1) for s in (one, other))
    return abs(one.number.value - other.number.value) > slack * (1 + 1e-9)


def _about(given: Given, what: str, together: tuple[str, ...]) -> str:
    sums = {"total": "total", "together": f"sum of {' and '.join(together)}"}
    words = about(given) + (f", {sums[what]}" if what in sums else "")
    return f"{words}, as a share" if what == "share" else words
