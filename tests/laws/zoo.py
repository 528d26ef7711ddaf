"""A model type's name → a tiny random model of that type, or why there is none.

Every causal-LM type that transformers 5.22.2 knows is in exactly one of three tables: EXACT
(measured, and equal to the model's own eager attention), REFUSED (built and turned away, with the
reason) and UNBUILDABLE (transformers cannot make one here). Sizes are small, seeds fixed, weights
random.

Attention of a freshly initialised model is nearly uniform, which would hide errors. So `build`
draws every linear layer anew with unit gain, multiplies what makes queries and keys by 1.75, and
fills learned sinks and parameters that start as all zeros with noise. Knows nothing of mindshare
but its error classes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.pytorch_utils import Conv1D

from mindshare.errors import ExactnessError, MindshareError, UnsupportedModelError

TRANSFORMERS = "5.22.2"  # the version the three tables are complete for
VOCABULARY = 96
LAYERS = 4
WINDOW = 9  # shorter than every prompt of the tests

Settings = Mapping[str, Any]

# Applied wherever a config has a setting of this name.
SMALL: Settings = {
    "vocab_size": VOCABULARY, "vocab_size_per_layer_input": VOCABULARY,
    "max_position_embeddings": 128, "n_positions": 128, "n_ctx": 128, "max_seq_len": 128,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    # width
    "hidden_size": 32, "n_embd": 32, "d_model": 32, "embed_dim": 32, "emb_dim": 32,
    "word_embed_proj_dim": 32, "embedding_size": 32, "out_hidden_size": 32,
    "intermediate_size": 48, "ffn_dim": 48, "ffn_hidden_size": 48, "n_inner": 48, "dim_ff": 48,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "hidden_size_per_layer_input": 8,
    # depth
    "num_hidden_layers": LAYERS, "n_layer": LAYERS, "num_layers": LAYERS, "n_layers": LAYERS,
    "encoder_layers": 2, "decoder_layers": 2, "depth": 2,
    # heads
    "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_heads": 4, "head_dim": 8,
    "dim_head": 8, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "num_key_value_heads": 2, "num_kv_heads": 2, "kv_heads": 2,
    # latent attention
    "q_lora_rank": 8, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8,
    "v_head_dim": 12,
    # random weights of about unit gain
    "initializer_range": 0.18, "query_pre_attn_scalar": 8,
    # what is seen
    "sliding_window": WINDOW, "use_sliding_window": True, "sliding_window_size": WINDOW,
    "attention_window_size": WINDOW, "attention_chunk_size": 16,
    # experts
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4,
    "num_experts_per_tok": 2, "num_experts_per_token": 2, "moe_topk": 2, "moe_k": 2,
    "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "num_expert_group": 1,
    "first_k_dense_replace": 1, "moe_intermediate_size": 16, "expert_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    # recurrent layers of hybrids
    "mamba_d_state": 4, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_expand": 2,
    "ssm_state_size": 4, "linear_num_value_heads": 4, "linear_num_key_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "linear_head_dim": 8,
    "linear_num_heads": 4,
    # towers for other inputs
    "image_size": 16, "patch_size": 8,
}  # fmt: skip

_WITH_WINDOWS = "dots1 laguna mellum qwen2 qwen2_moe qwen3 smollm3"
_WITH_LATENT_KEYS = "axk1 deepseek_v2 deepseek_v3 glm4_moe_lite minicpm3 youtu"
_LATENT = {"num_key_value_heads": 4}  # latent attention has as many key heads as query heads
_RECURRENT_THEN_FULL = ["linear_attention", "full_attention"] * 2
_WINDOW_THEN_FULL = ["sliding_attention", "full_attention"] * 2
_DENSE_THEN_SPARSE = ["dense", "sparse"] * 2
_ROPE = {"rope_type": "default", "rope_theta": 10_000.0}
_INDEXER = {
    "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 8, "indexer_budget": 16,
    "indexer_compress_ratio": 4, "hc_lowrank": 8, "ple_embed_dim": 32, "ngram_vocab_size_base": 64,
}  # fmt: skip

# What a type needs beyond SMALL; also used where the type is the inner config of another one.
SETTINGS: Mapping[str, Settings] = {
    **dict.fromkeys(_WITH_WINDOWS.split(), {"layer_types": _WINDOW_THEN_FULL}),  # noqa: RUF024
    **dict.fromkeys(_WITH_LATENT_KEYS.split(), _LATENT),
    "longcat_flash": {
        **_LATENT, "num_layers": 2, "num_hidden_layers": 4, "zero_expert_num": 1,
        "expert_ffn_hidden_size": 16,
    },
    "bailing_hybrid": {
        **_LATENT, "layer_types": _RECURRENT_THEN_FULL, "mlp_layer_types": _DENSE_THEN_SPARSE,
    },
    "kimi_linear": {
        **_LATENT, "layer_types": _RECURRENT_THEN_FULL, "mlp_layer_types": _DENSE_THEN_SPARSE,
    },
    "bamba": {"attn_layer_indices": [1, 3], "mamba_chunk_size": 8},
    "cohere_compass_text": {
        "layer_types": _WINDOW_THEN_FULL,
        "rope_parameters": {"sliding_attention": _ROPE, "full_attention": _ROPE},
    },
    "dbrx": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 10_000.0},
        "ffn_config": {
            "hidden_size": 32, "ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2,
        },
    },
    "doge": {"keep_window_size": 24},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_chunk_size": 8},
    "gemma3n_text": {
        "layer_types": _WINDOW_THEN_FULL, "num_kv_shared_layers": 2, "laurel_rank": 4,
        "intermediate_size": [48] * 4, "activation_sparsity_pattern": [0.5, 0.5, 0.0, 0.0],
    },
    "granitemoehybrid": {
        "layer_types": _RECURRENT_THEN_FULL, "shared_intermediate_size": 16, "mamba_chunk_size": 8,
    },
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_dt_rank": 4},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_dense_layers": 1},
    "nemotron_h": {
        "layers_block_type": ["linear_attention", "full_attention", "moe", "full_attention"],
    },
    "phi4_multimodal": {
        "audio_config": {
            "num_blocks": 1, "nemo_conv_channels": 16, "ext_pw_out_channel": 32,
            "depthwise_separable_out_channel": 32,
        },
    },
    "zamba": {
        "layers_block_type": [*["linear_attention"] * 2, "hybrid", "linear_attention", "hybrid"],
        "num_hidden_layers": 5, "attention_hidden_size": 64, "attention_head_dim": 16,
        "mamba_dt_rank": 4, "n_mamba_heads": 2,
    },
    "zamba2": {
        **_LATENT, "layers_block_type": ["linear_attention", "hybrid"] * 2, "n_mamba_heads": 4,
        "num_mem_blocks": 1, "chunk_size": 8,
    },
    "zaya": {
        "num_experts_per_tok": 1, "layer_types": ["hybrid", "hybrid_sliding"] * 2,
        "router_hidden_size": 16,
    },
    # refused, but to be refused they have to exist
    "blt": {"encoder_hash_byte_group_vocab": 50},
    "cpmant": {"position_bias_num_buckets": 16},
    "gemma4_assistant": {
        "text_config": {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0},
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "window_size": WINDOW},
    "mamba2": {"head_dim": 16, "n_groups": 1},
    "qwen4_exp_text": _INDEXER,
    "reformer": {"is_decoder": True, "axial_pos_embds": False},
    "roc_bert": {"enable_pronunciation": False, "enable_shape": False, "shape_vocab_size": 8},
}  # fmt: skip

_EXACT = """
    afmoe apertus arcee aria_text axk1 bailing_hybrid bamba bart beam bigbird_pegasus biogpt bitnet
    blenderbot blenderbot-small cohere cohere2 marian mbart pegasus plbart whisper
    cohere2_moe cohere_compass_text ctrl cwm dbrx deepseek_v2 deepseek_v3 doge dots1 emu3 ernie4_5
    ernie4_5_moe exaone4 exaone_moe falcon_h1 flex_olmo flint fuyu gemma gemma2 gemma3 gemma3_text
    gemma3n_text gemma4 gemma4_text gemma4_unified gemma4_unified_text glm glm4 glm4_moe
    glm4_moe_lite got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neox gpt_oss granite granitemoe
    granitemoehybrid granitemoeshared helium hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax
    inkling_text jais2 jamba jetmoe kimi_linear kolibri1 laguna lfm2 lfm2_moe llama llama4
    llama4_text longcat_flash mellum mimo_v2_flash minicpm3 minimax minimax_m2 ministral
    ministral3 mistral mixtral mllama modernbert-decoder moshi moss_transcribe_diarize nanochat
    nemotron nemotron_h olmo olmo2 olmo3 olmo_hybrid olmoe opt persimmon phi phi3 phi4_multimodal
    phimoe qwen2 qwen2_moe qwen3 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_moe
    qwen3_next recurrent_gemma seed_oss smollm3 solar_open stablelm starcoder2 vaultgemma youtu
    zaya
