from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mindshare.errors import ModelError
from mindshare.models import wrap

from . import tiny


def test_wrapping_changes_nothing() -> None:
    model = tiny.llama().train()
    before = (model.training, model.config._attn_implementation, model.device)
    wrapped = wrap(model, tiny.tokenizer(), name="mine")
    assert wrapped.model is model
    assert (model.training, model.config._attn_implementation, model.device) == before
    assert (wrapped.name, wrapped.reference) == ("mine", "in memory: mine")
    assert (wrapped.dtype, wrapped.context_length) == (torch.float32, tiny.CONTEXT)
    assert wrapped.add_bos is None
    assert wrapped.adapter is None


def test_the_name_comes_from_where_the_model_came_from(shared_llama: Path) -> None:
    from transformers import LlamaForCausalLM

    assert wrap(tiny.llama()).name == "LlamaForCausalLM"
    assert wrap(LlamaForCausalLM.from_pretrained(shared_llama)).name == "tiny-llama"


def test_a_peft_model_is_measured_with_its_adapter_inside() -> None:
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    wrapped = wrap(get_peft_model(tiny.llama(), config))
    assert type(wrapped.model).__name__ == "LlamaForCausalLM"
    assert any("lora_A" in name for name, _ in wrapped.model.named_parameters())


def test_an_adapter_that_adds_tokens_is_refused() -> None:
    from peft import PrefixTuningConfig, get_peft_model

    adapted = get_peft_model(
        tiny.llama(), PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    )
    with pytest.raises(ModelError, match="PREFIX_TUNING adapter adds tokens"):
        wrap(adapted)


def test_something_else_is_refused() -> None:
    with pytest.raises(ModelError, match="Linear is not a transformers model"):
        wrap(torch.nn.Linear(2, 2))
