"""The entry point: exit codes, and what a terminal is told when something goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mindshare as package
from mindshare.cli import app, run

from .conftest import Mindshare

COMMAND = [sys.executable, "-c", "from mindshare.cli import main; main()"]
HEAVY = ("torch", "transformers", "pyarrow", "numpy", "pandas")


def test_version(mindshare: Mindshare) -> None:
    ran = mindshare("--version")
    assert (ran.code, ran.out) == (0, f"mindshare {package.__version__}\n")


def test_no_command_shows_help(mindshare: Mindshare) -> None:
    ran = mindshare()
    for command in ("demo", "models", "tokens", "measure"):
        assert command in ran.out + ran.err


@pytest.mark.parametrize("command", ["demo", "models", "tokens", "measure"])
def test_help_shows_examples_whole(mindshare: Mindshare, command: str) -> None:
    ran = mindshare(command, "--help")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    shown = [line.strip() for line in lines if line.startswith(f"   mindshare {command}")]
    documented = [line.strip() for line in _docstring(command) if line.strip().startswith("mindsh")]
    assert shown == documented
    assert len(shown) >= 2


def _docstring(command: str) -> list[str]:
    function = next(f for f in app.COMMANDS if f.__name__ == command)
    return (function.__doc__ or "").splitlines()


@pytest.mark.parametrize("statement", ["import mindshare", "import mindshare.cli.app"])
def test_importing_is_light(statement: str) -> None:
    check = f"{statement}; import sys; print([m for m in {HEAVY} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_help_is_light() -> None:
    check = (
        "from mindshare.cli import run; import sys; assert run(['--help']) == 0; "
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"


def test_an_interrupt_is_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*COMMAND, "measure", "smollm2", "--file", str(pipe)],
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs this in the background has switched interrupts off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with pipe.open("wb"):  # returns when the command has opened it, so it is at work
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "mindshare: stopped"


def test_a_reader_that_leaves_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "models"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("one over nothing")

    def whole() -> None: ...

    monkeypatch.setattr(app, "COMMANDS", (broken, whole))
    with pytest.raises(ZeroDivisionError, match="one over nothing") as caught:
        run(["broken"])
    assert "Please report it" in caught.value.__notes__[0]
