"""Prompts as numbers → batches → each prompt's numbers, the same whatever it shares a pass with.

A prompt is padded on the right to the next multiple of 16 tokens and shares a pass only with
prompts of the same padded length, so every shape it meets follows from itself. What is left to
chance is whether the vendor's matrix products give a row the same bits whatever rows stand beside
it. `invariance` asks this model on this machine; where the answer is no, or cannot be trusted,
every prompt has a pass of its own, without padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from mindshare.attention.forward import run_pass
from mindshare.attention.measures import LayerNumbers, layer_numbers
from mindshare.attention.watcher import Request
from mindshare.models.facts import context_length_of

STEP = 16  # padded lengths are multiples of this: a whole number of vectors in every row
TOKENS = 1024  # of one batch, padding included: larger ones are up to a tenth slower on two cores


@dataclass(frozen=True)
class Job:
    """All that a model has to know of one prompt. Plain arrays, so that it can travel."""

    item: str  # names the answer
    ids: np.ndarray  # [token]
    columns: np.ndarray  # [token, class] float32
    queries: np.ndarray  # [set, token] bool

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def padded(self) -> int:
        return padded_length(self)


class Batchable(Protocol):
    """Whatever has a length and a name."""

    @property
    def item(self) -> Any: ...

    def __len__(self) -> int: ...


B = TypeVar("B", bound=Batchable)


def padded_length(job: Batchable) -> int:
    """The length of its row in a batch."""
    return -(-len(job) // STEP) * STEP


@dataclass(frozen=True)
class Asked:
    """What to find out about every job."""

    all_queries: bool = True  # every job's query set is all its tokens
    received: bool = True
    near: int = 0
    entropy: bool = False
    distance: bool = False
    layers: frozenset[int] | None = None  # None: all
    kernel: str = "auto"
    chunk_tokens: int | None = None


@dataclass(frozen=True)
class Answer:
    """The numbers of one job, by layer."""

    item: str
    layers: dict[int, LayerNumbers]
    kernels: dict[int, str]


def batches(jobs: Iterable[B], *, together: bool, tokens: Callable[[], int]) -> Iterator[list[B]]:
    """Jobs by length, as many of the same padded length as fit into a pass; or one by one.

    `tokens` is asked anew for every batch, since there may turn out to be less memory.
    """
    waiting: list[B] = []
    for job in sorted(jobs, key=lambda job: (-len(job), job.item)):
        length = padded_length(job)
        fits = together and waiting and padded_length(waiting[0]) == length
        if waiting and not (fits and (len(waiting) + 1) * length <= tokens()):
            yield waiting
            waiting = []
        waiting.append(job)
    if waiting:
        yield waiting


def run_batch(
    model: torch.nn.Module, jobs: Sequence[Job], asked: Asked, *, padded: bool
) -> list[Answer]:
    """One pass over jobs of the same padded length; without padding, over a single one."""
    length = length_in(model, jobs[0]) if padded else len(jobs[0])
    request = _request(jobs, asked, length)
    ids = np.stack([filled(job.ids, length, job.ids[-1]) for job in jobs])
    watcher = run_pass(model, torch.from_numpy(ids), request, chunk_tokens=asked.chunk_tokens)
    kernels = {layer: seen.kernel for layer, seen in sorted(watcher.layers.items())}
    return [
        Answer(job.item, layer_numbers(watcher, row=row, tokens=len(job)), kernels)
        for row, job in enumerate(jobs)
    ]


def length_in(model: torch.nn.Module, job: Batchable) -> int:
    """Padded, but no longer than the model can hold: learned positions end there."""
    room = context_length_of(getattr(model, "config", None))
    return min(padded_length(job), room or padded_length(job))


def _request(jobs: Sequence[Job], asked: Asked, length: int) -> Request:
    columns = np.stack([filled(_with_first_token(job.columns), length, 0.0) for job in jobs])
    valid = np.stack([np.arange(length) < len(job) for job in jobs])
    weights = None
    if not asked.all_queries:
        weights = np.stack([filled(job.queries.T, length, False).T for job in jobs])
    return Request(
        columns=torch.from_numpy(columns),
        valid=torch.from_numpy(valid),
        query_weights=None if weights is None else torch.from_numpy(weights).float(),
        received=asked.received,
        near=asked.near,
        entropy=asked.entropy,
        distance=asked.distance,
        expected=True,
        layers=asked.layers,
        kernel=asked.kernel,
    )


def _with_first_token(columns: np.ndarray) -> np.ndarray:
    """One more column, which is the sink statistic."""
    first = np.zeros((len(columns), 1), np.float32)
    first[0] = 1.0
    return np.concatenate([columns.astype(np.float32), first], 1)


def filled(rows: np.ndarray, length: int, filling: float) -> np.ndarray:
    """Rows up to `length`; the last token again in place of an id, as it is known to the model."""
    whole = np.full((length, *rows.shape[1:]), filling, rows.dtype)
    whole[: len(rows)] = rows
    return whole
