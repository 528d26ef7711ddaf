from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mindshare.attention.call import query_counts
from mindshare.attention.capture import CaptureOptions, capture
from mindshare.errors import ExactnessError, PromptError, SelectionError, UnsupportedModelError
from mindshare.models import wrap
from tests.attention import tiny

UNCHECKED = CaptureOptions(self_check=False)


@pytest.fixture(scope="module")
def model() -> torch.nn.Module:
    return tiny.llama()


def test_shapes_and_layers(model) -> None:
    found = capture(model, tiny.ids(10)[0], tiny.partition(10), layers=[2, 0], options=UNCHECKED)
    assert found.layers == (0, 2)
    assert found.mass[0].shape == (4, 10, 4)
    assert found.received[2].shape == (4, 10)
    assert found.n_queries.tolist() == list(range(9, -1, -1))
    assert found.received[0][:, 9].tolist() == [0.0] * 4  # the last token has no query after it
    assert found.entropy == {}


def test_a_batch_gets_a_leading_axis(model) -> None:
    found = capture(model, tiny.ids(10, batch=3), tiny.partition(10), options=UNCHECKED)
    assert found.mass[0].shape == (3, 4, 10, 4)
    assert found.n_queries.shape == (3, 10)


def test_masses_alone(model) -> None:
    found = capture(model, tiny.ids(10), tiny.partition(10), received=False, options=UNCHECKED)
    assert found.received == {}
    wide = torch.backends.cpu.get_cpu_capability() == "AVX512"
    assert set(found.kernels.values()) == {"blockwise" if wide else "fused"}


@pytest.mark.parametrize("tokens", [1, 10, 2100])
def test_the_fused_kernel_gives_the_same_masses_at_every_length(tokens: int) -> None:
    model = tiny.llama(max_position_embeddings=2100, num_hidden_layers=1)
    ids, columns = tiny.ids(tokens), tiny.partition(tokens)
    options = replace(UNCHECKED, kernel="fused")
    fused = capture(model, ids, columns, received=False, options=options)
    assert fused.kernels == {0: "fused"}
    both = capture(model, ids, columns, options=UNCHECKED)
    assert both.kernels == {0: "blockwise"}
    assert (fused.mass[0] - both.mass[0]).abs().max() < 1e-5


def test_query_counts_leave_out_the_near_ones() -> None:
    weights = torch.tensor([[[1.0, 0.0, 1.0, 1.0]]])
    assert query_counts(weights, -1)[0, 0].tolist() == [3, 2, 2, 1]
    assert query_counts(weights, 0)[0, 0].tolist() == [2, 2, 1, 0]
    assert query_counts(weights, 1)[0, 0].tolist() == [2, 1, 0, 0]
    assert query_counts(weights, 9)[0, 0].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"input_ids": torch.empty(1, 0, dtype=torch.long)}, PromptError, "nothing to measure"),
        ({"key_weights": torch.ones(9, 2)}, SelectionError, "key_weights"),
        ({"query_weights": torch.ones(9)}, SelectionError, "query_weights"),
        ({"query_weights": -torch.ones(10)}, SelectionError, "negative"),
        ({"key_weights": torch.full((10, 2), float("nan"))}, SelectionError, "not numbers"),
        ({"input_ids": tiny.ids(10) + 1000}, PromptError, "no token of the model"),
        ({"input_ids": tiny.ids(600)}, SelectionError, "context of 512"),
        ({"attention_mask": torch.full((1, 10), 2)}, SelectionError, "packed"),
        ({"attention_mask": torch.zeros(1, 10)}, PromptError, "all padding"),
        ({"layers": [7]}, SelectionError, "layer 7 does not exist"),
        ({"layers": [-1]}, SelectionError, "layer -1 does not exist"),
        ({"options": CaptureOptions(kernel="fusd")}, SelectionError, "did you mean 'fused'"),
    ],
)
def test_bad_input_is_refused(model, change, error, words) -> None:
    arguments = {
        "input_ids": tiny.ids(10),
        "key_weights": tiny.partition(10),
        "options": UNCHECKED,
        **change,
    }
    with pytest.raises(error, match=words):
        capture(model, **arguments)


