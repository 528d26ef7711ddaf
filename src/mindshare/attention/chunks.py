"""May a prompt be fed in chunks, and through which cache? Asked of the plain model, once.

Some models carry less across chunks than they should: a recurrent state that is not kept, a cache
that forgets what the mask still shows. So the model is first run whole and in chunks on a short
prompt; where the hidden states differ, chunks are refused. Where a pass that goes on behind chunks
of an earlier one gives other bits than its own, chunks are not taken from earlier prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

from mindshare.attention.prefixes import left_behind, restore
from mindshare.attention.recorder import implementation, inputs_device
from mindshare.errors import UnsupportedModelError

_CHUNK = 7  # tokens of a chunk of the short prompt
_LONGEST = 1024  # windows up to this are crossed by the check
_TOLERANCE = {torch.bfloat16: 0.2, torch.float16: 0.05}  # relative to the largest hidden state

_in_chunks: WeakKeyDictionary[torch.nn.Module, _InChunks] = WeakKeyDictionary()
_resumable: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()


@dataclass(frozen=True)
class _InChunks:
    """What feeding a short prompt in chunks showed of a model."""

    difference: float  # the largest of the last hidden states, relative to their size
    plain_cache: bool = False  # whether its cache is one that can be made beforehand


def require_chunkable(model: torch.nn.Module, decoder: torch.nn.Module) -> None:
    if model not in _in_chunks:
        _in_chunks[model] = _fed_in_chunks(model, decoder)
    difference = _in_chunks[model].difference
    tolerance = _TOLERANCE.get(next(model.parameters()).dtype, 1e-4)
    if not difference <= tolerance:
        raise UnsupportedModelError(
            f"{type(decoder).__name__} computes something else when it is fed in chunks "
            f"(its hidden states move by {difference:.2g} of their size)",
            next_step="measure the prompt whole, without a chunk size",
        )


def _fed_in_chunks(model: torch.nn.Module, decoder: torch.nn.Module) -> _InChunks:
    """The difference is infinite without a cache."""
    ids = _short_prompt(model)
    with torch.inference_mode(), implementation(model, "eager"):
        whole = decoder(input_ids=ids, use_cache=False)[0]
        parts, cache = [], None
        for start in range(0, ids.shape[1], _CHUNK):
            piece = ids[:, start : start + _CHUNK]
            result = decoder(input_ids=piece, use_cache=True, past_key_values=cache)
            cache = getattr(result, "past_key_values", None)
            if cache is None:
                return _InChunks(float("inf"))
            parts.append(result[0])
    apart = (torch.cat(parts, 1) - whole).abs().max() / whole.abs().max()
    return _InChunks(float(apart), _kinds(cache) == _kinds(_dynamic_cache(decoder)))


def empty_cache(model: torch.nn.Module, decoder: torch.nn.Module) -> Any | None:
    """The cache that the model would make, or None where that is its own affair."""
    return _dynamic_cache(decoder) if _in_chunks[model].plain_cache else None


def resumable(model: torch.nn.Module, decoder: torch.nn.Module) -> bool:
    """Whether a pass may go on behind chunks of an earlier one; the model is known to be chunkable.

    Not with frequencies that grow with the longest prompt so far: the model itself keeps those.
    """
    if model not in _resumable:
        grows = any("dynamic" in str(getattr(x, "rope_type", "")) for x in model.modules())
        plain = _in_chunks[model].plain_cache
        _resumable[model] = plain and not grows and _goes_on_alike(model, decoder)
    return _resumable[model]


def _goes_on_alike(model: torch.nn.Module, decoder: torch.nn.Module) -> bool:
    pieces = _short_prompt(model).split(_CHUNK, 1)
    if len(pieces) < 3:
        return False

    def feed(some: Sequence[torch.Tensor], cache: Any) -> Any:
        return [decoder(input_ids=x, use_cache=True, past_key_values=cache)[0] for x in some][-1]

    with torch.inference_mode(), implementation(model, "eager"):
        cache, chunks = _dynamic_cache(decoder), []
        for number, piece in enumerate(pieces[:2]):
            feed([piece], cache)
            chunks.append(left_behind({}, cache, number * _CHUNK))
        last = feed(pieces[2:], cache)
        again = _dynamic_cache(decoder)
        restore(again, chunks)
        return torch.equal(feed(pieces[2:], again), last)


def _dynamic_cache(decoder: torch.nn.Module) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=decoder.config)


def _kinds(cache: Any) -> list[object]:
    """Of the cache and its layers."""
    layers = getattr(cache, "layers", ())
    return [type(cache), *((type(x), getattr(x, "sliding_window", None)) for x in layers)]


def _short_prompt(model: torch.nn.Module) -> torch.Tensor:
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
    return ids.to(inputs_device(model))
