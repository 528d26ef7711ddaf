from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from mindshare.models.support import (
    ENCODER,
    ENCODER_DECODER,
    NO_ATTENTION,
    OWN_CODE,
    REFUSALS,
    SPARSE_INDEX,
    config_refusal,
    refusal,
)


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
