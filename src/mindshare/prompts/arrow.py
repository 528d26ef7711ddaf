"""Parquet files and folders of Hugging Face `datasets` (save_to_disk) become rows, a few at a time.

Only the columns that are wanted are read. The folder's Arrow files are read directly, in the order
of its state.json: the package `datasets` is not needed. Does not know which column is the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from mindshare.errors import PromptError
from mindshare.prompts.lines import checked
from mindshare.prompts.rows import Row, Rows, bad_row, broken

STATE, SPLITS = "state.json", "dataset_dict.json"
BATCH = 256  # rows that are Python values at a time
_BUFFER = 1 << 20  # bytes of a column chunk that are read at a time
_NOT_UTF8 = "a text of the row is not UTF-8"


def parquet_rows(where: str) -> Rows:
    """The rows of one Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = checked(where)
    try:
        columns = tuple(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise _not_this("a Parquet file", where, error) from None

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        with pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            chosen = None if wanted is None else [name for name in columns if name in wanted]
            batches = file.iter_batches(BATCH, columns=chosen, use_threads=False)
            yield from _numbered(batches, where)

    return Rows(where, columns, read)


def dataset_rows(where: str) -> Rows:
    """The rows of a folder that `datasets` wrote; of several splits, one must be named."""
    folder = _split_of(Path(where))
    files = [folder / name for name in _data_files(folder)]
    columns = _columns(files[0]) if files else ()

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        batches = (batch for file in files for batch in _batches(file, wanted))
        yield from _numbered(batches, str(folder))

    return Rows(str(folder), columns, read)


def is_dataset(folder: Path) -> bool:
    return (folder / STATE).is_file() or (folder / SPLITS).is_file()


def _split_of(folder: Path) -> Path:
    if not (folder / SPLITS).is_file():
        return folder
    splits = _json(folder / SPLITS).get("splits") or []
    if len(splits) != 1:
        raise PromptError(
            f"the dataset has {len(splits)} splits, and none is named",
            where=str(folder),
            allowed=", ".join(str(folder / str(split)) for split in splits) or "at least one split",
        )
    return folder / str(splits[0])


def _data_files(folder: Path) -> list[str]:
    state = _json(folder / STATE)
    if state.get("_indices_data_files"):
        raise PromptError(
            "the dataset was saved with an order of its own, by an old version of datasets",
            where=str(folder),
            next_step="save it again with a datasets package of version 2 or later",
        )
    try:
        return [str(file["filename"]) for file in state["_data_files"]]
    except (KeyError, TypeError):
        raise PromptError("state.json names no data files", where=str(folder)) from None


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(checked(path).read_bytes())
    except ValueError as error:
        raise _not_this("the JSON of a dataset", str(path), error) from None
    return value if isinstance(value, dict) else {}


def _columns(file: Path) -> tuple[str, ...]:
    import pyarrow as pa

    checked(file)
    try:
        with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as stream:
            return tuple(stream.schema.names)
    except (pa.ArrowException, OSError) as error:
        raise _not_this("a stream of Arrow batches", str(file), error) from None


def _batches(file: Path, wanted: Collection[str] | None) -> Iterator[Any]:
    import pyarrow as pa

    names = _columns(file)
    chosen = [at for at, name in enumerate(names) if wanted is None or name in wanted]
    options = pa.ipc.IpcReadOptions(included_fields=chosen, use_threads=False)
    with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source, options=options) as stream:
        for batch in stream:
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)


def _numbered(batches: Iterator[Any], name: str) -> Iterator[Row]:
    import pyarrow as pa

    number = 0
    try:
        for batch in batches:
            for values in _values(batch):
                number += 1
                place = f"{name}, row {number}"
                yield Row(place, values) if values is not None else bad_row(place, _NOT_UTF8)
    except (pa.ArrowException, OSError) as error:
        raise broken(f"{name}, after row {number}", error) from None


def _values(batch: Any) -> Iterator[dict[str, Any] | None]:
    """Each row's values; None for a row with a text that is not UTF-8."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:  # the others of the batch are not to blame
        for at in range(batch.num_rows):
            try:
                yield batch.slice(at, 1).to_pylist()[0]
            except UnicodeDecodeError:
                yield None


def _not_this(what: str, where: str, error: Exception) -> PromptError:
    reason = str(error).partition("\n")[0]
    return PromptError(f"this is not {what}: {reason}", where=where)
