"""The statements of a text × the numbers of a table → which hold.

A number holds if the table's lies within half a unit of its last written digit, and the tolerance;
"about" and "~" double both. One with the wrong sign never holds. A statement that does not say
enough (which layer? which model?) is not guessed at: it could not be read, and the reason is given.
A layer that the table does not have is such a statement too. Knows numbers and statements, not how
either was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from mindshare.report.describing.answers import Answers
from mindshare.report.describing.lookup import Answer
from mindshare.report.describing.numbers import numbers_of
from mindshare.report.describing.phrases import single
from mindshare.report.describing.reader import read_statements
from mindshare.report.describing.statements import Statement, about
from mindshare.report.describing.tokens import Written
from mindshare.report.describing.vocabulary import vocabulary_of

_SLACK = 1e-9  # of rounding in the last bits


@dataclass(frozen=True)
class Checked:
    """A statement, whether it holds (None: it could not be read), and what the table says."""

    statement: Statement
    holds: bool | None
    table: tuple[float, ...] = ()
    why: str = ""
    words: str = ""  # what the table says, where it is no number

    def __str__(self) -> str:
        one = self.statement
        verdict = {True: "holds", False: "does not hold", None: "could not be read"}[self.holds]
        where = about(one.given)
        values = self.words or _values(self.table, percent=one.number.percent)
        says = f"; the table says {values}" if self.table else ""
        why = f" ({self.why})" if self.why else ""
        words = f"line {one.line}, {one.words!r}" + (f" [{where}]" if where else "")
        return f"{verdict}: {words} says {one.said}{says}{why}"


def check_description(
    text: str, table: pa.Table | Mapping[str, pa.Table], *, tolerance: float = 0.0
) -> list[Checked]:
    """Every numeric statement of a text against a table, or against all tables of results."""
    numbers = numbers_of(table)
    answers = Answers(numbers)
    statements = read_statements(text, vocabulary_of(numbers))
    found = [_checked(one, answers.to(one), tolerance) for one in statements]
    said = {
        (one.statement.line, layer)
        for one in found
        if one.statement.what != "mention"
        for layer in _layers(one)
    }
    return [one for one in found if not _nothing_more(one, said)]


def _layers(one: Checked) -> list[object]:
    """That a statement names."""
    return [one.statement.given.get("layer"), *(layer for layer, _ in one.statement.places)]


def _nothing_more(one: Checked, said: set[tuple[int, object]]) -> bool:
    """A layer that is only mentioned: it is there, or another statement says that it is not."""
    if one.statement.what != "mention":
        return False
    return one.holds is not None or (one.statement.line, _layers(one)[0]) in said


def allowed(statement: Statement, tolerance: float) -> float:
    """How far the table's number may be from the one in the text."""
    return (statement.number.half + tolerance) * (2 if statement.number.about else 1)


def _checked(statement: Statement, answer: Answer, tolerance: float) -> Checked:
    if not answer.values:
        return Checked(statement, None, why=answer.why)
    if answer.holds is not None:
        return Checked(statement, answer.holds, answer.values, words=answer.words)
    slack = allowed(statement, tolerance) * (1 + _SLACK) + _SLACK
    holds = all(_fits(value, statement, slack) for value in answer.values)
    return Checked(statement, holds, answer.values)


def _fits(value: float, statement: Statement, slack: float) -> bool:
    said = statement.number
    if _wrong_sign(value, said):
        return False
    if statement.upto is not None:
        return said.value - slack <= value <= statement.upto.value + slack
    if said.relation == "<":
        return value <= said.value + slack
    if said.relation == ">":
        return value >= said.value - slack
    return abs(value - said.value) <= slack


def _wrong_sign(value: float, said: Written) -> bool:
    """`−0.00` says that it is below 0, `0.00` does not say that it is above."""
    if said.relation != "=":
        return False
    if said.value == 0 and said.signed:
        return value < 0 if said.text.startswith("+") else value > 0
    return value * said.value < 0


def _values(values: tuple[float, ...], *, percent: bool) -> str:
    if len(values) > 1:
        ends = [_values((end,), percent=percent) for end in (min(values), max(values))]
        return " to ".join(ends)
    value = values[0] if values else 0.0
    if percent:
        return f"{100 * value:.3g}%"
    return f"{value:.0f}" if value == int(value) else single(value)
