"""Tables, streamed → Parquet files and a manifest in a run's folder: the old results or the new.

    with Finaliser(folder) as final:
        final.add("mass", rows)                    # again and again; little is held at a time
        final.text("study.toml", text)             # or files written into final.building
        final.commit(manifest)

What lies in a run's folder:

    run.sqlite (-wal, -shm while it is written)     the store
    run.lock                                        held by the writer
    manifest.json, *.parquet, figures, study.toml   the results, once there are some
    .manifest-old.json                              results that are being replaced
    .finalising/                                    results that are being written

Results are written into `.finalising` and flushed. `commit` takes the old manifest away, moves the
files in one by one, and the new manifest last: a folder with a manifest is whole, and one that was
interrupted has none. Without `commit` the old results are as they were. What a killed process left
is removed by the next. Only what a manifest lists is ever removed: a stranger's file is left alone.

The bytes depend on the rows and the schema only, not on how the rows were handed over. The caller
holds the run's lock (an open `RunWriter`).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from mindshare.disk import flush
from mindshare.errors import OutputError
from mindshare.limits import read_whole
from mindshare.store.database import DATABASE, LOCK, lock_run, locked_by

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"  # as in mindshare.folders, which is slow to import: it needs Arrow
OLD_MANIFEST = ".manifest-old.json"
BUILDING = ".finalising"
ROWS = 65_536  # of a row group; a constant, as it decides the bytes
_PIECES = 256  # tables held before they are put together


class Finaliser:
    """Writes the tables and files of a run; `commit` puts them in place of the earlier ones."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.building = self.folder / BUILDING  # flat: files only
        self._tables: dict[str, _TableFile] = {}

    def __enter__(self) -> Self:
        with self._disk():
            if os.path.exists(self.building):
                self._keep_unfinished_names()
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

    def text(self, name: str, text: str | Iterable[str]) -> None:
        """A further file: its text, or the lines of a large one."""
        from mindshare.folders import write_texts

        with self._disk():
            write_texts(self.building, {name: text})

    def commit(self, manifest: Mapping[str, Any]) -> Path:
        """Put the new results in place of the old; the manifest lists tables and files."""
        from mindshare.folders import write_manifest

        with self._disk():
            for table in self._tables.values():
                table.close()
            files = sorted(f.name for f in self.building.iterdir() if f.name != MANIFEST)
            tables = sorted(self._tables)
            write_manifest(self.building, {"tables": tables, **manifest, "files": files})
            for file in self.building.iterdir():
                flush(file)
            flush(self.building)
            stale = former_files(self.folder) - {*files, MANIFEST}
            invalidate(self.folder)
            for name in files:
                os.replace(self.building / name, self.folder / name)
            for name in sorted(stale):
                (self.folder / name).unlink(missing_ok=True)
            flush(self.folder)
            os.replace(self.building / MANIFEST, self.folder / MANIFEST)
            flush(self.folder)
            (self.folder / OLD_MANIFEST).unlink(missing_ok=True)
        return self.folder

    def _keep_unfinished_names(self) -> None:
        """A killed `commit` may have moved some of its files: list them all, to be removed."""
        unfinished = self.building / MANIFEST
        if os.path.exists(unfinished):
            files = sorted(former_files(self.folder, unfinished))
            unfinished.write_text(json.dumps({"files": files}), encoding="utf-8")
            os.replace(unfinished, self.folder / OLD_MANIFEST)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            there = os.path.exists(self.folder / MANIFEST)
            raise OutputError(
                f"the tables can't be written to {self.folder}: {error.strerror or error}. What "
                "was measured is kept" + (", and the earlier tables are as they were" * there),
                next_step="free some space or make the folder writable, and run the same command "
                "again: nothing is measured anew",
            ) from error


