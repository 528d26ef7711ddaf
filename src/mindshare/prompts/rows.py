"""Text-like files become rows of named values: text, JSON Lines, JSON arrays, CSV and TSV.

All are UTF-8, with or without a byte order mark, kept character for character, and read one line
or record at a time (a JSON array is the one format that is read whole). A row that cannot be read
carries its error instead of values, so that the caller decides whether to stop. Which column is
the prompt is decided in `columns`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
import tempfile
import weakref
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from mindshare.errors import PromptError, nearest
from mindshare.limits import read_whole, require_file

STDIN = "-"
GZIP = ".gz"
PARQUET = b"PAR1"  # first bytes of a Parquet file
LONGEST_LINE = 64 << 20  # bytes: a longer one is no prompt, and must not fill the memory
LARGEST_ARRAY = 256 << 20  # bytes
LONGEST_CELL = 1 << 24  # characters; Python's own limit, 131,072, is less than a long prompt
DETAILS = ("spans", "id", "answer", "choices", "group")  # of a prompt, beside its content
ROW_FORM = f"one of text, messages or prompt; optional {', '.join(DETAILS)}"
HEADER_FORM = "a first line with a name for each column"
_OTHER_FORMAT = (
    "if this is another format than JSON Lines, say which: --format csv, tsv, text or json; if "
    "only this row is bad, mend it, or leave such rows out with --bad-rows skip"
)
_LONG_STEP = (
    "check that this is the right format (--format), or leave such rows out with --bad-rows skip"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its place (file and line), and its values by column or the error it has instead."""

    place: str
    values: Mapping[str, Any] = field(default_factory=dict)
    problem: PromptError | None = None
    size: int = 0  # bytes or characters it was read from, where that is known


@dataclass(frozen=True)
class Rows:
    """Data that can be read row by row, from the start each time `read` is called.

    `columns` is None where every row has its own. `read` takes the columns that are needed (None:
    all) and may leave out the others, so that a wide table costs no more than what is used of it.
    """

    name: str
    columns: tuple[str, ...] | None
    read: Callable[[Collection[str] | None], Iterator[Row]]


def bad_row(
    place: str, what: str, *, allowed: str | None = None, next_step: str | None = None
) -> Row:
    problem = PromptError(what, where=place, allowed=allowed, next_step=next_step)
    return Row(place, problem=problem)


def broken(name: str, error: object) -> PromptError:
    """An error that no single row is to blame for: the file ends too early, the disk fails."""
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return PromptError(
        f"the data cannot be read to the end: {reason}",
        where=name,
        next_step="check that the file is whole",
    )


class DataFile:
    """A file, a gzip file or standard input, which can be read from its start several times."""

    def __init__(self, where: str | Path) -> None:
        self.where = str(where)
        self.name = "standard input" if self.where == STDIN else self.where

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes, unpacked if it is a gzip file; what fails inside the block names the file."""
        file: Any
        if self.where == STDIN:
            file = io.BufferedReader(_Replay(*self._stdin), 1 << 16)
        else:
            path = checked_path(self.where)
            file = (gzip.open if path.suffix.lower() == GZIP else open)(path, "rb")
        try:
            with file:
                yield cast(IO[bytes], file)
        except (OSError, EOFError, zlib.error) as error:
            raise broken(self.name, error) from None

    def lines(self) -> Iterator[bytes | LongLine]:
        """The lines, with their ends, one at a time; of one that is too long, only that it is."""
        with self.open() as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b"")):
                if number == 0 and line.startswith(PARQUET):
                    raise PromptError(
                        "this is a Parquet file, not text",
                        where=self.name,
                        next_step="say so: --format parquet",
                    )
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    long = LongLine(file, line.count(b'"'))
                    del line
                    yield long
                    long.skip()
                else:
                    yield line

    def start(self, size: int) -> bytes:
        """The first bytes, or all if there are fewer."""
        with self.open() as file:
            return file.read(size)

    @cached_property
    def _stdin(self) -> tuple[IO[bytes], IO[bytes]]:
        """Standard input, and a temporary file for a copy of what was read of it."""
        if sys.stdin is None:  # closed by the process that started this one
            raise PromptError("there is no standard input")
        copy = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, copy.close)
        return sys.stdin.buffer, copy


class LongLine:
    """A line of more bytes than any prompt has, of which the rest is yet to be read."""

    problem = f"the line has more than {LONGEST_LINE >> 20} MB"

    def __init__(self, file: IO[bytes], quotes: int) -> None:
        self._file, self._quotes, self._skipped = file, quotes, False

    def skip(self) -> int:
        """Read on to the line's end, keeping nothing; the number of quotes in the whole line."""
        while not self._skipped:
            piece = self._file.readline(1 << 20)
            self._quotes += piece.count(b'"')
            self._skipped = not piece or piece.endswith(b"\n")
        return self._quotes


