"""Tables, streamed → Parquet files and a manifest in a run's folder: the old results or the new.

    with Finaliser(folder) as final:
        final.add("mass", some_rows)               # again and again; little is held at a time
        final.text("study.toml", text)             # or files written into final.building
        final.commit(manifest)

Everything is written into a folder of its own beside the old results, and flushed. `commit` takes
the old manifest away, moves the files in one by one, and the new manifest last: a folder with a
manifest is whole, and one that was interrupted has none. Leave the `with` without `commit` and the
old results are as they were. What a killed process left is removed by the next.

The bytes depend on the rows and the schema only, not on how the rows were handed over. The caller
holds the run's lock (an open `Store`). Knows no measures and no figures.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mindshare.errors import OutputError
from mindshare.runs.database import DATABASE, sync_folder
from mindshare.runs.folder import MANIFEST, OLD_MANIFEST, former_files, invalidate, remember
from mindshare.runs.writer import lock_run, taken

if TYPE_CHECKING:
    import pyarrow as pa

BUILDING = ".finalising"
ROWS = 65_536  # of a row group; a constant, as it decides the bytes


class Finaliser:
    """Results that are being written."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.building = self.folder / BUILDING  # flat: files only
        self._tables: dict[str, _TableFile] = {}

    def __enter__(self) -> Self:
        with self._disk():
            if self.building.exists():
                remember(self.folder, self.building / MANIFEST)
                shutil.rmtree(self.building)
            self.building.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for table in self._tables.values():
            table.drop()
        shutil.rmtree(self.building, ignore_errors=True)

    def add(self, name: str, rows: pa.Table) -> None:
        """More rows of a table; its first ones decide the schema."""
        with self._disk():
            if name not in self._tables:
                path = self.building / f"{name}.parquet"
                self._tables[name] = _TableFile(path, rows.schema)
            self._tables[name].add(rows)

    def text(self, name: str, text: str) -> None:
        with self._disk():
            (self.building / name).write_text(text, encoding="utf-8")

    def commit(self, manifest: Mapping[str, Any]) -> Path:
        """Put the new results in place of the old; the manifest lists tables and files."""
        from mindshare.folders import flush, write_manifest

        with self._disk():
            for table in self._tables.values():
                table.close()
            files = sorted(f.name for f in self.building.iterdir() if f.name != MANIFEST)
            tables = sorted(self._tables)
            write_manifest(self.building, {"tables": tables, **manifest, "files": files})
            for file in self.building.iterdir():
                flush(file)
            sync_folder(self.building)
            stale = former_files(self.folder) - {*files, MANIFEST}
            invalidate(self.folder)
            self._move_in(files, stale)
        return self.folder

    def _move_in(self, files: list[str], stale: set[str]) -> None:
        for name in files:
            os.replace(self.building / name, self.folder / name)
        for name in sorted(stale):
            (self.folder / name).unlink(missing_ok=True)
        sync_folder(self.folder)
        os.replace(self.building / MANIFEST, self.folder / MANIFEST)
        sync_folder(self.folder)
        (self.folder / OLD_MANIFEST).unlink(missing_ok=True)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            there = (self.folder / MANIFEST).exists()
            raise OutputError(
                f"the tables can't be written to {self.folder}: {error.strerror or error}. What "
                "was measured is kept" + (", and the earlier tables are as they were" * there),
                next_step="free some space or make the folder writable, and run the same command "
                "again: nothing is measured anew",
            ) from error


def is_run(folder: str | Path) -> bool:
    return (Path(folder) / DATABASE).is_file()


def into_run(folder: Path, fill: Callable[[Path], None], manifest: Mapping[str, Any]) -> Path:
    """Results that `fill` writes, in place of those of a run that no one else writes to."""
    lock = lock_run(folder)
    if lock is None:
        raise taken(folder, None)
    try:
        with Finaliser(folder) as final:
            fill(final.building)
            return final.commit(manifest)
    finally:
        lock.release()


class _TableFile:
    """Rows → a Parquet file in groups of a fixed size, however the rows are handed over."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._held: list[pa.Table] = []
        self._rows = 0

    def add(self, rows: pa.Table) -> None:
        import pyarrow as pa

        self._held.append(rows)
        self._rows += rows.num_rows
        if self._rows < ROWS:
            return
        whole = pa.concat_tables(self._held)
        full = self._rows - self._rows % ROWS
        self._writer.write_table(whole.slice(0, full).combine_chunks(), row_group_size=ROWS)
        self._held, self._rows = [whole.slice(full)], self._rows - full

    def close(self) -> None:
        import pyarrow as pa

        if self._rows:
            rest = pa.concat_tables(self._held).combine_chunks()
            self._writer.write_table(rest, row_group_size=ROWS)
        self._held, self._rows = [], 0
        self._writer.close()

    def drop(self) -> None:
        """Close what will not be needed; a full disk has been told of already."""
        with suppress(OSError):
            self._writer.close()
