"""Vega, Vega-Lite and Vega-Embed as one script, from vl-convert; kept in the user's cache.

Making it takes 1.4 s in which no other Python thread runs, so a process of its own does it, once
for each version of vl-convert.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile

from platformdirs import user_cache_path

_CODE = "import sys; from mindshare.figures.render import script; sys.stdout.write(script())"
_lock = threading.Lock()


def vega() -> bytes:
    """The script; it defines `vegaEmbed`."""
    with _lock:
        return _made()


@cache
def _made() -> bytes:
    file = user_cache_path("mindshare") / f"vega-{version('vl-convert-python')}.js"
    if file.is_file() and file.stat().st_size > 0:
        return file.read_bytes()
    made = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, check=True).stdout
    _keep(file, made)
    return made


def _keep(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
            unfinished.write(content)
        Path(unfinished.name).rename(file)
    except OSError:
        return  # a cache that can't be written costs time, nothing else


def warm() -> None:
    """Make it while nobody waits."""
    threading.Thread(target=vega, name="vega", daemon=True).start()
