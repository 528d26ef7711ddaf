"""A folder of results: tables, a manifest and whatever is beside them, whole or not at all.

Knows nothing about what is in a table.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mindshare.errors import OutputError

MANIFEST = "manifest.json"


def write_folder(
    path: Path,
    tables: Mapping[str, pa.Table],
    manifest: Mapping[str, Any],
    *,
    replace: bool = False,
    beside: Mapping[str, str] | None = None,
) -> Path:
    """A folder of Parquet files and a manifest: complete, or not there at all.

    `beside` are further text files, by name.
    """

    def fill(folder: Path) -> None:
        write_texts(folder, beside or {})
        write_parquet(folder, tables)
        write_manifest(folder, manifest)

    return whole_folder(path, fill, replace=replace)


def write_parquet(folder: Path, tables: Mapping[str, pa.Table]) -> None:
    """One Parquet file a table, into a folder that is being filled."""
    for name, content in tables.items():
        pq.write_table(content, folder / f"{name}.parquet", compression="zstd")


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """What marks a folder as results of mindshare."""
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def whole_folder(path: Path, fill: Callable[[Path], None], *, replace: bool = False) -> Path:
    """A folder that `fill` has written into: complete, or not there at all."""
    path = Path(path)
    _check_free(path, replace)
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
        _swap_in(building, path)
    except OSError as error:
        raise OutputError(
            f"can't write {path}: {error.strerror}",
            next_step="free some space or choose another folder; nothing was left half-written",
        ) from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return path


def _check_free(path: Path, replace: bool) -> None:
    if path.exists() and not replace:
        raise OutputError(
            f"{path} exists already",
            next_step="choose another folder, or replace this one: --replace, or replace=True",
        )
    if path.exists() and not (path / MANIFEST).is_file():
        raise OutputError(
            f"{path} exists and is not a folder of mindshare results, so it is not replaced",
            next_step="choose another folder",
        )


def flush(file: Path) -> None:
    """Its content is on the disk before a name points to it."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap_in(building: Path, path: Path) -> None:
    if not path.exists():
        building.rename(path)
        return
    old = building.with_name(building.name + ".old")
    path.rename(old)
    building.rename(path)
    shutil.rmtree(old, ignore_errors=True)


class _FolderTables(Mapping[str, pa.Table]):
    """The tables of a folder, each read when it is first asked for: some are larger than memory."""

    def __init__(self, folder: Path, names: Sequence[str], manifest: str) -> None:
        self._folder, self._names, self._manifest = folder, tuple(names), manifest
        self._read: dict[str, pa.Table] = {}
        for name in names:
            pq.read_schema(folder / f"{name}.parquet")  # is it there, and whole?

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._require_same()
            self._read[name] = pq.read_table(self._folder / f"{name}.parquet")
        return self._read[name]

    def _require_same(self) -> None:
        """Never the tables of one study under the name of another."""
        try:
            now = (self._folder / MANIFEST).read_text(encoding="utf-8")
        except OSError:
            now = ""
        if now != self._manifest:
            raise OutputError(
                f"the results in {self._folder} are no longer those that were read",
                next_step="read the folder again, or use another folder for each study",
            )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_folder(path: Path) -> tuple[Mapping[str, pa.Table], dict[str, Any]]:
    """The tables and the manifest of a results folder."""
    path = Path(path)
    try:
        text = (path / MANIFEST).read_text(encoding="utf-8")
        manifest = json.loads(text)
        return _FolderTables(path, manifest["tables"], text), manifest
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid) as error:
        raise OutputError(
            f"{path} is not a folder of mindshare results ({type(error).__name__}: {error})",
            next_step="name a folder that mindshare wrote with --out",
        ) from error