class _TableFile:
    """Rows → a Parquet file in groups of a fixed size, however the rows are handed over.

    At most two row groups are held. A prompt may hand over a single row, and a table of one row
    takes 10 KB: such pieces are put together long before there is a row group of them.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._held: list[pa.Table] = []
        self._pieces: list[pa.Table] = []  # what came after that
        self._rows = 0  # of both

    def add(self, rows: pa.Table) -> None:
        self._pieces.append(rows)
        self._rows += rows.num_rows
        if len(self._pieces) >= _PIECES or self._rows >= ROWS:
            self._held.append(_combined(self._pieces))
            self._pieces = []
        if self._rows >= ROWS:
            whole = _combined(self._held)
            full = self._rows - self._rows % ROWS
            self._writer.write_table(whole.slice(0, full), row_group_size=ROWS)
            self._held, self._rows = [whole.slice(full)], self._rows - full

    def close(self) -> None:
        if self._rows:
            self._writer.write_table(_combined([*self._held, *self._pieces]), row_group_size=ROWS)
        self._held, self._pieces, self._rows = [], [], 0
        self._writer.close()

    def drop(self) -> None:
        """Close a file that is not needed; a full disk was reported when it was written."""
        with suppress(OSError):
            self._writer.close()


def _combined(tables: list[pa.Table]) -> pa.Table:
    """These rows in one chunk: how they came must not show in the bytes."""
    import pyarrow as pa

    return pa.concat_tables(tables).combine_chunks()


def is_run(folder: str | Path) -> bool:
    return os.path.isfile(Path(folder) / DATABASE)


def into_run(folder: Path, fill: Callable[[Path], Mapping[str, Any]]) -> Path:
    """Put what `fill` writes in place of a run's results; refused while a process writes to it.

    `fill` returns the manifest.
    """
    with run_lock(folder), Finaliser(folder) as final:
        return final.commit(fill(final.building))


def figures_drawn(folder: Path) -> dict[str, Any]:
    """The figures of the results that are there, each with the call that drew it."""
    found = _of_manifest(folder / MANIFEST, "figures")
    entries = found if isinstance(found, dict) else {}
    return {n: e.get("drawn") if isinstance(e, dict) else None for n, e in entries.items()}


def _listed(manifest: Path, key: str) -> list[str]:
    """The names that a manifest has there; none of one that is missing or damaged."""
    found = _of_manifest(manifest, key)
    return [n for n in found if isinstance(n, str)] if isinstance(found, list | dict) else []


def _of_manifest(manifest: Path, key: str) -> Any:
    try:
        return json.loads(read_whole(manifest)).get(key)
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """No other process writes to the run meanwhile; refused if one does already."""
    lock = lock_run(folder)
    if lock is None:
        raise locked_by(folder, None)
    try:
        yield
    finally:
        lock.release()


def prepare(folder: Path, *, replace: bool) -> None:
    """Make a run's folder if it is not there; refuse one that is something else."""
    from mindshare.folders import require_folder_name

    require_folder_name(folder)
    try:
        if not os.path.lexists(folder):
            folder.mkdir(parents=True, exist_ok=True)
        elif not os.path.isdir(folder):
            raise OutputError(f"{folder} is not a folder", next_step="choose another with --out")
        elif not is_run(folder):
            _check_without_run(folder, replace=replace)
    except OSError as error:
        raise OutputError(
            f"{folder} can't be used: {error.strerror}", next_step="choose another with --out"
        ) from error


def invalidate(folder: Path) -> None:
    """Take the manifest away: the folder holds no results, but their names are still known."""
    if os.path.exists(folder / MANIFEST):
        os.replace(folder / MANIFEST, folder / OLD_MANIFEST)
        flush(folder)


def former_files(folder: Path, *more: Path) -> set[str]:
    """The files of the results that were here last, by name; those of more manifests, too."""
    names: set[str] = set()
    for manifest in (folder / MANIFEST, folder / OLD_MANIFEST, *more):
        names.update(_listed(manifest, "files"))
        names.update(f"{table}.parquet" for table in _listed(manifest, "tables"))
        figures = set(_listed(manifest, "figures"))
        names.update(file.name for file in folder.iterdir() if file.stem in figures)
    ours = (DATABASE, LOCK, ".")
    return {name for name in names if Path(name).name == name and not name.startswith(ours)}


def _check_without_run(folder: Path, *, replace: bool) -> None:
    if os.path.exists(folder / MANIFEST):
        if not replace:
            raise OutputError(
                f"{folder} holds results, but no {DATABASE} to go on from",
                next_step="add --replace, or choose another folder with --out",
            )
        return
    ours = any(os.path.exists(folder / mark) for mark in (LOCK, OLD_MANIFEST))
    if not ours and any(folder.iterdir()):
        raise OutputError(
            f"{folder} exists already, and is neither a run nor results of mindshare",
            next_step="choose another folder with --out",
        )
