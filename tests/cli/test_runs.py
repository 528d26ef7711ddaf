"""`mindshare runs` lists and compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from mindshare.cli import run_command
from mindshare.cli.runs import runs
from mindshare.runs import Done, Planned, Store


def ask(*arguments: object) -> int:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(runs)
    return run_command(
        lambda: typer.main.get_command(app), [str(a) for a in arguments], name="mindshare runs"
    )


def make(folder: str, near: int = 0, *prompts: str) -> None:
    with Store.open(folder, {"near": near, "classes": {"hash": "#"}}) as store:
        store.plan("smollm2", [Planned(p, p.encode().hex()) for p in prompts], layers=[0])
        store.put([Done(prompts[0].encode().hex(), "smollm2", prompts[0], {0: b"x"})])


def test_runs_are_listed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make("results/maps", 0, "p1", "p2")
    make("results/other", 1, "p1")
    (place / "results" / "torn").mkdir()
    (place / "results" / "torn" / "run.sqlite").write_bytes(b"")
    assert ask() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "results/maps  stopped: 1 of 2 done, 0 failed, 1 waiting"
    assert lines[1].startswith("    smollm2 · definition ")
    assert lines[2].startswith("results/other  measured: 1 of 1 done")
    assert lines[4].startswith("results/torn  can't be read: is damaged: it is empty")
    assert ask("results", "--json") == 0
    first, _, torn = json.loads(capsys.readouterr().out)
    assert (first["run"], first["done"], first["waiting"]) == ("results/maps", 1, 1)
    assert torn["trouble"].startswith("is damaged")


def test_without_runs_it_says_how_to_make_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask() == 0
    assert "No runs in results" in capsys.readouterr().out


def test_two_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    make("a", 0, "p1", "p2")
    make("b", 1, "p2", *(f"q{n}" for n in range(7)))
    make("c", 0, "p1", "p2")
    assert ask("a", "b", "--compare") == 0
    assert capsys.readouterr().out.splitlines() == [
        "a: a",
        "b: b",
        "definition, near: 0 in a, 1 in b",
        "models: 1 in both",
        "prompts: 1 in both; 1 (p1) only in a; 7 (q0, q1, q2, q3, q4, …) only in b",
    ]
    assert ask("a", "c", "--compare") == 0
    assert "The same definition, models, layers and prompts." in capsys.readouterr().out
    assert ask("a", "b", "--compare", "--json") == 0
    assert json.loads(capsys.readouterr().out)["same"] is False


def test_comparing_takes_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("a", "--compare") == 2
    assert "--compare with 1 folders" in capsys.readouterr().err
