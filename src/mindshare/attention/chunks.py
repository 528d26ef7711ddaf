"""A prompt that is fed in chunks; chunks that several prompts begin with are computed once.

May a model be fed in chunks at all? Some carry less across chunks than they should: a recurrent
state that is not kept, a cache that forgets what the mask still shows. So the plain model is first
run whole and in chunks on a short prompt; where the hidden states differ, chunks are refused.

A prompt is cut at fixed places from its start, so what a chunk gives follows from the tokens up to
its end and from nothing else: the chunks of a beginning that was met before are taken from
`PrefixCache` (keys, values, recurrent states and the chunks' statistics), and not a bit changes;
where the short prompt says otherwise, none are. Chunks are known by a hash of all that decides them
from the prompt's start: token ids, what they count for, query sets, the request. Only chunks that
several prompts are known to have are kept, in no more than `budget` bytes; the ones that were not
used for longest go first. They belong to one model whose weights do not change. Versions of an
insertion share the chunks before its place: behind it, their comparison has to see each pass.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from mindshare.attention.call import LayerStats
from mindshare.attention.jobs import Job, Request
from mindshare.attention.recorder import implementation, inputs_device, probe_ids
from mindshare.errors import UnsupportedModelError

_CHUNK = 7  # tokens of a chunk of the short prompt
_LONGEST = 1024  # windows up to this are crossed by the check
_TOLERANCE = {torch.bfloat16: 0.2, torch.float16: 0.05}  # relative to the largest hidden state

_in_chunks: WeakKeyDictionary[torch.nn.Module, _InChunks] = WeakKeyDictionary()
_resumable: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()

BUDGET = 2**30  # bytes: the keys and values of 23,000 tokens of SmolLM2-135M in float32
_MOST = 2**20  # names that are remembered, at about 100 bytes each

Names = tuple[bytes, ...]  # of the whole chunks of a prompt, in order


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
            chunks.append(chunk_of({}, cache, number * _CHUNK))
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
    return probe_ids(model, tokens)[None].to(inputs_device(model))


@dataclass(frozen=True)
class Chunk:
    """What a chunk of a prompt leaves behind."""

    stats: Mapping[int, LayerStats]  # by layer
    states: Mapping[int, Any]  # of the model's cache, by layer

    @cached_property
    def size(self) -> int:
        """Bytes."""
        stats = [vars(one) for one in self.stats.values()]
        return sum(tensor.nbytes for tensor in _tensors([self.states, stats]))


class PrefixCache:
    """The chunks that are kept."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget, self.size = budget, 0  # bytes
        self._chunks: OrderedDict[bytes, Chunk] = OrderedDict()  # the last used ones last
        self._prompts: Counter[bytes] = Counter()  # how many are known to have this chunk

    def expect(self, prompts: Iterable[Names]) -> None:
        """Prompts that are to come: what two of them have in common will be kept."""
        for names in prompts:
            self._prompts.update(names)
        if len(self._prompts) > _MOST:
            self._prompts = Counter(dict.fromkeys(self._chunks, 2))

    def known(self, names: Names) -> list[Chunk]:
        """From the start, as far as they are kept."""
        found: list[Chunk] = []
        for name in names:
            if name not in self._chunks:
                break
            found.append(self._chunks[name])
        for name in reversed(names[: len(found)]):  # a chunk is of no use without those before it
            self._chunks.move_to_end(name)
        return found

    def give_up(self) -> bool:
        """Where memory has run out: keep nothing from now on; whether there was anything."""
        some, self.budget, self.size = bool(self._chunks), 0, 0
        self._chunks.clear()
        return some

    def wants(self, name: bytes) -> bool:
        return name not in self._chunks and self._prompts[name] > 1

    def keep(self, names: Names, chunk: Chunk) -> None:
        """The last of these chunks, if there is room beside those before it."""
        before = set(names)
        while self._chunks and self.size + chunk.size > self.budget:
            oldest = next(iter(self._chunks))
            if oldest in before:
                return
            self.size -= self._chunks.pop(oldest).size
        if chunk.size <= self.budget:
            self._chunks[names[-1]] = chunk
            self.size += chunk.size


@dataclass(frozen=True)
class PromptPrefix:
    """The whole chunks of one prompt: those that are kept already, and a place for the others."""

    prefixes: PrefixCache
    names: Names

    def known(self, chunks: int) -> list[Chunk]:
        """From the start, at most so many."""
        return self.prefixes.known(self.names[:chunks])

    def keep(self, number: int, stats: Mapping[int, LayerStats], cache: Any, start: int) -> None:
        """What a chunk left behind, if another prompt has the same one."""
        if number < len(self.names) and self.prefixes.wants(self.names[number]):
            chunk = chunk_of(stats, cache, start)
            self.prefixes.keep(self.names[: number + 1], chunk)


def chunk_names(job: Job, request: Request, until: int | None = None) -> Names:
    """Of the whole chunks of a prompt up to this token; none where it is not fed in chunks."""
    chunk, until = request.chunk_tokens, len(job) if until is None else until
    if chunk is None or len(job) <= chunk:
        return ()
    parts = [job.ids, job.columns, *(() if job.queries is None else [job.queries.T])]
    name = hashlib.sha256(_asked(request, parts).encode()).digest()
    names = []
    for end in range(chunk, until + 1, chunk):
        content = hashlib.sha256(name)
        for part in parts:  # [token, …]
            content.update(np.ascontiguousarray(part[end - chunk : end]).tobytes())
        name = content.digest()
        names.append(name)
    return tuple(names)


def _asked(request: Request, parts: Sequence[np.ndarray]) -> str:
    """What decides the numbers of every chunk alike."""
    layers = None if request.layers is None else sorted(request.layers)
    asked = (sorted(request.statistics), request.near, layers, request.kernel, request.chunk_tokens)
    shapes = [(part.dtype.str, part.shape[1:]) for part in parts]
    return repr((asked, shapes, torch.get_num_threads()))


def chunk_of(stats: Mapping[int, LayerStats], cache: Any, start: int) -> Chunk:
    """What the chunk from token `start` on left in the statistics and in the model's cache."""
    copied = {k: LayerStats(**_copied(vars(one))) for k, one in stats.items()}
    states = {k: _state(layer, start) for k, layer in enumerate(cache.layers)}
    return Chunk(copied, {k: state for k, state in states.items() if state is not None})


def restore(cache: Any, chunks: Sequence[Chunk]) -> None:
    """Put an empty cache into the state that these chunks left it in."""
    for number in chunks[-1].states if chunks else ():
        layer, last = cache.layers[number], chunks[-1].states[number]
        if _only_grows(layer):
            parts = [chunk.states[number] for chunk in chunks]
            keys, values = (torch.cat(some, -2) for some in zip(*parts, strict=True))
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values
        else:
            vars(layer).update(_copied(last))


def _state(layer: Any, start: int) -> Any:
    """Keys and values from `start` on; of a window or a recurrent state all of it."""
    if not _only_grows(layer):
        return _copied(vars(layer))
    if layer.get_seq_length() <= start:  # the pass ended before it
        return None
    return tuple(part[..., start:, :].clone() for part in (layer.keys, layer.values))


def _only_grows(layer: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return type(layer) is DynamicLayer


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if isinstance(value, list) else value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """All that a nest of containers holds."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _tensors(part)
