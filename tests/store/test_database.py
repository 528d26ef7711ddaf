"""A database that is not what it should be is named, with the way out; it is never made worse."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.store import RunReader, RunWriter
from mindshare.store.database import LAYOUT, WriterProcess, lock_run, locked_by, package_versions

from .writing import DEFINITION, LAYERS, done, expected, item, parts_of, start, told_by


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunWriter.open(tmp_path / "run", DEFINITION) as store:
        store.put([done(n) for n in range(20)])
    return tmp_path / "run"


def both_refuse(run: Path, match: str) -> str:
    """The message to a writer; a reader is told the same."""
    before = (run / "run.sqlite").read_bytes()
    with pytest.raises(OutputError, match=match):
        RunReader.at(run)
    with pytest.raises(OutputError, match=match) as caught:
        RunWriter.open(run, DEFINITION)
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
    RunWriter.open(run, DEFINITION).close()
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
        RunWriter.open(run, DEFINITION)


def test_reading_makes_no_file(run: Path) -> None:
    before = sorted(run.iterdir())
    with RunReader.at(run) as reader:
        assert parts_of(reader, item(3)) == expected(3)
        assert sorted(run.iterdir()) == before
    assert sorted(run.iterdir()) == before


_READ_ONLY = """
import sys
from tests.store.writing import DEFINITION, be_nobody_special, item, parts_of
from mindshare.errors import OutputError
from mindshare.store import RunReader, RunWriter, run_status
be_nobody_special()
with RunReader.at(sys.argv[1]) as reader:
    print(len(parts_of(reader, item(3))), run_status(sys.argv[1]).phase)
try:
    RunWriter.open(sys.argv[1], DEFINITION)
except OutputError as error:
    print(error)
try:
    RunWriter.open(sys.argv[1] + "/below", DEFINITION)
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
from tests.store.writing import DEFINITION, done
from mindshare.store import RunWriter
with RunWriter.open(sys.argv[1], DEFINITION) as store:
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
    with RunWriter.open(run, DEFINITION) as store:
        assert parts_of(store, item(100)) == expected(100)


def test_another_program_that_holds_the_database_is_named(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindshare.store.database._WAIT", 0.1)
    other = sqlite3.connect(run / "run.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OutputError, match="used by another program: database is locked"):
        RunWriter.open(run, DEFINITION)
    other.close()
    RunWriter.open(run, DEFINITION).close()


def test_a_mistake_in_our_own_sql_is_not_dressed_up(run: Path) -> None:
    with (
        RunReader.at(run) as reader,
        pytest.raises(sqlite3.OperationalError, match="no such table"),
    ):
        reader.rows("SELECT * FROM nowhere")


def test_this_process_is_alive() -> None:
    assert WriterProcess.here().alive is True
    assert WriterProcess.here().pid == os.getpid()


def test_a_number_that_was_given_to_another_process_is_not_it() -> None:
    here = WriterProcess.here()
    assert here.born is not None
    assert replace(here, born=here.born - 60).alive is False


def test_a_killed_process_is_gone_even_before_its_parent_looks() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = replace(WriterProcess.here(), pid=process.pid, born=None)
    assert writer.alive is True
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert writer.alive is False
    process.communicate()
    assert writer.alive is False


def test_of_another_machine_nothing_is_known() -> None:
    assert replace(WriterProcess.here(), host="elsewhere").alive is None


def test_the_lock_is_held_once(tmp_path: Path) -> None:
    first = lock_run(tmp_path)
    assert first is not None
    assert lock_run(tmp_path) is None
    first.release()
    second = lock_run(tmp_path)
    assert second is not None
    second.release()


def test_a_folder_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file can't be written"):
        lock_run(tmp_path / "file")


def test_a_second_writer_is_told_only_what_is_sure(tmp_path: Path) -> None:
    here = WriterProcess.here()
    assert f"process {here.pid} on {here.host} is writing" in str(locked_by(tmp_path, here))
    gone = replace(here, born=0)
    assert "another process is writing" in str(locked_by(tmp_path, gone))
    assert "another process is writing" in str(locked_by(tmp_path, None))


def test_versions_name_what_decides_a_number() -> None:
    assert {"python", "mindshare", "torch", "numpy"} <= package_versions().keys()


_DAMAGE = (
    *(
        f"DROP TABLE {name}"
        for name in ("meta", "session", "pace", "model", "plan", "item", "part")
    ),
    *(f"ALTER TABLE item DROP COLUMN {name}" for name in ("layers", "info", "whole")),
    "DELETE FROM meta",
    *(f"UPDATE meta SET value = {text}" for text in ("'{'", "'7'", "''", "x'00'")),
    *(f"UPDATE item SET info = {text}" for text in ("'{'", "'[]'", "''", "x'ff'")),
    *(f"UPDATE item SET layers = {text}" for text in ("'x'", "'0,1'", "''", "'0,1,2,3'")),
    "UPDATE item SET whole = 1",
    "UPDATE part SET content = 'text'",
    "UPDATE part SET content = x'00'",
    "UPDATE part SET crc = crc + 1",
    "UPDATE part SET crc = NULL WHERE 0; UPDATE part SET crc = 'x'",
    "UPDATE part SET layer = layer + 7",
    "DELETE FROM part WHERE layer = 1",
    "UPDATE item SET layers = CAST(x'ff30' AS TEXT)",
    "UPDATE item SET layers = x'ff00'",
)


@pytest.mark.parametrize("damage", _DAMAGE)
def test_damage_ends_in_one_message_and_never_in_other_numbers(run: Path, damage: str) -> None:
    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.executescript(damage)
    connection.close()
    with pytest.raises(OutputError):
        _read_all(run)


def _read_all(run: Path) -> None:
    with RunWriter.open(run, DEFINITION) as store:
        list(store.read([item(n) for n in range(20)]))


def test_a_flipped_bit_gives_no_other_numbers(run: Path) -> None:
    whole = (run / "run.sqlite").read_bytes()
    chance = random.Random(7)
    for _ in range(300):
        at = chance.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[at] ^= 1 << chance.randrange(8)
        (run / "run.sqlite").write_bytes(damaged)
        with suppress(OutputError), RunReader.at(run) as reader:
            lacking = reader.missing([item(n) for n in range(20)], LAYERS)
            for n in range(20):
                if item(n) not in lacking:
                    assert parts_of(reader, item(n)) == expected(n), at
