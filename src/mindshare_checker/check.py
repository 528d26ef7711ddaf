"""Statements of a text × numbers of a table → which statements hold.

A number holds if the table's lies within half a unit of its last written digit, plus the tolerance;
"about" and "~" double both. One with the wrong sign never holds. A statement that does not say
enough (which layer? which model?) is not guessed at: it is unread, with the reason. So is one
about a layer that the table does not have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from mindshare.facts.cells import ADDITIVE, Key, Place
from mindshare.facts.words import single, where
from mindshare_checker.claims import UNREAD_CLAIM, ClaimRead, read_claims
from mindshare_checker.statements import Statement, about, read_statements
from mindshare_checker.tables import (
    NO_CLASS,
    NO_MEASURE,
    NO_NUMBER,
    TableNumbers,
    UnreadError,
    left_open,
)
from mindshare_checker.text import Written, lines_of

_ORDERS = ("highest", "lowest", "most", "larger", "smaller")  # claims, too
_QUOTED = 80  # characters of a sentence in a message
_SLACK = 1e-9  # relative and absolute: rounding of binary floats


@dataclass(frozen=True)
class Checked:
    """A statement, whether it holds (None: it could not be read), and what the table says."""

    statement: Statement
    holds: bool | None
    table: tuple[float, ...] = ()
    why: str = ""
    words: str = ""  # what the table says, where that is more than a number

    def __str__(self) -> str:
        statement = self.statement
        verdict = {True: "holds", False: "does not hold", None: "could not be read"}[self.holds]
        subject = about(statement.given)
        values = self.words or _values(self.table, percent=statement.number.percent)
        says = f"; the table says {values}" if self.table else ""
        why = f" ({self.why})" if self.why else ""
        quoted = f"line {statement.line}, {statement.words!r}"
        subject = f" [{subject}]" if subject else ""
        return f"{verdict}: {quoted}{subject} says {statement.said}{says}{why}"


def _values(values: tuple[float, ...], *, percent: bool) -> str:
    if len(values) > 1:
        ends = [_values((end,), percent=percent) for end in (min(values), max(values))]
        return " to ".join(ends)
    value = values[0] if values else 0.0
    if percent:
        return f"{100 * value:.3g}%"
    return f"{value:.0f}" if math.isfinite(value) and value == int(value) else single(value)


def check_description(
    text: str, table: pa.Table | Mapping[str, pa.Table], *, tolerance: float = 0.0
) -> list[Checked]:
    """Every numeric statement of a text against a table, or against all tables of results."""
    numbers = TableNumbers.of(table)
    statements = read_statements(text, numbers.vocabulary)
    checked = [check(numbers, statement, tolerance) for statement in statements]
    stated = {
        (one.line, layer)
        for one in statements
        if one.what != "mention"
        for layer in (one.given.get("layer"), *(layer for layer, _ in one.places))
    }
    tables = {"summary": table} if isinstance(table, pa.Table) else table
    lines = list(lines_of(text, numbers.vocabulary))
    told = [one for one in checked if one.statement.what in _ORDERS or one.holds is None]
    read = frozenset(one.statement.line for one in told if one.statement.what != "mention")
    claims = list(read_claims(lines, tables, read))
    # A line that is one sentence of the tables is right, also where an order is meant among the
    # places that it counts ("in 8 of 30 layers, most in layer 21") and not among all.
    ours = {(one.line, one.words) for one in claims if one.holds}
    right = {line.number for line in lines if (line.number, line.text) in ours}
    checked = [
        one
        for one in checked
        if one.holds is not False
        or one.statement.what not in _ORDERS
        or one.statement.line not in right
    ] + [_claim(one) for one in claims]
    # The mention of a layer is worth a line only if the layer is missing, and nothing else says so.
    return [
        one
        for one in checked
        if one.statement.what != "mention"
        or (
            one.holds is None
            and (one.statement.line, one.statement.given.get("layer")) not in stated
        )
    ]


def _claim(claim: ClaimRead) -> Checked:
    said = claim.words if len(claim.words) <= _QUOTED else claim.words[: _QUOTED - 1] + "…"
    statement = Statement("claim", Written(0.0, 0.0, "so"), {}, said, claim.line)
    if claim.holds is None:
        return Checked(replace(statement, what="unread", why=UNREAD_CLAIM), None, why=UNREAD_CLAIM)
    table = () if claim.holds else (0.0,)
    return Checked(statement, claim.holds, table, words=claim.instead)


def check(numbers: TableNumbers, statement: Statement, tolerance: float = 0.0) -> Checked:
    """One statement against the table."""
    try:
        if statement.what in ("highest", "lowest", "most"):
            return _check_extreme(numbers, statement)
        if statement.what in ("larger", "smaller"):
            return _check_comparison(numbers, statement)
        values = table_values(numbers, statement)
    except UnreadError as reason:
        return Checked(statement, None, why=str(reason))
    said = statement.number
    slack = (said.half + tolerance) * (2 if said.about else 1) * (1 + _SLACK) + _SLACK
    return Checked(statement, all(_fits(v, statement, slack) for v in values), values)


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


# The values of the table that a statement must fit; `UnreadError` if there are none.


def table_values(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    what = statement.what
    match what:
        case "value" | "between":
            return _cell_values(numbers, statement)
        case "difference":
            return _difference(numbers, statement)
        case "low" | "high" | "p":
            return _of_cell(numbers, statement)
        case "total" | "together":
            return _total(numbers, statement)
        case "share":
            return _share(numbers, statement)
        case "confidence" | "resamples" | "seed":
            recorded = numbers.about.get(f"mindshare.{what}")
            if not recorded:
                raise UnreadError("the table does not say")
            return (float(recorded),)
        case "mention":
            layer = statement.given["layer"]
            if numbers.layers and layer not in numbers.layers:
                raise UnreadError(f"the table has no layer {layer}")
            return (float(layer),)
        case "unread":
            raise UnreadError(statement.why)
    return _count(numbers, statement)


def _cell_values(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    return tuple(number.value for number in numbers.lookup(statement).values())


def _one_value(numbers: TableNumbers, statement: Statement) -> float:
    values = _cell_values(numbers, statement)
    if len(values) != 1:
        raise UnreadError("it is about several numbers")
    return values[0]


def _difference(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    """As the table has it, or between its two means."""
    try:
        return _cell_values(numbers, statement)
    except UnreadError as reason:
        given = {part: name for part, name in statement.given.items() if part != "against"}
        against = statement.given["against"]
        part = "model" if against in numbers.models else "condition"
        try:
            mean = _one_value(numbers, replace(statement, given=given))
            other = _one_value(numbers, replace(statement, given=given | {part: against}))
        except UnreadError:
            raise reason from None
        return (mean - other,)


def _of_cell(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    """An end of a cell's interval, or its p."""
    exact = replace(statement, number=replace(statement.number, relation="="))
    number = next(iter(numbers.lookup(exact).values()))
    value = number.p_family if statement.what == "p" else getattr(number, statement.what)
    if value is None:
        what = "p" if statement.what == "p" else "interval"
        raise UnreadError(f"the table has no {what} for it")
    return (float(value),)


