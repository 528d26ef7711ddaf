"""A `DataSource`, what is to be read and how, becomes a `DataReader`: prompts one at a time.

What is wrong with the request is refused when the source is opened. A row that cannot be used stops
the reading with its place, or is left out and listed in `bad`; it never vanishes. Knows no models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from mindshare.errors import PromptError, nearest
from mindshare.prompts.columns import Columns, choose_columns, require_column
from mindshare.prompts.filters import Filter, parse_filter
from mindshare.prompts.formats import AUTO, open_rows
from mindshare.prompts.prompt import Prompt
from mindshare.prompts.rows import Row
from mindshare.prompts.sampling import sampled

STOP, SKIP = BAD_ROWS = ("stop", "skip")
LOOKED_AT = 100  # rows whose columns are known before the reading begins, where rows have their own


class BadRow(NamedTuple):
    """A row that gave no prompt, and why."""

    place: str
    reason: str


class _Item(NamedTuple):
    place: str
    prompt: Prompt
    named: bool  # by the row, not by its content


@dataclass(frozen=True)
class DataSource:
    """Where prompts are (a path, '-' for standard input, hf:owner/name:split), and which to take.

    `columns` maps parts of a prompt (prompt, text, messages, spans, id, answer, group) to columns.
    `filters` must all hold. `sample` rows are drawn of those that pass them: the ones with the
    smallest hashes of `sample_seed` and row number, in file order. `limit`: the first of these;
    without a sample, what follows them is not read. `bad_rows`: stop there, or skip and list them.
    """

    where: str | Path
    format: str = AUTO
    columns: Mapping[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    sample: int | None = None
    sample_seed: int = 0
    limit: int | None = None
    bad_rows: str = STOP
    marked: bool = False

    def open(self) -> DataReader:
        """Everything that is wrong with the request is refused here."""
        self._check_numbers()
        filters = tuple(parse_filter(written) for written in self.filters)
        rows = open_rows(str(self.where), self.format)
        wanted = {one.column for one in filters}
        if rows.columns is None:
            reading = rows.read(None)
            first = list(islice(reading, LOOKED_AT))
            known = dict.fromkeys(name for row in first for name in row.values or ())
            columns = self._columns(list(known) or None, rows.name, fixed=False)
            self._check_filters(filters, list(known) or None, rows.name)
            return DataReader(self, rows.name, chain(first, reading), columns, filters)
        columns = self._columns(list(rows.columns), rows.name, fixed=True)
        self._check_filters(filters, list(rows.columns), rows.name)
        return DataReader(self, rows.name, rows.read(columns.used | wanted), columns, filters)

    def _columns(self, known: list[str] | None, where: str, *, fixed: bool) -> Columns:
        return choose_columns(self.columns, known, where=where, fixed=fixed, marked=self.marked)

    def _check_filters(
        self, filters: tuple[Filter, ...], known: list[str] | None, where: str
    ) -> None:
        for one in filters if known is not None else ():
            require_column(one.column, known or (), where=where, of=f"filter {one.written!r}")

    def _check_numbers(self) -> None:
        for name, value in (("sample", self.sample), ("limit", self.limit)):
            if value is not None and value < 1:
                raise PromptError(f"{name} is {value}", allowed="1, 2, 3, …")
        if self.bad_rows not in BAD_ROWS:
            raise PromptError(
                f"what to do about bad rows is {self.bad_rows!r}{nearest(self.bad_rows, BAD_ROWS)}",
                allowed=" or ".join(BAD_ROWS),
            )


class DataReader:
    """The prompts of a source, once, one at a time.

    `bad` lists the rows that were left out so far; `rows` counts those read, `kept` the prompts.
    """

    def __init__(
        self,
        source: DataSource,
        name: str,
        rows: Iterator[Row],
        columns: Columns,
        filters: tuple[Filter, ...],
    ) -> None:
        self.source, self.name = source, name
        self.bad: list[BadRow] = []
        self.rows = self.kept = 0
        self._rows, self._columns, self._filters = rows, columns, filters
        self._places: dict[str, str] = {}  # of every id, without the name of the data
        self._again: dict[str, int] = {}  # how often a content came, where it came again
        self._prompts = self._all()

    def __iter__(self) -> DataReader:
        return self

    def __next__(self) -> Prompt:
        return next(self._prompts)

    def _all(self) -> Iterator[Prompt]:
        items: Iterator[_Item] = (item for _, item in self._numbered())
        if self.source.sample is not None:
            items = sampled(self._numbered(), self.source.sample, seed=self.source.sample_seed)
        for prompt in islice(self._named(items), self.source.limit):
            self.kept += 1
            yield prompt
        if not self.kept:
            raise self._nothing()

    def _numbered(self) -> Iterator[tuple[int, _Item]]:
        """What the rows that pass the filters say, with the rows' numbers."""
        for row in self._rows:
            self.rows += 1
            if row.problem is not None:
                self._refuse(row.place, row.problem)
            elif all(one.holds(row.values or {}) for one in self._filters):
                try:
                    item = _Item(row.place, *self._columns.prompt(row.values or {}))
                except PromptError as error:
                    self._refuse(row.place, error)
                else:
                    yield self.rows, item

    def _named(self, items: Iterator[_Item]) -> Iterator[Prompt]:
        """Each with an id that no other has."""
        for place, prompt, named in items:
            name = prompt.id if named else self._free(prompt.id)
            if name in self._places:
                what = f"the id {name!r} is also that of {self._places[name]}"
                self._refuse(place, PromptError(what, allowed="an id once, or none"))
                continue
            self._places[name] = place.removeprefix(f"{self.name}, ")
            yield replace(prompt, id=name, place=place)

    def _free(self, name: str) -> str:
        """The name, or the first of name-2, name-3, … that is free: the same content again."""
        found, number = name, self._again.get(name, 1)
        while found in self._places:
            number += 1
            found = f"{name}-{number}"
        if number > 1:
            self._again[name] = number
        return found

    def _refuse(self, place: str, error: PromptError) -> None:
        where = place
        if error.where is not None and error.where != place:
            where = f"{place}, {error.where}"
        if self.source.bad_rows == SKIP:
            self.bad.append(BadRow(where, error.what))
            return
        step = error.next_step or "mend the row, or leave such rows out with --bad-rows skip"
        raise PromptError(error.what, where=where, allowed=error.allowed, next_step=step) from None

    def _nothing(self) -> PromptError:
        if not self.rows:
            return PromptError(
                "the data has no rows",
                where=self.name,
                next_step="check that the file was written whole, and that it is the right one",
            )
        if self.bad:
            what = f"no row can be used; {len(self.bad)} of {self.rows} are bad, the first of them "
            return PromptError(f"{what}because {self.bad[0].reason}", where=self.bad[0].place)
        return PromptError(
            f"none of {self.rows} rows passes {' and '.join(self.source.filters)}",
            where=self.name,
            next_step="look at the values of the column (numbers are compared as numbers, all "
            "else character by character), or leave the filter out",
        )
