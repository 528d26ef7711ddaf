"""A run's SQLite file: made, opened, checked, locked; SQLite's errors in words a person can act on.

The database is in WAL mode with synchronous=FULL: a transaction that has returned survives a killed
process and a power cut (as far as the disk keeps its promises), and readers never wait for the
writer. WAL needs memory shared between processes, so a run's folder has to be on a local disk.

One process writes at a time. Its lock is the kernel's and ends with the process, however that ends.
Readers do not take it: they look whether the writer's process is still there.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.disk import flush
from mindshare.errors import OutputError

if TYPE_CHECKING:
    from filelock import BaseFileLock

DATABASE = "run.sqlite"
LOCK = "run.lock"
LAYOUT = 1
_APPLICATION = 0x6D736872  # "mshr": stands in the file's header
_WAIT = 30.0  # seconds that a connection waits for another's short lock
_CACHE = 32 << 10  # KiB of pages held: the index of a million items fits, and status takes seconds
_CLOCK_SLACK = 10.0  # seconds: the system's clock may be set while a process runs
_PACKAGES = ("mindshare", "torch", "transformers", "tokenizers", "peft", "numpy")
_SIDES = ("-wal", "-shm", "-journal")

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE session (
    id INTEGER PRIMARY KEY, started REAL NOT NULL, updated REAL NOT NULL, ended REAL,
    pid INTEGER NOT NULL, host TEXT NOT NULL, born INTEGER, versions TEXT NOT NULL, doing TEXT);
CREATE TABLE pace (at REAL NOT NULL, prompts INTEGER NOT NULL, tokens INTEGER NOT NULL);
CREATE TABLE model (id INTEGER PRIMARY KEY, label TEXT UNIQUE NOT NULL, layers TEXT, about TEXT);
CREATE TABLE plan (
    model INTEGER, place INTEGER, prompt TEXT NOT NULL, item BLOB NOT NULL, source TEXT,
    tokens INTEGER, PRIMARY KEY (model, place)) WITHOUT ROWID;
CREATE UNIQUE INDEX plan_prompt ON plan (model, prompt);
CREATE TABLE item (
    id INTEGER PRIMARY KEY, hash BLOB UNIQUE NOT NULL, label TEXT NOT NULL, prompt TEXT NOT NULL,
    layers TEXT NOT NULL, whole INTEGER NOT NULL, tokens INTEGER NOT NULL, info TEXT NOT NULL,
    reason TEXT);
CREATE TABLE part (
    item INTEGER NOT NULL, layer INTEGER NOT NULL, content BLOB NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (item, layer));
"""
_COLUMNS = (
    "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c "
    "WHERE t.type = 'table'"
)


def create(path: Path, meta: Mapping[str, str]) -> None:
    """Make an empty run, whole or not at all: a file of no bytes is always damage."""
    fresh = path.with_name(f".{path.name}.new")
    for leftover in (fresh, *(_side_file(file, side) for file in (fresh, path) for side in _SIDES)):
        leftover.unlink(missing_ok=True)
    with sqlite_errors(path):
        connection = sqlite3.connect(fresh, isolation_level=None)
        try:
            # The file counts only once it has its name, so it needs no journal until then.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA page_size = 16384")  # results are blobs of kilobytes
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.executescript(f"BEGIN; {_TABLES}")
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
    os.replace(fresh, path)
    flush(path.parent)


def open_to_write(path: Path) -> sqlite3.Connection:
    """For the one process that holds the run's lock."""
    _require_content(path)
    with _opened(path, f"{path.absolute().as_uri()}?mode=rw") as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
        return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """For any process, at any time; makes no file and changes none."""
    _require_content(path)
    # Without a WAL nobody is writing, and SQLite is told so: it would otherwise want to make one,
    # which a read-only folder refuses.
    mode = "mode=ro" if os.path.exists(_side_file(path, "-wal")) else "mode=ro&immutable=1"
    with _opened(path, f"{path.absolute().as_uri()}?{mode}") as connection:
        return connection


