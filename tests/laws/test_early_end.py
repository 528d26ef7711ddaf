"""A pass that ends after the last layer that was asked for changes no bit, and leaves the model
as it was."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention.call import TokenBatch
from mindshare.attention.capture import CaptureOptions, capture
from mindshare.attention.forward import run_batch, run_pass
from mindshare.attention.jobs import Job, Request
from mindshare.errors import SelectionError, UnsupportedModelError
from tests.attention import tiny
from tests.laws import zoo

TOKENS = 45
EVERYTHING = frozenset({"given", "received", "entropy", "distance"})
# Windows, sinks, latent keys, hybrids, experts, learned positions, shared keys, scores with a bias.
_TYPES = """
    cohere2 deepseek_v3 gemma2 gemma3_text gemma3n_text gpt2 gpt_neox gpt_oss inkling_text jamba
    lfm2 llama llama4_text mistral nemotron_h qwen3 qwen3_next bart
"""
TYPES = _TYPES.split()
CHUNKED = [name for name in TYPES if name not in zoo.CHANGED_BY_CHUNKS]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))


def prompt(rows: int = 1) -> TokenBatch:
    lengths = torch.tensor([TOKENS - 4 * row for row in range(rows)])[:, None]
    columns = tiny.partition(TOKENS).expand(rows, -1, -1)
    return TokenBatch(tiny.ids(TOKENS, batch=rows), columns, torch.arange(TOKENS) < lengths)


def assert_bits_equal(model: Any, batch: TokenBatch, chunk: int | None = None) -> None:
    """Of each layer, asked for alone and among all."""
    everything = run_pass(model, batch, Request(EVERYTHING, chunk_tokens=chunk))
    for layer, whole in everything.layers.items():
        request = Request(EVERYTHING, layers=frozenset({layer}), chunk_tokens=chunk)
        found = run_pass(model, batch, request).layers
        assert list(found) == [layer]
        assert torch.equal(found[layer].given, whole.given)
        assert torch.equal(found[layer].received, whole.received)
        for name, numbers in whole.per_query.items():
            assert torch.equal(found[layer].per_query[name], numbers), name


@pytest.mark.parametrize("model_type", TYPES)
def test_no_bit_changes_in_a_whole_pass_or_a_batch(model_type) -> None:
    model = zoo.build(model_type)
    assert_bits_equal(model, prompt())
    assert_bits_equal(model, prompt(rows=3))


@pytest.mark.parametrize("model_type", CHUNKED)
def test_no_bit_changes_in_chunks(model_type) -> None:
    assert_bits_equal(zoo.build(model_type), prompt(), chunk=13)


@pytest.mark.parametrize("model_type", TYPES)
def test_no_layer_after_the_last_one_attends(model_type) -> None:
    model = zoo.build(model_type)
    layers = sorted(run_pass(model, prompt(), Request(EVERYTHING)).calls)
    for count, layer in enumerate(layers, 1):
        request = Request(EVERYTHING, layers=frozenset({layers[0], layer}))
        assert sorted(run_pass(model, prompt(), request).calls) == layers[:count]


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "deepseek_v3", "qwen3_next"])
def test_every_chunk_ends_where_the_cache_is_the_common_one(model_type) -> None:
    model, ran = zoo.build(model_type), []
    first, *_, last = sorted(run_pass(model, prompt(), Request(EVERYTHING, chunk_tokens=20)).calls)
    last_layer = model.model.layers[last]
    last_layer.register_forward_hook(lambda *_: ran.append(last))
    run_pass(model, prompt(), Request(EVERYTHING, layers=frozenset({first}), chunk_tokens=20))
    assert not ran


def test_a_job_has_the_same_numbers() -> None:
    model, random = zoo.build("llama"), np.random.default_rng(0)
    jobs = [
        Job(str(n), random.integers(3, 96, 40 + n), random.random((40 + n, 3), np.float32))
        for n in range(5)
    ]
    statistics = frozenset({"mass", "received"})
    whole = run_batch(model, jobs, Request(statistics), padded=True)
    some = run_batch(model, jobs, Request(statistics, layers=frozenset({0, 1})), padded=True)
    for one, other in zip(whole, some, strict=True):
        assert list(other.layers) == [0, 1]
        for layer, numbers in other.layers.items():
            for name, values in numbers.items():
                np.testing.assert_array_equal(values, one.layers[layer][name])


def test_a_model_that_was_never_seen_whole_is_run_to_its_end() -> None:
    """A layer that attends again at the end: that shows after its first call only."""
    model = zoo.build("llama")
    layers = model.model.layers
    model.model.layers = torch.nn.ModuleList([*layers, layers[0]])
    model.config.num_hidden_layers += 1
    for _ in range(2):
        with pytest.raises(UnsupportedModelError, match="attended more than once"):
            capture(
                model,
                tiny.ids(TOKENS),
                tiny.partition(TOKENS),
                layers=[0],
                options=CaptureOptions(self_check=False),
            )


@pytest.mark.parametrize("layer", [0, 4])
def test_a_layer_without_attention_is_still_told(layer) -> None:
    model = zoo.build("qwen3_next")
    run_pass(model, prompt(), Request())
    with pytest.raises(SelectionError, match=f"layer {layer} ") as refused:
        run_pass(model, prompt(), Request(layers=frozenset({layer, 1})))
    assert "1, 3" in refused.value.allowed


def state(model: torch.nn.Module) -> list[object]:
    """What a pass changes while it runs."""
    return [
        (
            name,
            module.training,
            "forward" in vars(module),
            len(module._forward_hooks),
            getattr(getattr(module, "config", None), "_attn_implementation", None),
        )
        for name, module in model.named_modules()
    ]


@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_left_as_it_was(training) -> None:
    model = zoo.build("llama").train(training)
    ids = tiny.ids(TOKENS)
    with torch.no_grad():
        before, logits = state(model), model(input_ids=ids).logits
        for _ in range(2):
            run_pass(model, prompt(), Request(layers=frozenset({0})))
        assert state(model) == before
        assert torch.equal(model(input_ids=ids).logits, logits)


def offloaded(model: torch.nn.Module, *, whole_layers: bool) -> torch.nn.Module:
    """Weights come part by part as they are needed, or a layer at a time."""
    from accelerate import cpu_offload

    whole = ["LlamaDecoderLayer"] if whole_layers else None
    return cpu_offload(model, torch.device("cpu"), preload_module_classes=whole)


def dispatched(model: torch.nn.Module, folder: Path) -> torch.nn.Module:
    """Some layers in memory and some on the disk, by a device map."""
    from accelerate import dispatch_model

    parts = ["model.embed_tokens", "model.rotary_emb", "model.norm", "lm_head"]
    places = dict.fromkeys(parts, "cpu")
    places |= {f"model.layers.{n}": "disk" if n % 2 else "cpu" for n in range(4)}
    return dispatch_model(
        model, places, main_device="cpu", offload_dir=str(folder), force_hooks=True
    )


def hooks(model: torch.nn.Module) -> dict[str, tuple[object, ...]]:
    """Which accelerate put there, and the forward that calls them."""
    return {
        name: (id(module._hf_hook), id(module._old_forward), id(vars(module)["forward"]))
        for name, module in model.named_modules()
        if hasattr(module, "_hf_hook")
    }


def where(model: torch.nn.Module) -> dict[str, str]:
    return {name: str(x.device) for name, x in model.named_parameters()}


@pytest.mark.parametrize("way", ["parts", "layers", "device map"])
@pytest.mark.parametrize("chunk", [None, 20])
def test_offloaded_weights_and_hooks_go_back(way, chunk, tmp_path: Path) -> None:
    plain = zoo.build("llama")
    copied = copy.deepcopy(plain)
    if way == "device map":
        model = dispatched(copied, tmp_path / "weights")
    else:
        model = offloaded(copied, whole_layers=way == "layers")
    before, hooked, known = where(model), hooks(model), state(model)
    assert "meta" in before.values()
    assert hooked
    whole = run_pass(plain, prompt(), Request(chunk_tokens=chunk))
    for layer in range(4):
        for _ in range(2):  # the first pass of all is a whole one
            request = Request(layers=frozenset({layer}), chunk_tokens=chunk)
            found = run_pass(model, prompt(), request)
            assert (where(model), hooks(model), state(model)) == (before, hooked, known)
        one, other = (x.layers[layer].received for x in (found, whole))
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
    ids = tiny.ids(TOKENS)
    with torch.no_grad():
        assert torch.equal(model(input_ids=ids).logits, plain(input_ids=ids).logits)
