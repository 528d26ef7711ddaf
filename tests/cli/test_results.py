"""Folders of results: where they go, how far a run is, which there are, what differs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mindshare.cli import results as module
from mindshare.cli.app import RUNNABLE
from mindshare.cli.groups import study_files
from mindshare.cli.results import check_folder, default_folder
from mindshare.prompts import Prompt
from mindshare.store import Done, Failed, Planned, RunWriter

from .conftest import Mindshare

PROMPT = Prompt.from_text("a ## b")


def folder_of(model: str, *prompts: Prompt, **options: Any) -> Path:
    return default_folder(
        model, study_files(RUNNABLE["measure"].kind(model=model, **options), prompts)
    )


def test_the_same_command_names_the_same_folder() -> None:
    first = folder_of("models/my model", PROMPT, layers="0")
    assert first == folder_of("models/my model", PROMPT, layers="0", out=Path("x"), quiet=True)
    assert first.parent == Path("results")
    assert first.name.startswith("my-model-")


def test_whatever_decides_the_numbers_names_another() -> None:
    named = Prompt.from_text("another text", id=PROMPT.id)  # the same id, other content
    folders = {
        folder_of("m", PROMPT),
        folder_of("x/m", PROMPT),
        folder_of("m", PROMPT, layers="0"),
        folder_of("m", named),
        folder_of("m", PROMPT, named),
        folder_of("m", PROMPT, adapter="lora"),
    }
    assert len(folders) == 6


def test_checking_leaves_nothing_behind(place: Path) -> None:
    check_folder(Path("deep/down/out"), replace=False)
    check_folder(place / "out", replace=True)
    assert list(place.iterdir()) == []


def test_results_may_be_replaced() -> None:
    Path("out").mkdir()
    (Path("out") / "manifest.json").write_text("{}")
    check_folder(Path("out"), replace=True)


# mindshare status

_AT_WORK = """
import sys
from mindshare.store import Done, Planned, RunWriter
with RunWriter.open(sys.argv[1], {"near": 0}) as store:
    store.plan("smollm2", [Planned(f"p{n}", f"{n:04x}", None, 10) for n in range(4)], layers=[0])
    store.working_on("smollm2")
    store.put([Done("0000", "smollm2", "p0", {0: b"x"}, tokens=10)])
    print("ready", flush=True)
    sys.stdin.read()
