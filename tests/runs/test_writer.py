"""A writer is known to be there or gone, also when its number belongs to someone else by now."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.runs.writer import Writer, lock_run, package_versions, taken


def test_this_process_is_alive() -> None:
    assert Writer.here().alive is True
    assert Writer.here().pid == os.getpid()


def test_a_number_that_was_given_to_another_process_is_not_it() -> None:
    here = Writer.here()
    assert here.born is not None
    assert replace(here, born=here.born - 1).alive is False


def test_a_killed_process_is_gone_even_before_its_parent_looks() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = replace(Writer.here(), pid=process.pid, born=None)
    assert writer.alive is True
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert writer.alive is False
    process.communicate()
    assert writer.alive is False


def test_of_another_machine_nothing_is_known() -> None:
    assert replace(Writer.here(), host="elsewhere").alive is None


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
    here = Writer.here()
    assert f"process {here.pid} on {here.host} is writing" in str(taken(tmp_path, here))
    gone = replace(here, born=0)
    assert "another process is writing" in str(taken(tmp_path, gone))
    assert "another process is writing" in str(taken(tmp_path, None))


def test_versions_name_what_decides_a_number() -> None:
    assert {"python", "mindshare", "torch", "numpy"} <= package_versions().keys()
