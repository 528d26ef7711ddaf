"""A model in memory becomes a `LoadedModel`: the model, its tokenizer, and who it is.

Does not know how models are found or read from disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindshare.errors import ModelError
from mindshare.models.facts import context_length_of
from mindshare.models.fingerprint import sampled_fingerprint

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, repr=False)
class LoadedModel:
    """A model ready to be measured.

    `fingerprint` says which weights these are: `sha256:…` over the content of the weight files
    (two of them joined by `+` for a base with an adapter), or `sampled:…` for a wrapped model.
    `add_bos` is what the model's own files ask for where transformers does not honour them: True
    means every prompt starts with exactly one BOS, False means none is added, None leaves it to
    the tokenizer.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase | None
    reference: str
    name: str
    fingerprint: str
    add_bos: bool | None
    context_length: int | None
    dtype: torch.dtype
    device: torch.device
    adapter: str | None = None

    def __repr__(self) -> str:
        kind = type(self.model).__name__
        return f"LoadedModel({self.name}: {kind}, {self.dtype} on {self.device})"


@dataclass(frozen=True)
class Reader:
    """A model's tokenizer without its weights: enough to see how the model would read a prompt."""

    tokenizer: PreTrainedTokenizerBase | None
    name: str
    add_bos: bool | None
    context_length: int | None


def wrap(hf_model: Any, tokenizer: Any = None, *, name: str | None = None) -> LoadedModel:
    """A model you already have. Nothing about it is changed, not even its training mode.

    Its fingerprint is a sample (see `sampled_fingerprint`), not a hash of every weight.
    """
    inner = _inner_model(hf_model)
    _require_transformers_model(inner)
    name = name or _name_of(inner)
    return LoadedModel(
        model=inner,
        tokenizer=tokenizer,
        reference=f"in memory: {name}",
        name=name,
        fingerprint=sampled_fingerprint(inner),
        add_bos=None,
        context_length=context_length_of(inner.config),
        dtype=inner.dtype,
        device=inner.device,
    )


def _inner_model(hf_model: Any) -> Any:
    """A PEFT wrapper holds a transformers model with the adapter inside: measure that one."""
    active = getattr(hf_model, "active_peft_config", None)
    if active is None or not hasattr(hf_model, "get_base_model"):
        return hf_model
    if getattr(active, "is_prompt_learning", False):
        raise ModelError(
            f"a {active.peft_type.value} adapter adds tokens that are not in the prompt",
            allowed="adapters that change weights, such as LoRA",
            next_step="wrap the base model, or one with the adapter merged",
        )
    return hf_model.get_base_model()


def _require_transformers_model(model: Any) -> None:
    from transformers import PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        raise ModelError(
            f"{type(model).__name__} is not a transformers model",
            allowed="an instance of transformers.PreTrainedModel",
            next_step="load one with mindshare.load(...) or transformers' from_pretrained(...)",
        )


def _name_of(model: Any) -> str:
    path = str(getattr(model.config, "name_or_path", "") or "").rstrip("/\\")
    return path.replace("\\", "/").rsplit("/", 1)[-1] or type(model).__name__
