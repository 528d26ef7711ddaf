"""First-order effects: small knock-outs are what they say; no gradient where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mindshare.attention.screen import require_gradients
from mindshare.errors import UnsupportedModelError
from tests.attention import tiny
from tests.attention.test_knockout import job, run
from tests.laws.zoo import build


@pytest.mark.parametrize("model_type", ["llama", "gpt_oss", "deepseek_v3", "qwen3_next"])
def test_small_effects_are_found_to_first_order(model_type: str) -> None:
    """Values made small: then the answer is linear in what a head gives."""
    model: Any = build(model_type)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "o_proj" in name or "out_proj" in name:
                weight.mul_(1e-3)
    true = run(model, job(), each=True)
    screened = run(model, job(), each=True, screen=True)
    a, b = (
        np.concatenate([numbers[name].reshape(-1) for numbers in found.layers.values()])
        for found, name in ((true, "delta_logprob"), (screened, "first_order"))
    )
    assert np.abs(a).max() > 1e-5
    assert np.corrcoef(a, b)[0, 1] > 0.98
    assert np.abs(a - b).max() < 0.1 * np.abs(a).max()


def test_quantised_weights_have_no_gradient() -> None:
    model = tiny.llama()
    require_gradients(model)
    model.is_quantized = True  # type: ignore[assignment]
    with pytest.raises(UnsupportedModelError, match="quantised"):
        require_gradients(model)