class _Replay(io.RawIOBase):
    """A stream from its beginning: from its copy as far as that goes, then read and copied."""

    def __init__(self, stream: Any, copy: IO[bytes]) -> None:
        self._stream, self._copy, self._position = stream, copy, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        self._copy.seek(self._position)
        data = self._copy.read(len(view))
        if not data:
            data = self._stream.read1(len(view))
            self._copy.write(data)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def checked_path(path: str | Path) -> Path:
    """The path of a file that can be opened."""
    path = Path(path)
    with _readable(path):
        require_file(path)
        path.open("rb").close()
    if str(path).encode("utf-8", "replace").decode() != str(path):  # a row's place is kept as text
        raise PromptError(f"the file's name {str(path)!r} is no UTF-8", next_step="rename it")
    return path


def file_content(path: str | Path) -> bytes:
    """All bytes of a file that holds one prompt."""
    path = Path(path)
    with _readable(path):
        return read_whole(path)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Why a file can't be read is said with its name."""
    if os.path.isdir(path):
        raise PromptError("this is a folder, not a file", where=str(path))
    try:
        yield
    except FileNotFoundError:
        raise PromptError(
            f"there is no such file{nearest(path.name, _beside(path))}",
            where=str(path),
            next_step="check the path",
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = getattr(error, "strerror", None) or error
        raise PromptError(f"the file cannot be read: {reason}", where=str(path)) from None


def _beside(path: Path) -> list[str]:
    """Names of files in the same folder, a thousand at most."""
    with suppress(OSError), os.scandir(path.parent) as files:
        return [file.name for file in islice(files, 1000)]
    return []


def decoded(data: bytes, where: str) -> str:
    try:
        return data.removeprefix(BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise PromptError(
            f"byte {error.start} is not UTF-8 (0x{error.object[error.start]:02x})",
            where=where,
            next_step="save the file as UTF-8",
        ) from None


class RepeatedKeyError(PromptError):
    """JSON in which a key stands twice in one object: nobody knows which value is meant."""


def parsed(text: str, where: str, form: str, *, repeated: bool = False) -> Any:
    """The value that a JSON text stands for; `repeated`: the last value of a key is taken."""
    try:
        return (json.loads if repeated else _UNIQUE.decode)(text)
    except RepeatedKeyError as error:
        raise RepeatedKeyError(error.what, where=where, allowed="each key once") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        problem = f"this is not JSON: {error.msg} at {line}column {error.colno}"
    except RecursionError:
        problem = "this JSON is nested too deeply"
    except ValueError as error:  # a whole number of more digits than Python reads
        problem = f"this JSON cannot be read: {error}"
    raise PromptError(problem, where=where, allowed=form)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise RepeatedKeyError(f"the key {key!r} stands twice in one object of this JSON")
    return found


_UNIQUE = json.JSONDecoder(object_pairs_hook=_each_once)


def text_rows(file: DataFile) -> Rows:
    """Every line that is not blank, as the column `text`."""

    def values(line: str, _: str) -> dict[str, str]:
        return {"text": line.removesuffix("\n").removesuffix("\r")}

    return Rows(file.name, ("text",), lambda _: _line_rows(file, values))


def jsonl_rows(file: DataFile) -> Rows:
    """One JSON object per line; blank lines are skipped."""

    def values(line: str, place: str) -> Mapping[str, Any]:
        try:
            return _object(parsed(line.rstrip(), place, ROW_FORM), place)
        except PromptError as error:
            # If the very first line is no JSON, perhaps none is.
            step = _OTHER_FORMAT if place.endswith(", line 1") else None
            raise error.within(place, next_step=step) from None

    return Rows(file.name, None, lambda _: _line_rows(file, values))


def _line_rows(file: DataFile, values: Callable[[str, str], Mapping[str, Any]]) -> Iterator[Row]:
    """A row per line that is not blank; `values` are made of the line and its place."""
    for number, data in enumerate(file.lines(), start=1):
        place = f"{file.name}, line {number}"
        if isinstance(data, LongLine):
            yield bad_row(place, data.problem, next_step=_LONG_STEP)
            continue
        try:
            line = decoded(data, place)
            if line.strip():
                yield Row(place, values(line, place), size=len(data))
        except PromptError as error:
            yield Row(place, problem=error, size=len(data))


def json_rows(file: DataFile) -> Rows:
    """The items of a JSON array."""
    name, text = file.name, file.start(LARGEST_ARRAY + 1)
    if len(text) > LARGEST_ARRAY:
        raise PromptError(
            f"a JSON array is read whole, and this one has more than {LARGEST_ARRAY >> 20} MB",
            where=name,
            next_step="write it as JSON Lines, which is read row by row: jq -c '.[]' FILE",
        )
    written, form = decoded(text, name), "a JSON array of objects"
    try:
        items = parsed(written, name, form)
    except RepeatedKeyError:
        items = parsed(written, name, form, repeated=True)
        items = list(_items(written)) if isinstance(items, list) else items
    if not isinstance(items, list):
        raise PromptError(
            f"this JSON is a JSON {type(items).__name__}, not an array",
            where=name,
            allowed=f"[{{…}}, …]: {ROW_FORM}",
        )

    def read(_: Collection[str] | None) -> Iterator[Row]:
        for number, item in enumerate(items, start=1):
            place = f"{name}, row {number}"
            try:
                yield Row(place, _object(item, place))
            except PromptError as error:
                yield Row(place, problem=error)

    return Rows(name, None, read)


def _items(array: str) -> Iterator[Any]:
    """What an array holds, or the error of an item in which a key stands twice."""
    scan, at = json.JSONDecoder().raw_decode, array.index("[") + 1
    while array[at] != "]":
        if array[at] in ", \t\r\n":
            at += 1
            continue
        start, at = at, scan(array, at)[1]
        try:
            yield _UNIQUE.decode(array[start:at])
        except RepeatedKeyError as error:
            yield error


def _object(value: Any, place: str) -> dict[str, Any]:
    if isinstance(value, RepeatedKeyError):
        raise value.within(place)
    if not isinstance(value, dict):
        what = f"the row is a JSON {type(value).__name__}, not an object"
        raise PromptError(what, where=place, allowed=ROW_FORM)
    return value


def csv_rows(file: DataFile, delimiter: str = ",") -> Rows:
    """The records below the header; an empty cell is no value.

    A record is numbered from 1 below the header; its line is where it begins, because a quoted cell
    may run over several lines.
    """
    header = _header(file, delimiter)

    def read(_: Collection[str] | None) -> Iterator[Row]:
        records = islice(_records(file, delimiter), 1, None)
        for number, (line, cells, problem) in enumerate(records, start=1):
            place = f"{file.name}, row {number}, line {line}"
            if problem:
                yield bad_row(place, problem)
            elif len(cells) != len(header):
                yield bad_row(
                    place,
                    f"the row has {len(cells)} cells, the header {len(header)}",
                    allowed=f"a cell for each of {', '.join(header)}",
                )
            else:
                pairs = zip(header, cells, strict=True)
                values = {column: cell or None for column, cell in pairs}
                yield Row(place, values, size=sum(map(len, cells)))

    return Rows(file.name, header, read)


def _records(file: DataFile, delimiter: str) -> Iterator[tuple[int, list[str], str | None]]:
    """Each record that is not blank: the line it begins at, its cells, what is wrong with it."""
    number = quotes = 0  # of lines so far; of quotes in the record that is being read
    bad: str | None = None  # what is wrong with one of its lines

    def text() -> Iterator[str]:
        nonlocal number, quotes, bad
        for data in file.lines():
            number += 1
            if isinstance(data, LongLine):  # as a line that opens and closes the same quotes
                bad, line = data.problem, '"\n' if data.skip() % 2 else "\n"
            else:
                try:
                    line = decoded(data, file.name)
                except PromptError as error:  # the record goes on, so that the next begins rightly
                    bad = f"{error.what} in line {number}"
                    line = data.decode("utf-8", errors="replace")
            quotes += line.count('"')
            yield line

    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    lines = text()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first, quotes, bad = number + 1, 0, None
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            kind = "CSV" if delimiter == "," else "TSV"
            if "field limit" in str(error):  # the rest of a quoted cell is no record
                while quotes % 2 and next(lines, None) is not None:
                    pass
            yield first, [], f"this is not {kind}: {error}"
            continue
        if bad or cells:  # a blank line has no cells
            yield first, cells, bad


def _header(file: DataFile, delimiter: str) -> tuple[str, ...]:
    where = f"{file.name}, header"
    first = next(_records(file, delimiter), None)
    if first is None:
        raise PromptError(
            "the data has no rows, not even a header", where=file.name, allowed=HEADER_FORM
        )
    _, cells, problem = first
    if problem:
        raise PromptError(problem, where=where, allowed=HEADER_FORM)
    header = tuple(cell.strip() for cell in cells)
    if header[0].startswith(("{", "[")):
        raise PromptError(
            "the first line is JSON, not a header",
            where=file.name,
            allowed=HEADER_FORM,
            next_step="say what it is: --format jsonl (one object per line) or json (an array)",
        )
    column, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise PromptError(f"two columns are named {column!r}", where=where, allowed=HEADER_FORM)
    return header
