"""Tiny random models with peaked attention: flat attention would hide mistakes."""

from __future__ import annotations

from typing import Any

import torch


def sharpen(model: torch.nn.Module, factor: float = 6.0) -> torch.nn.Module:
    """Larger query and key weights make the softmax far from uniform; sinks become non-zero."""
    generator = torch.Generator().manual_seed(1)
    for name, weight in model.named_parameters():
        if any(word in name for word in ("q_proj", "k_proj", "c_attn", "query_key_value")):
            weight.data.mul_(factor)
        if name.endswith("sinks"):
            weight.data.copy_(torch.randn(weight.shape, generator=generator))
    return model.eval()


SMALL: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
}


def llama(**changes: Any) -> torch.nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return sharpen(LlamaForCausalLM(LlamaConfig(**{**SMALL, **changes})))


def gemma3(**changes: Any) -> torch.nn.Module:
    """Windows of 9 tokens in two of three layers."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    torch.manual_seed(0)
    layers = ["sliding_attention", "full_attention", "sliding_attention"]
    config = Gemma3TextConfig(**{**SMALL, "sliding_window": 9, "layer_types": layers, **changes})
    return sharpen(Gemma3ForCausalLM(config))


def gemma2(**changes: Any) -> torch.nn.Module:
    """Soft-capped scores and windows."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(0)
    settings = {**SMALL, "sliding_window": 9, "attn_logit_softcapping": 2.0, **changes}
    return sharpen(Gemma2ForCausalLM(Gemma2Config(**settings)))


def gpt_oss(**changes: Any) -> torch.nn.Module:
    """Learned sinks and windows."""
    from transformers import GptOssConfig, GptOssForCausalLM

    torch.manual_seed(0)
    settings = {**SMALL, "sliding_window": 9, "num_local_experts": 4, "num_experts_per_tok": 2}
    settings["layer_types"] = ["sliding_attention", "full_attention", "sliding_attention"]
    return sharpen(GptOssForCausalLM(GptOssConfig(**settings | changes)))


def deepseek_v3() -> torch.nn.Module:
    """Values narrower than keys."""
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    torch.manual_seed(0)
    config = DeepseekV3Config(
        vocab_size=96,
        hidden_size=32,
        intermediate_size=48,
        moe_intermediate_size=16,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        q_lora_rank=8,
        kv_lora_rank=8,
        qk_nope_head_dim=8,
        qk_rope_head_dim=8,
        v_head_dim=12,
        max_position_embeddings=512,
    )
    return sharpen(DeepseekV3ForCausalLM(config))


def gpt2() -> torch.nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=96, n_embd=32, n_layer=3, n_head=4, n_positions=512)
    return sharpen(GPT2LMHeadModel(config))


FAMILIES = {f.__name__: f for f in (llama, gemma3, gemma2, gpt_oss, deepseek_v3, gpt2)}


def ids(tokens: int, *, batch: int = 1, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, 96, (batch, tokens), generator=generator)


def partition(tokens: int, classes: int = 4, *, seed: int = 0) -> torch.Tensor:
    """A random class for every token, as one-hot rows."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, classes, (tokens,), generator=generator)
    return torch.nn.functional.one_hot(labels, classes).float()


def eager_attentions(model: Any, input_ids: torch.Tensor, **kwargs: Any) -> list[torch.Tensor]:
    """The model's own matrices, without any help from mindshare."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            found = model(input_ids=input_ids, output_attentions=True, **kwargs).attentions
    finally:
        model.set_attn_implementation(before)
    return [a.double() for a in found]
