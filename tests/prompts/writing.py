"""The same rows written in every format, for tests of what reads them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = Sequence[dict[str, Any]]


def jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def array(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(list(rows), indent=1), encoding="utf-8")
    return path


def packed(path: Path, rows: Rows) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def delimited(path: Path, rows: Rows) -> Path:
    """Whatever is no text as JSON in its cell; None as an empty one."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(names)
        writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return path


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | dict) else value


def parquet(path: Path, rows: Rows) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=7)
    return path


def dataset(folder: Path, rows: Rows, *, shards: int = 2) -> Path:
    """As `Dataset.save_to_disk` lays it out; the names are not in the order of the rows."""
    table = pa.Table.from_pylist(list(rows))
    folder.mkdir(parents=True)
    size = -(-len(rows) // shards)
    files = [f"part-{9 - shard}.arrow" for shard in range(shards)]
    for shard, name in enumerate(files):
        with pa.ipc.new_stream(folder / name, table.schema) as stream:
            stream.write_table(table.slice(shard * size, size), max_chunksize=3)
    state = {"_data_files": [{"filename": name} for name in files]}
    (folder / "state.json").write_text(json.dumps(state))
    return folder


WRITERS = {
    "rows.jsonl": jsonl,
    "rows.json": array,
    "rows.jsonl.gz": packed,
    "rows.csv": delimited,
    "rows.tsv": delimited,
    "rows.parquet": parquet,
    "rows": dataset,
}
