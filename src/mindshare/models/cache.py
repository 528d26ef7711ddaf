"""Where mindshare keeps what it would not want to compute twice: conversions and file hashes.

The place is the user's cache directory, or `MINDSHARE_CACHE` when that is set. A file becomes its
SHA-256, remembered by path, size and modification time, so that a 500 MB file is read once. Nothing
here is precious: the whole directory can be deleted at any time. This module does not know what is
converted, or from what.
"""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any


def cache_directory() -> Path:
    """`MINDSHARE_CACHE`, or the platform's own cache directory for this user."""
    chosen = os.environ.get("MINDSHARE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("mindshare")


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's content, from memory if the file has not changed since it was read."""
    path = path.resolve()
    stat = path.stat()
    seen = {"path": str(path), "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
    note = cache_directory() / "hashes" / f"{sha256(str(path).encode()).hexdigest()[:32]}.json"
    remembered = _read_note(note)
    if remembered is not None and all(remembered.get(key) == seen[key] for key in seen):
        return str(remembered["sha256"])
    with path.open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    _write_note(note, {**seen, "sha256": digest})
    return digest


def _read_note(note: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and "sha256" in content else None


def _write_note(note: Path, content: dict[str, Any]) -> None:
    # A cache that cannot be written costs time at the next load, never this load.
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=note.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(content, stream)
        os.replace(name, note)
    except OSError:
        return
