"""A reference (hub id, folder, GGUF file, base + adapter) becomes a loaded model.

    load(ref)              the whole way: find it, convert it if needed, load it, merge its adapter
    wrap(hf_model)         the same object around a model that is already in memory
    load_reader(ref)       its tokenizer alone, without reading weights
    describe(ref)          what its config says about its attention, without reading weights
    attention_facts(model) the same from a model or a config at hand
    refusal(model_type)    why a model type is known not to be measurable, or None
    available()            what can be loaded here without a network, and what is known beyond

Importing this package imports neither torch nor transformers; the names below arrive on first use.
It knows nothing about prompts, token classes or how attention is measured.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare.models.catalogue import CatalogueRow, available
    from mindshare.models.facts import AttentionFacts, attention_facts
    from mindshare.models.loaded import LoadedModel, Reader, wrap
    from mindshare.models.loading import describe, load, load_reader
    from mindshare.models.support import Refusal, refusal

__all__ = [
    "AttentionFacts",
    "CatalogueRow",
    "LoadedModel",
    "Reader",
    "Refusal",
    "attention_facts",
    "available",
    "describe",
    "load",
    "load_reader",
    "refusal",
    "wrap",
]

_HOME = {
    "AttentionFacts": "facts",
    "CatalogueRow": "catalogue",
    "LoadedModel": "loaded",
    "Reader": "loaded",
    "Refusal": "support",
    "attention_facts": "facts",
    "available": "catalogue",
    "describe": "loading",
    "load": "loading",
    "load_reader": "loading",
    "refusal": "support",
    "wrap": "loaded",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
