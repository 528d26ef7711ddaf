"""The law of knock-outs: every kind of them equals a whole pass with the edited matrix written out.

On tiny models of every exact type; quickly on one of each kind of attention.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from mindshare.attention import knockout
from mindshare.attention.jobs import Answer, Job, Knockout, PromptResult, Request
from mindshare.attention.reference import hidden_keys
from mindshare.attention.rows import CleanPass
from tests.laws import brute
from tests.laws.test_model_types import REPRESENTATIVES
from tests.laws.zoo import EXACT, VOCABULARY, build

TOKENS, CLASSES = 26, 2
LIMIT = 1e-4  # nats, float32
# How, whether each head by itself, layers at once, and from whom.
VARIANTS = [
    ("mask", True, 1, "last"),
    ("mask", False, 3, "later"),
    ("zero", False, 1, "answer"),
    ("sink", True, 2, "last"),
]
# Those whose rows share keys, and whose prompts may share a pass (`checks.may_share`).
WITHOUT_EXPERTS = (
    *(
        "cohere2",
        "gemma2",
        "gemma3_text",
        "gemma3n_text",
        "gemma4_text",
        "gpt2",
        "gpt_neox",
        "llama",
        "mistral",
    ),
    *("olmo2", "phi3", "qwen2", "qwen3"),
)


@pytest.fixture(scope="module", autouse=True)
def _quiet_and_small() -> Iterator[None]:
    threads, level = torch.get_num_threads(), transformers.logging.get_verbosity()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity(logging.ERROR)
    yield
    torch.set_num_threads(threads)
    transformers.logging.set_verbosity(level)


def job_of(queries: str) -> Job:
    random = np.random.default_rng(0)
    ids, answer = (random.integers(3, VOCABULARY, n) for n in (TOKENS, 2))
    labels = random.integers(0, CLASSES + 2, TOKENS)
    labels[0] = CLASSES  # some key is always left
    columns = np.eye(CLASSES + 2, dtype=np.float32)[labels][:, :CLASSES]
    first = TOKENS - 7 if queries == "later" else TOKENS - 1
    asked = np.repeat((np.arange(TOKENS) >= first)[None], CLASSES, 0)
    return Job("item", ids, columns, asked, answer=Answer(answer))


def run(model: Any, queries: str, **how: Any) -> tuple[Job, Knockout, PromptResult]:
    job = job_of(queries)
    asked = Knockout(while_answering=queries != "last", **how)
    return job, asked, knockout.run(model, job, Request(frozenset(), knockout=asked))


def largest_error(model: Any, variant: tuple[str, bool, int, str]) -> float:
    """Over the first and last layer, two heads, and all classes and numbers."""
    how, each, window, queries = variant
    job, asked, found = run(model, queries, how=how, each=each, window=window)
    assert job.answer is not None
    ids = torch.from_numpy(np.concatenate([job.ids, job.answer.ids[:-1]]))
    answer = torch.from_numpy(job.answer.ids)
    from_whom = np.pad(job.query_sets, ((0, 0), (0, 1)), constant_values=asked.while_answering)
    keys = np.pad(job.columns.T > 0, ((0, 0), (0, 1)))
    layers = sorted(found.layers)
    nothing = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    clean = brute.logits(model, ids, len(answer), brute.Edited(nothing, {}, how))
    errors = []
    for layer in {layers[0], layers[-1]}:
        numbers = found.layers[layer]
        for slot in {0, len(numbers["kl"]) - 1}:
            heads = dict.fromkeys(brute.around(asked, layer, layers), [slot] if each else None)
            for column in range(CLASSES):
                removed = torch.from_numpy(from_whom[column][:, None] & keys[column])
                edited = brute.Edited(removed, heads, how)
                changed = brute.logits(model, ids, len(answer), edited)
                truth = brute.effects(clean, changed, answer)
                errors += [abs(truth[name] - numbers[name][slot, column]) for name in truth]
    return max(errors)


@pytest.mark.parametrize("model_type", REPRESENTATIVES)
def test_a_knock_out_equals_a_pass_with_the_edited_matrix(model_type: str) -> None:
    model = build(model_type)
    assert max(largest_error(model, variant) for variant in VARIANTS[:2]) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("model_type", EXACT)
def test_every_kind_of_knock_out_is_exact_on_every_type(model_type: str) -> None:
    model = build(model_type)
    assert max(largest_error(model, variant) for variant in VARIANTS) < LIMIT


@pytest.mark.parametrize("model_type", ["llama", "gemma3n_text", "qwen3_next"])
def test_the_model_is_left_as_it_was(model_type: str) -> None:
    model = build(model_type)
    ids = torch.from_numpy(job_of("last").ids)[None]
    hooks = [len(part._forward_pre_hooks) for part in model.modules()]
    before, config = model(input_ids=ids).logits, model.config._attn_implementation
    run(model, "later", each=True)
    assert torch.equal(model(input_ids=ids).logits, before)
    assert model.config._attn_implementation == config
    assert [len(part._forward_pre_hooks) for part in model.modules()] == hooks


def test_keys_that_no_query_sees_have_no_effect_at_all() -> None:
    """Windows of 9 tokens in some layers: a class far back is hidden there anyway."""
    model, job = build("gemma3_text"), job_of("last")
    columns = np.zeros_like(job.columns)
    columns[1:4, 0] = 1
    request = Request(frozenset(), knockout=Knockout(each=True))
    found = knockout.run(model, replace(job, columns=columns), request).layers
    seen = {layer: numbers["n_keys"][0].tolist() for layer, numbers in found.items()}
    assert {0, 3} == {keys[0] for keys in seen.values()}  # layers with a window, and without
    for layer, numbers in found.items():
        for name in ("delta_logprob", "delta_logit", "kl", "flip"):
            exactly_zero = not numbers[name][:, 0].any()
            assert exactly_zero == (seen[layer][0] == 0) or name == "flip", (layer, name)
            assert not numbers[name][:, 1].any()  # no token belongs to this class


@pytest.mark.parametrize("model_type", ["gemma3_text", "mistral", "gpt_oss"])
def test_the_first_token_gets_what_is_taken_away_also_where_a_window_hides_it(
    model_type: str,
) -> None:
    model = build(model_type)
    job, _, found = run(model, "answer", how="sink")
    assert max(largest_error(model, ("sink", each, 1, "answer")) for each in (False, True)) < LIMIT
    assert job.answer is not None
    ids = torch.from_numpy(np.concatenate([job.ids, job.answer.ids[:-1]]))
    calls = CleanPass.of(model, ids, 2).calls
    windowed = [
        n for n, call in calls.items() if hidden_keys(call, TOKENS - 1, TOKENS)[..., 0].all()
    ]
    assert windowed
    removed_only = run(model, "answer", how="zero")[2]
    for layer in windowed:
        effect, without = (x.layers[layer]["kl"] for x in (found, removed_only))
        assert not np.allclose(effect, without, rtol=1e-2, atol=0)


@pytest.mark.parametrize("model_type", WITHOUT_EXPERTS)
@pytest.mark.parametrize("queries", ["last", "answer"])
def test_order_and_company_of_knock_outs_change_no_bit(model_type: str, queries: str) -> None:
    """Classes in another order, one head, one class, one layer: each effect is what it was."""
    model, job = build(model_type), job_of(queries)
    asked = Knockout(each=True, while_answering=queries != "last")
    assert knockout.row_mode_of(model).prefix

    def found(job: Job, layers: Any = None, **changes: Any) -> dict[int, dict[str, np.ndarray]]:
        request = Request(frozenset(), layers=layers, knockout=replace(asked, **changes))
        of_layers = knockout.run(model, job, request).layers
        names = ("delta_logprob", "delta_logit", "kl", "flip")
        return {n: {name: x[name] for name in names} for n, x in of_layers.items()}

    every = found(job)
    mirrored = found(replace(job, columns=job.columns[:, ::-1].copy()))
    first_class = found(replace(job, columns=job.columns[:, :1].copy(), queries=job.query_sets[:1]))
    last = max(every)
    one_layer, one_head = found(job, frozenset({last})), found(job, heads=(1,))
    for layer, numbers in every.items():
        for name, x in numbers.items():
            assert np.array_equal(x, mirrored[layer][name][:, ::-1])
            assert np.array_equal(x[:, :1], first_class[layer][name])
            assert np.array_equal(x[1:2], one_head[layer][name])
            assert layer != last or np.array_equal(x, one_layer[layer][name])


@pytest.mark.parametrize("model_type", ["llama", "deepseek_v3", "gpt_oss"])
def test_means_take_the_place_of_a_class(model_type: str) -> None:
    model, job = build(model_type), job_of("answer")
    assert job.answer is not None
    shapes = {
        layer: numbers["output"].shape
        for layer, numbers in run(model, "answer", how="mean")[2].layers.items()
    }
    random = np.random.default_rng(1)
    means = {n: random.normal(size=shape).astype(np.float32) for n, shape in shapes.items()}
    _, _, found = run(model, "answer", how="mean", means=means)
    ids = torch.from_numpy(np.concatenate([job.ids, job.answer.ids[:-1]]))
    answer = torch.from_numpy(job.answer.ids)
    asked = np.append(job.query_sets[0], True)
    removed = torch.from_numpy(asked[:, None] & np.append(job.columns[:, 0] > 0, False))
    nothing = brute.Edited(torch.zeros_like(removed), {}, "mean")
    clean = brute.logits(model, ids, len(answer), nothing)
    of_class = {n: torch.from_numpy(x[:, 0]) for n, x in means.items()}
    for layer, numbers in found.layers.items():
        edited = brute.Edited(removed, {layer: None}, "mean", of_class)
        truth = brute.effects(clean, brute.logits(model, ids, len(answer), edited), answer)
        assert abs(truth["delta_logprob"] - numbers["delta_logprob"][0, 0]) < LIMIT
