"""A window of the attention: the eager matrices, cut out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mindshare.errors import SelectionError
from mindshare.models import LoadedModel, wrap
from mindshare.prompts import Prompt
from mindshare.study import attention_window, encode_for
from tests.attention import tiny
from tests.models.tiny import tokenizer

TEXT = "see ## and ** here, and again ## there"


def eager(loaded: LoadedModel, text: str) -> np.ndarray:
    model: Any = loaded.model
    ids = torch.tensor([encode_for(loaded, Prompt.from_text(text)).ids])
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            found = model(ids, output_attentions=True, use_cache=False).attentions
    finally:
        model.set_attn_implementation(before)
    return np.stack([x[0, ..., : ids.shape[1]].numpy() for x in found])


@pytest.mark.parametrize("build", [tiny.llama, tiny.gemma3, tiny.gpt_oss])
def test_it_is_the_model_s_own_attention(build: Any) -> None:
    words = tokenizer()
    loaded = wrap(build(vocab_size=len(words)), words, name="tiny")
    whole = attention_window(loaded, TEXT)
    right = eager(loaded, TEXT)
    assert whole.attention == pytest.approx(right, abs=1e-5)
    some = attention_window(loaded, TEXT, tokens=(3, 11), layers=[2, 0])
    assert some.layers == (0, 2)
    assert some.attention == pytest.approx(right[[0, 2], :, 3:11, 3:11], abs=1e-5)
    assert some.tokens == whole.tokens[3:11]
    assert some.first == 3


@pytest.mark.parametrize("wrong", ["x", (0.5, 3), (1, 2, 3), 7, (), ("0", "3"), [None, 2]])
def test_what_is_no_range_is_refused(llama: LoadedModel, wrong: Any) -> None:
    with pytest.raises(SelectionError, match="is no range of tokens"):
        attention_window(llama, TEXT, tokens=wrong)


def test_viewers_get_the_shapes_they_take(llama: LoadedModel) -> None:
    window = attention_window(llama, TEXT, tokens=(0, 9))
    matrices, tokens = window.bertviz()
    assert [tuple(x.shape) for x in matrices] == [(1, 4, 9, 9)] * len(window.layers)
    assert len(tokens) == 9
    one = window.circuitsvis(1)
    assert one["attention"].shape == (4, 9, 9)
    assert one["tokens"] == tokens
    assert np.array_equal(one["attention"], matrices[1][0].numpy())
    with pytest.raises(SelectionError, match="layer 9 is not in the window"):
        window.circuitsvis(9)


@pytest.mark.parametrize("tokens", [(-1, 3), (3, 3), (5, 2), (0, 999)])
def test_a_range_that_is_not_there(llama: LoadedModel, tokens: tuple[int, int]) -> None:
    with pytest.raises(SelectionError, match="no part of the prompt"):
        attention_window(llama, TEXT, tokens=tokens)


def test_too_large_a_window_is_refused(llama: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindshare.study.window.MOST", 100)
    with pytest.raises(SelectionError, match="numbers") as refused:
        attention_window(llama, TEXT)
    assert "choose a range" in str(refused.value)
