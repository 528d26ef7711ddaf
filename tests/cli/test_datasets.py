"""A dataset on the command line: read, measured, resumed, extended, looked at, spread."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest

import mindshare as package

from . import tiny
from .conftest import Mindshare

CLASSES = ("--class", "hash=#", "--class", "star=*")


@pytest.fixture
def rows(place: Path) -> Path:
    """A table with a question, a level and a document that rows share."""
    path = place / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "level", "document"])
        for n in range(24):
            writer.writerow([f"{n}: " + "## ** a"[n % 4 :] * (1 + n % 3), n % 3, f"d{n // 2}"])
    return path


def options(rows: Path) -> tuple[object, ...]:
    return ("--data", rows, "--column", "prompt=question", "--column", "group=document", *CLASSES)


def tables(folder: Path) -> dict[str, str]:
    found = sorted(folder.glob("*.parquet"))
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in found}


def test_a_dataset_becomes_tables_and_is_resumed(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
    place: Path,
) -> None:
    few = mindshare("measure", llama, *options(rows), "--limit", 5, "--out", "run")
    assert few.code == 0, few.err
    assert package.read("run").prompts.num_rows == 5
    all_ = mindshare("measure", llama, *options(rows), "--out", "run", "--progress", "json")
    assert all_.code == 0, all_.err
    lines = [json.loads(line) for line in all_.err.splitlines() if line.startswith("{")]
    assert (lines[-1]["done"], lines[-1]["total"], lines[-1]["finished"]) == (24, 24, True)
    assert lines[0]["done"] == 5  # what was there already
    once = mindshare("measure", llama, *options(rows), "--out", "once")
    assert once.code == 0, once.err
    assert tables(place / "run") == tables(place / "once")
    found = package.read("run").to_pandas("prompts")
    assert found["group"].nunique() == 12


def test_asking_for_less_makes_smaller_tables_and_says_so(
    mindshare: Mindshare, llama: Path, rows: Path, place: Path
) -> None:
    first = mindshare("shares", llama, *options(rows), "--out", "run")
    assert first.code == 0, first.err
    before = tables(place / "run")
    less = mindshare("shares", llama, *options(rows), "--limit", 8, "--out", "run")
    assert less.code == 0, less.err
    assert "results of earlier commands (16)" in " ".join(less.err.split())
    assert json.loads(mindshare("status", "run", "--json").out)["unasked"] == 16
    again = mindshare("shares", llama, *options(rows), "--out", "run")
    assert again.code == 0, again.err
    assert "Kept in the store" not in again.err
    assert tables(place / "run") == before
    fewer = mindshare("shares", llama, *options(rows), "--layers", "1", "--out", "run")
    assert "asked for: layers 0" in " ".join(fewer.err.split())


def test_a_prompt_that_is_too_long_is_named_with_its_row(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    (place / "long.jsonl").write_text('{"text": "# *"}\n{"text": "' + "# " * 5000 + '"}\n')
    for command in ("measure", "shares"):
        ran = mindshare(command, llama, "--data", "long.jsonl", *CLASSES, "--out", command)
        assert ran.code == 2
        said = " ".join(ran.err.split())
        assert "(in long.jsonl, line 2)" in said
        assert "leave such rows out with --bad-rows skip" in said


def test_filters_and_samples(mindshare: Mindshare, llama: Path, rows: Path) -> None:
    ran = mindshare(
        *("measure", llama, *options(rows), "--where", "level>=1"),
        *("--sample", 6, "--sample-seed", 3, "--out", "run"),
    )
    assert ran.code == 0, ran.err
    assert package.read("run").prompts.num_rows == 6


def test_groups_are_what_is_resampled(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
) -> None:
    ran = mindshare("shares", llama, *options(rows), "--out", "run")
    assert ran.code == 0, ran.err
    summary = package.read("run").to_pandas("summary")
    assert set(summary["n_prompts"]) == {24}
    assert set(summary["n_groups"]) == {12}
    assert summary["low"].notna().all()
    status = mindshare("status", "run", "--json")
    assert json.loads(status.out)["phase"] == "finished"


def test_another_definition_is_refused(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
    place: Path,
) -> None:
    mindshare("measure", llama, *options(rows), "--out", "run")
    before = tables(place / "run")
    ran = mindshare("measure", llama, *options(rows), "--queries", "last", "--out", "run")
    assert ran.code == 2
    assert "another definition" in ran.err
    assert 'queries: ["all"] there, ["last"] now' in ran.err
    assert tables(place / "run") == before
    again = mindshare(
        "measure", llama, *options(rows), "--queries", "last", "--out", "run", "--replace"
    )
    assert again.code == 0, again.err


@pytest.mark.parametrize(("option", "what"), [("--layers", "layer"), ("--heads", "head")])
def test_layers_and_heads_that_are_not_there(
    mindshare: Mindshare, llama: Path, rows: Path, option: str, what: str
) -> None:
    ran = mindshare("measure", llama, *options(rows), option, 99, "--out", "run")
    assert ran.code == 2
    assert f"{what} 99 does not exist" in ran.err


def test_rows_that_cannot_be_used(
    mindshare: Mindshare,
    llama: Path,
    place: Path,
) -> None:
    long = "x" * (tiny.CONTEXT + 1)
    lines = [{"text": "# a"}, {"txt": "b"}, {"text": long, "id": "long"}, {"text": "* c"}]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    data = ("--data", "rows.jsonl", *CLASSES)
    stopped = mindshare("measure", llama, *data, "--out", "stopped")
    assert stopped.code == 2
    assert "rows.jsonl, line 2" in stopped.err
    went_on = mindshare("measure", llama, *data, "--bad-rows", "skip", "--out", "run")
    assert went_on.code == 0, went_on.err
    assert went_on.err.count("rows.jsonl, line 2") == 1
    found = package.read("run")
    assert found.prompts.num_rows == 2
    row, prompt = found.provenance["left_out"]  # neither vanishes
    assert row.endswith("rows.jsonl, line 2")
    assert prompt.endswith("long")
    for _ in range(2):
        status = mindshare("status", "run")
        assert "2 of 4 prompts done, 2 failed" in status.out
        assert "rows.jsonl, line 2" in status.out
        assert "more than the" in status.out
        again = mindshare("measure", llama, *data, "--bad-rows", "skip", "--out", "run")
        assert again.code == 0, again.err


def test_a_chart_leaves_out_what_a_model_cannot_hold(
    mindshare: Mindshare,
    llama: Path,
    place: Path,
) -> None:
    texts = ["# a *", "x" * (tiny.CONTEXT + 1), "* c #"]
    (place / "rows.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    asked = ("shares", llama, f"Same={llama}", "--data", "rows.jsonl", *CLASSES, "--out", "run")
    assert mindshare(*asked).code == 2
    ran = mindshare(*asked, "--bad-rows", "skip")
    assert ran.code == 0, ran.err
    assert "Left out, 1 in all" in ran.err
    assert set(package.read("run").to_pandas("summary")["n_prompts"]) == {2}


def test_standard_input(
    mindshare: Mindshare,
    llama: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import io
    import sys

    given = io.TextIOWrapper(io.BytesIO(b'{"text": "# a"}\n{"text": "* b"}\n'))
    monkeypatch.setattr(sys, "stdin", given)
    ran = mindshare("measure", llama, "--data", "-", *CLASSES, "--out", "run")
    assert ran.code == 0, ran.err
    assert package.read("run").prompts.num_rows == 2


def test_a_study_file_on_several_processes(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
    place: Path,
) -> None:
    here = mindshare("measure", llama, *options(rows), "--out", "here")
    assert here.code == 0, here.err
    there = mindshare("run", "here/study.toml", "--on", "local", "--workers", 2, "--out", "there")
    assert there.code == 0, there.err
    assert tables(place / "here") == tables(place / "there")
    chart = mindshare("shares", llama, *options(rows), "--out", "chart")
    assert chart.code == 0, chart.err
    spread = mindshare("run", "chart/study.toml", "--on", "local", "--workers", 2, "--out", "c2")
    assert spread.code == 0, spread.err
    assert tables(place / "chart") == tables(place / "c2")


def test_an_insertion_is_not_spread(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
) -> None:
    saved = mindshare(
        *("insert", llama, "--data", rows, "--column", "prompt=question", "--at", "end"),
        *("--save-study", "ins.toml"),
    )
    assert saved.code == 0, saved.err
    ran = mindshare("run", "ins.toml", "--on", "ray")
    assert ran.code == 2
    assert "can't be spread" in ran.err