def check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Reads everything: for a database whose last writer was killed."""
    with sqlite_errors(path):
        answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise damaged(path, str(answer))


def remove(path: Path) -> None:
    """Delete the database and the files SQLite keeps with it."""
    # The main file first: a WAL alone is nothing, a database without its WAL may be torn.
    for file in (path, *(_side_file(path, side) for side in _SIDES)):
        file.unlink(missing_ok=True)
    flush(path.parent)


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's errors that a person can do something about, in words."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        for start, explain in _REASONS.items():
            if name.startswith(start):
                raise explain(path, str(error)) from error
        # A mistake in our own SQL, or a closed connection: tables and columns are checked at first.
        if name in ("SQLITE_ERROR", "SQLITE_MISUSE") or isinstance(error, sqlite3.ProgrammingError):
            raise
        raise damaged(path, str(error)) from error  # a text that is no UTF-8, a row that is twice


def _side_file(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


@contextmanager
def _opened(path: Path, address: str) -> Iterator[sqlite3.Connection]:
    """A connection whose header is that of a run; closed again if it is not."""
    with sqlite_errors(path):
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT
        )
        try:
            _check_header(path, connection)
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            yield connection
        except BaseException:
            connection.close()
            raise


def _check_header(path: Path, connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    layout = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        raise OutputError(
            f"{path} is a database, but not one that mindshare wrote",
            next_step="choose another folder with --out",
        )
    if layout > LAYOUT:
        raise OutputError(
            f"{path} was written by a newer mindshare (layout {layout}; this one knows {LAYOUT})",
            next_step="update mindshare, or choose another folder with --out",
        )
    try:
        lost = _columns() - set(connection.execute(_COLUMNS))
    except sqlite3.OperationalError as error:  # the definition of a table is damaged
        raise damaged(path, str(error)) from error
    for table, column in sorted(lost):
        raise damaged(path, f"its table {table} is not there, or has no column {column}")


@lru_cache(maxsize=1)
def _columns() -> frozenset[tuple[str, str]]:
    """(table, column) of every column that a run has."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(_TABLES)
        return frozenset(empty.execute(_COLUMNS))


def _require_content(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        empty = isinstance(error, FileNotFoundError) and os.path.isdir(path.parent)
        raise OutputError(
            f"there is no run in {path.parent}{'' if empty else f': {error.strerror}'}",
            next_step="name a folder that holds run.sqlite; `mindshare runs DIR` lists them",
        ) from error
    if size == 0:
        raise damaged(path, "it is empty")


def damaged(path: Path, why: str) -> OutputError:
    return OutputError(
        f"{path} is damaged: {why}. Tables that were finished beside it are files of their own and "
        "stay readable",
        next_step="restore the file from a copy, choose another folder with --out, or start this "
        "one anew with --replace",
    )


def _full(path: Path, why: str) -> OutputError:
    free = shutil.disk_usage(path.parent).free / 1e6
    return OutputError(
        f"{path} can't be written: {why} ({free:.0f} MB are free on that disk). What was stored "
        "before is kept",
        next_step="free some space, and run the same command again: it goes on from there",
    )


def unwritable(path: Path, why: str) -> OutputError:
    return OutputError(
        f"{path} can't be opened: {why}",
        next_step="make the folder writable, copy it to where you can write, or choose another "
        "with --out",
    )


def _busy(path: Path, why: str) -> OutputError:
    return OutputError(
        f"{path} is being used by another program: {why}",
        next_step="close that program and run the same command again",
    )


_REASONS: Mapping[str, Callable[[Path, str], OutputError]] = {
    "SQLITE_FULL": _full,
    "SQLITE_IOERR": _full,
    "SQLITE_READONLY": unwritable,
    "SQLITE_CANTOPEN": unwritable,
    "SQLITE_PERM": unwritable,
    "SQLITE_BUSY": _busy,
    "SQLITE_LOCKED": _busy,
    "SQLITE_CORRUPT": damaged,
    "SQLITE_NOTADB": damaged,
}


@dataclass(frozen=True)
class WriterProcess:
    """A process that writes, or wrote, to a run."""

    pid: int
    host: str
    born: float | None  # seconds since 1970; process numbers are used again

    @classmethod
    def here(cls) -> WriterProcess:
        import psutil

        return cls(os.getpid(), platform.node(), psutil.Process().create_time())

    @property
    def alive(self) -> bool | None:
        """Whether it still runs; None: can't be told from this machine."""
        import psutil

        if self.host != platform.node():
            return None
        try:
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:  # ended, but its parent has not waited
                return False
            return self.born is None or abs(process.create_time() - self.born) < _CLOCK_SLACK
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:  # someone else's, but there
            return True


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


def locked_by(folder: Path, writer: WriterProcess | None) -> OutputError:
    """The error for a second writer."""
    who = "another process"
    if writer is not None and writer.alive is not False:
        who = f"process {writer.pid} on {writer.host}"
    return OutputError(
        f"{who} is writing to {folder}, and a run has one writer",
        next_step=f"wait for it (mindshare status {folder}), stop it, or choose another folder "
        "with --out",
    )


def package_versions() -> dict[str, str]:
    """The versions that decide a number besides the definition."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
