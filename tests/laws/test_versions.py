"""Versions of an insertion in chunks: the numbers of whole passes; what they begin with, once."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention.chunks import PrefixCache, chunk_names
from mindshare.attention.jobs import Job, Positions, PromptResult, Request
from mindshare.study import LocalBackend
from tests.laws import zoo
from tests.laws.test_prefixes import TYPES, as_bytes, computed

CHUNK, TOKENS = 8, 50
_SOME = """
    deepseek_v3 gemma2 gemma3_text gemma3n_text gpt2 gpt_neox gpt_oss granitemoehybrid lfm2 llama
    llama4_text qwen3_next
"""
SOME = _SOME.split()
ASKED = Request(frozenset({"given", "received", "rescaling"}), chunk_tokens=CHUNK)
WHOLE = replace(ASKED, chunk_tokens=None)
LIMIT = 2e-4  # a factor may be of any size: 0.001 of it


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))


def prompt(own: int = 11, seed: int = 0) -> list[Job]:
    """A prompt and its versions: late and early, long and short, at the start, at the end.

    Prompts begin with the same document, and end with `own` tokens that no other one has. The two
    tokens beside an insertion have no partner.
    """
    document = np.random.default_rng(7).integers(3, zoo.VOCABULARY, TOKENS - own)
    numbers = np.random.default_rng(seed)
    ids = np.concatenate([document, numbers.integers(3, zoo.VOCABULARY, own)])
    without = _job(f"a{seed}", ids, np.zeros(len(ids), bool))
    jobs = [without]
    for at, run in [(36, 13), (36, 3), (21, 9), (0, 5), (TOKENS, 6)]:
        inserted = np.arange(at, at + run)
        longer = np.insert(ids, at, numbers.integers(3, zoo.VOCABULARY, run))
        mask = np.isin(np.arange(len(longer)), inserted)
        old = np.array([i for i in range(TOKENS) if i not in (at - 1, at)])
        positions = Positions(np.stack([old, old + run * (old >= at)], 1), inserted, at + run)
        job = _job(f"b{seed}{len(jobs)}", longer, mask)
        jobs.append(replace(job, reference=without, positions=positions))
    return jobs


def _job(item: str, ids: np.ndarray, inserted: np.ndarray) -> Job:
    queries = np.stack([np.ones(len(ids), bool), ~inserted])
    return Job(item, ids, inserted[:, None].astype(np.float32), queries)


def alone(model: Any, some: list[Job], asked: Request) -> dict[str, PromptResult]:
    """Each with a backend that knows no other prompt, and keeps nothing."""
    found = {}
    for job in some:
        backend = LocalBackend(model)
        backend.prefixes = PrefixCache(budget=0)
        found |= computed(backend, [job], asked)
    return found


@pytest.mark.parametrize("model_type", TYPES)
def test_chunks_give_the_numbers_of_whole_passes(model_type: str) -> None:
    model, some = zoo.build(model_type), prompt()
    whole = computed(LocalBackend(model), some, WHOLE)
    for item, result in computed(LocalBackend(model), some, ASKED).items():
        assert result.layers.keys() == whole[item].layers.keys()
        for layer, numbers in result.layers.items():
            assert numbers.keys() == whole[item].layers[layer].keys()
            for name, values in numbers.items():
                right, relative = whole[item].layers[layer][name], 1e-3 * (name == "factor")
                np.testing.assert_allclose(values, right, relative, LIMIT, err_msg=name)


@pytest.mark.parametrize("model_type", SOME)
def test_no_bit_changes_in_any_order_or_company(model_type: str) -> None:
    model, some = zoo.build(model_type), [*prompt(), *prompt(seed=1)]
    apart = alone(model, some, ASKED)
    assert not any(one.shared for one in apart.values())
    backend = LocalBackend(model)
    together = computed(backend, some, ASKED)
    assert as_bytes(together) == as_bytes(apart)
    shared = {item: one.shared for item, one in together.items()}
    # Chunks of the document up to the insertion, or up to the first token that is compared.
    assert [shared[f"b1{n}"] for n in range(1, 6)] == [32, 32, 16, 0, 32]
    assert shared["a1"] == 0
    again = computed(backend, some[::-1], ASKED)  # everything is known by now
    assert as_bytes(again) == as_bytes(apart)
    one_by_one, backend = {}, LocalBackend(model)
    for job in random.Random(1).sample(some, len(some)):
        one_by_one |= computed(backend, [job], ASKED)
    assert as_bytes(one_by_one) == as_bytes(apart)
    assert any(one.shared for one in one_by_one.values())


def test_the_prompt_as_it_is_shares_what_is_not_compared() -> None:
    model = zoo.build("llama")
    late = [
        [job for job in prompt(seed=n) if job.reference is None or job.item[2] in "12"]
        for n in (0, 1)
    ]
    found = computed(LocalBackend(model), [*late[0], *late[1]], ASKED)
    shared = {item: one.shared for item, one in found.items()}
    first, *rest = (shared[job.item] for some in late for job in some)
    assert first == 0
    assert {*rest} == {32}


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "qwen3_next"])
def test_no_bit_changes_where_passes_end_early(model_type: str) -> None:
    model, some, ran = zoo.build(model_type), prompt(), []
    whole = as_bytes(alone(model, some, ASKED))
    backend = LocalBackend(model)
    model.model.layers[-1].register_forward_hook(lambda *_: ran.append(1))
    for layers in ({1}, None, {1}):
        ran.clear()
        asked = replace(ASKED, layers=None if layers is None else frozenset(layers))
        for item, numbers in as_bytes(computed(backend, some, asked)).items():
            assert {*numbers} <= {*whole[item]}
        assert bool(ran) == (layers is None)


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_small_budget_changes_no_bit(chunks: int) -> None:
    model, some = zoo.build("gemma3_text"), [*prompt(), *prompt(seed=1)]
    backend = LocalBackend(model)
    computed(backend, some, ASKED)
    one = max(chunk.size for chunk in backend.prefixes._chunks.values())
    backend.prefixes = PrefixCache(budget=chunks * one)
    assert as_bytes(computed(backend, some, ASKED)) == as_bytes(alone(model, some, ASKED))


def test_a_pass_that_runs_out_of_memory_midway_leaves_nothing_behind(monkeypatch: Any) -> None:
    """What it had kept for the comparison is not kept twice."""
    from mindshare.attention import forward

    model, some = zoo.build("llama"), prompt()
    backend, feed = LocalBackend(model), forward._until_seen
    computed(backend, some, ASKED)
    calls = iter(range(10**6))

    def short_of_memory(*arguments: Any, **options: Any) -> Any:
        if next(calls) == 3:  # chunks of the prompt as it is
            raise MemoryError
        return feed(*arguments, **options)

    monkeypatch.setattr(forward, "_until_seen", short_of_memory)
    found = computed(backend, some, ASKED)
    monkeypatch.undo()
    assert as_bytes(found) == as_bytes(alone(model, some, ASKED))


def test_the_number_of_threads_changes_no_bit() -> None:
    """Products of few rows, as in short chunks, are made by one thread."""
    model, some, found = zoo.build("llama"), prompt(), []
    before = torch.get_num_threads()
    try:
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(as_bytes(computed(LocalBackend(model), some, ASKED)))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_a_beginning_holds_nothing_that_is_compared() -> None:
    some = prompt()
    for job in some[1:]:
        assert job.positions is not None
        there, here = job.positions.first_needed
        assert here == job.positions.inserted[0]
        assert len(chunk_names(job, ASKED, here)) == here // CHUNK
        later = job.positions.pairs[job.positions.pairs[:, 1] >= job.positions.end]
        assert all(there <= position for position in later[:, 0])
