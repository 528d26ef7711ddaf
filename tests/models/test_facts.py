"""What configs say about attention, and which model types are refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AttentionInterface, AutoModelForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from mindshare.models import AttentionFacts, attention_facts, wrap
from mindshare.models.facts import (
    ENCODER,
    ENCODER_DECODER,
    NO_ATTENTION,
    OWN_CODE,
    REFUSALS,
    SPARSE_INDEX,
    config_refusal,
    refusal,
)

from . import tiny


def facts_of(model_type: str, **changes: Any) -> AttentionFacts:
    return attention_facts(CONFIG_MAPPING[model_type](**changes))


def test_a_plain_decoder() -> None:
    facts = attention_facts(tiny.llama_config())
    assert (facts.model_type, facts.layers, facts.heads, facts.kv_heads) == ("llama", 2, 4, 2)
    assert (facts.head_dim, facts.attention_layers) == (8, (0, 1))
    assert dict(facts.windows) == {0: None, 1: None}
    assert (facts.sinks, facts.softcap, facts.context_length) == (False, None, tiny.CONTEXT)
    assert facts.reason_unsupported is None


def test_config_model_and_loaded_model_say_the_same() -> None:
    model = tiny.llama()
    assert attention_facts(model) == attention_facts(model.config) == attention_facts(wrap(model))


def test_older_words_for_the_same_things() -> None:
    facts = facts_of("gpt2", n_layer=3, n_head=2, n_embd=8, n_positions=16)
    assert (facts.layers, facts.heads, facts.kv_heads, facts.head_dim) == (3, 2, 2, 4)
    assert facts.context_length == 16


def test_windows_by_layer() -> None:
    facts = facts_of("gemma3_text", num_hidden_layers=6, sliding_window=512)
    assert dict(facts.windows) == {0: 512, 1: 512, 2: 512, 3: 512, 4: 512, 5: None}
    assert set(facts_of("mistral", num_hidden_layers=2, sliding_window=8).windows.values()) == {8}
    assert set(facts_of("qwen2", num_hidden_layers=2).windows.values()) == {None}
    assert 8192 in facts_of("llama4_text").windows.values()


def test_sinks_softcap_and_latent_keys() -> None:
    assert facts_of("gpt_oss").sinks
    assert facts_of("gemma2").softcap == 50.0
    assert facts_of("deepseek_v3").head_dim == 128 + 64


def test_layers_may_differ_in_their_heads() -> None:
    heads = [4, 2, 4]
    facts = facts_of("laguna", num_hidden_layers=3, num_attention_heads_per_layer=heads)
    assert (facts.heads, facts.heads_by_layer) == (4, (4, 2, 4))
    assert facts_of("laguna", num_hidden_layers=3).heads_by_layer == ()


def test_a_composite_config_speaks_for_its_text_model() -> None:
    facts = facts_of("gemma3", text_config={"num_hidden_layers": 6, "sliding_window": 256})
    assert (facts.model_type, facts.layers) == ("gemma3", 6)
    assert facts.windows[0] == 256


def test_hybrids_name_their_attention_layers() -> None:
    assert facts_of("qwen3_next", num_hidden_layers=4).attention_layers == (3,)
    jamba = facts_of("jamba", num_hidden_layers=8, attn_layer_period=4, attn_layer_offset=1)
    assert jamba.attention_layers == (1, 5)
    assert facts_of("recurrent_gemma", num_hidden_layers=6).attention_layers == (2, 5)


def test_what_cannot_be_measured_says_why() -> None:
    mamba = facts_of("mamba")
    assert mamba.attention_layers == ()
    assert "state-space" in str(mamba.reason_unsupported)
    assert "code of its own" in str(facts_of("bloom").reason_unsupported)
    assert "encoder-decoder" in str(facts_of("t5").reason_unsupported)


_SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "vocab_size": 32,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 1,
}


@pytest.mark.parametrize(
    ("model_type", "changes"),
    [
        ("llama", {"num_hidden_layers": 3}),
        ("gemma3_text", {"num_hidden_layers": 6, "sliding_window": 4}),
        ("lfm2", {"layer_types": ["conv", "full_attention", "conv"], "num_hidden_layers": 3}),
        (
            "qwen3_next",
            {
                "num_hidden_layers": 4,
                "linear_num_value_heads": 2,
                "linear_num_key_heads": 2,
                "linear_key_head_dim": 8,
                "linear_value_head_dim": 8,
                "num_experts": 2,
                "num_experts_per_tok": 1,
                "moe_intermediate_size": 8,
                "shared_expert_intermediate_size": 8,
            },
        ),
    ],
)
def test_the_config_says_what_the_model_does(model_type: str, changes: dict[str, Any]) -> None:
    seen: list[int] = []

    def watching(module: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(module.layer_idx)
        return sdpa_attention_forward(module, *args, **kwargs)

    AttentionInterface.register("watching_calls", watching)
    config = CONFIG_MAPPING[model_type](**{**_SMALL, **changes})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="watching_calls").eval()
    with torch.no_grad():
        model(torch.arange(5)[None])
    assert tuple(seen) == attention_facts(model).attention_layers


# Model types that are refused.


def _causal_sources() -> dict[str, str]:
    """Model type → its modeling source, for every causal language model of this transformers."""
    from transformers.models.auto.configuration_auto import model_type_to_module_name
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    spec = importlib.util.find_spec("transformers.models")
    assert spec is not None
    assert spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    return {
        model_type: "".join(
            file.read_text(encoding="utf-8")
            for file in (root / model_type_to_module_name(model_type)).glob("modeling_*.py")
        )
        for model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    }


def test_the_table_agrees_with_the_installed_transformers() -> None:
    sources = _causal_sources()
    # Sources that only hold another type's model (gpt-sw3 is gpt2) say nothing about attention.
    outside = {
        model_type
        for model_type, source in sources.items()
        if "ALL_ATTENTION_FUNCTIONS" not in source and "AutoModel.from_config" not in source
    } - {"gpt-sw3"}
    refused = {t for t, why in REFUSALS.items() if why in (OWN_CODE, NO_ATTENTION)}
    outside.add("git")  # only its image tower uses the interface
    assert outside == refused & set(sources)
    assert refused <= set(sources)


def test_every_indexer_of_the_installed_transformers_is_in_the_table() -> None:
    indexed = {t for t, source in _causal_sources().items() if "Indexer(" in source}
    assert indexed == {t for t, why in REFUSALS.items() if why is SPARSE_INDEX} | {"deepseek_v4"}


@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "gpt2", "jamba", "qwen3_next"])
def test_nothing_is_held_against_what_works(model_type: str) -> None:
    assert refusal(model_type) is None


@pytest.mark.parametrize(
    ("model_type", "kind"),
    [
        ("bloom", "own attention code"),
        ("mamba", "no attention"),
        ("t5", "encoder-decoder"),
        ("bert", "encoder"),
        ("deepseek_v32", "sparse index"),
        ("deepseek_v4", "compressed keys"),
        ("diffllama", "two calls per layer"),
    ],
)
def test_refusals_say_kind_reason_and_what_works(model_type: str, kind: str) -> None:
    why = refusal(model_type)
    assert why is not None
    assert why.kind == kind
    assert len(why.reason) > 30
    assert "llama" in why.instead


def test_a_config_can_say_it_is_a_decoder_after_all() -> None:
    from transformers import BartConfig, BertConfig

    assert config_refusal(BertConfig()) is ENCODER
    assert config_refusal(BertConfig(is_decoder=True)) is None
    assert config_refusal(BartConfig()) is ENCODER_DECODER
    assert config_refusal(BartConfig(is_encoder_decoder=False, is_decoder=True)) is None
