"""A path → an SQLite connection to a run's database, checked; SQLite's errors → clear messages.

The database is in WAL mode with synchronous=FULL: a transaction that has returned outlives a killed
process and a power cut alike (as far as the disk keeps its promises), and readers never wait for
the writer. WAL needs memory shared between processes, so a run's folder has to be on a local disk.

Knows the tables' columns, not what they mean.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mindshare.errors import OutputError

DATABASE = "run.sqlite"
LAYOUT = 1
_APPLICATION = 0x6D736872  # "mshr": stands in the file's header
_WAIT = 30.0  # seconds that a connection waits for another's short lock

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


def create(path: Path, meta: Mapping[str, str]) -> None:
    """An empty run, whole or not at all: an empty file of that name is always damage."""
    fresh = path.with_name(f".{path.name}.new")
    for leftover in (fresh, *(_beside(file, side) for file in (fresh, path) for side in _SIDES)):
        leftover.unlink(missing_ok=True)
    with trouble(path):
        connection = sqlite3.connect(fresh, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = OFF")  # it counts once it has its name
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
    sync_folder(path.parent)


def open_to_write(path: Path) -> sqlite3.Connection:
    """For the one process that holds the run's lock."""
    _require_content(path)
    with _opened(path, f"{path.absolute().as_uri()}?mode=rw") as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {64 << 20}")
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """For any process, at any time; makes no file and changes none.

    Without a WAL nobody is writing, and SQLite is told so: it would otherwise want to make one,
    which a read-only folder refuses.
    """
    _require_content(path)
    mode = "mode=ro" if _beside(path, "-wal").exists() else "mode=ro&immutable=1"
    with _opened(path, f"{path.absolute().as_uri()}?{mode}") as connection:
        pass
    return connection


def check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Reads everything: for a database whose last writer was killed."""
    with trouble(path):
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise damaged(path, str(found))


def remove(path: Path) -> None:
    """The database and what belongs to it."""
    # The main file first: a WAL alone is nothing, a database without its WAL may be torn.
    for file in (path, *(_beside(path, side) for side in _SIDES)):
        file.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Names that were made or changed outlive a power cut."""
    if os.name != "posix":  # elsewhere a directory can't be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def trouble(path: Path) -> Iterator[None]:
    """SQLite's errors that a person can do something about, in words."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        for start, explain in _REASONS.items():
            if name.startswith(start):
                raise explain(path, str(error)) from error
        raise


_SIDES = ("-wal", "-shm", "-journal")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


@contextmanager
def _opened(path: Path, address: str) -> Iterator[sqlite3.Connection]:
    """A connection whose header is that of a run; closed again if it is not."""
    with trouble(path):
        connection = sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT
        )
        try:
            _check_header(path, connection)
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
    connection.execute("SELECT COUNT(*) FROM meta").fetchone()


def _require_content(path: Path) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        empty = isinstance(error, FileNotFoundError) and path.parent.is_dir()
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


_REASONS = {
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
