"""A law: a row or column from kept queries and keys is the reference's, whatever the model does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from mindshare.attention.reference import probabilities
from mindshare.models import wrap
from mindshare_explore.rows import measure
from tests.laws import zoo

TOKENS = 37
# Whole causal attention, grouped heads, windows, soft-capping, learned sinks, biases, latent keys.
KINDS = ("llama", "mistral", "gemma2", "gemma3_text", "gpt_oss", "gpt2", "deepseek_v3", "cohere2")


def kept(kind: str) -> tuple[Any, Any, dict[int, np.ndarray]]:
    """Sums, queries and keys, and the reference's whole matrices by layer."""
    ids = torch.randint(3, zoo.VOCABULARY, (TOKENS,), generator=torch.Generator().manual_seed(3))

    class Tokens(SimpleNamespace):
        def __len__(self) -> int:
            return TOKENS

    sums, lines = measure(wrap(zoo.build(kind)), cast(Any, Tokens(ids=ids.tolist())))
    with torch.no_grad():
        whole = {n: probabilities(call)[0].double().numpy() for n, call in lines.calls.items()}
    return sums, lines, whole


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_those_of_the_reference(kind: str) -> None:
    sums, lines, whole = kept(kind)
    assert sums.has_sinks is (kind == "gpt_oss")
    for place, (layer, attention) in enumerate(whole.items()):
        for token in (0, 1, 8, 9, 10, 20, TOKENS - 1):
            row, column = lines.row(layer, token), lines.column(layer, token)
            np.testing.assert_allclose(row, attention[:, token], rtol=1e-12, atol=0)
            # The log-sum-exp comes from a float32 pass, hence the tolerance.
            np.testing.assert_allclose(column, attention[:, :, token], rtol=2e-5, atol=1e-9)
            assert ((column > 0) <= (attention[:, :, token] > 0)).all()  # hidden stays hidden
        np.testing.assert_allclose(sums.received[place], attention.mean(1), rtol=2e-5, atol=1e-8)
        seen = attention > 0
        uniform = (seen / seen.sum(-1, keepdims=True)).mean(1)
        np.testing.assert_allclose(
            np.broadcast_to(sums.expected[place], uniform.shape), uniform, rtol=1e-5, atol=1e-9
        )
        counts = np.broadcast_to(lines.visible_counts(layer), seen.sum(-1).shape)
        np.testing.assert_array_equal(counts, seen.sum(-1))


def test_windows_are_really_windows() -> None:
    """Else the law above would hold for nothing."""
    _, lines, whole = kept("gemma3_text")
    windowed = [n for n, attention in whole.items() if not attention[:, -1, 0].any()]
    assert windowed
    assert lines.column(windowed[0], 0)[:, zoo.WINDOW :].max() == 0.0


def test_rows_and_masses_add_up_to_one_but_for_sinks() -> None:
    sums, lines, _ = kept("gpt_oss")
    total = lines.row(0, TOKENS - 1).sum(-1)
    assert total.min() < 0.998
    assert total.max() <= 1.0
    sums, lines, _ = kept("llama")
    np.testing.assert_allclose(lines.row(2, 5).sum(-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(sums.received.sum(-1), 1.0, rtol=1e-5)


def test_what_is_kept_is_linear_in_the_tokens() -> None:
    _, lines, _ = kept("llama")
    per_layer = (4 + 2) * 8 * TOKENS * 4 + 4 * TOKENS * 8  # queries and keys, log sums
    assert lines.nbytes == zoo.LAYERS * per_layer


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_held_than_is_counted(kind: str) -> None:
    """Not the values either, which a view of them would keep alive."""
    _, lines, _ = kept(kind)
    tensors = [x for call in lines.calls.values() for x in (call.query, call.key, call.value)]
    stored = {
        storage.data_ptr(): storage.nbytes()
        for storage in (x.untyped_storage() for x in (*tensors, *lines.log_sums.values()))
    }
    assert sum(stored.values()) <= lines.nbytes
