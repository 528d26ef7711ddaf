"""What prompts have in common at their start is computed once, and no bit shows it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention.chunks import PrefixCache, chunk_names
from mindshare.attention.jobs import Job, PromptResult, Request
from mindshare.study import LocalBackend
from tests.laws import zoo

CHUNK = 8
STATISTICS = frozenset({"mass", "received", "entropy", "distance"})
# Windows, sinks, latent keys, hybrids, experts, learned positions, shared keys.
_TYPES = """
    cohere2 deepseek_v3 gemma2 gemma3_text gemma3n_text gpt2 gpt_neox gpt_oss granitemoehybrid lfm2
    llama llama4_text mistral olmo2 phi3 qwen3 qwen3_next smollm3
"""
TYPES = _TYPES.split()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))


def request(**changes: Any) -> Request:
    return Request(**{"statistics": STATISTICS, "chunk_tokens": CHUNK, **changes})


def jobs(*, sets: int = 1, seed: int = 0) -> list[Job]:
    """Two documents, one of them inside the other, with questions of several lengths; one prompt
    that begins like none, one that is a beginning, one that ends with a chunk."""
    numbers = np.random.default_rng(seed)

    def job(ids: np.ndarray, columns: np.ndarray) -> Job:
        n, queries = len(ids), None
        if sets > 1:
            queries = np.stack([np.arange(n) % (k + 2) != 0 for k in range(sets)])
        return Job(f"{numbers.integers(2**40):016x}", ids, columns, queries)

    def some(n: int) -> tuple[np.ndarray, np.ndarray]:
        return numbers.integers(3, zoo.VOCABULARY, n), numbers.random((n, 3), np.float32)

    long = some(44)
    made = [job(*some(31)), job(*long), job(*(part[:24] for part in long))]
    for shared, own in [(44, 9), (44, 17), (44, 4), (20, 11), (20, 13), (30, 2), (32, 8)]:
        own_part = some(own)
        pair = zip((part[:shared] for part in long), own_part, strict=True)
        made.append(job(*(np.concatenate(both) for both in pair)))
    return made


def computed(backend: LocalBackend, some: list[Job], asked: Request) -> dict[str, PromptResult]:
    return {one.item: one for batch in backend.results(some, asked) for one in batch}


def alone(model: Any, some: list[Job], asked: Request) -> dict[str, PromptResult]:
    """Each with a backend of its own, which has met no other prompt."""
    return {job.item: computed(LocalBackend(model), [job], asked)[job.item] for job in some}


def as_bytes(results: dict[str, PromptResult]) -> dict[str, tuple[object, ...]]:
    def parts(one: PromptResult) -> list[tuple[object, ...]]:
        arrays = [(k, name, x) for k, numbers in one.layers.items() for name, x in numbers.items()]
        return [*one.kernels.items(), *((k, name, x.tobytes()) for k, name, x in arrays)]

    return {item: tuple(parts(one)) for item, one in results.items()}


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.parametrize("sets", [1, 2])
def test_no_bit_changes_in_any_order_or_company(model_type: str, sets: int) -> None:
    model, some = zoo.build(model_type), jobs(sets=sets)
    apart = alone(model, some, request())
    assert not any(one.shared for one in apart.values())
    backend = LocalBackend(model)
    together = computed(backend, some, request())
    assert as_bytes(together) == as_bytes(apart)
    assert sum(one.shared for one in together.values()) > 150
    again = computed(backend, some[::-1], request())  # everything is known by now
    assert as_bytes(again) == as_bytes(apart)
    one_by_one, backend = {}, LocalBackend(model)
    for job in random.Random(1).sample(some, len(some)):
        one_by_one |= computed(backend, [job], request())
    assert as_bytes(one_by_one) == as_bytes(apart)
    assert any(one.shared for one in one_by_one.values())


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "qwen3_next"])
def test_no_bit_changes_where_passes_end_early(model_type: str) -> None:
    model, some = zoo.build(model_type), jobs()
    whole = as_bytes(alone(model, some, request()))
    backend = LocalBackend(model)
    for layers in ({1}, {1, 3}, None, {1}):
        asked = request(layers=None if layers is None else frozenset(layers))
        found = as_bytes(computed(backend, some, asked))
        for item, numbers in found.items():
            assert {*numbers} <= {*whole[item]}


@pytest.mark.parametrize(
    "change",
    [
        {"near": 1},
        {"statistics": frozenset({"mass"})},
        {"layers": frozenset({0})},
        {"kernel": "reference"},
        {"chunk_tokens": CHUNK // 2},
    ],
)
def test_a_chunk_of_one_request_is_never_used_for_another(change: dict[str, Any]) -> None:
    model, some = zoo.build("llama"), jobs()
    backend = LocalBackend(model)
    computed(backend, some, request())
    other = request(**change)
    assert not {*chunk_names(some[1], other)} & {*chunk_names(some[1], request())}
    assert as_bytes(computed(backend, some, other)) == as_bytes(alone(model, some, other))


@pytest.mark.parametrize("sets", [1, 2])
def test_a_chunk_of_other_classes_or_queries_is_never_used(sets: int) -> None:
    """The same tokens, classed otherwise."""
    model, some = zoo.build("llama"), jobs(sets=sets)
    backend = LocalBackend(model)
    computed(backend, some, request())
    others = [Job(f"a{job.item}", job.ids, job.columns[:, ::-1], job.queries) for job in some]
    others += [Job(f"b{job.item}", job.ids, job.columns[:, :2], job.queries) for job in some]
    others += [
        Job(f"c{job.item}", job.ids, job.columns, ~job.query_sets & (np.arange(len(job)) > 0))
        for job in some
    ]
    found = computed(backend, others, request())
    assert as_bytes(found) == as_bytes(alone(model, others, request()))
    assert not {*chunk_names(others[1], request())} & {*chunk_names(some[1], request())}


@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 100])
def test_the_budget_is_kept_and_changes_no_bit(chunks: int) -> None:
    model, some = zoo.build("llama"), jobs()
    backend = LocalBackend(model)
    computed(backend, some, request())
    one = max(chunk.size for chunk in backend.prefixes._chunks.values())
    small = LocalBackend(model)
    small.prefixes = PrefixCache(budget=chunks * one)
    most, found = 0, {}
    for job in [*some, *some]:
        found |= computed(small, [job], request())
        held = sum(chunk.size for chunk in small.prefixes._chunks.values())
        assert held == small.prefixes.size
        most = max(most, held)
    assert most <= chunks * one
    assert (most > 0) == (chunks > 0)
    assert as_bytes(found) == as_bytes(alone(model, some, request()))


def test_nothing_is_kept_where_nothing_is_shared() -> None:
    model = zoo.build("llama")
    backend = LocalBackend(model)
    different = [job for seed in range(4) for job in jobs(seed=seed)[:2]]
    computed(backend, different, request())
    assert backend.prefixes.size == 0


def test_where_memory_runs_out_what_was_kept_is_given_up(monkeypatch: Any) -> None:
    from mindshare.attention import forward

    model, some = zoo.build("llama"), jobs()
    backend, run = LocalBackend(model), forward.run_batch

    def short_of_memory(*arguments: Any, **options: Any) -> Any:
        if options["prefix"].prefixes.size:
            raise MemoryError
        return run(*arguments, **options)

    monkeypatch.setattr(forward, "run_batch", short_of_memory)
    found = computed(backend, some, request())
    monkeypatch.undo()
    assert backend.prefixes.size == 0
    assert as_bytes(found) == as_bytes(alone(model, some, request()))


def test_frequencies_that_grow_with_the_longest_prompt_take_no_part() -> None:
    model = zoo.build("llama")
    for module in model.modules():
        if hasattr(module, "rope_type"):
            module.rope_type = "dynamic"
    found = computed(LocalBackend(model), jobs(), request())
    assert not any(one.shared for one in found.values())


def test_the_model_is_left_as_it_was() -> None:
    model = zoo.build("llama")
    ids = torch.randint(3, zoo.VOCABULARY, (1, 40))
    with torch.no_grad():
        before = model(input_ids=ids).logits
        computed(LocalBackend(model), jobs(), request())
        assert torch.equal(model(input_ids=ids).logits, before)
