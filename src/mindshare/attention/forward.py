"""A model + token ids + a Request → what its layers did, in one forward pass or in chunks.

The language-model head is left out, logits of a long prompt are larger than everything else here.
Right padding needs no mask under causal attention; any other padding goes to the model as it is.
Chunked prefill feeds the same prompt through the model's own cache, a piece at a time.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from mindshare.attention.chunks import require_chunkable
from mindshare.attention.evenly import evenly
from mindshare.attention.interface import watching
from mindshare.attention.watcher import Onlooker, Request, Watcher, require_finite
from mindshare.errors import SelectionError, UnsupportedModelError
from mindshare.naming import layer_ranges


def run_pass(
    model: torch.nn.Module,
    input_ids: torch.Tensor,
    request: Request,
    *,
    chunk_tokens: int | None = None,
    onlooker: Onlooker | None = None,
) -> Watcher:
    """Run the model over `input_ids` [batch, token] and return the watcher that saw it."""
    _require_decoder(model)
    watcher = Watcher(request, onlooker)
    decoder = without_head(model)
    device = next(model.parameters()).device
    input_ids = input_ids.to(device)
    mask = None if request.right_padded else request.valid.to(device)
    chunk = chunk_tokens or input_ids.shape[1]
    if chunk < input_ids.shape[1]:
        require_chunkable(model, decoder)
    with torch.inference_mode(), watching(model, watcher), evenly(model):
        if chunk >= input_ids.shape[1]:
            forward(decoder, input_ids, mask, use_cache=False)
        else:
            _in_chunks(decoder, input_ids, mask, chunk, watcher)
    _require_seen(model, watcher)
    require_finite(watcher.layers, request.valid)
    return watcher


def _in_chunks(
    decoder: torch.nn.Module,
    input_ids: torch.Tensor,
    mask: torch.Tensor | None,
    chunk: int,
    watcher: Watcher,
) -> None:
    cache = None
    for start in range(0, input_ids.shape[1], chunk):
        stop = min(start + chunk, input_ids.shape[1])
        watcher.begin_chunk()
        seen = None if mask is None else mask[:, :stop]
        result = forward(
            decoder, input_ids[:, start:stop], seen, use_cache=True, past_key_values=cache
        )
        cache = result.past_key_values


def forward(
    decoder: torch.nn.Module, input_ids: torch.Tensor, mask: torch.Tensor | None, **options: Any
) -> Any:
    accepted = inspect.signature(decoder.forward).parameters
    if "logits_to_keep" in accepted:  # no separate decoder: at least keep the logits small
        options["logits_to_keep"] = 1
    if mask is not None:
        options["attention_mask"] = mask.long()
    options = {
        name: value
        for name, value in options.items()
        if value is not None
        and (name in accepted or any(p.kind is p.VAR_KEYWORD for p in accepted.values()))
    }
    return decoder(input_ids=input_ids, **options)


def without_head(model: torch.nn.Module) -> torch.nn.Module:
    inner: Any = model
    if hasattr(inner, "get_base_model"):  # an unmerged PEFT model
        inner = inner.get_base_model()
    found: torch.nn.Module = getattr(inner, "base_model", inner)
    return found


def _require_decoder(model: torch.nn.Module) -> None:
    from mindshare.models.support import config_refusal

    config: Any = getattr(model, "config", None)
    if config is None:
        raise UnsupportedModelError(
            f"{type(model).__name__} is not a transformers model (it has no config)",
            next_step="pass a model made by transformers, or use mindshare.load",
        )
    known = config_refusal(config)
    if known is not None:
        raise UnsupportedModelError(
            f"{config.model_type} can't be measured: {known.reason}", allowed=known.instead
        )


def _require_seen(model: torch.nn.Module, watcher: Watcher) -> None:
    config: Any = getattr(model, "config", None)
    if not watcher.calls:
        raise UnsupportedModelError(
            f"no layer of {config.model_type} attended through transformers' attention interface, "
            "so there is nothing to measure",
            next_step="choose a model with standard attention; `mindshare models` lists some",
        )
    asked = watcher.request.layers
    missing = sorted((asked or frozenset()) - set(watcher.layers))
    if missing:
        present = sorted(watcher.calls)
        why = "has no attention" if 0 <= missing[0] <= max(present) else "does not exist"
        raise SelectionError(
            f"layer {missing[0]} {why} in this model",
            allowed=f"layers {layer_ranges(present)}",
            next_step="choose among the layers that attend",
        )
