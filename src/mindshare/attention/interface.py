"""transformers' attention interface ⇄ a Watcher.

`watching(model, watcher)` makes every attention call of the model go through the watcher, and puts
the model back as it was afterwards, whatever happens. Both interfaces are registered under one
name: a name without a mask function would get no mask at all, and windows, padding and packing
would vanish silently. The name holds none of the words transformers treats specially.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

from mindshare.attention.call import AttentionCall
from mindshare.attention.masks import (
    LazyMask,
    Visibility,
    additive_part,
    lazy_mask,
    visibility_of,
)
from mindshare.attention.watcher import Watcher
from mindshare.errors import ExactnessError, UnsupportedModelError

NAME = "mindshare"

_active: ContextVar[Watcher | None] = ContextVar("mindshare_watcher", default=None)


@contextmanager
def watching(model: torch.nn.Module, watcher: Watcher) -> Iterator[None]:
    """Every attention call of `model` inside this block is seen by `watcher`."""
    _register()
    token = _active.set(watcher)
    try:
        with implementation(model, NAME):
            yield
    finally:
        _active.reset(token)


@contextmanager
def implementation(model: torch.nn.Module, name: str) -> Iterator[None]:
    """The model in evaluation mode with this attention implementation; restored afterwards."""
    configs = _configs(model)
    before = [config._attn_implementation_internal for config in configs]
    training = [module for module in model.modules() if module.training]
    try:
        for config in configs:
            config._attn_implementation_internal = name
        for module in training:
            module.training = False
        yield
    finally:
        for config, value in zip(configs, before, strict=True):
            config._attn_implementation_internal = value
        for module in training:
            module.training = True


def _configs(model: torch.nn.Module) -> list[Any]:
    """Each config that a module of this model reads its attention implementation from, once."""
    found: dict[int, Any] = {}
    for module in model.modules():
        config = getattr(module, "config", None)
        if hasattr(config, "_attn_implementation_internal"):
            found.setdefault(id(config), config)
    return list(found.values())


def _register() -> None:
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, make_mask)


def make_mask(**settings: Any) -> LazyMask:
    """The mask function mindshare registers with transformers."""
    mask = lazy_mask(**settings)
    watcher = _active.get()
    if watcher is not None:
        watcher.masks.append(mask.visible)
    return mask


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    *_args: Any,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """The attention function mindshare registers with transformers."""
    watcher = _active.get()
    if watcher is None:
        raise ExactnessError(
            "the attention implementation 'mindshare' works only while mindshare measures",
            next_step="set the model's attention implementation back to 'sdpa'",
        )
    call = _understand(module, (query, key, value), attention_mask, kwargs, watcher.masks)
    return watcher.see(module, call), None


def _understand(
    module: torch.nn.Module,
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    mask: Any,
    kwargs: dict[str, Any],
    made: list[Visibility],
) -> AttentionCall:
    query, key, value = tensors
    for sparse in ("indices", "block_indices"):
        if kwargs.get(sparse) is not None:
            raise UnsupportedModelError(
                f"{type(module).__name__} chooses keys by an index ({sparse}) that only its own "
                "kernels apply, so its attention can't be measured exactly",
            )
    causal = kwargs.get("is_causal")
    causal = getattr(module, "is_causal", True) if causal is None else causal
    queries, keys = query.shape[2], key.shape[2]
    if mask is None:
        _require_unambiguous(module, queries, keys, causal, kwargs.get("sliding_window"))
    visible = visibility_of(mask, queries, keys, causal=causal, made=made)
    if visible is None:
        raise UnsupportedModelError(
            f"{type(module).__name__} makes a mask of its own for {queries} queries and {keys} "
            "keys, so which tokens its cached keys are is not known",
            next_step="measure the prompt whole, without a chunk size",
        )
    scaling = kwargs.get("scaling")
    bias = kwargs.get("position_bias")
    added = additive_part(mask)
    if added is not None:
        bias = added if bias is None else bias + added
    return AttentionCall(
        query=query,
        key=key,
        value=value,
        scale=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
        visible=visible,
        softcap=kwargs.get("softcap"),
        sinks=kwargs.get("s_aux"),
        bias=bias,
    )


def _require_unambiguous(
    module: torch.nn.Module, queries: int, keys: int, causal: bool, window: int | None
) -> None:
    """Without a mask only whole causal attention and single steps have one meaning."""
    odd_shape = causal and queries > 1 and queries != keys
    if odd_shape or (window is not None and window < keys):
        raise UnsupportedModelError(
            f"{type(module).__name__} attends from {queries} queries to {keys} keys"
            f"{f' with a window of {window}' if window else ''} and passes no mask, "
            "so what it can see is not known",
        )
