"""A file, a gzip file or standard input becomes lines, and lines become rows: text and JSON Lines.

UTF-8, with or without a byte order mark, kept character for character. One line is held at a time.
Also a JSON array, the one format that is read whole. Does not know which column is the prompt.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from mindshare.errors import PromptError
from mindshare.prompts.rows import Row, Rows, bad_row, broken

STDIN = "-"
GZIP = ".gz"
PARQUET = b"PAR1"  # how such a file begins
LONGEST_LINE = 64 << 20  # bytes: a longer one is no prompt, and must not fill the memory
LARGEST_ARRAY = 256 << 20
_OTHER_FORMAT = (
    "if this is another format than JSON Lines, say which: --format csv, tsv, text or json; if "
    "only this row is bad, mend it, or leave such rows out with --bad-rows skip"
)
ROW_FORM = "one of text, messages or prompt; optional id, spans, answer, group"


def text_rows(where: str) -> Rows:
    """Every line that is not blank, as the column `text`."""

    def read(_: Collection[str] | None = None) -> Iterator[Row]:
        for place, line in _decoded_lines(where):
            if isinstance(line, PromptError):
                yield Row(place, problem=line)
            elif line.strip():
                yield Row(place, {"text": line.removesuffix("\n").removesuffix("\r")})

    return Rows(label(where), ("text",), read)


def jsonl_rows(where: str) -> Rows:
    """A JSON object a line; blank lines are skipped."""

    def read(_: Collection[str] | None = None) -> Iterator[Row]:
        for place, line in _decoded_lines(where):
            if isinstance(line, PromptError):
                yield Row(place, problem=line)
            elif line.strip():
                yield _json_row(place, line)

    return Rows(label(where), None, read)


def json_rows(where: str) -> Rows:
    """The items of a JSON array."""
    name = label(where)
    with opened(where) as file:
        text = _read_at_most(file, LARGEST_ARRAY, name)
    items = parsed(decoded(text, name), name, "a JSON array of objects")
    if not isinstance(items, list):
        raise PromptError(
            f"this JSON is {_kind(items)}, not an array",
            where=name,
            allowed=f"[{{…}}, …]: {ROW_FORM}",
        )

    def read(_: Collection[str] | None = None) -> Iterator[Row]:
        for number, item in enumerate(items, start=1):
            yield _object_row(f"{name}, row {number}", item)

    return Rows(name, None, read)


def _json_row(place: str, line: str) -> Row:
    try:
        return _object_row(place, parsed(line.rstrip(), place, ROW_FORM))
    except PromptError as error:
        if place.endswith(", line 1"):  # perhaps no row of it is JSON
            error = PromptError(error.what, where=place, allowed=ROW_FORM, next_step=_OTHER_FORMAT)
        return Row(place, problem=error)


def _object_row(place: str, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(place, value)
    return bad_row(place, f"the row is {_kind(value)}, not an object", allowed=ROW_FORM)


def _kind(value: Any) -> str:
    return f"a JSON {type(value).__name__}"


def _decoded_lines(where: str) -> Iterator[tuple[str, str | PromptError]]:
    name = label(where)
    for number, line in enumerate(lines(where), start=1):
        place = f"{name}, line {number}"
        try:
            yield place, decoded(line, place)
        except PromptError as error:
            yield place, error


def lines(where: str) -> Iterator[bytes]:
    """The lines, with their ends, one at a time."""
    name, first = label(where), True
    with opened(where) as file:
        while line := _next_line(file, name):
            if first and line.startswith(PARQUET):
                step = "say so: --format parquet"
                raise PromptError("this is a Parquet file, not text", where=name, next_step=step)
            first = False
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                raise PromptError(
                    f"a line has more than {LONGEST_LINE >> 20} MB",
                    where=name,
                    next_step="check that this is the right format (--format)",
                )
            yield line


def _next_line(file: IO[bytes], name: str) -> bytes:
    try:
        return file.readline(LONGEST_LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise broken(name, error) from None


def _read_at_most(file: IO[bytes], most: int, name: str) -> bytes:
    try:
        text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise broken(name, error) from None
    if len(text) > most:
        raise PromptError(
            f"a JSON array is read whole, and this one has more than {most >> 20} MB",
            where=name,
            next_step="write it as JSON Lines, which is read row by row: jq -c '.[]' FILE",
        )
    return text


@contextmanager
def opened(where: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if it is a gzip file, or of standard input (left open)."""
    if where == STDIN:
        if sys.stdin is None:  # closed by whoever started this
            raise PromptError("there is no standard input")
        yield sys.stdin.buffer
        return
    path = checked(where)
    with gzip.open(path) if path.suffix.lower() == GZIP else path.open("rb") as file:
        yield cast(IO[bytes], file)


def label(where: str) -> str:
    """How messages call it."""
    return "standard input" if where == STDIN else where


def checked(path: str | Path) -> Path:
    """The path of a file that can be opened."""
    path = Path(path)
    if path.is_dir():
        raise PromptError("this is a folder, not a file", where=str(path))
    try:
        path.open("rb").close()
    except FileNotFoundError:
        raise PromptError(
            "there is no such file", where=str(path), next_step="check the path"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = getattr(error, "strerror", None) or error
        raise PromptError(f"the file cannot be read: {reason}", where=str(path)) from None
    return path


def decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptError(
            f"byte {error.start} is not UTF-8 (0x{error.object[error.start]:02x})",
            where=where,
            next_step="save the file as UTF-8",
        ) from None


def parsed(text: str, where: str, form: str) -> Any:
    """The value that a JSON text stands for."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}"
        if error.lineno > 1:
            place = f"line {error.lineno}, {place}"
        raise PromptError(
            f"this is not JSON: {error.msg} at {place}", where=where, allowed=form
        ) from None
    except RecursionError:
        raise PromptError("this JSON is nested too deeply", where=where, allowed=form) from None
    except ValueError as error:  # a whole number of more digits than Python reads
        raise PromptError(f"this JSON cannot be read: {error}", where=where, allowed=form) from None
