"""`mindshare status` while a run is at work, after it was killed, and at its end."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import typer

from mindshare.cli import run_command
from mindshare.cli import status as module
from mindshare.runs import Done, Failed, Planned, Store

_AT_WORK = """
import sys
from mindshare.runs import Done, Planned, Store
with Store.open(sys.argv[1], {"near": 0}) as store:
    store.plan("smollm2", [Planned(f"p{n}", f"{n:04x}", None, 10) for n in range(4)], layers=[0])
    store.working_on("smollm2")
    store.put([Done("0000", "smollm2", "p0", {0: b"x"}, tokens=10)])
    print("ready", flush=True)
    sys.stdin.read()
"""


def ask(*arguments: object) -> int:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(module.status)
    return run_command(
        lambda: typer.main.get_command(app), [str(a) for a in arguments], name="mindshare status"
    )


@pytest.fixture
def at_work():
    process = subprocess.Popen(
        [sys.executable, "-c", _AT_WORK, "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_at_work_and_killed(at_work, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("run") == 0
    first, prompts, tokens, times = capsys.readouterr().out.splitlines()
    assert first.startswith(f"run: running: a process is at work (process {at_work.pid} on ")
    assert first.endswith("model smollm2)")
    assert prompts == "1 of 4 prompts done, 0 failed, 3 waiting"
    assert tokens.startswith("10 tokens, ")
    assert tokens.endswith(" left")
    assert times.startswith("Last started 20")
    at_work.kill()
    at_work.wait()
    assert ask("run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"killed: process {at_work.pid} on" in lines[0]
    assert "the same command goes on from here" in lines[0]
    assert "left" not in lines[2]


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_watching_ends_with_the_work(
    at_work, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.05)
    threading.Timer(0.3, at_work.stdin.close).start()
    assert ask("run", "--watch", *form) == 0
    lines = capsys.readouterr().out.splitlines()
    if form:
        phases = [json.loads(line)["phase"] for line in lines]
        assert phases[0] == "running"
        assert phases[-1] == "stopped"
    else:
        assert lines[0].startswith("run: stopped")


def test_watching_on_a_terminal(
    at_work, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(module, "_EVERY", 0.05)
    threading.Timer(0.3, at_work.stdin.close).start()
    assert ask("run", "--watch") == 0
    out = capsys.readouterr().out
    assert "run: running" in out
    assert "run: stopped" in out


def test_failures_and_several_models(capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open("run", {"near": 0}) as store:
        for label in ("a", "b"):
            store.plan(label, [Planned("p", "aa" if label == "a" else "bb", "rows.jsonl, row 7")])
        store.put([Done("aa", "a", "p", {0: b"x"}, whole=True, tokens=5)])
        store.put([Failed("bb", "b", "p", "too long:\n  9000 tokens")])
    assert ask("run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run: measured: everything is measured; the tables are not written"
    assert lines[1:4] == [
        "1 of 2 prompts × models done, 1 failed, 0 waiting",
        "  a: 1 of 1 done, 0 failed, 0 waiting",
        "  b: 0 of 1 done, 1 failed, 0 waiting",
    ]
    assert lines[-2:] == ["Failures:", "  b, p (rows.jsonl, row 7): too long: 9000 tokens"]
    assert ask("run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["failures"][0]["label"] == "b"


def test_no_run_is_a_mistake_not_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("nowhere") == 2
    assert "there is no run in nowhere: No such" in capsys.readouterr().err
    Path("empty").mkdir()
    assert ask("empty") == 2
    assert "there is no run in empty\n" in capsys.readouterr().err


def test_models_and_prompts_that_are_still_to_come_are_waiting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Store.open("run", {"near": 0}) as store:
        store.expect({"a": 3, "b": 3})
        store.plan("a", [Planned("p", "aa"), Planned("q", "ab")])
        store.put([Done("aa", "a", "p", {0: b"x"}, whole=True, tokens=5)])
    assert ask("run") == 0
    assert capsys.readouterr().out.splitlines()[1:4] == [
        "1 of 6 prompts × models done, 0 failed, 5 waiting",
        "  a: 1 of 3 done, 0 failed, 2 waiting",
        "  b: 0 of 3 done, 0 failed, 3 waiting",
    ]
