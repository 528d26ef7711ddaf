"""Who writes to a run: one process at a time, known by its number, its machine and its birth.

The lock is the kernel's and ends with its process, however that ends. Readers never ask for it:
they look whether the process is still there.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.errors import OutputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "run.lock"
_PACKAGES = ("mindshare", "torch", "transformers", "tokenizers", "peft", "numpy")


@dataclass(frozen=True)
class Writer:
    """A process that writes, or wrote, to a run."""

    pid: int
    host: str
    born: int | None  # clock ticks since the machine started; numbers of processes come again

    @classmethod
    def here(cls) -> Writer:
        return cls(os.getpid(), platform.node(), _process(os.getpid())[1])

    @property
    def alive(self) -> bool | None:
        """Whether it still runs; None: can't be told from here."""
        if self.host != platform.node() or os.name != "posix":
            return None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # someone else's, but there
        state, born = _process(self.pid)
        if state == "Z":  # ended, and its parent has not looked yet
            return False
        return born == self.born if self.born is not None and born is not None else True


def package_versions() -> dict[str, str]:
    """What decides a number besides the definition."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def lock_run(folder: Path) -> BaseFileLock | None:
    """The run's lock, held; None if another process holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except OSError as error:
        raise OutputError(
            f"{folder} can't be written: {error.strerror}",
            next_step="make it writable, or choose another folder with --out; "
            "`mindshare status` reads it as it is",
        ) from error
    return lock


def taken(folder: Path, writer: Writer | None) -> OutputError:
    """What a second process is told."""
    who = "another process"
    if writer is not None and writer.alive is not False:
        who = f"process {writer.pid} on {writer.host}"
    return OutputError(
        f"{who} is writing to {folder}, and a run has one writer",
        next_step=f"wait for it (mindshare status {folder}), stop it, or choose another folder "
        "with --out",
    )


def _process(pid: int) -> tuple[str, int | None]:
    """A process' state and birth, where the system tells them in files."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", None
    # The name of the program, in brackets, may hold spaces and brackets itself.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
