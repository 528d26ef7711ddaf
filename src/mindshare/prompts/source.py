"""A `DataSource` says what is to be read and how; opened, it gives `Prompts`, read row by row.

What is wrong with the request is refused when the source is opened. A row that cannot be used stops
the reading, or is left out and listed in `bad`; it never vanishes. The data is read anew each time
the prompts are gone through; what is held meanwhile is 8 bytes of hash per id. Also here: the one
prompt of a text file or a chat file.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mindshare.errors import PromptError, nearest
from mindshare.prompts.columns import (
    Columns,
    Filter,
    choose_columns,
    listed,
    parse_filter,
    require_column,
    tested,
)
from mindshare.prompts.formats import AUTO, open_rows
from mindshare.prompts.prompt import Prompt
from mindshare.prompts.rows import DETAILS, Row, Rows, decoded, file_content, parsed

STOP, SKIP = BAD_ROWS = ("stop", "skip")
# Of a sample: drawn once; of a larger one the numbers, and it is read again.
KEPT_ROWS, KEPT_BYTES = 1_000, 64 << 20
FIRST_ROWS = 100  # whose columns are looked at before the reading, where rows have their own
_EARLIER = (
    "an earlier row"  # where only 64-bit hashes agree: 3 in 100 million files of a million rows
)
CHAT_FORM = 'a list of {"role", "content"}, or {"messages": [...], "spans": {...}, "id": "..."}'


class BadRow(NamedTuple):
    """A row that gave no prompt, and why."""

    place: str
    reason: str


@dataclass(frozen=True)
class DataSource:
    """Where prompts are (a path, '-' for standard input, hf:owner/name:split), and which to take.

    `columns` maps parts of a prompt (prompt, text, messages, spans, id, answer, choices, group) to
    columns. `filters` must all hold. `sample` rows are drawn of those that pass them: the ones with
    the smallest hashes of `sample_seed` and row number, in file order. `limit`: the first of these;
    without a sample, what follows them is not read. `bad_rows`: stop there, or skip and list them.
    """

    where: str | Path | Rows
    format: str = AUTO
    columns: Mapping[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    sample: int | None = None
    sample_seed: int = 0
    limit: int | None = None
    bad_rows: str = STOP
    marked: bool = False

    def open(self) -> Prompts:
        """The prompts, none of them read yet; raises if anything about the request is wrong."""
        for name, value in (("sample", self.sample), ("limit", self.limit)):
            if value is not None and value < 1:
                raise PromptError(f"{name} is {value}", allowed="1, 2, 3, …")
        if self.bad_rows not in BAD_ROWS:
            raise PromptError(
                f"what to do about bad rows is {self.bad_rows!r}{nearest(self.bad_rows, BAD_ROWS)}",
                allowed=" or ".join(BAD_ROWS),
            )
        filters = tuple(parse_filter(written) for written in self.filters)
        where = self.where
        rows = where if isinstance(where, Rows) else open_rows(str(where), self.format)
        names = rows.columns
        if names is None:
            first = islice(rows.read(None), FIRST_ROWS)
            names = tuple(dict.fromkeys(name for row in first for name in row.values)) or None
        columns = choose_columns(
            self.columns,
            names,
            where=rows.name,
            fixed=rows.columns is not None,
            marked=self.marked,
        )
        for test in filters:
            if names is not None:
                require_column(test.column, names, where=rows.name, of=f"filter {test.written!r}")
        return Prompts(self, rows, columns, filters)


@dataclass
class _Tally:
    """What one pass over the data has counted so far."""

    rows: int = 0
    kept: int = 0
    bad: list[BadRow] = field(default_factory=list)
    repeated: dict[int, str] = field(default_factory=dict)  # index in `bad` → id that came before


class _GoodRow(NamedTuple):
    number: int  # of the row, from 1
    row: Row
    made: tuple[Prompt, bool] | None  # None: not yet, but it can be


class Prompts:
    """The prompts of a source, one at a time, as often as needed.

    `bad` lists the rows that were left out: so far in the latest pass, for good once a pass has
    come to its end. Then `len` is known, too.
    """

    def __init__(
        self, source: DataSource, rows: Rows, columns: Columns, filters: tuple[Filter, ...]
    ) -> None:
        self.source, self.name = source, rows.name
        self._rows, self._columns, self._filters = rows, columns, filters
        self._tally = _Tally()
        # What was drawn (the rows, or the numbers of more than are kept), and all that pass.
        self._sample: tuple[list[_GoodRow] | frozenset[int], _Tally] | None = None
        self._digest: bytes | None = None  # of all ids, once they have been read

    @property
    def bad(self) -> list[BadRow]:
        return self._tally.bad

    def __len__(self) -> int:
        # A TypeError is what list() and the like expect where a length is not known.
        if self._digest is None:
            raise TypeError(
                "prompts are counted by reading them: go through them, or use counted()"
            )
        return self._tally.kept

    def counted(self) -> int:
        """How many there are; reads all of them once, unless that was done."""
        if self._digest is None:
            for _ in self:
                pass
        return self._tally.kept

    def __iter__(self) -> Iterator[Prompt]:
        tally, digest = _Tally(), blake2b(digest_size=16)
        if self._digest is None:
            self._tally = tally
        limit = None if self.source.limit is None else min(self.source.limit, sys.maxsize)
        for prompt in islice(self._distinct(tally), limit):
            tally.kept += 1
            digest.update(f"{prompt.id}\0".encode())
            yield prompt
        if not tally.kept:
            raise self._no_prompts(tally)
        if tally.repeated:
            places = self._places_of(set(tally.repeated.values()))
            for index, name in tally.repeated.items():
                reason = f"the id {name!r} is also that of {places.get(name, _EARLIER)}"
                tally.bad[index] = tally.bad[index]._replace(reason=reason)
        if self._digest not in (None, digest.digest()):
            raise PromptError(
                "the data is not what it was when it was first read",
                where=self.name,
                next_step="leave it as it is until everything is measured",
            )
        self._digest = digest.digest()

    def _distinct(self, tally: _Tally) -> Iterator[Prompt]:
        """The prompts that were asked for; a row whose id came before is a bad row."""
        for prompt, is_new in self._named(tally):
            if is_new:
                yield prompt
            elif self.source.bad_rows == SKIP:  # the other row is looked up after the pass
                tally.repeated[len(tally.bad)] = prompt.id
                tally.bad.append(BadRow(str(prompt.place), ""))
            else:
                other = self._places_of({prompt.id}).get(prompt.id, _EARLIER)
                problem = f"the id {prompt.id!r} is also that of {other}"
                error = PromptError(problem, allowed="an id once, or none")
                self._leave_out(str(prompt.place), error, tally)

    def _places_of(self, ids: set[str]) -> dict[str, str]:
        """The first places of these ids: only hashes are held, so the data is read once more."""
        places: dict[str, str] = {}
        for prompt, _ in self._named(_Tally()):
            if prompt.id in ids:
                places.setdefault(prompt.id, str(prompt.place).removeprefix(f"{self.name}, "))
            if len(places) == len(ids):
                break
        return places

    def _named(self, tally: _Tally) -> Iterator[tuple[Prompt, bool]]:
        """Each prompt, and whether its id is new; content that comes again gets a number."""
        ids = IdSet()
        for _, row, made in self._sampled_rows(tally):
            prompt, has_id = made or self._columns.prompt(row.values, row.place)
            free = prompt.id if has_id else ids.free(prompt.id)
            named = prompt if free == prompt.id else replace(prompt, id=free)
            yield named, ids.add(free)

    def _sampled_rows(self, tally: _Tally) -> Iterator[_GoodRow]:
        """The good rows that are in the sample, or all if there is none."""
        size = self.source.sample
        if size is None:
            yield from self._good_rows(tally)
            return
        if self._sample is None:
            drawn = _drawn(self._good_rows(tally), size, self.source.sample_seed)
            self._sample = drawn, _Tally(tally.rows, bad=list(tally.bad))
        chosen, whole = self._sample
        tally.rows, tally.bad[:] = whole.rows, whole.bad
        yield from (chosen if isinstance(chosen, list) else self._good_rows(_Tally(), only=chosen))

    def _good_rows(
        self, tally: _Tally, *, only: frozenset[int] | None = None
    ) -> Iterator[_GoodRow]:
        """The rows that pass the filters and hold a prompt; `only`: of these row numbers."""
        wanted = None
        if self._rows.columns is not None:
            wanted = self._columns.used | {test.column for test in self._filters}
        rows = self._rows.read(wanted)
        numbers: Iterator[int] = count(1)
        if only is not None:
            chosen = islice(rows, max(only, default=0))
            rows = (row for number, row in enumerate(chosen, start=1) if number in only)
            numbers = iter(sorted(only))
        for number, (row, passes) in zip(numbers, tested(rows, self._filters), strict=False):
            tally.rows += 1
            if row.problem is not None:
                self._leave_out(row.place, row.problem, tally)
            elif passes:
                made = None
                if not self._columns.surely_hold_a_prompt(row.values):
                    try:
                        made = self._columns.prompt(row.values, row.place)
                    except PromptError as error:
                        self._leave_out(row.place, error, tally)
                        continue
                yield _GoodRow(number, row, made)

    def _leave_out(self, place: str, error: PromptError, tally: _Tally) -> None:
        """List a bad row, or stop at it: the one place where rows are refused."""
        step = "mend the row, or leave such rows out with --bad-rows skip"
        error = error.within(place, next_step=error.next_step or step)
        if self.source.bad_rows == STOP:
            raise error from None
        tally.bad.append(BadRow(str(error.where), error.what))

    def _no_prompts(self, tally: _Tally) -> PromptError:
        if not tally.rows:
            return PromptError(
                "the data has no rows",
                where=self.name,
                next_step="check that the file was written whole, and that it is the right one",
            )
        if tally.bad:
            place, reason = tally.bad[0]
            what = f"no row can be used; {len(tally.bad)} of {tally.rows} are bad, the first of "
            return PromptError(f"{what}them because {reason}", where=place)
        return PromptError(
            f"none of {tally.rows} rows passes {' and '.join(self.source.filters)}",
            where=self.name,
            next_step="look at the values of the column (numbers are compared as numbers, all "
            "else character by character), or leave the filter out",
        )


class IdSet:
    """Ids by 8 bytes of their hash: about 13 bytes per id, where a set of texts takes 130."""

    def __init__(self) -> None:
        self._sorted = np.empty(0, np.uint64)
        self._recent: set[int] = set()

    def __contains__(self, name: str) -> bool:
        return self._has(self._key(name))

    def add(self, name: str) -> bool:
        """Whether it is new."""
        key = self._key(name)
        if self._has(key):
            return False
        self._recent.add(key)
        # A set takes about 75 bytes per number, so it is kept to a small part of them.
        if len(self._recent) > max(1 << 12, len(self._sorted) >> 4):
            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            recent.sort()
            self._sorted = np.concatenate([self._sorted, recent])
            self._sorted.sort(kind="stable")  # two sorted runs: a merge
            self._recent = set()
        return True

    def _has(self, key: int) -> bool:
        if key in self._recent:
            return True
        at = int(self._sorted.searchsorted(np.uint64(key)))
        return at < len(self._sorted) and int(self._sorted[at]) == key

    def free(self, name: str) -> str:
        """The name, or if it is taken name-2, name-3, …: the same content again."""
        if name not in self:
            return name
        taken, free = 1, 2
        while f"{name}-{free}" in self:
            taken, free = free, 2 * free
        while free - taken > 1:
            middle = (taken + free) // 2
            taken, free = (middle, free) if f"{name}-{middle}" in self else (taken, middle)
        return f"{name}-{free}"

    @staticmethod
    def _key(name: str) -> int:
        return int.from_bytes(blake2b(name.encode(), digest_size=8).digest())


def rank(seed: int, number: int) -> int:
    """Where a row stands in the order that a seed puts all rows in: a 64-bit number."""
    return int.from_bytes(sha256(f"{seed}:{number}".encode()).digest()[:8])


def sample_numbers(numbers: Iterable[int], size: int, *, seed: int) -> list[int]:
    """The `size` numbers of the lowest rank, in order, or all if there are fewer.

    So the same seed and the same rows give the same sample on every machine, a larger sample
    contains a smaller one, and no more than `size` numbers are held at a time.
    """
    return sorted(heapq.nsmallest(size, numbers, key=_by_rank(seed)))


def _by_rank(seed: int) -> Callable[[int], tuple[int, int]]:
    return lambda number: (rank(seed, number), number)


def _drawn(rows: Iterator[_GoodRow], size: int, seed: int) -> list[_GoodRow] | frozenset[int]:
    """The rows of a sample, or only their numbers where the rows would fill the memory."""
    kept: list[tuple[int, int, _GoodRow]] = []  # a heap: the highest rank stands first
    held = 0
    while size <= KEPT_ROWS and held <= KEPT_BYTES:
        good = next(rows, None)
        if good is None:
            return sorted((good for *_, good in kept), key=lambda good: good.number)
        entry = (-rank(seed, good.number), -good.number, good)
        held += good.row.size
        if len(kept) < size:
            heapq.heappush(kept, entry)
        else:
            held -= heapq.heappushpop(kept, entry)[-1].row.size
    numbers = chain((good.number for *_, good in kept), (good.number for good in rows))
    return frozenset(sample_numbers(numbers, size, seed=seed))


def read_text(path: str | Path, *, marked: bool = False) -> Prompt:
    """The whole file as one text prompt; with `marked`, marks in it become spans."""
    return _one_prompt(path, Columns((("text", "text"),), {}, marked), lambda text: {"text": text})


def read_chat(path: str | Path, *, marked: bool = False) -> Prompt:
    """A JSON file of chat messages as one prompt."""

    def row(text: str) -> Mapping[str, Any]:
        value = parsed(text, str(path), CHAT_FORM)
        values = {"messages": value} if isinstance(value, list) else value
        if isinstance(values, dict) and "messages" in values:
            return values
        fields = listed(values) if isinstance(values, dict) else type(value).__name__
        raise PromptError(f"no chat here; found: {fields}", allowed=CHAT_FORM)

    columns = Columns((("messages", "messages"),), {part: part for part in DETAILS}, marked)
    return _one_prompt(path, columns, row)


def _one_prompt(
    path: str | Path, columns: Columns, row: Callable[[str], Mapping[str, Any]]
) -> Prompt:
    """The prompt of a file that is read as a single row."""
    text = decoded(file_content(path), str(path))
    try:
        return columns.prompt(row(text), str(path))[0]
    except PromptError as error:
        raise error.within(str(path)) from None
