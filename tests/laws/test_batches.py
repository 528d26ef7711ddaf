"""Company changes no bit: a prompt's numbers are the same bytes in any batch, in any order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention.checks import invariant
from mindshare.attention.forward import batches, run_batch
from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.attention.reference import probabilities
from mindshare.study import LocalBackend
from tests.laws import zoo

SHARING = ("llama", "gemma2", "gemma3_text", "qwen2", "gpt2", "phi3", "olmo2", "smollm3")
EVERYTHING = Request(statistics=frozenset({"mass", "received", "entropy", "distance"}))
APART = ("gpt_oss", "mixtral", "qwen3_moe")  # experts


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))


def jobs(count: int = 24, *, longest: int = 100, sets: int = 1) -> list[Job]:
    numbers = np.random.default_rng(3)
    lengths = numbers.integers(1, longest, count)
    return [
        Job(
            item=f"{i:02x}",
            ids=numbers.integers(3, zoo.VOCABULARY, n),
            columns=numbers.random((n, 3), np.float32),
            queries=None if sets == 1 else numbers.random((sets, n)) < 0.7,
        )
        for i, n in enumerate(lengths)
    ]


def as_bytes(results: list[PromptResult]) -> dict[str, bytes]:
    return {
        one.item: b"".join(
            np.ascontiguousarray(x).tobytes()
            for numbers in one.layers.values()
            for x in numbers.values()
        )
        for one in results
    }


def in_batches(model: Any, some: list[Job], request: Request, tokens: int) -> dict[str, bytes]:
    backend = LocalBackend(model, tokens=tokens)
    return as_bytes([one for batch in backend.results(some, request) for one in batch])


@pytest.mark.parametrize("model_type", SHARING + APART)
@pytest.mark.parametrize("sets", [1, 2])
def test_batch_size_and_order_decide_nothing(model_type: str, sets: int) -> None:
    model = zoo.build(model_type)
    some = jobs(sets=sets)
    alone = in_batches(model, some, EVERYTHING, tokens=1)
    together = in_batches(model, some, EVERYTHING, tokens=10_000)
    mixed = random.Random(1).sample(some, len(some) - 3)
    few = in_batches(model, mixed, EVERYTHING, tokens=200)
    assert together == alone
    assert few == {job.item: alone[job.item] for job in mixed}


@pytest.mark.parametrize("model_type", SHARING)
def test_models_without_experts_share_passes(model_type: str) -> None:
    assert invariant(zoo.build(model_type))


@pytest.mark.parametrize("model_type", APART)
def test_models_with_experts_do_not(model_type: str) -> None:
    assert not invariant(zoo.build(model_type))


def test_the_number_of_threads_decides_nothing() -> None:
    model, some = zoo.build("llama"), jobs()
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(in_batches(model, some, EVERYTHING, tokens=2_000))
    torch.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text"])
def test_a_padded_batch_gives_what_the_reference_gives(model_type: str) -> None:
    """Mass and received of every row, from matrices in float64 of a pass without padding."""
    model = zoo.build(model_type)
    some = [job for job in jobs() if 33 <= len(job) <= 48]
    assert len(some) > 1
    results = run_batch(model, some, Request(), padded=True)
    for job, result in zip(some, results, strict=True):
        for layer, a in reference(model, job).items():
            columns = torch.from_numpy(job.columns).double()
            mass = (a @ columns).mean(1)
            assert np.abs(result.layers[layer]["mass"][0] - mass.numpy()).max() < 1e-5
            counts = torch.arange(len(job) - 1, -1, -1).clamp(min=1)
            received = a.tril(-1).sum(1) / counts
            own = np.nan_to_num(result.layers[layer]["received"][0])
            assert np.abs(own - received.numpy()).max() < 1e-5


def reference(model: Any, job: Job) -> dict[int, torch.Tensor]:
    """A[head, query, key] of each layer."""
    from mindshare.attention.call import TokenBatch
    from mindshare.attention.forward import run_pass

    found: dict[int, torch.Tensor] = {}

    def keep(layer: int, call: Any) -> None:
        found[layer] = probabilities(call)[0]

    valid = torch.ones(1, len(job), dtype=torch.bool)
    batch = TokenBatch(torch.from_numpy(job.ids)[None], torch.zeros(1, len(job), 0), valid)
    run_pass(model, batch, Request(frozenset({"received"})), observer=keep)
    return found


def test_batches_hold_one_padded_length_and_stay_within_their_budget() -> None:
    some = jobs(200)
    made = list(batches(some, together=True, tokens=lambda: 300))
    assert sorted(job.item for batch in made for job in batch) == sorted(job.item for job in some)
    assert max(len(batch) for batch in made) > 3
    for batch in made:
        assert len({job.padded for job in batch}) == 1
        assert len(batch) == 1 or len(batch) * batch[0].padded <= 300
    assert all(len(batch) == 1 for batch in batches(some, together=False, tokens=lambda: 300))


def test_too_little_memory_means_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    import mindshare.attention.forward as module

    model, some = zoo.build("llama"), jobs()
    refused: list[int] = []

    def small(model: Any, jobs: list[Job], request: Request, **more: Any) -> list[PromptResult]:
        if len(jobs) * jobs[0].padded > 200:
            refused.append(len(jobs) * jobs[0].padded)
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        return run_batch(model, jobs, request, **more)

    whole = in_batches(model, some, Request(), tokens=5_000)
    monkeypatch.setattr(module, "run_batch", small)
    assert in_batches(model, some, Request(), tokens=5_000) == whole
    assert 0 < len(refused) < 6
    assert refused[-1] < refused[0]
