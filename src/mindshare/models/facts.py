"""What a config says about a model's attention: layers, heads, windows, sinks, and what forbids it.

Read from the config alone, so it needs no weights and can be shown before anything is downloaded.
mindshare sees attention through the one function that transformers lets models share
(`ALL_ATTENTION_FUNCTIONS`); `REFUSALS` names the model types known not to go through it, so that
the message comes early and says why. What the model does is observed by the engine, which decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

# Layer words of transformers' configs that name something other than attention.
_WITHOUT_ATTENTION = frozenset({"linear_attention", "mamba", "conv", "moe", "mlp", "recurrent"})
_WINDOWED = frozenset({"sliding_attention", "hybrid_sliding"})
# Model types with a learned sink logit per head; nothing in their configs says so.
_WITH_SINKS = frozenset(
    ("deepseek_v4", "flint", "gpt_oss", "granite_swa", "granitemoe_swa", "hy_v4", "mimo_v2_flash")
)
_HEAD_WORDS = ("num_attention_heads_per_layer", "num_attention_heads", "n_head", "num_heads")
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
    heads_by_layer: tuple[int, ...] = ()  # of every layer, where their numbers differ


def attention_facts(model_or_config: Any) -> AttentionFacts:
    """What the config says. Takes a transformers model, a `LoadedModel`, or a config."""
    config = _config_of(model_or_config)
    text = config.get_text_config(decoder=True)
    heads = _first(text, *_HEAD_WORDS) or 0
    types = getattr(text, "layer_types", None) or getattr(text, "layers_block_type", None)
    if not types:  # no words for the layers
        types = [None] * (_first(text, "num_hidden_layers", "n_layer", "num_layers") or 0)
    attention_layers = tuple(
        i for i, kind in enumerate(types) if heads > 0 and kind not in _WITHOUT_ATTENTION
    )
    why = config_refusal(config)
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
        reason_unsupported=None if why is None else why.reason,
        heads_by_layer=_heads_by_layer(text),
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


def _heads_by_layer(text: Any) -> tuple[int, ...]:
    """Nothing where all layers have the same number."""
    lists = (getattr(text, name, None) for name in _HEAD_WORDS)
    counts = next((tuple(one) for one in lists if isinstance(one, list | tuple)), ())
    whole = all(isinstance(one, int) for one in counts)
    return counts if whole and len(set(counts)) > 1 else ()


def _window(text: Any, kind: str | None) -> int | None:
    window = _first(text, "sliding_window")
    if kind == "chunked_attention":
        return _first(text, "attention_chunk_size")
    # Configs without words for their layers use their window, if any, in all of them.
    everywhere = kind in {None, "attention"} and getattr(text, "use_sliding_window", True)
    return window if kind in _WINDOWED or everywhere else None


def _head_dim(text: Any, heads: int) -> int:
    latent = _first(text, "qk_nope_head_dim"), _first(text, "qk_rope_head_dim")
    if latent[0] and latent[1]:  # keys of latent attention: a plain and a rotated part
        return latent[0] + latent[1]
    hidden = _first(text, "hidden_size", "n_embd") or 0
    return _first(text, "head_dim") or (hidden // heads if heads else 0)


@dataclass(frozen=True)
class Refusal:
    """`kind` is a word for tables, `reason` a sentence, `instead` what would work."""

    kind: str
    reason: str
    instead: str


_DECODERS = "a decoder of the llama, qwen, gemma, mistral, phi, gpt2 or gpt_neox families"

OWN_CODE = Refusal(
    "own attention code",
    "its attention is computed by code of its own, outside the interface transformers shares",
    _DECODERS,
)
NO_ATTENTION = Refusal(
    "no attention",
    "it is a recurrent or state-space model: no token gives attention to another",
    f"{_DECODERS}, or a hybrid (jamba, qwen3_next, lfm2) whose attention layers can be measured",
)
ENCODER_DECODER = Refusal(
    "encoder-decoder",
    "it is an encoder-decoder: prompt and answer are two sequences joined by cross-attention",
    _DECODERS,
)
ENCODER = Refusal(
    "encoder",
    "it is an encoder: every token sees every other, so nothing in it is causal",
    f"{_DECODERS}, or a checkpoint of this type whose config says is_decoder=true",
)
SPARSE_INDEX = Refusal(
    "sparse index",
    "an indexer picks the keys of each query, and folds its choice into the mask only under "
    "transformers' own attention names",
    f"{_DECODERS}, or the dense model it was made from",
)
MORE_KEYS_THAN_TOKENS = Refusal(
    "compressed keys",
    "it attends to compressed blocks besides tokens, so its keys are not the prompt's tokens",
    _DECODERS,
)
TWO_CALLS = Refusal(
    "two calls per layer",
    "each layer subtracts two attention maps, so no single map says where attention goes",
    "llama, the architecture it was derived from",
)
LOOPED = Refusal(
    "looped layers",
    "its layers attend more than once in one pass, so no single map says where attention goes",
    _DECODERS,
)
DRAFT_MODEL = Refusal(
    "draft model",
    "it reads the keys and values of another model and cannot run alone",
    "the model it drafts for",
)

_TYPES: dict[Refusal, str] = {
    OWN_CODE: """
        big_bird bloom codegen cpmant falcon git gpt_neo gpt_neox_japanese gptj megatron-bert mpt
        mvp openai-gpt prophetnet reformer rembert roformer trocr xglm xlm xlnet
    """,
    NO_ATTENTION: "falcon_mamba mamba mamba2 rwkv xlstm",
    ENCODER_DECODER: """
        fsmt led longt5 m2m_100 mt5 nllb-moe pegasus_x seamless_m4t seamless_m4t_v2
        speech_to_text switch_transformers t5 t5gemma t5gemma2 udop umt5 encoder-decoder
        bart bigbird_pegasus blenderbot blenderbot-small marian mbart musicgen musicgen_melody
        pegasus plbart whisper
    """,
    ENCODER: """
        albert bert bert-generation camembert convbert data2vec-text deberta deberta-v2 distilbert
        electra ernie funnel longformer modernbert mpnet nystromformer roberta roberta-prelayernorm
        roc_bert xlm-roberta xlm-roberta-xl xmod yoso
    """,
    SPARSE_INDEX: "axk2 deepseek_v32 glm_moe_dsa hy_v4 minimax_m3_vl_text qwen4_exp qwen4_exp_text",
    MORE_KEYS_THAN_TOKENS: "deepseek_v4",
    TWO_CALLS: "diffllama",
    LOOPED: "blt hrm_text",
    DRAFT_MODEL: "gemma4_assistant gemma4_unified_assistant",
}

REFUSALS: Mapping[str, Refusal] = MappingProxyType(
    {model_type: why for why, types in _TYPES.items() for model_type in types.split()}
)


def refusal(model_type: str) -> Refusal | None:
    """Why this model type is known not to be measurable, or None if nothing is known against it."""
    return REFUSALS.get(model_type)


def config_refusal(config: Any) -> Refusal | None:
    """The same, for a config at hand: it may say that its type is used as a plain decoder."""
    if getattr(config, "is_encoder_decoder", False):
        return ENCODER_DECODER
    inner = config.get_text_config(decoder=True)
    why = refusal(config.model_type) or refusal(inner.model_type)
    if why is ENCODER_DECODER or (why is ENCODER and getattr(inner, "is_decoder", False)):
        return None
    return why
