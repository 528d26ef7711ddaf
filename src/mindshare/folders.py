"""A folder of results: tables, a manifest and other files, written completely or not at all."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mindshare.disk import flush as flush
from mindshare.errors import NO_ROOM, OutputError
from mindshare.limits import read_whole
from mindshare.tables import ONE_BASED, one_based

MANIFEST = "manifest.json"
FIGURE_TABLES = "figure_tables"  # its key for tables that only a figure is drawn of
Texts = Mapping[str, str | Iterable[str]]  # file name → its text, or the lines of a large one
_ROW_GROUP = 1024 * 1024  # rows; a constant, as it decides the bytes of a Parquet file
_FILES = (".png", ".svg", ".pdf", ".csv", ".html", ".md", ".json", ".parquet", ".toml", ".txt")
_NAME = re.compile(r"\w[\w.-]*")  # of a file, never a path
# What a value of another type, a missing one, or a file that was cut raises where it is used.
_DAMAGE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(StopIteration, RecursionError, NotImplementedError, pa.ArrowException),
)


def write_folder(
    path: Path,
    tables: Mapping[str, pa.Table],
    manifest: Mapping[str, Any],
    *,
    replace: bool = False,
    beside: Texts | None = None,
) -> Path:
    """Write a folder of Parquet files, a manifest, and further text files (`beside`, by name)."""

    def fill(folder: Path) -> None:
        write_texts(folder, beside or {})
        write_parquet(folder, tables)
        write_manifest(folder, manifest)

    return whole_folder(path, fill, replace=replace)


def write_parquet(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """One Parquet file per table, written a row group at a time."""
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
            for first in range(0, max(1, table.num_rows), _ROW_GROUP):
                # In one chunk: the bytes depend on how the rows are split into chunks.
                rows = table.slice(first, _ROW_GROUP).combine_chunks()
                writer.write_table(rows, row_group_size=_ROW_GROUP)


def write_texts(folder: Path, texts: Texts) -> None:
    """One file per text, by file name."""
    for name, text in texts.items():
        # Half a surrogate pair, as bytes that are no UTF-8 become, is written as in JSON.
        with (folder / name).open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines([text] if isinstance(text, str) else text)


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """The file that marks a folder as results of mindshare."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True)
    # A lone surrogate is written as JSON writes it.
    path = folder / MANIFEST
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def whole_folder(path: Path, fill: Callable[[Path], object], *, replace: bool = False) -> Path:
    """Let `fill` write into a temporary folder, flush it to disk, then move it to `path`.

    Whatever fails, `path` is left as it was. With `replace`, an earlier results folder gives way.
    """
    path = Path(path)
    require_replaceable(path, replace=replace)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise OutputError(
            f"can't write to {path.parent}: {error.strerror}", next_step="choose another folder"
        ) from error
    try:
        fill(building)
        for file in sorted(building.iterdir()):
            flush(file)
        building.chmod(0o755)  # mkdtemp made it private
        _move_into_place(building, path)
    except OSError as error:
        raise OutputError(
            f"can't write {path}: {error.strerror}",
            next_step="free some space or choose another folder; nothing was left half-written",
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return path


def require_folder_name(path: Path) -> None:
    """Refuse a name that promises one file, as results are a folder of them; or that is no text."""
    if str(path).encode("utf-8", "replace").decode() != str(path):
        raise OutputError(
            f"the folder's name {str(path)!r} is no UTF-8", next_step="choose another folder"
        )
    if path.suffix.lower() in _FILES and not os.path.isdir(path):
        raise OutputError(
            f"{path} is named as a file, and results are a folder of files",
            next_step=f"name a folder, such as {path.stem}; it gets the formats that are asked for",
        )


def require_replaceable(path: Path, *, replace: bool) -> None:
    """Refuse a folder that results can't take the place of."""
    require_folder_name(path)
    if os.path.lexists(path) and not os.path.isfile(path / MANIFEST):
        raise OutputError(
            f"{path} exists already, and is not a folder of mindshare results to be replaced",
            next_step="choose another folder",
        )
    if os.path.lexists(path) and not replace:
        raise OutputError(
            f"{path} exists already",
            next_step="add --replace (in Python, replace=True), or choose another folder",
        )


def _move_into_place(building: Path, path: Path) -> None:
    old = building.with_name(building.name + ".old")
    if os.path.exists(path):
        path.rename(old)
    building.rename(path)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever in a folder of results can't be used is said, with the folder's name.

    A folder may come from anyone, and be damaged anywhere: all that is made of one is made inside.
    """
    try:
        yield
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise  # what is made of it is being written
        raise OutputError(
            f"the results in {path} are damaged or not complete ({type(error).__name__}: {error})",
            next_step="make them again: mindshare run STUDY.toml --out FOLDER",
        ) from error


def inside(path: Path, name: str) -> Path:
    """A file of a folder of results, in the folder itself, not where a name or a link leads."""
    file = path / name
    if not _NAME.fullmatch(name) or file.resolve().parent != path.resolve():
        raise ValueError(f"{name!r:.200} leads out of the folder")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"{name} is missing")
    return file


def read_text(path: Path, name: str) -> str:
    """The text of a file of the folder, which must be there."""
    with reading(path):
        return read_whole(inside(path, name)).decode().replace("\r\n", "\n")


def parsed(text: str) -> Any:
    """A value of JSON; halves of surrogate pairs, which no text of a report can have, become `?`.

    A manifest has them where a word of its command is no UTF-8.
    """
    value = json.loads(text)
    if "\\ud" in text.lower():
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


class _FolderTables(Mapping[str, pa.Table]):
    """Table name → table, each read on first access: all together may not fit into memory."""

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        manifest: str,
        read: Callable[[pa.Table], pa.Table] | None = None,
    ) -> None:
        self._folder, self._names, self._manifest = folder, tuple(names), manifest
        self._read = read or (lambda content: content)  # what becomes of each
        self._cache: dict[str, pa.Table] = {}
        for name in names:
            pq.read_schema(inside(folder, f"{name}.parquet"))  # is it there, and whole?

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._cache:
            self._require_unchanged()
            with reading(self._folder):
                self._cache[name] = self._read(pq.read_table(self._folder / f"{name}.parquet"))
        return self._cache[name]

    def batches(self, name: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """A table in pieces of some rows; nothing of it is kept."""
        self._require_unchanged()
        with reading(self._folder), pq.ParquetFile(self._folder / f"{name}.parquet") as file:
            yield from file.iter_batches(columns=columns)

    def _require_unchanged(self) -> None:
        """Refuse tables that another study has put in place of those whose manifest was read."""
        try:
            manifest = (self._folder / MANIFEST).read_text(encoding="utf-8")
        except OSError:
            manifest = ""
        if manifest != self._manifest:
            raise OutputError(
                f"the results in {self._folder} are no longer those that were read",
                next_step="read the folder again, or use another folder for each study",
            )

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the table
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_folder(
    path: Path, *, of_figures: bool = False, as_labelled: bool = False
) -> tuple[Mapping[str, pa.Table], dict[str, Any]]:
    """The tables and the manifest of a results folder.

    Tables that only a figure is drawn of repeat what others say: they come if `of_figures`. Layers
    and heads are counted from 0, or `as_labelled` in the pictures.
    """
    path = Path(path)
    if not os.path.isfile(path / MANIFEST):
        raise OutputError(
            f"{path} is not a folder of mindshare results: it has no {MANIFEST}",
            next_step="name a folder that mindshare wrote with --out",
        )
    text = read_text(path, MANIFEST)
    with reading(path):
        manifest = parsed(text)
        names = [*manifest["tables"], *(manifest.get(FIGURE_TABLES, ()) if of_figures else ())]
        counted = as_labelled and manifest.get("labels") == ONE_BASED
        return _FolderTables(path, names, text, read=one_based if counted else None), manifest
