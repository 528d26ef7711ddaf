"""Runs that are stopped, resumed and extended; what they refuse, and what they leave."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindshare
from mindshare.attention.jobs import Job, Request, pack, unpack
from mindshare.errors import ExactnessError, OutputError, PromptError
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.store import Progress, ProgressNumbers, RunReader, run_status
from mindshare.study import LocalBackend, RunFolder, build_insertion_study

CLASSES = {"hash": "#", "star": "*"}
TEXTS = [f"{n}: " + "## ** x"[n % 5 :] * (1 + n % 3) for n in range(12)]


def measured(model: Any, texts: Any, folder: Any, **definition: Any) -> mindshare.Measurement:
    return mindshare.measure(model, texts, **{"classes": CLASSES} | definition, into=folder)


def files(folder: Path) -> dict[str, str]:
    found = sorted(folder.glob("*.parquet"))
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in found}


class Counted:
    """How many prompts were asked about, and in which layers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jobs: list[tuple[int, frozenset[int] | None]] = []
        results = LocalBackend.results

        def counting(backend: LocalBackend, jobs: list[Job], request: Request) -> Any:
            self.jobs.append((len(jobs), request.layers))
            return results(backend, jobs, request)

        monkeypatch.setattr(LocalBackend, "results", counting)


def test_a_run_holds_what_a_measurement_in_memory_holds(llama: LoadedModel, tmp_path: Path) -> None:
    kept = measured(llama, TEXTS, tmp_path / "run")
    held = mindshare.measure(llama, TEXTS, classes=CLASSES)
    assert list(held.tables) != []
    for name in held.tables:
        assert kept.table(name).equals(held.table(name), check_metadata=True), name
    again = mindshare.read(tmp_path / "run")
    assert again.mass.equals(held.mass)
    assert again.provenance["left_out"] == {}


def test_what_prompts_share_is_told_and_changes_no_byte(llama: LoadedModel, tmp_path: Path) -> None:
    texts = ["## ** one and two " * 6 + text for text in TEXTS]
    found = measured(llama, texts, tmp_path / "all", chunk_tokens=8)
    for number in range(0, len(texts), 5):  # resumed, each time with some more
        again = measured(llama, texts[: number + 5], tmp_path / "resumed", chunk_tokens=8)
    assert files(tmp_path / "all") == files(tmp_path / "resumed")
    for kept, folder in ((found, "all"), (again, "resumed")):
        shared = kept.provenance["run"]["shared_tokens"]
        assert shared > 100
        assert run_status(tmp_path / folder).shared_tokens == shared
    whole = measured(llama, texts, tmp_path / "whole")
    assert "shared_tokens" not in whole.provenance["run"]
    common = whole.provenance["run"]["common_tokens"]
    ids = [tuple(one) for _, one in whole.to_pandas("tokens").groupby("prompt")["token_id"]]
    assert [len({one[:n] for one in ids}) == 1 for n in (common, common + 1)] == [True, False]


