"""The law of the self-check: rounding refuses no model, a misunderstanding refuses every one.

The models are those of the zoo. A misunderstanding is made where a call reaches mindshare, so that
it takes the model's queries and keys for something else than the model does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mindshare.attention import recorder
from mindshare.attention.call import AttentionCall
from mindshare.attention.capture import capture
from mindshare.attention.masks import MaskRule, Visibility
from mindshare.attention.selfcheck import verify
from mindshare.errors import ExactnessError
from tests.laws.write_table import attention_layers, key_weights, prompt
from tests.laws.zoo import EXACT, build

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
pytestmark = pytest.mark.usefixtures("quiet_and_small")
# Grouped queries, windows, soft-caps, sinks, score biases, latent keys, chunks, fused projections.
TEN = [
    "deepseek_v3",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_oss",
    "inkling_text",
    "llama",
    "llama4_text",
    "mistral",
    "qwen3",
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model_type", EXACT)
def test_a_type_is_accepted_in_every_precision(model_type: str, dtype: torch.dtype) -> None:
    found = capture(build(model_type).to(dtype), prompt(), key_weights())
    assert found.verdict is not None
    assert all(layer.eager_error < layer.eager_tolerance / 2 for layer in found.verdict.checks)
    assert found.layers == attention_layers(model_type)


# Misunderstandings: what a call would be if mindshare took it wrongly


def rule(call: AttentionCall, change: Callable[[torch.Tensor], torch.Tensor]) -> Visibility:
    """The call's mask, changed as a matrix of what is seen, [batch, head, query, key]."""
    visible = call.visible
    hidden = recorder.reference.hidden_keys(call, 0, visible.queries)
    seen = change(~hidden)
    places = {"first_query": visible.first_query, "first_key": visible.first_key}
    return MaskRule(visible.queries, visible.keys, rows=lambda a, b: seen[:, :, a:b], **places)


def ahead(seen: torch.Tensor) -> torch.Tensor:
    """Each query sees the next token, too."""
    return seen | seen.roll(-1, -2)


def behind(seen: torch.Tensor) -> torch.Tensor:
    """Each query but the first no longer sees itself."""
    itself = torch.eye(seen.shape[-1], dtype=torch.bool)
    itself[0, 0] = False
    return seen & ~itself


def shorter(seen: torch.Tensor) -> torch.Tensor:
    """The earliest key that a query sees is lost, unless it is the only one."""
    earliest = seen & (seen.cumsum(-1) == 1)
    return seen & ~(earliest & (seen.sum(-1, keepdim=True) > 1))


def nothing_hidden(seen: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(seen)


MISUNDERSTANDINGS: dict[str, Callable[[AttentionCall], dict[str, Any]]] = {
    "the mask is shifted ahead": lambda call: {"visible": rule(call, ahead)},
    "the mask is shifted behind": lambda call: {"visible": rule(call, behind)},
    "the window is one shorter": lambda call: {"visible": rule(call, shorter)},
    "the mask is dropped": lambda call: {"visible": rule(call, nothing_hidden)},
    "the scale is that of twice the width": lambda call: {"scale": call.scale / 2**0.5},
    "the scale is left out": lambda _call: {"scale": 1.0},
    "the soft-cap is another": lambda call: {"softcap": (call.softcap or 20.0) * 1.5},
    "the groups of heads are others": lambda call: {"key": call.key.roll(1, 1)},
    "the order of heads is another": lambda call: {"query": call.query.flip(1)},
    "there are other sinks": lambda call: {"sinks": other_sinks(call)},
    "another bias is added": lambda call: {"bias": other_bias(call)},
    "keys are a token late": lambda call: {"key": call.key.roll(1, 2)},
}


def other_sinks(call: AttentionCall) -> torch.Tensor | None:
    return torch.zeros(call.query.shape[1]) if call.sinks is None else None


def other_bias(call: AttentionCall) -> torch.Tensor | None:
    """ALiBi where there is none, none where there is a bias."""
    places = torch.arange(call.key.shape[2], dtype=torch.float32)
    return places[None, None, None] / 8 if call.bias is None else None


@pytest.mark.parametrize("misunderstanding", MISUNDERSTANDINGS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model_type", TEN)
def test_a_misunderstanding_is_refused(
    model_type: str,
    dtype: torch.dtype,
    misunderstanding: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    wrong = MISUNDERSTANDINGS[misunderstanding]

    def taken(**what: Any) -> AttentionCall:
        call = AttentionCall(**what)
        return replace(call, **wrong(call))

    monkeypatch.setattr(recorder, "AttentionCall", taken)
    monkeypatch.setenv("MINDSHARE_CACHE", str(tmp_path))  # nothing is remembered
    with pytest.raises(ExactnessError, match="differs from this model's own eager attention"):
        verify(build(model_type).to(dtype))