"""
EXACT: tuple[str, ...] = tuple(_EXACT.split())

# The attention layers of types that have others too; every other type attends in all of them.
_SECOND_AND_FOURTH = """
    bailing_hybrid bamba granitemoehybrid jamba kimi_linear lfm2 lfm2_moe nemotron_h olmo_hybrid
    qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_next
"""
# The decoder half of an encoder-decoder, as AutoModelForCausalLM builds it.
_DECODERS_OF_PAIRS = """
    bart bigbird_pegasus blenderbot blenderbot-small marian mbart pegasus plbart whisper
"""
ATTENTION_LAYERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_SECOND_AND_FOURTH.split(), (1, 3)),
    **dict.fromkeys(_DECODERS_OF_PAIRS.split(), (0, 1)),  # built with two layers
    "minimax": (0, 2),
    "recurrent_gemma": (2,),
    "mllama": (0, 1, 2),  # layer 3 attends to images only
}

# Fed a piece at a time through its own cache, such a model is not the same model: recurrent states
# start anew with each piece, or the cache drops keys that the mask shows. Chunks are refused.
CHANGED_BY_CHUNKS = ("bamba", "jamba", "moshi", "recurrent_gemma")


@dataclass(frozen=True)
class Refused:
    """The error a type is turned away with, and words that its message must hold."""

    error: type[MindshareError]
    says: str
    because: str = ""  # for the page, where the message can't know


_OWN_CODE = Refused(UnsupportedModelError, "code of its own")
_NO_ATTENTION = Refused(UnsupportedModelError, "recurrent or state-space")
_ENCODER = Refused(UnsupportedModelError, "it is an encoder: every token sees every other")
_SPARSE_INDEX = Refused(UnsupportedModelError, "an indexer picks the keys of each query")

_REFUSED: Mapping[Refused, str] = {
    _OWN_CODE: """
        big_bird bloom codegen cpmant falcon git gpt_neo gpt_neox_japanese gptj megatron-bert mpt
        mvp openai-gpt prophetnet reformer rembert roformer trocr xglm xlm xlnet
    """,
    _NO_ATTENTION: "falcon_mamba mamba mamba2 rwkv xlstm",
    _ENCODER: """
        bert bert-generation camembert data2vec-text electra ernie roberta roberta-prelayernorm
        roc_bert xlm-roberta xlm-roberta-xl xmod
    """,
    _SPARSE_INDEX: """
        axk2 deepseek_v32 glm_moe_dsa hy_v4 minimax_m3_vl_text qwen4_exp qwen4_exp_text
    """,
    Refused(UnsupportedModelError, "compressed blocks"): "deepseek_v4",
    Refused(UnsupportedModelError, "two attention maps"): "diffllama",
    Refused(UnsupportedModelError, "cannot run alone"): "gemma4_assistant gemma4_unified_assistant",
    Refused(UnsupportedModelError, "attend more than once in one pass"): "blt hrm_text",
    Refused(UnsupportedModelError, "does not say which layer it is"): "zamba zamba2",
    Refused(
        ExactnessError,
        "differs from this model's own eager attention",
        "its eager code returns the weights from before it scales the output by the learned sink",
    ): "granite_swa granitemoe_swa",
}

REFUSED: Mapping[str, Refused] = MappingProxyType(
    {model_type: why for why, types in _REFUSED.items() for model_type in types.split()}
)

UNBUILDABLE: Mapping[str, str] = {
    "gemma3n": "its image tower needs Pillow and timm; gemma3n_text is the same language model",
    "musicgen": "AutoModelForCausalLM cannot make one from MusicgenConfig, only from its decoder's",
    "musicgen_melody": (
        "AutoModelForCausalLM cannot make one from MusicgenMelodyConfig, only from its decoder's"
    ),
}

_MAKES_QUERIES_AND_KEYS = re.compile(
    r"(^|[._])(q|k|qk|qkv|kv|wq|wk|wqkv|query|key|c_attn|query_key_value)([._]|$)", re.IGNORECASE
)


def build(model_type: str) -> Any:
    """A tiny random model in float32 with peaked attention, in evaluation mode."""
    inner = {k: v for k, v in SETTINGS.get(model_type, {}).items() if isinstance(v, dict)}
    config = AutoConfig.for_model(model_type, **_small(AutoConfig.for_model(model_type, **inner)))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    _sharpen(model)
    model.eval()
    return model


def _small(default: Any, asked: Settings | None = None) -> dict[str, Any]:
    """The settings that shrink this config and the configs inside it."""
    given = {**SETTINGS.get(default.model_type, {}), **(asked or {})}
    present = default.to_dict()
    small: dict[str, Any] = {
        name: value
        for name, value in SMALL.items()
        if name in present and not isinstance(present[name], (list, tuple, dict))
    }
    if present.get("layer_types"):
        kinds = list(dict.fromkeys(present["layer_types"]))
        small["layer_types"] = (kinds * LAYERS)[:LAYERS]
    small.update(given)
    for name in type(default).sub_configs or {}:
        inner = getattr(default, name, None)
        if inner is not None:
            small[name] = _small(inner, given.get(name))
    return small


@torch.no_grad()
def _sharpen(model: torch.nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, (torch.nn.Linear, Conv1D)):
            inputs = module.weight.shape[0 if isinstance(module, Conv1D) else 1]
            module.weight.normal_(std=inputs**-0.5)
    for name, parameter in model.named_parameters():
        of_scores = _MAKES_QUERIES_AND_KEYS.search(name) is not None
        if "sink" in name:
            parameter.normal_()
        elif name.endswith(".temp"):  # multiplies normalised keys
            parameter.fill_(8.0)
        elif not parameter.any():  # a bias, or a norm whose gain is one plus its weight
            parameter.normal_(mean=0.75 if of_scores else 0.0, std=0.5)
        elif of_scores:
            parameter.mul_(1.75)