def test_nan_is_refused_with_its_layer() -> None:
    broken = tiny.llama()
    broken.model.layers[1].self_attn.k_proj.weight.data[0, 0] = float("nan")
    with pytest.raises(ExactnessError, match="layer 1, head 0 is not a number"):
        capture(broken, tiny.ids(10), tiny.partition(10), options=UNCHECKED)


def test_the_model_is_restored_also_after_an_exception(model) -> None:
    model.train()
    try:
        assert model.config._attn_implementation == "sdpa"
        with pytest.raises(SelectionError):
            capture(model, tiny.ids(10), tiny.partition(10), layers=[9], options=UNCHECKED)
        assert model.config._attn_implementation == "sdpa"
        assert all(module.training for module in model.modules())
        model.model.norm.weight.data = torch.ones(7)  # fails inside the model
        with pytest.raises(RuntimeError):
            capture(model, tiny.ids(10), tiny.partition(10), options=UNCHECKED)
        model.model.norm.weight.data = torch.ones(32)
        assert model.config._attn_implementation == "sdpa"
        assert model.training
    finally:
        model.eval()


def test_the_registered_name_alone_refuses_to_work(model) -> None:
    capture(model, tiny.ids(5), tiny.partition(5), options=UNCHECKED)  # registers it
    model.set_attn_implementation("mindshare")
    try:
        with pytest.raises(ExactnessError, match="only while mindshare measures"):
            model(input_ids=tiny.ids(5))
    finally:
        model.set_attn_implementation("sdpa")


def test_what_is_no_transformers_model_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="not a transformers model"):
        capture(torch.nn.Linear(2, 2), tiny.ids(5), tiny.partition(5), options=UNCHECKED)


@pytest.mark.parametrize("option", [{"near": -2}, {"chunk_tokens": 0}])
def test_impossible_options_are_refused(option) -> None:
    with pytest.raises(SelectionError):
        CaptureOptions(**option)


def test_a_loaded_model_is_taken_too(model) -> None:
    loaded = wrap(model)
    found = capture(loaded, tiny.ids(10), tiny.partition(10), options=UNCHECKED)
    assert repr(found) == "Capture(3 layers, mass (4, 10, 4) each)"
    assert "LlamaForCausalLM" in repr(loaded)


def test_padded_queries_have_no_masses(model) -> None:
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 6:] = 0
    ids = tiny.ids(10, batch=2)
    found = capture(model, ids, tiny.partition(10), attention_mask=mask, options=UNCHECKED)
    assert found.mass[0][1, :, 6:].abs().max() == 0
    assert (found.mass[0][1, :, :6].sum(-1) - 1).abs().max() < 1e-5


@pytest.mark.parametrize(
    "given",
    ["a text", b"bytes", None, {"input_ids": [1, 2]}, [["a"]], [0.5, 1.0], object()],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_tensor_of_token_ids_is_refused(model, given: object) -> None:
    with pytest.raises(PromptError, match="no tensor of token ids"):
        capture(model, given, tiny.partition(2), options=UNCHECKED)
    with pytest.raises(PromptError, match="key_weights is"):
        capture(model, tiny.ids(2), "weights", options=UNCHECKED)
    for name in ("attention_mask", "query_weights"):
        with pytest.raises(PromptError, match=f"{name} is"):
            capture(model, tiny.ids(2), tiny.partition(2), **{name: "ab"}, options=UNCHECKED)


def test_numbers_in_lists_and_arrays_are_token_ids(model) -> None:
    ids = tiny.ids(10)[0]
    found = [
        capture(model, given, tiny.partition(10), options=UNCHECKED).mass[0]
        for given in (ids, ids.tolist(), ids.numpy())
    ]
    assert all(one.equal(found[0]) for one in found)


@pytest.mark.parametrize("name", ["attention_mask", "query_weights"])
def test_numbers_in_lists_and_arrays_are_masks_and_weights(model, name: str) -> None:
    weights = torch.tensor([1] * 7 + [0] * 3)
    ids, columns = tiny.ids(10), tiny.partition(10)
    found = [
        capture(model, ids, columns, **{name: given}, options=UNCHECKED).received[1]
        for given in (weights, weights.tolist(), weights.numpy())
    ]
    assert all(one.equal(found[0]) for one in found)
    assert not found[0].equal(capture(model, ids, columns, options=UNCHECKED).received[1])