def test_the_same_call_again_asks_nothing(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(llama, TEXTS, tmp_path / "run")
    before = files(tmp_path / "run")
    counted = Counted(monkeypatch)
    measured(llama, TEXTS, tmp_path / "run")
    assert counted.jobs == []
    assert files(tmp_path / "run") == before


def test_prompts_that_are_added_are_the_only_ones_asked(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(llama, TEXTS[:5], tmp_path / "run")
    counted = Counted(monkeypatch)
    measured(llama, TEXTS, tmp_path / "run")
    assert counted.jobs == [(7, None)]
    measured(llama, TEXTS, tmp_path / "at once")
    assert files(tmp_path / "run") == files(tmp_path / "at once")


def test_layers_that_are_added_are_the_only_ones_kept_anew(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(llama, TEXTS, tmp_path / "run", layers=[0])
    counted = Counted(monkeypatch)
    measured(llama, TEXTS, tmp_path / "run", layers=[0, 1])
    assert counted.jobs == [(12, frozenset({1}))]
    measured(llama, TEXTS, tmp_path / "at once", layers=[0, 1])
    assert files(tmp_path / "run") == files(tmp_path / "at once")


def test_layers_that_are_added_are_told_before_the_work_starts(
    llama: LoadedModel, tmp_path: Path
) -> None:
    told: list[str] = []
    into = RunFolder(tmp_path / "run", tell=told.append)
    for layers in ([0], [0], [0, 1], [1], [0]):
        measured(llama, TEXTS, into, layers=layers)
    (words,) = told
    assert "layers 0 " in words
    assert "add 1," in words


def test_heads_are_a_choice_among_what_is_there(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(llama, TEXTS, tmp_path / "run")
    counted = Counted(monkeypatch)
    mean = measured(llama, TEXTS, tmp_path / "run", heads="mean")
    assert counted.jobs == []
    held = mindshare.measure(llama, TEXTS, classes=CLASSES, heads="mean")
    assert mean.mass.equals(held.mass)


def test_another_definition_is_refused_and_both_are_shown(
    llama: LoadedModel, tmp_path: Path
) -> None:
    measured(llama, TEXTS, tmp_path / "run")
    before = files(tmp_path / "run")
    with pytest.raises(OutputError, match=r"(?s)another definition.*near: 0 there, 2 now"):
        measured(llama, TEXTS, tmp_path / "run", near=2)
    assert files(tmp_path / "run") == before


def test_a_prompt_that_cannot_be_measured_stops_the_run_or_is_noted(
    llama: LoadedModel, tmp_path: Path
) -> None:
    texts = [*TEXTS[:2], Prompt.from_text("x" * 400, id="long"), TEXTS[3]]
    with pytest.raises(PromptError, match="prompt long has 400 tokens, more than the 256"):
        measured(llama, texts, tmp_path / "stops")
    found = measured(llama, texts, RunFolder(tmp_path / "goes on", bad_rows="skip"))
    assert found.prompts.num_rows == 3
    (reason,) = found.provenance["left_out"].values()
    assert "400 tokens" in reason
    status = run_status(tmp_path / "goes on")
    counts, (failure,) = status.total, status.failures
    assert (counts.done, counts.failed, counts.waiting) == (3, 1, 0)
    assert (failure.label, failure.prompt) == ("tiny-llama", "long")


@pytest.mark.parametrize("kind", ["chart", "insertion chart", "tables", "insertion tables"])
def test_counts_with_prompts_left_out_end_at_the_total(
    llama: LoadedModel, tmp_path: Path, kind: str
) -> None:
    """Those of the progress and of the status, also of a second call."""
    long = [Prompt.from_text("x" * 400 + name, id=name) for name in "ab"]
    texts, seen = [TEXTS[0], *long, *TEXTS[1:4]], list[ProgressNumbers]()
    into = RunFolder(tmp_path / "run", bad_rows="skip", progress=Progress(seen.append))
    study = build_insertion_study("/ *3") if "insertion" in kind else None
    several = 2 if "chart" in kind else 1
    for _ in range(2):
        seen.clear()
        if study is None and several == 1:
            measured(llama, texts, into)
        elif study is not None and several == 1:
            mindshare.measure(llama, texts, study=study, into=into)
        elif study is None:
            mindshare.shares({"a": llama, "b": llama}, texts, classes={"hash": "#"}, into=into)
        else:
            mindshare.insertion({"a": llama, "b": llama}, texts, insert="/ *3", into=into)
        status, last = run_status(tmp_path / "run"), seen[-1]
        done = 4 * several * (1 if study is None else study.passes)
        assert (last.done, last.failed, last.total) == (done, 2, done + 2)
        assert (status.total.done, status.total.failed, status.total.waiting) == (done, 2, 0)


def test_nothing_but_bad_prompts(llama: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="none of the prompts can be measured"):
        measured(llama, ["x" * 400], RunFolder(tmp_path / "run", bad_rows="skip"))
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_prompts_of_the_same_text_are_measured_once_and_counted_each(
    llama: LoadedModel, tmp_path: Path
) -> None:
    twice = [Prompt.from_text("## x", id=name) for name in ("a", "b")]
    found = measured(llama, twice, tmp_path / "run")
    assert found.prompts["prompt"].to_pylist() == ["a", "b"]
    with RunReader.at(tmp_path / "run") as run:
        assert len({one.item for one in run.planned("tiny-llama")}) == 1


def test_more_prompts_than_a_window(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mindshare.study import measurer

    whole = measured(llama, TEXTS, tmp_path / "one window")
    monkeypatch.setattr(measurer, "WINDOW", 5)
    measured(llama, TEXTS, tmp_path / "three")
    assert files(tmp_path / "three") == files(tmp_path / "one window")
    assert whole.prompts.num_rows == 12


def test_two_models_share_a_run(llama: LoadedModel, tmp_path: Path) -> None:
    chart = mindshare.shares(
        {"a": llama, "b": llama}, TEXTS, classes={"hash": "#"}, into=tmp_path / "run"
    )
    chart.save(tmp_path / "run")
    saved = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert sorted(saved["models"]) == ["a", "b"]
    assert run_status(tmp_path / "run").total.done == 24
    with RunReader.at(tmp_path / "run") as run:
        assert run.labels == ("a", "b")


def test_charts_and_measurements_go_on_from_each_other(
    llama: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mindshare.shares(llama, TEXTS, classes={"hash": "#"}, into=tmp_path / "run")
    counted = Counted(monkeypatch)
    mindshare.head_map(llama, TEXTS, cls="hash", classes={"hash": "#"}, into=tmp_path / "run")
    assert counted.jobs == []


@pytest.mark.parametrize("chunk", [None, 4])
def test_an_insertion_is_resumed_and_extended(
    llama: LoadedModel, tmp_path: Path, chunk: int | None
) -> None:
    texts = [f"Question {n}: what is it?" for n in range(3)]

    def chart(insert: str, into: Path | None) -> mindshare.Chart:
        parts = {} if into is None else {"into": into}
        return mindshare.insertion(
            llama, texts, insert=insert, at="end", chunk_tokens=chunk, **parts
        )

    fresh = chart("/ *3", None).tables
    for _ in range(2):
        kept = chart("/ *3", tmp_path / "run").tables
        assert all(kept[name].equals(fresh[name]) for name in fresh)
    longer, alone = chart("/ *3,5", tmp_path / "run"), chart("/ *3,5", None)
    assert all(longer.tables[name].equals(alone.tables[name]) for name in alone.tables)
    (found,) = longer.measurements.values()
    shared = found.provenance["run"].get("shared_tokens", 0)
    assert run_status(tmp_path / "run").shared_tokens == shared
    assert (shared > 100) == (chunk is not None)


def test_one_layer_packed_and_unpacked() -> None:
    numbers = np.random.default_rng(0)
    whole = {
        "mass": numbers.random((2, 3, 4), np.float32),
        "expected": numbers.random((2, 1, 4), np.float32),
        "factor": numbers.random(3),
        "received": np.full((2, 3, 9), np.nan, np.float32),
        "nothing": np.zeros((3, 0), np.float32),
    }
    back = unpack(pack(whole))
    assert back.keys() == whole.keys()
    for name, values in whole.items():
        assert back[name].dtype == values.dtype
        assert np.array_equal(values, back[name], equal_nan=True), name
    with pytest.raises(ExactnessError, match="can't be read"):
        unpack(pack({"x": np.zeros(5)})[:-3])
