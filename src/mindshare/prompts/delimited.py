"""CSV and TSV become rows, one record at a time; a quoted cell may run over several lines.

The first record names the columns. An empty cell is no value. A record is numbered from 1 below the
header, and its line is where it begins. Does not know which column is the prompt.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from mindshare.errors import PromptError
from mindshare.prompts.lines import STDIN, decoded, label, lines
from mindshare.prompts.rows import Row, Rows, bad_row

DELIMITERS = {"csv": ",", "tsv": "\t"}
LONGEST_CELL = 1 << 24  # characters; Python's own limit, 131,072, is less than a long prompt
HEADER_FORM = "a first line with a name for each column"


def delimited_rows(where: str, format: str) -> Rows:
    """The records below the header."""
    records = _Records(where, DELIMITERS[format])
    reading = iter(records)
    header = _header(reading, label(where))

    def read(_: Collection[str] | None = None) -> Iterator[Row]:
        # A file is opened again, so that no folder of files holds them all open.
        below = reading if where == STDIN else islice(records, 1, None)
        for number, record in enumerate(below, start=1):
            place = f"{label(where)}, row {number}, line {record.line}"
            yield _row(place, record, header)

    return Rows(label(where), header, read)


@dataclass(frozen=True)
class _Record:
    line: int
    cells: Sequence[str] = ()
    problem: str | None = None


@dataclass
class _Records:
    """Cells of each record and the line it begins at; what cannot be read as a reason."""

    where: str
    delimiter: str
    _undecoded: str | None = field(default=None, init=False)

    def __iter__(self) -> Iterator[_Record]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
        reader = csv.reader(self._text(), delimiter=self.delimiter, strict=True)
        while True:
            line, self._undecoded = reader.line_num + 1, None
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield _Record(line, problem=f"this is not {self._name}: {error}")
                continue
            if self._undecoded or cells:  # a blank line has no cells
                yield _Record(line, cells, self._undecoded)

    def _text(self) -> Iterator[str]:
        for number, line in enumerate(lines(self.where), start=1):
            try:
                yield decoded(line, self.where)
            except PromptError as error:  # the record goes on, so that the next begins in its place
                self._undecoded = f"{error.what} in line {number}"
                yield line.decode("utf-8", errors="replace")

    @property
    def _name(self) -> str:
        return "CSV" if self.delimiter == "," else "TSV"


def _header(reading: Iterator[_Record], name: str) -> tuple[str, ...]:
    first = next(reading, None)
    if first is None:
        raise PromptError(
            "the data has no rows, not even a header", where=name, allowed=HEADER_FORM
        )
    if first.problem:
        raise PromptError(first.problem, where=f"{name}, header", allowed=HEADER_FORM)
    header = tuple(cell.strip() for cell in first.cells)
    if header[0].startswith(("{", "[")):
        raise PromptError(
            "the first line is JSON, not a header",
            where=name,
            allowed=HEADER_FORM,
            next_step="say what the data is: --format jsonl (an object a line) or json (an array)",
        )
    twice = [column for column, times in Counter(header).items() if times > 1]
    if twice:
        raise PromptError(
            f"two columns are named {twice[0]!r}", where=f"{name}, header", allowed=HEADER_FORM
        )
    return header


def _row(place: str, record: _Record, header: tuple[str, ...]) -> Row:
    if record.problem:
        return bad_row(place, record.problem)
    if len(record.cells) != len(header):
        return bad_row(
            place,
            f"the row has {len(record.cells)} cells, the header {len(header)}",
            allowed=f"a cell for each of {', '.join(header)}",
        )
    cells = zip(header, record.cells, strict=True)
    return Row(place, {column: cell or None for column, cell in cells})