"""
Process = subprocess.Popen[str]


@pytest.fixture
def at_work() -> Iterator[Process]:
    """A process that has measured one prompt of four, and stops when its input ends."""
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
    assert process.stdin is not None
    process.stdin.close()
    process.stdout.close()


def test_at_work_and_killed(mindshare: Mindshare, at_work: Process) -> None:
    first, prompts, tokens, times = mindshare("status", "run").out.splitlines()
    assert first.startswith("run: running")
    assert f"process {at_work.pid} on " in first
    assert "model smollm2" in first
    assert prompts == "1 of 4 prompts done, 0 failed, 3 waiting"
    assert tokens.startswith("10 tokens, ")
    assert tokens.endswith(" left")
    assert "20" in times
    at_work.kill()
    at_work.wait()
    ran = mindshare("status", "run")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert f"killed: process {at_work.pid} on" in lines[0]
    assert "the same command goes on" in lines[0]
    assert "left" not in lines[2]


@pytest.mark.parametrize("form", ["text", "json", "terminal"])
def test_watching_ends_with_the_work(
    mindshare: Mindshare, at_work: Process, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.05)
    if form == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
    assert at_work.stdin is not None
    threading.Timer(0.3, at_work.stdin.close).start()
    ran = mindshare("status", "run", "--watch", *(["--json"] if form == "json" else []))
    assert ran.code == 0
    if form == "json":
        phases = [json.loads(line)["phase"] for line in ran.out.splitlines()]
        assert (phases[0], phases[-1]) == ("running", "stopped")
    else:
        assert "run: stopped" in ran.out
        assert ("run: running" in ran.out) == (form == "terminal")


def test_failures_and_several_models(mindshare: Mindshare) -> None:
    with RunWriter.open("run", {"near": 0}) as store:
        for label in ("a", "b"):
            store.plan(label, [Planned("p", "aa" if label == "a" else "bb", "rows.jsonl, row 7")])
        store.put([Done("aa", "a", "p", {0: b"x"}, whole=True, tokens=5)])
        store.put([Failed("bb", "b", "p", "too long:\n  9000 tokens")])
    lines = mindshare("status", "run").out.splitlines()
    assert lines[0].startswith("run: measured")
    assert lines[1:4] == [
        "1 of 2 prompts × models done, 1 failed, 0 waiting",
        "  a: 1 of 1 done, 0 failed, 0 waiting",
        "  b: 0 of 1 done, 1 failed, 0 waiting",
    ]
    assert lines[-1] == "  b, p (rows.jsonl, row 7): too long: 9000 tokens"
    found = json.loads(mindshare("status", "run", "--json").out)
    assert [failure["label"] for failure in found["failures"]] == ["b"]


def test_no_run_is_a_mistake_not_a_traceback(mindshare: Mindshare) -> None:
    Path("empty").mkdir()
    for name in ("nowhere", "empty"):
        ran = mindshare("status", name)
        assert ran.code == 2
        assert f"there is no run in {name}" in ran.err


def test_models_and_prompts_that_are_still_to_come_are_waiting(mindshare: Mindshare) -> None:
    with RunWriter.open("run", {"near": 0}) as store:
        store.expect({"a": 3, "b": 3})
        store.plan("a", [Planned("p", "aa"), Planned("q", "ab")])
        store.put([Done("aa", "a", "p", {0: b"x"}, whole=True, tokens=5)])
    assert mindshare("status", "run").out.splitlines()[1:4] == [
        "1 of 6 prompts × models done, 0 failed, 5 waiting",
        "  a: 1 of 3 done, 0 failed, 2 waiting",
        "  b: 0 of 3 done, 0 failed, 3 waiting",
    ]


# mindshare runs


def make(folder: str, near: int = 0, *prompts: str) -> None:
    with RunWriter.open(folder, {"near": near, "classes": {"hash": "#"}}) as store:
        store.plan("smollm2", [Planned(p, p.encode().hex()) for p in prompts], layers=[0])
        store.put([Done(prompts[0].encode().hex(), "smollm2", prompts[0], {0: b"x"})])


def test_runs_are_listed(mindshare: Mindshare, place: Path) -> None:
    make("results/maps", 0, "p1", "p2")
    make("results/other", 1, "p1")
    (place / "results" / "torn").mkdir()
    (place / "results" / "torn" / "run.sqlite").write_bytes(b"")
    lines = mindshare("runs").out.splitlines()
    assert lines[0] == "results/maps  stopped: 1 of 2 done, 0 failed, 1 waiting"
    assert lines[1].startswith("    smollm2 · definition ")
    assert lines[2].startswith("results/other  measured: 1 of 1 done")
    assert lines[4].startswith("results/torn  can't be read: is damaged")
    first, _, torn = json.loads(mindshare("runs", "results", "--json").out)
    assert (first["run"], first["done"], first["waiting"]) == ("results/maps", 1, 1)
    assert torn["trouble"].startswith("is damaged")


def test_without_runs_it_says_so(mindshare: Mindshare) -> None:
    ran = mindshare("runs")
    assert ran.code == 0
    assert "No runs in results" in ran.out


def test_two_are_compared(mindshare: Mindshare) -> None:
    make("a", 0, "p1", "p2")
    make("b", 1, "p2", *(f"q{n}" for n in range(7)))
    make("c", 0, "p1", "p2")
    assert mindshare("runs", "a", "b", "--compare").out.splitlines() == [
        "a: a",
        "b: b",
        "definition, near: 0 in a, 1 in b",
        "models: 1 in both",
        "prompts: 1 in both; 1 (p1) only in a; 7 (q0, q1, q2, q3, q4, …) only in b",
    ]
    assert "The same definition" in mindshare("runs", "a", "c", "--compare").out
    found = json.loads(mindshare("runs", "a", "b", "--compare", "--json").out)
    assert found["same"] is False


def test_comparing_takes_two(mindshare: Mindshare) -> None:
    ran = mindshare("runs", "a", "--compare")
    assert ran.code == 2
    assert "--compare with 1 folders" in ran.err
