"""Files that are there whole or not at all, whenever this process or the machine stops."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def flush(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk.

    So a rename never exposes an empty file, and outlives a power cut.
    """
    if os.name != "posix" and os.path.isdir(path):  # there a folder can't be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it, and rename it; folders above are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        unfinished.write_bytes(data)
        flush(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
