"""A worker loads what it is told, says who it is, and never raises."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mindshare.backends import ModelSpec
from mindshare.backends.worker import Worker, WorkerFingerprint, WorkerSetup
from mindshare.errors import ExactnessError, MindshareError
from mindshare.models import LoadedModel
from mindshare.study.backend import LocalBackend, ModelIdentity
from tests.backends.tiny_jobs import REQUEST, as_bytes, everything, jobs, spec
from tests.models import tiny


@pytest.fixture(scope="module")
def worker(folder: Path) -> Worker:
    return Worker(WorkerSetup(spec(folder)))


@pytest.fixture(scope="module")
def fingerprint(worker: Worker) -> WorkerFingerprint:
    assert isinstance(worker.fingerprint, WorkerFingerprint)
    return worker.fingerprint


def fingerprint_of(loaded: LoadedModel) -> WorkerFingerprint:
    return WorkerFingerprint.of(LocalBackend(loaded))


def test_a_worker_says_who_it_is(fingerprint: WorkerFingerprint, folder: Path) -> None:
    there = pickle.loads(pickle.dumps(fingerprint))
    assert there == fingerprint
    assert there.identity == ModelIdentity.of(spec(folder).load())
    assert there.pid == os.getpid()
    assert there.may_share


def test_results_travel_without_loss(worker: Worker, expected: dict[str, dict[int, bytes]]) -> None:
    outcome = worker.outcome(everything(), REQUEST)
    sent = pickle.dumps(outcome)
    assert as_bytes([pickle.loads(sent).results]) == expected
    tokens, layers, heads = sum(map(len, everything())), 4, 4
    # `received`, `entropy` and `distance` of every token; 4 bytes each at most twice over.
    assert len(sent) < 1.2 * tokens * layers * heads * 4 + 78 * layers * 1200


def test_a_worker_never_raises(tmp_path: Path, worker: Worker) -> None:
    nowhere = Worker(WorkerSetup(ModelSpec(str(tmp_path / "nowhere/at all"))))
    assert isinstance(nowhere.fingerprint, MindshareError)
    assert str(pickle.loads(pickle.dumps(nowhere.fingerprint))) == str(nowhere.fingerprint)
    assert nowhere.outcome(jobs(), REQUEST).failed is not None
    job = jobs()[0]
    job.ids[-1] = 10**6  # no model knows this one
    outcome = worker.outcome([job], REQUEST)
    assert outcome.failed is not None
    assert "IndexError" in outcome.failed


def test_relative_paths_start_where_the_driver_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    setup = WorkerSetup.like_here(spec(tmp_path))
    monkeypatch.chdir("/")
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    setup.enter()
    assert Path.cwd() == tmp_path
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_the_same_model_again_is_the_same(fingerprint: WorkerFingerprint, folder: Path) -> None:
    again = fingerprint_of(spec(folder).load())
    assert again == fingerprint
    fingerprint.require_same(replace(again, host="elsewhere", pid=1))


def test_the_number_of_threads_changes_nothing_or_is_told(
    fingerprint: WorkerFingerprint, folder: Path
) -> None:
    """Some processors have other products for so narrow a model on one thread than on two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else 2)
    try:
        other = fingerprint_of(spec(folder).load())
    finally:
        torch.set_num_threads(before)
    if other.identity.processor == fingerprint.identity.processor:
        fingerprint.require_same(other)
    else:
        with pytest.raises(ExactnessError, match="processor"):
            fingerprint.require_same(other)


def test_a_weight_that_differs_by_one_digit_shows_in_the_numbers(
    fingerprint: WorkerFingerprint, folder: Path
) -> None:
    loaded = spec(folder).load()
    with torch.no_grad():
        weight = loaded.model.model.layers[0].self_attn.q_proj.weight
        weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(10.0))
    with pytest.raises(ExactnessError, match="come out with other numbers"):
        fingerprint.require_same(fingerprint_of(loaded))


def test_another_precision_is_another_model(fingerprint: WorkerFingerprint, folder: Path) -> None:
    other = fingerprint_of(replace(spec(folder), dtype="float64").load())
    with pytest.raises(ExactnessError, match="weights, precision, device") as caught:
        fingerprint.require_same(other)
    assert "--workers 1" in str(caught.value)


def test_a_spec_travels_and_loads_what_it_names(folder: Path) -> None:
    there = pickle.loads(pickle.dumps(spec(folder)))
    assert there == spec(folder)
    assert there.load().name == "tiny-llama"


def test_the_reader_reads_like_the_model(folder: Path, tmp_path: Path) -> None:
    adapter = tiny.lora_folder(tmp_path / "lora", spec(folder).load().model)
    tiny.tokenizer().save_pretrained(adapter)
    for one in (spec(folder), ModelSpec(str(folder), adapter=str(adapter))):
        loaded, reader = one.load(), one.load_tokenizer()
        assert reader.tokenizer.get_vocab() == loaded.tokenizer.get_vocab()  # type: ignore[union-attr]
        assert reader.context_length == loaded.context_length
        assert reader.add_bos == loaded.add_bos


def test_what_needs_a_gpu() -> None:
    assert not ModelSpec("m").on_gpu
    assert not ModelSpec("m", device="cpu").on_gpu
    assert ModelSpec("m", device="cuda:1").on_gpu
    assert ModelSpec("m", device_map="auto").on_gpu
