"""What a prompt's knock-outs give: baselines, greedy answers, refusals, and the same bits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention import knockout
from mindshare.attention.jobs import Answer, Job, Knockout, PromptResult, Request
from mindshare.errors import ExactnessError, SelectionError, UnsupportedModelError
from mindshare.models import wrap
from mindshare.study import LocalBackend
from tests.attention import tiny

TOKENS = 30


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny.llama()


def job(seed: int = 0, answer: tuple[int, ...] = (5, 7), **changes: Any) -> Job:
    random = np.random.default_rng(seed)
    ids = random.integers(3, 96, TOKENS)
    columns = np.zeros((TOKENS, 2), np.float32)
    columns[3:7, 0] = columns[10:20, 1] = 1
    last = np.repeat((np.arange(TOKENS) == TOKENS - 1)[None], 2, 0)
    made = Job(f"item {seed}", ids, columns, last, answer=Answer(np.array(answer, np.int64)))
    return replace(made, **changes)


def run(model: Any, asked: Job, **how: Any) -> PromptResult:
    return knockout.run(model, asked, Request(frozenset(), knockout=Knockout(**how)))


def test_the_answer_before_anything_is_hidden(model: Any) -> None:
    numbers = run(model, job()).layers[0]
    ids = torch.from_numpy(np.append(job().ids, 5))[None]
    logs = model(input_ids=ids).logits.detach()[0, -2:].log_softmax(-1)
    assert numbers["logprob"][0] == pytest.approx(float(logs[0, 5] + logs[1, 7]), abs=1e-4)
    assert numbers["greedy"][0] == float(logs[0].argmax() == 5 and logs[1].argmax() == 7)


def test_a_greedy_answer_is_what_the_model_says(model: Any) -> None:
    found = run(model, job(answer=()), greedy=3).layers[0]
    ids = torch.from_numpy(job().ids)[None]
    said = model.generate(ids, max_new_tokens=3, do_sample=False)[0, TOKENS:]
    assert found["answer"].tolist() == said.tolist()[: len(found["answer"])]
    assert found["greedy"][0] == 1


def test_the_answer_goes_to_where_the_logits_are() -> None:
    """As a GPU wants it; `meta` is the one other device that is everywhere."""
    answer = Answer(np.array([5, 7]), rivals=np.array([[0, 6]]))
    ids = torch.tensor(answer.ids)
    request = Request(frozenset(), knockout=Knockout())
    nothing: Any = None
    prompt = knockout._Prompt(
        *(nothing, replace(job(), answer=answer), request, Knockout(), nothing, ids, ids),
        *(nothing, nothing),
    )
    found = prompt._effects(torch.empty(2, 96, device="meta"))
    assert found.rivals is not None
    assert {found.answer.device.type, found.rivals.device.type} == {"meta"}


def test_accuracy_is_the_right_one_before_all_others(model: Any) -> None:
    ids = torch.from_numpy(job().ids)[None]
    order = model(input_ids=ids).logits[0, -1].argsort(descending=True)
    best, worst = int(order[0]), int(order[-1])
    right = Answer(np.array([best]), np.array([[0, worst]]))
    wrong = Answer(np.array([worst]), np.array([[0, best]]))
    assert run(model, replace(job(), answer=right)).layers[0]["correct_clean"][0] == 1
    assert run(model, replace(job(), answer=wrong)).layers[0]["correct_clean"][0] == 0


def test_order_and_company_of_prompts_change_no_bit(model: Any) -> None:
    backend = LocalBackend(wrap(model))
    jobs = [job(seed) for seed in range(3)]
    request = Request(frozenset({"effect"}), knockout=Knockout(each=True))

    def found(some: list[Job]) -> dict[str, bytes]:
        results = [one for batch in backend.results(some, request) for one in batch]
        return {
            one.item: b"".join(one.layers[n]["delta_logprob"].tobytes() for n in one.layers)
            for one in results
        }

    assert found(jobs) == found(jobs[::-1]) == {k: v for j in jobs for k, v in found([j]).items()}


def test_heads_together_are_not_the_sum_of_heads(model: Any) -> None:
    both = run(model, job(), places=((0, 1), (2, 3)))
    assert list(both.layers) == [0]  # filed under the first layer
    singles = run(model, job(), places=((0, 1), (2, 3)), each=True)
    assert {layer: len(x["kl"]) for layer, x in singles.layers.items()} == {0: 1, 2: 1}
    every = run(model, job(), each=True)
    for layer, head in ((0, 1), (2, 3)):
        one, same = singles.layers[layer], every.layers[layer]
        assert one["delta_logprob"][0] == pytest.approx(same["delta_logprob"][head], abs=1e-5)
        assert one["mass"][0] == pytest.approx(same["mass"][head])


def test_a_class_that_is_all_a_query_sees_is_refused(model: Any) -> None:
    everything = np.ones((TOKENS, 2), np.float32)
    with pytest.raises(SelectionError, match="holds every key that token 29 sees in layer 0"):
        run(model, job(columns=everything))
    assert np.isfinite(run(model, job(columns=everything), how="zero").layers[0]["kl"]).all()


@pytest.mark.parametrize("layers", [{7}, {0, 3}])
def test_a_layer_that_is_not_there(model: Any, layers: set[int]) -> None:
    request = Request(frozenset(), layers=frozenset(layers), knockout=Knockout())
    with pytest.raises(SelectionError, match="does not exist"):
        knockout.run(model, job(), request)


def test_a_model_is_restored_after_a_failure(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model.config._attn_implementation
    monkeypatch.setattr(knockout, "tolerance", lambda _model: -1.0)
    with pytest.raises(ExactnessError, match="a row without any knock-out"):
        run(model, job())
    assert model.config._attn_implementation == before
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_how_rows_go_through_is_asked_once_per_kind_of_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    asked = []
    find = knockout._find_row_mode
    monkeypatch.setattr(knockout, "_find_row_mode", lambda model: asked.append(1) or find(model))
    first = knockout.row_mode_of(tiny.llama())
    assert knockout.row_mode_of(tiny.llama()) == first  # another object of the same kind
    assert len(asked) == 1


def test_rows_that_do_not_go_through_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    monkeypatch.setattr(knockout, "tolerance", lambda _model: -1.0)
    with pytest.raises(UnsupportedModelError, match="can't be taken away"):
        knockout.row_mode_of(tiny.llama())


@pytest.mark.parametrize("tokens", [32, 64, 100])
def test_the_size_of_groups_changes_no_bit(
    model: Any, monkeypatch: pytest.MonkeyPatch, tokens: int
) -> None:
    whole = run(model, job(), each=True)
    monkeypatch.setattr(knockout, "_TOKENS", tokens)
    parts = run(model, job(), each=True)
    for layer, numbers in whole.layers.items():
        for name in numbers:
            assert np.array_equal(numbers[name], parts.layers[layer][name]), (layer, name)
