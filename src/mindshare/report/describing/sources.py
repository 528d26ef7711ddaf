"""A file or a folder of results → the table that texts about it are checked against.

A folder gives everything that is known of it: means, differences, lift. Reads what mindshare
wrote, and CSV files that have the same columns.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mindshare.errors import OutputError
from mindshare.folders import MANIFEST, read_folder
from mindshare.report.describing.numbers import long_table, numbers_of
from mindshare.report.describing.sets import metadata
from mindshare.stats import MEASURES

_ALLOWED = "a .parquet or .csv file of a chart, or a folder of results"


def read_numbers(path: str | Path) -> pa.Table:
    """The numbers of a saved chart, as a table for `check_description`."""
    path = Path(path)
    if path.is_dir():
        if not (path / MANIFEST).is_file():
            raise OutputError(
                f"{path} is not a folder of mindshare results: it has no {MANIFEST}",
                allowed=_ALLOWED,
                next_step="name a folder that `mindshare shares`, `head-map` or `insert` wrote",
            )
        tables, _ = read_folder(path)
        return long_table(numbers_of(tables))
    table = _named(_file(path), path.stem)
    numbers_of(table)  # refuses a table without means
    return table


def _named(table: pa.Table, stem: str) -> pa.Table:
    """A CSV file does not say its measure; the name of a chart's does: `class_bars_lift`."""
    about = metadata(table)
    words = [word for word in stem.split("_") if word in MEASURES]
    if "mindshare.measure" in about or not words:
        return table
    return table.replace_schema_metadata(about | {"mindshare.measure": words[0]})


def _file(path: Path) -> pa.Table:
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
