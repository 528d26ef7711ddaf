"""Statements of a text × numbers of a table → which statements hold.

A number holds if the table's lies within half a unit of its last written digit, plus the tolerance;
"about" and "~" double both. One with the wrong sign never holds. A statement that does not say
enough (which layer? which model?) is not guessed at: it is unread, with the reason. So is one
about a layer that the table does not have.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pyarrow as pa

from mindshare.errors import OutputError
from mindshare.facts.cells import ADDITIVE, Key, Number, Numbers, Place, charts_of, metadata
from mindshare.facts.words import UNITS, inserted, name, phrase, single, where, word
from mindshare.folders import MANIFEST, read_folder
from mindshare.stats import MEASURES
from mindshare_checker.claims import UNREAD_CLAIM, ClaimRead, read_claims
from mindshare_checker.statements import Statement, about, read_statements
from mindshare_checker.text import Given, Name, Vocabulary, Written, aliases, lines_of

PARTS = ("model", "layer", "head", "token_class", "condition", "measure")  # of a key
NO_NUMBER = "the table has no such number"
NO_MEASURE = "it is not said which measure"
NO_CLASS = "it is not said which token class"
_ORDERS = ("highest", "lowest", "most", "larger", "smaller")  # claims, too
_QUOTED = 80  # characters of a sentence in a message
_SLACK = 1e-9  # relative and absolute: rounding of binary floats
_TELLING = {  # words of sentences and alt texts → the measure that numbers near them are of
    "the compared classes' attention": "share",
    "the average token": "lift",
    "looked at": "mass",
    "carried": "contribution",
}
_LOOKED_AT = ("mass", "contribution")  # in a table of uses, beside the effects
_ALLOWED = "a .parquet or .csv file of a chart, or a folder of results"


class UnreadError(Exception):
    """A statement that can't be looked up in the table; the message is the reason."""


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
    value = getattr(number, statement.what)
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
        raise UnreadError(_left_open(subjects))
    return {(key.layer, key.head): value for key, value in cells.items()}


def _check_comparison(numbers: TableNumbers, statement: Statement) -> Checked:
    """Whether one cell is larger, or smaller, than the other."""
    one = _one_value(numbers, statement)
    other = _one_value(numbers, replace(statement, given=statement.than or {}))
    holds = one >= other if statement.what == "larger" else one <= other
    return Checked(statement, holds, (one, other), words=f"{single(one)} and {single(other)}")


# The table.


def read_tables(path: str | Path) -> dict[str, pa.Table]:
    """The tables of saved results, or the one table of a file, for `check_description`."""
    path = Path(path)
    if not os.path.isdir(path):
        table = _with_measure(_read_file(path), path.stem)
        charts_of({"summary": table})  # refuses a table without means
        return {"summary": table}
    if not os.path.isfile(path / MANIFEST):
        raise OutputError(
            f"{path} is not a folder of mindshare results: it has no {MANIFEST}",
            allowed=_ALLOWED,
            next_step="name a folder that `mindshare shares`, `head-map` or `insert` wrote",
        )
    return dict(read_folder(path, as_labelled=True)[0])


