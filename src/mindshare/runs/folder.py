"""A run's folder: may a run begin here, and which of its files are results of a manifest.

    run.sqlite (-wal, -shm while it is written)     the store
    run.lock                                        held by the writer
    manifest.json, *.parquet, figures, study.toml   the results, once there are some
    .manifest-old.json                              results that are being replaced
    .finalising/                                    results that are being written

Only what a manifest lists is ever removed: a stranger's file in the folder is left alone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mindshare.errors import OutputError
from mindshare.runs.database import DATABASE, sync_folder
from mindshare.runs.writer import LOCK

MANIFEST = "manifest.json"
OLD_MANIFEST = ".manifest-old.json"
_MARKS = (DATABASE, LOCK, OLD_MANIFEST)


def prepare(folder: Path, *, create: bool, replace: bool) -> None:
    """Refuse a folder that is something else; make it if it is not there and may be."""
    try:
        if not os.path.lexists(folder):
            _make(folder, create)
        elif not folder.is_dir():
            raise OutputError(f"{folder} is not a folder", next_step="choose another with --out")
        elif not (folder / DATABASE).exists():
            _check_without_run(folder, create=create, replace=replace)
    except OSError as error:
        raise OutputError(
            f"{folder} can't be used: {error.strerror}", next_step="choose another with --out"
        ) from error


def invalidate(folder: Path) -> None:
    """From here on the folder holds no results; what they were is still known, to be tidied."""
    if (folder / MANIFEST).exists():
        os.replace(folder / MANIFEST, folder / OLD_MANIFEST)
        sync_folder(folder)


def remember(folder: Path, unfinished: Path) -> None:
    """Add to what was here the files of a manifest that never came to its place: some may have."""
    if unfinished.exists():
        files = sorted(former_files(folder, unfinished))
        unfinished.write_text(json.dumps({"files": files}), encoding="utf-8")
        os.replace(unfinished, folder / OLD_MANIFEST)


def former_files(folder: Path, *more: Path) -> set[str]:
    """The files of the results that were here last, by name; those of more manifests, too."""
    names: set[str] = set()
    for manifest in (folder / MANIFEST, folder / OLD_MANIFEST, *more):
        content = _read(manifest)
        names.update(content.get("files", ()))
        names.update(f"{table}.parquet" for table in content.get("tables", ()))
        figures = set(content.get("figures", ()))
        names.update(file.name for file in folder.iterdir() if file.stem in figures)
    ours = (DATABASE, LOCK, ".")
    return {name for name in names if Path(name).name == name and not name.startswith(ours)}


def _make(folder: Path, create: bool) -> None:
    if not create:
        raise OutputError(
            f"there is no run in {folder}", next_step="`mindshare runs DIR` lists the runs there"
        )
    folder.mkdir(parents=True, exist_ok=True)


def _check_without_run(folder: Path, *, create: bool, replace: bool) -> None:
    if not create:
        raise OutputError(
            f"there is no run in {folder}: it has no {DATABASE}",
            next_step="`mindshare runs DIR` lists the runs there",
        )
    if (folder / MANIFEST).exists():
        if not replace:
            raise OutputError(
                f"{folder} holds results, but no {DATABASE} to go on from",
                next_step="add --replace, or choose another folder with --out",
            )
        return
    ours = any((folder / mark).exists() for mark in _MARKS)
    if not ours and any(folder.iterdir()):
        raise OutputError(
            f"{folder} exists already, and is neither a run nor results of mindshare",
            next_step="choose another folder with --out",
        )


def _read(manifest: Path) -> dict[str, Any]:
    try:
        content = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
