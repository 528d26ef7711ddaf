"""Prompts that begin alike → their common beginning is computed once.

A prompt that is fed in chunks is cut at fixed places from its start, so what a chunk gives follows
from the tokens up to its end and from nothing else: the chunks of a beginning that was met before
are taken from here instead (keys, values, recurrent states and the chunks' statistics), and not a
bit changes. Chunks are known by a hash of all that decides them from the prompt's start: token
ids, what they count for, query sets, the request. Only chunks that several prompts are known to
have are kept, in no more than `budget` bytes; the ones that were not used for longest go first.

Belongs to one model whose weights do not change; knows nothing of how a pass is made.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from mindshare.attention.call import LayerStats
from mindshare.attention.jobs import Job, Request

BUDGET = 2**30  # bytes: the keys and values of 23,000 tokens of SmolLM2-135M in float32
_MOST = 2**20  # names that are remembered, at about 100 bytes each

Names = tuple[bytes, ...]  # of the whole chunks of a prompt, in order


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


class Prefixes:
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
class Beginning:
    """The whole chunks of one prompt: those that are kept already, and a place for the others."""

    prefixes: Prefixes
    names: Names
    before_last: int  # chunks before the last one, which is always computed

    @classmethod
    def of(cls, job: Job, request: Request, prefixes: Prefixes) -> Beginning | None:
        """None where the prompt has nothing to share."""
        names = names_of(job, request)
        if not names or request.chunk_tokens is None:
            return None
        return cls(prefixes, names, (len(job) - 1) // request.chunk_tokens)

    def known(self) -> list[Chunk]:
        return self.prefixes.known(self.names[: self.before_last])

    def keep(self, number: int, stats: Mapping[int, LayerStats], cache: Any, start: int) -> None:
        """What a chunk left behind, if another prompt has the same one."""
        if number < len(self.names) and self.prefixes.wants(self.names[number]):
            chunk = left_behind(stats, cache, start)
            self.prefixes.keep(self.names[: number + 1], chunk)


def names_of(job: Job, request: Request) -> Names:
    """Of the whole chunks of a prompt; none where it is not fed in chunks."""
    chunk = request.chunk_tokens
    if chunk is None or len(job) <= chunk:
        return ()
    parts = [job.ids, job.columns, *(() if job.queries is None else [job.queries.T])]
    name = hashlib.sha256(_asked(request, parts).encode()).digest()
    names = []
    for end in range(chunk, len(job) + 1, chunk):
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


def left_behind(stats: Mapping[int, LayerStats], cache: Any, start: int) -> Chunk:
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
