from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch

from mindshare.attention import recorder, selfcheck
from mindshare.errors import ExactnessError, UnsupportedModelError
from tests.attention import tiny


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))
    return tmp_path


# How many kinds of layers: windows and whole attention are two.
KINDS = {"llama": 1, "gemma3": 2, "gemma2": 2, "gpt_oss": 2, "deepseek_v3": 1, "gpt2": 1}


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_one_layer_of_each_kind_is_judged(family) -> None:
    verdict = selfcheck.check(tiny.FAMILIES[family]())
    assert verdict.exact
    assert all(layer.eager_error < 2e-5 for layer in verdict.checks)
    assert all(layer.kernel_error < 1e-6 for layer in verdict.checks)
    assert len(verdict.checks) == KINDS[family]


def test_only_the_layers_that_are_asked_for_are_judged() -> None:
    model = tiny.gemma3()  # its second layer sees everything
    assert [check.layer for check in selfcheck.check(model, frozenset({1})).checks] == [1]
    assert [check.layer for check in selfcheck.check(model, frozenset({2})).checks] == [0]


def test_layers_behind_those_that_are_asked_for_do_not_run() -> None:
    model = tiny.llama()
    model.model.layers[1].register_forward_pre_hook(lambda *_: pytest.fail("it ran"))
    assert selfcheck.check(model, frozenset({0})).exact
    assert selfcheck.check(model).exact  # all of one kind: the first stands for them


def test_the_verdict_is_remembered_by_kind_of_model(cache) -> None:
    first = selfcheck.verify(tiny.llama())
    files = list((cache / "checks").rglob("*.json"))
    assert len(files) == 1
    assert json.loads(files[0].read_text())["exact"] is True
    assert selfcheck.verify(tiny.llama()) == first
    selfcheck.verify(tiny.llama(num_hidden_layers=1))
    assert len(list((cache / "checks").rglob("*.json"))) == 2


@pytest.mark.parametrize("damaged", ["{", "{}", '{"checks": [{"error": 0.1}], "tokens": 40}'])
def test_a_damaged_verdict_is_made_again(damaged: str, cache) -> None:
    first = selfcheck.verify(tiny.llama())
    (file,) = (cache / "checks").rglob("*.json")
    file.write_text(damaged)
    assert selfcheck.verify(tiny.llama()) == first
    assert json.loads(file.read_text())["exact"] is True


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MINDSHARE_CACHE", str(blocked))
    assert selfcheck.verify(tiny.llama()).exact


def test_weights_that_are_not_what_the_model_applies_are_refused(cache) -> None:
    """granite_swa scales its output by a sink that its eager weights leave out."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    settings = {**tiny.SMALL, "sliding_window": 9, "layer_types": ["full_attention"] * 3}
    config = AutoConfig.for_model("granite_swa", **settings)
    model = tiny.sharpen(AutoModelForCausalLM.from_config(config))
    with pytest.raises(ExactnessError, match="differs from this model's own eager attention"):
        selfcheck.verify(model)
    assert not (cache / "checks").exists()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_scores_of_1500_are_no_reason_to_refuse(dtype: torch.dtype) -> None:
    """As in the first layer of Qwen2.5-0.5B, whose biases of queries and keys are that large."""
    model = with_large_biases()
    (found,) = selfcheck.check(model.to(dtype)).checks
    assert 1_200 < found.largest_score < 1_800
    assert found.exact


def with_large_biases() -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**tiny.SMALL))
    attention = model.model.layers[0].self_attn
    with torch.no_grad():
        for linear in (attention.q_proj, attention.k_proj):
            linear.bias.fill_(23.0)
    return model.eval()


def test_a_kernel_that_rounds_scores_is_refused(monkeypatch, cache) -> None:
    run = recorder.KERNELS["blockwise"]

    def rounding(call, *others):
        coarse = replace(call, query=call.query.bfloat16().float(), key=call.key.bfloat16().float())
        return run(coarse, *others)

    monkeypatch.setitem(recorder.KERNELS, "blockwise", rounding)
    monkeypatch.setitem(recorder.KERNELS, "fused", rounding)
    with pytest.raises(ExactnessError, match="the kernel's masses in layer 0"):
        selfcheck.verify(tiny.llama())
    assert not (cache / "checks").exists()


def test_a_matrix_that_is_no_number_is_refused_in_whatever_layer(cache, monkeypatch) -> None:
    weights, calls = selfcheck._weights, []

    def damaged(outputs):
        calls.append(outputs)
        found = weights(outputs)
        return found if len(calls) == 1 else torch.full_like(found, float("nan"))

    monkeypatch.setattr(selfcheck, "_weights", damaged)
    with pytest.raises(ExactnessError, match=r"layer 1 .* differs from this model's own eager"):
        selfcheck.verify(tiny.gemma3())  # layers of two kinds
    assert not (cache / "checks").exists()


@pytest.mark.usefixtures("cache")
def test_queries_that_are_no_numbers_are_refused() -> None:
    model = tiny.llama()
    with torch.no_grad():
        model.model.layers[0].self_attn.q_proj.weight[8] = float("inf")  # of head 1
    with pytest.raises(ExactnessError, match="layer 0, head 1 is not a number"):
        selfcheck.verify(model)


def test_a_layer_of_a_foreign_class_that_attends_twice_is_refused(monkeypatch) -> None:
    model = tiny.llama()
    layers = model.model.layers
    model.model.layers = torch.nn.ModuleList([*layers, layers[0]])
    model.config.num_hidden_layers += 1
    monkeypatch.setattr(type(model), "__module__", "somewhere.else")
    with pytest.raises(UnsupportedModelError, match="attended more than once"):
        selfcheck.check(model)


def test_weights_that_accelerate_keeps_elsewhere_are_brought() -> None:
    from accelerate import cpu_offload

    model, twin = tiny.gemma3(), tiny.gemma3()
    cpu_offload(twin, torch.device("cpu"))
    assert next(twin.parameters()).is_meta
    assert selfcheck.check(twin).checks == selfcheck.check(model).checks


def test_a_pass_of_another_thread_is_refused_while_a_model_is_checked(monkeypatch) -> None:
    """Its matrices would be taken for those of the check, and it would run with eager attention."""
    model = tiny.llama()
    ids = torch.arange(3, 20)[None]
    before, refusals = model(input_ids=ids).logits, []
    forward = selfcheck.forward

    def meanwhile(*args, **options):
        for run in (model, model.model):  # with its head, and without
            thread = Thread(target=lambda run=run: refusals.append(refusal_of(run, ids)))
            thread.start()
            thread.join()
        return forward(*args, **options)

    alone = selfcheck.check(model)
    monkeypatch.setattr(selfcheck, "forward", meanwhile)
    assert selfcheck.check(model) == alone
    assert len(refusals) == 4  # in both passes of a check
    assert all("only in the thread that does" in words for words in refusals)
    assert torch.equal(model(input_ids=ids).logits, before)


def refusal_of(model, ids) -> str:
    try:
        model(input_ids=ids)
    except ExactnessError as error:
        return str(error)
    return "none"
