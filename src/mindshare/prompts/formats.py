"""A path, standard input or a dataset on the hub becomes rows; Parquet and Arrow are read here.

A name's ending says the format; where it does not, the first bytes may. What could be read in two
ways is refused, never guessed. Of Parquet files and folders of Hugging Face `datasets` only the
columns that are needed are read, a few rows at a time. A folder written by save_to_disk is read
without that package, its Arrow files in the order of its state.json; a dataset on the hub,
`hf:owner/name[/config][:split]`, is streamed through the package.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from mindshare.errors import PromptError, first_line, nearest
from mindshare.prompts.rows import (
    GZIP,
    PARQUET,
    STDIN,
    DataFile,
    Row,
    Rows,
    bad_row,
    broken,
    checked_path,
    csv_rows,
    file_content,
    json_rows,
    jsonl_rows,
    text_rows,
)

AUTO = "auto"
READERS: dict[str, Callable[[str], Rows]] = {
    "text": lambda where: text_rows(DataFile(where)),
    "jsonl": lambda where: jsonl_rows(DataFile(where)),
    "json": lambda where: json_rows(DataFile(where)),
    "csv": lambda where: csv_rows(DataFile(where)),
    "tsv": lambda where: csv_rows(DataFile(where), "\t"),
    "parquet": lambda where: parquet_rows(where),
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
STATE, SPLITS = "state.json", "dataset_dict.json"  # written by save_to_disk
HUB = "hf:"
HUB_FORM = "hf:owner/name, hf:owner/name:split or hf:owner/name/config:split"
ANSWER_SECONDS = 5.0  # the hub is asked once with this timeout, so that being offline shows at once
BATCH = 256  # rows that are Python values at a time, if they are …
_BATCH_BYTES = 4 << 20  # … no more than about so many bytes
_COLUMN_BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time
_FIRST_BYTES = 4096  # enough to tell a format
_WORD = r"[A-Za-z0-9][\w.-]*"
_HUB_NAME = re.compile(
    rf"(?P<path>{_WORD}(/{_WORD})?)(/(?P<config>{_WORD}))?(:(?P<split>[\w.-]+))?"
)


def open_rows(where: str, format: str = AUTO) -> Rows:
    """The rows of a file, a folder, standard input or a dataset of the hub."""
    known = (AUTO, *READERS)
    if format not in known:
        raise PromptError(
            f"there is no format {format!r}{nearest(format, known)}", allowed=", ".join(known)
        )
    path, on_hub = Path(where), where.startswith(HUB)
    if on_hub or os.path.isfile(path / STATE) or os.path.isfile(path / SPLITS):
        if format != AUTO:
            raise PromptError(
                f"a dataset has its own format, and --format {format} is said",
                where=where,
                allowed=AUTO,
            )
        return hub_rows(where) if on_hub else dataset_rows(where)
    if where == STDIN:
        if format == "parquet":
            raise PromptError(
                "a Parquet file cannot be read from standard input",
                allowed=", ".join(name for name in READERS if name != "parquet"),
            )
        return READERS["jsonl" if format == AUTO else format](STDIN)
    if os.path.isdir(path):
        return _folder_rows(path, format)
    try:
        checked_path(where)
    except PromptError as error:
        form = re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", where)
        is_hub_id = form and not os.path.exists(path.parent)
        step = f"check the path; a dataset of the hub is written {HUB}{where}"
        raise error.within(str(path), next_step=step if is_hub_id else None) from None
    return READERS[_format_of(path) if format == AUTO else format](where)


def _format_of(path: Path) -> str:
    named = _named_format(path)
    if named in ("csv", "tsv", "jsonl", "parquet"):
        return named
    start = DataFile(path).start(_FIRST_BYTES)
    first = start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if named == "json":  # many files of this name are JSON Lines
        return "jsonl" if first == b"{" else "json"
    if named == "text" and first != b"{":
        return named
    if named is None and start.startswith(PARQUET):
        return "parquet"
    if named is None and (first == b"{" or not start.strip()):
        return "jsonl"
    ending = "has no ending" if not path.suffix else f"ends in {path.suffix}"
    raise PromptError(
        f"the file's name {ending}, which says no format"
        if named is None
        else "the file is named as a text, but begins like JSON Lines",
        where=str(path),
        allowed=", ".join(READERS),
        next_step="say which: --format FORMAT",
    )


def _named_format(path: Path) -> str | None:
    packed = path.suffix.lower() == GZIP
    return ENDINGS.get((Path(path.stem) if packed else path).suffix.lower())


def _folder_rows(folder: Path, format: str) -> Rows:
    """The files of one format in a folder, in the order of their names, as one table."""
    formats = IN_FOLDERS if format == AUTO else (format,)
    try:
        files = sorted(path for path in folder.iterdir() if os.path.isfile(path))
    except OSError as error:
        raise broken(str(folder), error) from None
    data = {path: name for path in files if (name := _named_format(path)) in formats}
    names = sorted({str(name) for name in data.values()})
    if len(names) != 1:
        content = f"files of several formats: {', '.join(names)}" if names else "no data"
        raise PromptError(
            f"the folder holds {content}",
            where=str(folder),
            allowed=f"a file; a folder of {', '.join(IN_FOLDERS)} files (of one format, or of the "
            f"one that --format says); a folder written by save_to_disk ({STATE} or {SPLITS})",
        )
    first, *others = parts = [READERS[names[0]](str(path)) for path in data]
    for part in others:
        differing = sorted(set(part.columns or ()) ^ set(first.columns or ()))
        if differing:
            raise PromptError(
                f"{first.name} and {part.name} differ in their columns: {', '.join(differing)}",
                where=str(folder),
                next_step="give one file, or bring the columns into line",
            )

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        for part in parts:
            yield from part.read(wanted)

    return Rows(str(folder), first.columns, read)


def parquet_rows(where: str) -> Rows:
    """The rows of one Parquet file."""
    import pyarrow.parquet as pq

    path = checked_path(where)

    def opened() -> Any:
        with _read_as("a Parquet file", where):
            return pq.ParquetFile(path, buffer_size=_COLUMN_BUFFER, pre_buffer=False)

    with _read_as("a Parquet file", where), opened() as file:
        columns = tuple(file.schema_arrow.names)

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        with opened() as file:
            chosen = None if wanted is None else [name for name in columns if name in wanted]
            size = _rows_at_a_time(_largest_row(file.metadata))
            batches = file.iter_batches(size, columns=chosen, use_threads=False)
            yield from batch_rows(batches, where)

    return Rows(where, columns, read)


def _largest_row(metadata: Any) -> float:
    """Bytes that a row takes in the row group where that is most, all columns together.

    Columns are not asked one by one: a damaged description of one makes Arrow end the process.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return max(
        (group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=0
    )


def _rows_at_a_time(bytes_of_one: float) -> int:
    return max(1, int(min(BATCH, _BATCH_BYTES / max(bytes_of_one, 1))))


def dataset_rows(where: str) -> Rows:
    """The rows of a folder that `datasets` wrote; of several splits, one must be named."""
    folder = Path(where)
    if os.path.isfile(folder / SPLITS):
        named = _json(folder / SPLITS).get("splits")
        listed = named if isinstance(named, list) else []
        splits = [str(_inside(folder, split)) for split in listed]
        if len(splits) != 1:
            raise PromptError(
                f"the dataset has {len(splits)} splits, and none is named",
                where=where,
                allowed=", ".join(splits) or "at least one split",
            )
        folder = Path(splits[0])
    state = _json(folder / STATE)
    if state.get("_indices_data_files"):
        raise PromptError(
            "the dataset was saved with an order of its own, by an old version of datasets",
            where=str(folder),
            next_step="save it again with a datasets package of version 2 or later",
        )
    try:
        files = [_inside(folder, file["filename"]) for file in state["_data_files"]]
    except (KeyError, TypeError):
        raise PromptError("state.json names no data files", where=str(folder)) from None
    columns = _arrow_columns(files[0]) if files else ()

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        batches = (batch for file in files for batch in _arrow_batches(file, wanted))
        yield from batch_rows(batches, str(folder))

    return Rows(str(folder), columns, read)


def _inside(folder: Path, name: Any) -> Path:
    """What a dataset names as its own stands beside the file that names it."""
    if not isinstance(name, str) or Path(name).name != name:
        raise PromptError(
            f"the dataset names {name!r:.80}, which is no file of its folder", where=str(folder)
        )
    return folder / name


def _json(path: Path) -> dict[str, Any]:
    with _read_as("the JSON of a dataset", str(path)):
        value = json.loads(file_content(path))
    return value if isinstance(value, dict) else {}


def _arrow_columns(file: Path) -> tuple[str, ...]:
    import pyarrow as pa

    checked_path(file)
    with (
        _read_as("a stream of Arrow batches", str(file)),
        pa.OSFile(str(file)) as source,
        pa.ipc.open_stream(source) as stream,
    ):
        return tuple(stream.schema.names)


def _arrow_batches(file: Path, wanted: Collection[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    columns = enumerate(_arrow_columns(file))
    chosen = [index for index, name in columns if wanted is None or name in wanted]
    options = pa.ipc.IpcReadOptions(included_fields=chosen, use_threads=False)
    with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source, options=options) as stream:
        yield from stream


def batch_rows(batches: Iterable[Any], name: str) -> Iterator[Row]:
    """A row for each of the batches, a few of them as Python values at a time."""
    import pyarrow as pa

    number = 0
    try:
        for batch in batches:
            size = batch.nbytes // max(batch.num_rows, 1)
            for values in _values(batch, _rows_at_a_time(size)):
                number += 1
                place = f"{name}, row {number}"
                if values is None:
                    yield bad_row(place, "a text of the row is not UTF-8")
                else:
                    yield Row(place, values, size=size)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken(f"{name}, after row {number}", error) from None


def _values(batch: Any, rows: int) -> Iterator[dict[str, Any] | None]:
    """Each row's values, made of so many rows at once; None if a text is not UTF-8."""
    for start in range(0, batch.num_rows, rows):
        piece = batch.slice(start, rows)
        try:
            yield from piece.to_pylist()
        except UnicodeDecodeError:  # the other rows are not to blame
            if rows == 1:
                yield None
            else:
                yield from _values(piece, 1)


@contextmanager
def _read_as(what: str, where: str) -> Iterator[None]:
    """Whatever is wrong with a file is said, with its name and what it should be."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise PromptError(f"this is not {what}: {first_line(error)}", where=where) from None


@dataclass(frozen=True)
class HubData:
    """A dataset on the hub; its configuration and its split, if they are named."""

    path: str
    config: str | None = None
    split: str | None = None

    @property
    def name(self) -> str:
        whole = self.path if self.config is None else f"{self.path}/{self.config}"
        return f"{HUB}{whole}" + (f":{self.split}" if self.split else "")


def parse_hub(where: str) -> HubData:
    match = _HUB_NAME.fullmatch(where.removeprefix(HUB))
    if match is None:
        raise PromptError(f"{where!r} names no dataset of the hub", allowed=HUB_FORM)
    return HubData(match["path"], match["config"], match["split"])


def hub_rows(where: str) -> Rows:
    """The rows of a dataset on the hub; the stream is opened anew each time they are read."""
    data = parse_hub(where)
    try:
        datasets = import_module("datasets")
    except ImportError:
        raise PromptError(
            "a dataset of the hub is read through the package datasets, which is not installed",
            where=data.name,
            next_step="pip install datasets; or give a file, or a folder written by save_to_disk",
        ) from None
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        raise hub_error(data, "HF_HUB_OFFLINE is set")
    try:
        HfApi().dataset_info(data.path, timeout=ANSWER_SECONDS)
    # What a dead network raises depends on the HTTP library below the hub's client.
    except Exception as error:
        raise hub_error(data, error) from error
    return streamed_rows(load_stream(datasets.load_dataset, data), data)


def hub_error(data: HubData, error: Exception | str) -> PromptError:
    """What the hub's refusal means, and what to do about it."""
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        what = "the dataset is on the hub, but its owner gives access on request only"
        step = f"ask at https://huggingface.co/datasets/{data.path}, then `hf auth login`"
    elif isinstance(error, RepositoryNotFoundError | HFValidationError):
        what = f"the hub has no dataset {data.path!r} (or it is private)"
        step = "check the name; a file or folder is given by its path"
    else:
        reason = error if isinstance(error, str) else first_line(error)
        what = f"the hub cannot be asked for the dataset: {reason}"
        step = "check the network; or give a file, or a folder written by save_to_disk"
    return PromptError(what, where=data.name, next_step=step)


def load_stream(load_dataset: Callable[..., Any], data: HubData) -> Any:
    """All splits, none of them read yet."""
    try:
        return load_dataset(data.path, name=data.config, streaming=True)
    # Unknown configurations, loading scripts, broken files: each its own kind of error.
    except Exception as error:
        raise PromptError(
            f"the dataset cannot be loaded: {first_line(error)}", where=data.name, allowed=HUB_FORM
        ) from error


def streamed_rows(dataset: Any, data: HubData) -> Rows:
    """The rows of an `IterableDataset`, or of the split of a dictionary of them that is named."""
    if isinstance(dataset, dict):
        data = replace(data, split=_split(data, [str(split) for split in dataset]))
        dataset = dataset[data.split]
    columns = None if dataset.column_names is None else tuple(dataset.column_names)

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        chosen, number = dataset, 0
        if wanted is not None and columns is not None:
            chosen = dataset.select_columns([name for name in columns if name in wanted])
        try:
            for values in chosen:
                number += 1
                yield Row(f"{data.name}, row {number}", values)
        # What a lost connection raises depends on the library below.
        except Exception as error:
            raise broken(f"{data.name}, after row {number}", error) from error

    return Rows(data.name, columns, read)


def _split(data: HubData, splits: list[str]) -> str:
    if data.split in splits:
        return str(data.split)
    if data.split is None and len(splits) == 1:
        return splits[0]
    what = f"the dataset has {len(splits)} splits, and none is named"
    if data.split is not None:
        what = f"the dataset has no split {data.split!r}{nearest(data.split, splits)}"
    names = (replace(data, split=split).name for split in splits)
    raise PromptError(what, where=data.name, allowed=", ".join(names))
