"""A model's config becomes what it says about its attention: layers, heads, windows, sinks.

Read from the config alone, so it needs no weights and can be shown before anything is downloaded.
It is what the config says; what the model does is observed by the engine, which decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mindshare.models.support import config_refusal

# Layer words of transformers' configs that name something other than attention.
_WITHOUT_ATTENTION = frozenset({"linear_attention", "mamba", "conv", "moe", "mlp", "recurrent"})
_WINDOWED = frozenset({"sliding_attention", "hybrid_sliding"})
# Model types with a learned sink logit per head; nothing in their configs says so.
_WITH_SINKS = frozenset(
    ("deepseek_v4", "flint", "gpt_oss", "granite_swa", "granitemoe_swa", "hy_v4", "mimo_v2_flash")
)
_CONTEXT_WORDS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")


@dataclass(frozen=True)
class AttentionFacts:
    """`attention_layers` are the 0-based layers that have attention at all; `windows` gives, for
    each of them, the number of tokens it can look back on (itself included), or None for all.
    """

    model_type: str
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    attention_layers: tuple[int, ...]
    windows: Mapping[int, int | None]
    sinks: bool
    softcap: float | None
    context_length: int | None
    reason_unsupported: str | None


def attention_facts(model_or_config: Any) -> AttentionFacts:
    """What the config says. Takes a transformers model, a `LoadedModel`, or a config."""
    config = _config_of(model_or_config)
    text = config.get_text_config(decoder=True)
    heads = _first(text, "num_attention_heads", "n_head", "num_heads") or 0
    types = _layer_types(text)
    attention_layers = tuple(i for i, kind in enumerate(types) if _has_attention(kind, heads))
    return AttentionFacts(
        model_type=str(config.model_type),
        layers=len(types),
        heads=heads,
        kv_heads=_first(text, "num_key_value_heads") or heads,
        head_dim=_head_dim(text, heads),
        attention_layers=attention_layers,
        windows=MappingProxyType({i: _window(text, types[i]) for i in attention_layers}),
        sinks=text.model_type in _WITH_SINKS,
        softcap=getattr(text, "attn_logit_softcapping", None),
        context_length=context_length_of(config),
        reason_unsupported=_reason(config),
    )


def context_length_of(config: Any) -> int | None:
    """How many tokens the config allows, or None where it sets no limit."""
    return _first(config.get_text_config(decoder=True), *_CONTEXT_WORDS)


def _config_of(model_or_config: Any) -> Any:
    if hasattr(model_or_config, "get_text_config"):
        return model_or_config
    model = model_or_config if hasattr(model_or_config, "config") else model_or_config.model
    return model.config


def _first(config: Any, *names: str) -> int | None:
    """The first of these names that holds a positive number (a list holds one per layer)."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, list | tuple) and value and all(isinstance(v, int) for v in value):
            value = max(value)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _layer_types(text: Any) -> list[str | None]:
    """One word per layer; None where the config has no words for its layers."""
    stated = getattr(text, "layer_types", None) or getattr(text, "layers_block_type", None)
    count = _first(text, "num_hidden_layers", "n_layer", "num_layers") or 0
    return list(stated) if stated else [None] * count


def _has_attention(kind: str | None, heads: int) -> bool:
    return heads > 0 and kind not in _WITHOUT_ATTENTION


def _window(text: Any, kind: str | None) -> int | None:
    window = _first(text, "sliding_window")
    if kind == "chunked_attention":
        return _first(text, "attention_chunk_size")
    # Configs without words for their layers use their window, if any, in all of them.
    if kind in _WINDOWED or (kind in {None, "attention"} and _windows_switched_on(text)):
        return window
    return None


def _windows_switched_on(text: Any) -> bool:
    return bool(getattr(text, "use_sliding_window", True))


def _head_dim(text: Any, heads: int) -> int:
    latent = _first(text, "qk_nope_head_dim"), _first(text, "qk_rope_head_dim")
    if latent[0] and latent[1]:  # keys of latent attention: a plain and a rotated part
        return latent[0] + latent[1]
    hidden = _first(text, "hidden_size", "n_embd") or 0
    return _first(text, "head_dim") or (hidden // heads if heads else 0)


def _reason(config: Any) -> str | None:
    why = config_refusal(config)
    return None if why is None else why.reason
