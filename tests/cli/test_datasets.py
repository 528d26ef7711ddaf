"""A dataset on the command line: read, measured, resumed, extended, looked at, spread."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mindshare as package
from mindshare.backends.pool import WorkerPool
from tests.backends.tiny_jobs import kill

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


@pytest.mark.parametrize("command", ["measure", "shares"])
def test_a_long_common_beginning_is_told_once(
    command: str, mindshare: Mindshare, llama: Path, place: Path
) -> None:
    model = shutil.copytree(llama, place / "llama")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 1024}))
    document = "## ** one and two " * 40
    Path("rows.jsonl").write_text(
        "".join(json.dumps({"text": document + f"question {n}?"}) + "\n" for n in range(3))
    )
    asked = (command, model, "--data", "rows.jsonl", *CLASSES, "--layers", "0", "--out", "run")
    ran = mindshare(*asked)
    assert ran.code == 0, ran.err
    told = ran.out
    assert told.count("--chunk-tokens") == 1
    common = package.read("run").provenance["models" if command == "shares" else "run"]
    common = common["llama"]["run"] if command == "shares" else common
    assert f"the same {common['common_tokens']:,} tokens" in told
    again = mindshare(*asked[:-1], "chunks", "--chunk-tokens", 128)
    assert again.code == 0
    assert "--chunk-tokens" not in again.out


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
    counts = summary.groupby("class")[["n_prompts", "n_absent", "n_groups"]].agg(["min", "max"])
    assert counts.loc["star"].tolist() == [24, 24, 0, 0, 12, 12]
    assert counts.loc["hash"].tolist() == [12, 12, 12, 12, 6, 6]  # half of the rows have none
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


def test_an_insertion_on_two_workers_is_the_same_bytes(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
    place: Path,
) -> None:
    asked = ("--data", rows, "--column", "prompt=question", "--at", "end", "--insert", "/ *3,6")
    here = mindshare("insert", llama, *asked, "--against", "random-sentence", "--out", "here")
    assert here.code == 0, here.err
    there = mindshare("run", "here/study.toml", "--on", "local", "--workers", 2, "--out", "there")
    assert there.code == 0, there.err
    assert len(tables(place / "here")) > 8
    assert tables(place / "here") == tables(place / "there")
    again = mindshare("run", "here/study.toml", "--on", "local", "--workers", 2, "--out", "there")
    assert again.code == 0, again.err  # nothing is computed anew
    assert tables(place / "here") == tables(place / "there")


def test_every_command_that_measures_takes_workers(mindshare: Mindshare, llama: Path) -> None:
    """`insert` has a test of its own, with a worker that is killed."""
    asked = ("--data", "rows.jsonl", "--class", "hash=#", "--quiet")
    Path("rows.jsonl").write_text('{"text": "# a"}\n{"text": "## b *"}\n')
    for name in ("measure", "shares", "head-map"):
        for folder, where in (("here", ()), ("there", ("--workers", 2))):
            ran = mindshare(name, llama, *asked, *where, "--out", f"{name}-{folder}")
            assert ran.code == 0, ran.err
        assert tables(Path(f"{name}-here")) == tables(Path(f"{name}-there"))
        study = [Path(f"{name}-{folder}/study.toml").read_text() for folder in ("here", "there")]
        assert study[0] == study[1], "where it runs is no part of the study"


def test_one_prompt_on_two_workers(mindshare: Mindshare, llama: Path) -> None:
    for folder, where in (("here", ()), ("there", ("--on", "local", "--workers", 2))):
        ran = mindshare("measure", llama, "--text", "# a", *CLASSES, *where, "--out", folder)
        assert ran.code == 0, ran.err
    assert tables(Path("here")) == tables(Path("there"))


@pytest.mark.parametrize(
    ("where", "says"),
    [(("--on", "rya"), "did you mean 'ray'"), (("--address", "auto"), "an address is for Ray")],
)
def test_a_place_that_is_none(
    mindshare: Mindshare, llama: Path, where: tuple[str, ...], says: str
) -> None:
    ran = mindshare("insert", llama, "--text", "# a", "--insert", "/ *3", *where, "--out", "out")
    assert ran.code == 2
    assert says in ran.err
    assert not Path("out").exists()


INSERT = ("insert", "--insert", "/ *3,6", "--at", "end")
KNOCKOUT = ("knockout", *CLASSES, "--answer", "greedy", "--heads", "each")


@pytest.mark.parametrize("asked", [INSERT, KNOCKOUT], ids=["insert", "knockout"])
def test_a_killed_worker_changes_no_byte(
    mindshare: Mindshare,
    llama: Path,
    rows: Path,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[str, ...],
) -> None:
    command, *more = asked
    source = (llama, "--data", rows, "--column", "prompt=question", *more, "--quiet")
    here = mindshare(command, *source, "--out", "here")
    assert here.code == 0, here.err
    killed: list[int] = []

    def kill_one(pool: WorkerPool, *given: Any, **more: Any) -> Iterator[Any]:
        for results in compute(pool, *given, **more):
            if not killed:
                killed.append(pool.fingerprints[-1].pid)
                kill(killed[0])
            yield results

    compute = WorkerPool.results
    monkeypatch.setattr(WorkerPool, "results", kill_one)
    there = mindshare(command, *source, "--workers", 2, "--out", "there")
    assert there.code == 0, there.err
    assert len(killed) == 1
    assert len(tables(place / "here")) >= (8 if command == "insert" else 4)
    assert tables(place / "here") == tables(place / "there")


def test_a_knock_out_is_resumed_and_run_from_its_file_on_two_workers(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    rows = [
        {"id": f"r{i}", "text": f"{i}: ## b ** c", "answer": " a", "choices": [" a", " b"]}
        for i in range(8)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = ("knockout", llama, "--data", "rows.jsonl", *CLASSES, "--measure", "correct")
    for limit in (("--limit", 3), ()):
        ran = mindshare(*asked, *limit, "--out", "here")
        assert ran.code == 0, ran.err
    once = mindshare(*asked, "--out", "once")
    assert once.code == 0, once.err
    again = mindshare("run", "here/study.toml", "--workers", 2, "--out", "there")
    assert again.code == 0, again.err
    effects = package.read("here").to_pandas("effects_tiny-llama")
    assert set(effects["correct"]) <= {0.0, 1.0}, "choices are kept with the prompts"
    assert tables(place / "here") == tables(place / "once") == tables(place / "there")


def test_an_insertion_leaves_out_what_a_model_cannot_hold(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    texts = ["x" * (tiny.CONTEXT - 4), "# a *", "* c #"]  # the first has no room for the insertion
    (place / "rows.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    asked = ("insert", llama, "--data", "rows.jsonl", "--insert", "/ *3", "--out", "run")
    assert mindshare(*asked).code == 2
    ran = mindshare(*asked, "--bad-rows", "skip")
    assert ran.code == 0, ran.err
    assert "Left out, 1 in all" in ran.err
    assert set(package.read("run").to_pandas("summary")["n_prompts"]) == {2}
    status = json.loads(mindshare("status", "run", "--json").out)
    assert (status["phase"], status["failed"]) == ("finished", 1)


def test_figures_of_several_measures_live_together(
    mindshare: Mindshare, llama: Path, rows: Path, place: Path
) -> None:
    asked = ("shares", llama, *options(rows), "--out", "run", "--formats", "png,svg,csv")
    for measure in ("mass", "lift", "density"):
        drawn = mindshare(*asked, "--measure", measure)
        assert drawn.code == 0, drawn.err
    assert "class_bars_lift" in drawn.out.rpartition("earlier commands")[2]
    mapped = mindshare("head-map", *asked[1:], "--show", "star")
    assert mapped.code == 0, mapped.err
    manifest = json.loads((place / "run" / "manifest.json").read_text(encoding="utf-8"))
    names = [f"class_bars_{measure}" for measure in ("mass", "lift", "density")]
    assert set(manifest["figures"]) > set(names)
    for name in manifest["figures"]:
        assert (place / "run" / f"{name}.png").is_file(), name
    before = {name: (place / "run" / f"{name}.csv").read_bytes() for name in names}
    redrawn = mindshare("redraw", "run", "--bare")  # each of its own table
    assert redrawn.code == 0, redrawn.err
    assert {name: (place / "run" / f"{name}.csv").read_bytes() for name in names} == before
    assert mindshare("report", "run", "--out", "report").code == 0
    # The same again takes the place of the earlier one, and nothing piles up.
    for measure in ("mass", "mass"):
        assert mindshare(*asked, "--measure", measure).code == 0
    again = json.loads((place / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert set(again["figures"]) == set(manifest["figures"])
    assert len(again["tables"]) <= len(manifest["tables"])
    assert all((place / "run" / f"{name}.parquet").is_file() for name in again["tables"])


def test_knock_outs_of_several_measures_live_together(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    Path("rows.jsonl").write_text('{"text": "a ## b ** c", "answer": " a"}\n')
    asked = ("knockout", llama, "--data", "rows.jsonl", *CLASSES, "--out", "run")
    assert mindshare(*asked, "--formats", "csv").code == 0
    before = {file.name: file.read_bytes() for file in (place / "run").glob("*.csv")}
    assert len(before) == 2
    assert mindshare(*asked, "--formats", "csv", "--measure", "kl").code == 0
    assert {name: (place / "run" / name).read_bytes() for name in before} == before
    assert len(list((place / "run").glob("*.csv"))) == 4


def test_figures_that_show_something_else_by_their_name_are_told(
    mindshare: Mindshare, llama: Path, rows: Path
) -> None:
    told = "in place of what earlier commands drew by these names: profiles\n"
    data = ("--data", rows, "--column", "prompt=question", "--limit", "2")
    asked = ("insert", llama, *data, "--insert", "/ *3", "--out", "run", "--formats", "csv")
    for head, replaced in (("0.0", False), ("0.1", True), ("0.1", False)):
        drawn = mindshare(*asked, "--heads", head)
        assert drawn.code == 0, drawn.err
        assert (told in drawn.out) == replaced


def test_figures_that_tables_take_the_place_of_are_named(
    mindshare: Mindshare, llama: Path, rows: Path
) -> None:
    drawn = mindshare("shares", llama, *options(rows), "--out", "run", "--formats", "png")
    assert drawn.code == 0, drawn.err
    measured = mindshare("measure", llama, *options(rows), "--measure", "mass", "--out", "run")
    assert measured.code == 0, measured.err
    assert "class_bars_mass" in measured.err


def test_one_numbering_everywhere(
    mindshare: Mindshare, llama: Path, rows: Path, place: Path
) -> None:
    asked = ("insert", llama, "--data", rows, "--column", "prompt=question", "--limit", 8)
    drawn = mindshare(*asked, "--insert", "/ *3", "--out", "run", "--labels", "one-based")
    assert drawn.code == 0, drawn.err
    with (place / "run" / "map_amplitude.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert min(int(row["layer"]) for row in cells) == 1
    assert min(int(row["head"]) for row in cells) == 1
    stored = package.read("run").to_pandas("sequence")
    assert stored["layer"].min() == 0  # what is stored is counted from 0
    (place / "found.txt").write_text(drawn.out, encoding="utf-8")
    checked = mindshare("check-description", "found.txt", "run")
    assert checked.code == 0, checked.out
    redrawn = mindshare("redraw", "run", "--labels", "zero-based", "--figure", "map_amplitude")
    assert redrawn.code == 2
    assert mindshare("redraw", "run", "--labels", "zero-based").code == 0
    with (place / "run" / "map_amplitude.csv").open(newline="") as file:
        assert min(int(row["layer"]) for row in csv.DictReader(file)) == 0
