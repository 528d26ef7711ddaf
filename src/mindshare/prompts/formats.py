"""Where the data is and what it is said to be become its rows: one line a format.

A name's ending says the format; where it does not, the first bytes may. What could be read in two
ways is refused, never guessed. Does not know which column is the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from mindshare.errors import PromptError, nearest
from mindshare.prompts.arrow import SPLITS, STATE, dataset_rows, is_dataset, parquet_rows
from mindshare.prompts.delimited import delimited_rows
from mindshare.prompts.hub import PREFIX, hub_rows
from mindshare.prompts.lines import (
    GZIP,
    PARQUET,
    STDIN,
    checked,
    json_rows,
    jsonl_rows,
    opened,
    text_rows,
)
from mindshare.prompts.rows import Row, Rows, broken

AUTO = "auto"
READERS: dict[str, Callable[[str], Rows]] = {
    "text": text_rows,
    "jsonl": jsonl_rows,
    "json": json_rows,
    "csv": lambda where: delimited_rows(where, "csv"),
    "tsv": lambda where: delimited_rows(where, "tsv"),
    "parquet": parquet_rows,
}
ENDINGS = {
    ".txt": "text",
    ".text": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
IN_FOLDERS = ("jsonl", "csv", "tsv", "parquet")  # a stray note or settings file is no data
_SEEN = 4096  # bytes that a format is told by
_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def open_rows(where: str, format: str = AUTO) -> Rows:
    """The rows of a file, a folder, standard input or a dataset of the hub."""
    if format != AUTO and format not in READERS:
        known = (AUTO, *READERS)
        raise PromptError(
            f"there is no format {format!r}{nearest(format, known)}", allowed=", ".join(known)
        )
    path = Path(where)
    if where.startswith(PREFIX) or is_dataset(path):
        _require_auto(where, format)
        return hub_rows(where) if where.startswith(PREFIX) else dataset_rows(where)
    if where == STDIN:
        return _standard_input(format)
    if path.is_dir():
        return _folder_rows(path, format)
    _require_file(where)
    return READERS[_format_of(path) if format == AUTO else format](where)


def _require_auto(where: str, format: str) -> None:
    if format != AUTO:
        raise PromptError(
            f"a dataset has its own format, and --format {format} is said",
            where=where,
            allowed=AUTO,
        )


def _standard_input(format: str) -> Rows:
    if format == "parquet":
        raise PromptError(
            "a Parquet file cannot be read from standard input",
            allowed=", ".join(name for name in READERS if name != "parquet"),
        )
    return READERS["jsonl" if format == AUTO else format](STDIN)


def _require_file(where: str) -> None:
    try:
        checked(where)
    except PromptError as error:
        step = error.next_step
        if _HUB_ID.fullmatch(where) and not Path(where).parent.exists():
            step = f"check the path; a dataset of the hub is written {PREFIX}{where}"
        raise PromptError(error.what, where=error.where, next_step=step) from None


def _format_of(path: Path) -> str:
    named = _named_format(path)
    if named in ("csv", "tsv", "jsonl", "parquet"):
        return named
    start = _start(path)
    seen = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if named == "json":  # many files of this name are JSON Lines
        return "jsonl" if seen == b"{" else "json"
    if named == "text" and seen != b"{":
        return named
    if named is None and start.startswith(PARQUET):
        return "parquet"
    if named is None and (seen == b"{" or not start.strip()):
        return "jsonl"
    if named is None:
        ending = "has no ending" if not path.suffix else f"ends in {path.suffix}"
        what = f"the file's name {ending}, which says no format"
    else:
        what = "the file is named as a text, but begins like JSON Lines"
    formats = ", ".join(READERS)
    raise PromptError(
        what, where=str(path), allowed=formats, next_step="say which: --format FORMAT"
    )


def _named_format(path: Path) -> str | None:
    packed = path.suffix.lower() == GZIP
    return ENDINGS.get((Path(path.stem) if packed else path).suffix.lower())


def _start(path: Path) -> bytes:
    try:
        with opened(str(path)) as file:
            return file.read(_SEEN)
    except (OSError, EOFError) as error:
        raise broken(str(path), error) from None


def _folder_rows(folder: Path, format: str) -> Rows:
    """The files of one format in a folder, in the order of their names, as one table."""
    wanted = IN_FOLDERS if format == AUTO else (format,)
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise broken(str(folder), error) from None
    data = {path: kind for path in files if (kind := _named_format(path)) in wanted}
    kinds = sorted({str(kind) for kind in data.values()})
    if len(kinds) != 1:
        found = f"holds files of several formats: {', '.join(kinds)}" if kinds else "holds no data"
        raise PromptError(
            f"the folder {found}",
            where=str(folder),
            allowed=f"a file; a folder of {', '.join(IN_FOLDERS)} files (of one format, or of the "
            f"one that --format says); a folder written by save_to_disk ({STATE} or {SPLITS})",
        )
    return _joined(str(folder), [READERS[kinds[0]](str(path)) for path in data])


def _joined(name: str, parts: list[Rows]) -> Rows:
    first = parts[0]
    for part in parts[1:]:
        if first.columns is not None and set(part.columns or ()) != set(first.columns):
            odd = sorted(set(part.columns or ()) ^ set(first.columns))
            raise PromptError(
                f"{first.name} and {part.name} differ in their columns: {', '.join(odd)}",
                where=name,
                next_step="give one file, or bring the columns into line",
            )

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        for part in parts:
            yield from part.read(wanted)

    return Rows(name, first.columns, read)
