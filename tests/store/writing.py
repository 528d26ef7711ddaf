"""Items whose results are known from their number, and processes that write them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from mindshare.store import Done, Planned, RunReader

DEFINITION = {"classes": {"hash": "#"}, "measures": ("mass", "received"), "near": 0}
LAYERS = (0, 1, 2)


def item(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def content(number: int, layer: int) -> bytes:
    """A few kilobytes, others for every item and layer."""
    return hashlib.sha256(f"{number}/{layer}".encode()).digest() * (20 + number % 100)


def done(number: int, layers: tuple[int, ...] = LAYERS, *, whole: bool = False) -> Done:
    parts = {layer: content(number, layer) for layer in layers}
    return Done(item(number), "m", f"p{number}", parts, {"n": number}, tokens=10, whole=whole)


def planned(number: int) -> Planned:
    return Planned(f"p{number}", item(number), f"rows.jsonl, row {number}", tokens=10)


def expected(number: int, layers: tuple[int, ...] = LAYERS) -> dict[int, bytes]:
    return {layer: content(number, layer) for layer in layers}


def parts_of(run: RunReader, name: str) -> dict[int, bytes]:
    """The results of one item by layer; empty if there are none."""
    return dict(next(run.read([name])).parts)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process, in the project's folder."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told_by(code: str, *arguments: object) -> str:
    """What another process says; it has to end well."""
    process = start(code, *arguments)
    said, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return said


def be_nobody_special() -> None:
    """Give up what lets root write where the permissions say no. For a process of its own."""
    if os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    nothing = (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0
