"""A database that is not what it should be is named, with the way out; it is never made worse."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.runs import Reader, Store
from mindshare.runs.database import LAYOUT

from .writing import DEFINITION, done, expected, item, start, told_by


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "run", DEFINITION) as store:
        store.put([done(n) for n in range(20)])
    return tmp_path / "run"


def both_refuse(run: Path, match: str) -> str:
    """The message to a writer; a reader is told the same."""
    before = (run / "run.sqlite").read_bytes()
    with pytest.raises(OutputError, match=match):
        Reader.at(run)
    with pytest.raises(OutputError, match=match) as caught:
        Store.open(run, DEFINITION)
    assert (run / "run.sqlite").read_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize("left", [0, 10, 100, 20_000, 60_000])
def test_a_truncated_database(run: Path, left: int) -> None:
    file = run / "run.sqlite"
    file.write_bytes(file.read_bytes()[:left])
    message = both_refuse(run, "run.sqlite is damaged")
    assert "stay readable" in message
    assert "--replace" in message


def test_something_else_of_that_name(run: Path) -> None:
    (run / "run.sqlite").write_text("not a database, but long enough to have a header " * 10)
    both_refuse(run, "file is not a database")


def test_a_database_of_someone_else(run: Path) -> None:
    (run / "run.sqlite").unlink()
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    both_refuse(run, "not one that mindshare wrote")


def test_a_newer_layout(run: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    connection.close()
    assert "update mindshare" in both_refuse(run, "newer mindshare")


def test_what_a_killed_process_left_is_looked_at_closely(run: Path) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("UPDATE session SET ended = NULL")
        page = connection.execute("PRAGMA page_size").fetchone()[0]
    connection.close()
    Store.open(run, DEFINITION).close()
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute("UPDATE session SET ended = NULL")
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'part'")
        place = (root.fetchone()[0] - 1) * page
    connection.close()
    file = run / "run.sqlite"
    stored = bytearray(file.read_bytes())
    stored[place : place + 64] = b"\xff" * 64
    file.write_bytes(stored)
    with pytest.raises(OutputError, match="is damaged"):
        Store.open(run, DEFINITION)


def test_reading_makes_no_file(run: Path) -> None:
    before = sorted(run.iterdir())
    with Reader.at(run) as reader:
        assert reader.parts(item(3)) == expected(3)
        assert sorted(run.iterdir()) == before
    assert sorted(run.iterdir()) == before


_READ_ONLY = """
import sys
from tests.runs.writing import DEFINITION, be_nobody_special, item
from mindshare.errors import OutputError
from mindshare.runs import Reader, Store, run_status
be_nobody_special()
with Reader.at(sys.argv[1]) as reader:
    print(len(reader.parts(item(3))), run_status(sys.argv[1]).phase)
try:
    Store.open(sys.argv[1], DEFINITION)
except OutputError as error:
    print(error)
try:
    Store.open(sys.argv[1] + "/below", DEFINITION)
except OutputError as error:
    print(error)
"""


def test_a_read_only_folder_is_readable(run: Path) -> None:
    run.chmod(0o555)
    (run / "run.sqlite").chmod(0o444)
    (run / "run.lock").chmod(0o444)
    read, first, _, second, _ = told_by(_READ_ONLY, run).splitlines()
    run.chmod(0o755)
    assert read == "3 measured"
    assert first == f"{run} can't be written: Permission denied"
    assert second == f"{run}/below can't be used: Permission denied"


_DIE = """
import os, signal, sys
from tests.runs.writing import DEFINITION, done
from mindshare.runs import Store
with Store.open(sys.argv[1], DEFINITION) as store:
    store.put([done(100)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_is_readable_in_a_read_only_folder(run: Path) -> None:
    start(_DIE, run).communicate()
    assert (run / "run.sqlite-wal").stat().st_size > 0
    run.chmod(0o555)
    read = told_by(_READ_ONLY, run).splitlines()[0]
    run.chmod(0o755)
    assert read == "3 killed"
    with Store.open(run, DEFINITION) as store:
        assert store.parts(item(100)) == expected(100)


def test_another_program_that_holds_the_database_is_named(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindshare.runs.database._WAIT", 0.1)
    other = sqlite3.connect(run / "run.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OutputError, match="used by another program: database is locked"):
        Store.open(run, DEFINITION)
    other.close()
    Store.open(run, DEFINITION).close()


def test_a_mistake_in_our_own_sql_is_not_dressed_up(run: Path) -> None:
    with Reader.at(run) as reader, pytest.raises(sqlite3.OperationalError, match="no such table"):
        reader._rows("SELECT * FROM nowhere")