def _read_file(path: Path) -> pa.Table:
    import pyarrow.parquet as pq
    from pyarrow import csv

    readers = {".parquet": pq.read_table, ".csv": csv.read_csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise OutputError(f"{path} is no table", allowed=_ALLOWED)
    try:
        return reader(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{path} can't be read as a table ({type(error).__name__}: {error})", allowed=_ALLOWED
        ) from error


def _with_measure(table: pa.Table, stem: str) -> pa.Table:
    """A CSV file does not say its measure; the name of a chart's does: `class_bars_lift`."""
    recorded = metadata(table)
    measures = [part for part in stem.split("_") if part in MEASURES]
    if "mindshare.measure" in recorded or not measures:
        return table
    return table.replace_schema_metadata(recorded | {"mindshare.measure": measures[0]})


@dataclass(frozen=True)
class TableNumbers(Numbers):
    """The numbers of all charts of a folder; where two hold the same cell, the first one's.

    Classes of several charts may overlap, so each chart keeps how much of everything it shows.
    """

    charts: tuple[Numbers, ...] = ()

    @classmethod
    def of(cls, tables: pa.Table | Mapping[str, pa.Table]) -> TableNumbers:
        """One table, or all tables of saved results by name."""
        charts = charts_of({"summary": tables} if isinstance(tables, pa.Table) else tables)
        cells: dict[Key, Number] = {}
        for chart in charts:
            cells = chart.cells | cells
        uses = None if isinstance(tables, pa.Table) else tables.get("uses")
        for row, measure in product([] if uses is None else uses.to_pylist(), _LOOKED_AT):
            if row[measure] is not None:
                place = (measure, row["model"], row["layer"], row["head"])
                cells[Key(*place, token_class=row["class"])] = Number(row[measure])
        return cls(cells, charts[0].measure, charts[0].about, charts[0].queries, tuple(charts))

    @property
    def vocabulary(self) -> Vocabulary:
        """The names that the tables know, and what else people call them."""
        named = {"token_class": self.classes, "condition": self.conditions, "model": self.models}
        names = {name: Name(part, name) for part, words in named.items() for name in words}
        for alias, token_class in aliases(self.classes).items():
            names.setdefault(alias, Name("token_class", token_class))
        says = (word, phrase) if self.conditions else (word,)
        phrases = {say(m): Name("measure", m) for say in says for m in self.measures}
        phrases |= {m.replace("_", " "): Name("measure", m) for m in self.measures}
        phrases |= {w: Name("measure", m) for w, m in _TELLING.items() if m in self.measures}
        for condition in self.conditions:
            if inserted(condition) != name(condition):
                phrases[inserted(condition)] = Name("condition", condition)
        return Vocabulary(names, {words.casefold(): one for words, one in phrases.items()})

    def counts(self, what: str) -> list[int]:
        """How many layers, heads, prompts, … each chart shows; none if they are not counted."""
        if what in ("insertions", "conditions"):
            return [len(self.conditions)]
        if what == "heads":  # of a layer, or of all layers
            heads = [
                {(key.layer, key.head) for key in chart.cells if key.head is not None}
                for chart in self.charts
            ]
            return [len(chart.heads) for chart in self.charts] + [len(each) for each in heads]
        of_chart: dict[str, Callable[[Numbers], int]] = {
            "prompts": lambda chart: chart.n_prompts,
            "layers": lambda chart: len(chart.layers),
            "models": lambda chart: len(chart.models),
            "classes": lambda chart: len(chart.named),
        }
        return [of_chart[what](chart) for chart in self.charts] if what in of_chart else []

    def whole(self, token_class: str | None) -> tuple[str, ...]:
        """The set of classes that this one is of, if there is but one such."""
        sets = dict.fromkeys(tuple(chart.named) for chart in self.charts)
        fitting = [each for each in sets if token_class is None or token_class in each]
        return fitting[0] if len(fitting) == 1 and self.measure in ADDITIVE else ()

    def lookup(self, statement: Statement) -> dict[Key, Number]:
        """The cells that a statement is about, several only if it speaks about several.

        A part that it leaves open is filled in only if the table leaves no choice.
        """
        given = statement.given
        several = statement.number.relation != "=" or statement.upto is not None
        if not given:
            raise UnreadError("it is not said what this number is about")
        if not self.classes and "measure" not in given:
            raise UnreadError(NO_MEASURE)
        if several and self.classes and "token_class" not in given:
            raise UnreadError(NO_CLASS)
        if statement.times and UNITS.get(given.get("measure", self.measure)) != " times":
            raise UnreadError("a ratio, and not clearly said of what")
        key = None if several else self._exact(given)
        if key is not None:
            return {key: self.cells[key]}
        cells = {key: n for key, n in self.cells.items() if self.matches(key, given)}
        for part in ("layer", "head"):  # not named: the mean over them, if the table has it
            means = {key: n for key, n in cells.items() if getattr(key, part) is None}
            if part not in given and means:
                cells = means
        if not cells:
            raise UnreadError(NO_NUMBER)
        if len(cells) > 1 and not several:
            raise UnreadError(_left_open(list(cells)))
        return cells

    def _exact(self, given: Given) -> Key | None:
        """The one cell, without a search: most statements name everything."""
        known = {
            "measure": [self.measure] if self.classes else self.measures,
            "model": self.models,
            "token_class": self.classes,
            "condition": self.conditions,
        }
        filled = {part: names[0] for part, names in known.items() if len(names) == 1}
        wanted: Given = {"measure": "", "model": ""} | filled | given
        if any(isinstance(value, tuple) for value in wanted.values()):
            return None
        key = Key(**wanted)
        return key if key in self.cells else None

    def matches(self, key: Key, given: Given) -> bool:
        """Whether a key has every part that is given; of the main measure, if none is named."""
        if "measure" not in given and self.classes and key.measure != self.measure:
            return False
        if key.against != given.get("against"):
            return False
        for part in given.keys() & set(PARTS):
            wanted, value = given[part], getattr(key, part)
            if value not in wanted if isinstance(wanted, tuple) else value != wanted:
                return False
        return True


def _left_open(keys: list[Key]) -> str:
    """What the statement should have said."""
    parts = [part for part in PARTS if len({getattr(key, part) for key in keys}) > 1]
    return "it is not said " + " and ".join(f"which {part.replace('_', ' ')}" for part in parts)
