"""Can this model be fed a prompt in chunks? Ask the model itself, once.

Some models carry less across chunks than they should: a recurrent state that is not kept, a cache
that forgets what the mask still shows. Fed in chunks they compute something else, with or without
mindshare, so their statistics would be those of another computation. On a short prompt the plain
model is run whole and in chunks; where the hidden states differ, chunks are refused.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import torch

from mindshare.attention.interface import implementation
from mindshare.errors import UnsupportedModelError

_CHUNK = 7
_LONGEST = 1024  # windows up to this are crossed by the check
_TOLERANCE = {torch.bfloat16: 0.2, torch.float16: 0.05}  # relative to the largest hidden state

_differences: WeakKeyDictionary[torch.nn.Module, float] = WeakKeyDictionary()


def require_chunkable(model: torch.nn.Module, decoder: torch.nn.Module) -> None:
    if model not in _differences:
        _differences[model] = _difference(model, decoder)
    tolerance = _TOLERANCE.get(next(model.parameters()).dtype, 1e-4)
    if not _differences[model] <= tolerance:
        raise UnsupportedModelError(
            f"{type(decoder).__name__} computes something else when it is fed in chunks "
            f"(its hidden states move by {_differences[model]:.2g} of their size)",
            next_step="measure the prompt whole, without a chunk size",
        )


def _difference(model: torch.nn.Module, decoder: torch.nn.Module) -> float:
    """Largest difference of the last hidden states, relative to their size; inf without a cache."""
    ids = _prompt(model)
    with torch.inference_mode(), implementation(model, "eager"):
        whole = decoder(input_ids=ids, use_cache=False)[0]
        parts, cache = [], None
        for start in range(0, ids.shape[1], _CHUNK):
            piece = ids[:, start : start + _CHUNK]
            result = decoder(input_ids=piece, use_cache=True, past_key_values=cache)
            cache = getattr(result, "past_key_values", None)
            if cache is None:
                return float("inf")
            parts.append(result[0])
    apart = (torch.cat(parts, 1) - whole).abs().max() / whole.abs().max()
    return float(apart)


def _prompt(model: torch.nn.Module) -> torch.Tensor:
    config: Any = getattr(model, "config", None)
    text = config.get_text_config(decoder=True)
    window = (
        getattr(text, "sliding_window", None) or getattr(text, "attention_chunk_size", None) or 0
    )
    tokens = 3 * _CHUNK + (window if window <= _LONGEST else 0)
    tokens = min(tokens, getattr(text, "max_position_embeddings", None) or tokens)
    vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocabulary, (1, tokens), generator=generator)
    return ids.to(next(model.parameters()).device)
