"""A reference (hub id, folder, GGUF file, base + adapter) becomes a loaded model.

    load(ref)              the whole way: find it, convert it if needed, load it, merge its adapter
    wrap(hf_model)         the same object around a model that is already in memory
    load_tokenizer(ref)    its tokenizer alone, without reading weights
    describe(ref)          what its config says about its attention, without reading weights
    check(ref)             the same; refuses what could not be loaded and measured
    attention_facts(model) the same from a model or a config at hand
    refusal(model_type)    why a model type is known not to be measurable, or None
    available()            what can be loaded here without a network, and what is known beyond

Importing this package imports neither torch nor transformers: its functions do, when called. It
knows nothing about prompts, token classes or how attention is measured.
"""

from __future__ import annotations

from mindshare.models.facts import AttentionFacts, Refusal, attention_facts, refusal
from mindshare.models.loading import (
    LoadedModel,
    ModelTokenizer,
    check,
    describe,
    load,
    load_tokenizer,
    wrap,
)
from mindshare.models.reference import CatalogueRow, available

__all__ = [
    "AttentionFacts",
    "CatalogueRow",
    "LoadedModel",
    "ModelTokenizer",
    "Refusal",
    "attention_facts",
    "available",
    "check",
    "describe",
    "load",
    "load_tokenizer",
    "refusal",
    "wrap",
]