def _total(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    """The sum over classes, at each place that the statement is about."""
    if numbers.measure not in ADDITIVE:
        raise UnreadError(f"{numbers.measure} does not add up over classes")
    classes = statement.together
    if statement.what != "together":
        classes = classes or numbers.whole(statement.given.get("token_class"))
    if not classes:
        raise UnreadError("it is not said which classes are added up")
    sums: dict[Key, float] = {}
    for token_class in classes:
        of_class = replace(statement, given=statement.given | {"token_class": token_class})
        for key, number in numbers.lookup(of_class).items():
            place = replace(key, token_class=None)
            sums[place] = sums.get(place, 0.0) + number.value
    return tuple(sums.values())


def _share(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    if "token_class" not in statement.given:
        raise UnreadError(NO_CLASS)
    part, whole = _cell_values(numbers, statement), _total(numbers, statement)
    if len(part) != 1 or len(whole) != 1 or whole[0] == 0:
        raise UnreadError("it is not clear what the whole is")
    return (part[0] / whole[0],)


def _count(numbers: TableNumbers, statement: Statement) -> tuple[float, ...]:
    """Of one of the charts. A smaller number may count some of them: that can't be judged."""
    said, totals = statement.number.value, numbers.counts(statement.what)
    total = max(totals, default=0)
    if total == 0:
        raise UnreadError("it is not clear what this number is")
    if said in totals:
        return (said,)
    if said < total:
        raise UnreadError(f"of {total} {statement.what}, and not clearly said of which")
    return (float(total),)


# Orders. Equal numbers are in any order.


def _check_extreme(numbers: TableNumbers, statement: Statement) -> Checked:
    """Whether the named places have the largest numbers of their series, or the smallest."""
    series = _series(numbers, statement)
    if any(place not in series for place in statement.places):
        raise UnreadError(NO_NUMBER)
    if statement.what == "most":  # of differences, whichever their sign
        series = {place: abs(value) for place, value in series.items()}
    sign = 1 if statement.what == "lowest" else -1
    first = min(series, key=lambda place: sign * series[place])
    worst = max(sign * series[place] for place in statement.places)
    ahead = [p for p in series if sign * series[p] < worst and p not in statement.places]
    words = f"{where(first)} ({single(series[first])})"
    return Checked(statement, not ahead, (series[first],), words=words)


def _series(numbers: TableNumbers, statement: Statement) -> dict[Place, float]:
    """Place → number, over the layers, or over the single heads if one is named."""
    by_head = statement.places[0][1] is not None
    cells = {
        key: number.value
        for key, number in numbers.cells.items()
        if key.layer is not None
        and (key.head is not None) == by_head
        and (not statement.among or key.layer in statement.among)
        and numbers.matches(key, statement.given)
    }
    if not cells:
        raise UnreadError(NO_NUMBER)
    if not numbers.classes and "measure" not in statement.given:
        raise UnreadError(NO_MEASURE)
    subjects = list(dict.fromkeys(replace(key, layer=None, head=None) for key in cells))
    if len(subjects) > 1:
        raise UnreadError(left_open(subjects))
    return {(key.layer, key.head): value for key, value in cells.items()}


def _check_comparison(numbers: TableNumbers, statement: Statement) -> Checked:
    """Whether one cell is larger, or smaller, than the other."""
    one = _one_value(numbers, statement)
    other = _one_value(numbers, replace(statement, given=statement.than or {}))
    holds = one >= other if statement.what == "larger" else one <= other
    return Checked(statement, holds, (one, other), words=f"{single(one)} and {single(other)}")
