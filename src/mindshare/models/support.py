"""A transformers model type becomes the reason why its attention cannot be measured, or None.

mindshare sees attention through the one function that transformers lets models share
(`ALL_ATTENTION_FUNCTIONS`). This table names the model types known not to go through it, so that
the message comes early and says why; the engine decides on the calls it observes, not on this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


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
