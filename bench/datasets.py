"""A thousand prompts: a run with all its tables, against plain length-sorted batches.

Five slices of 200 prompts of 20 to 400 tokens, written by a seeded generator. Each slice goes
through every way in turn, so that all meet the same moments of a shared machine. A run is all of
it: reading, passes, the store, the Parquet tables. The loop over `output_attentions` only computes
masses and column sums and keeps nothing; it sees the first slice only, as it is slow.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import torch

import mindshare
from bench import workloads
from mindshare.attention.forward import without_head
from mindshare.attention.interface import implementation
from mindshare.models import LoadedModel

SLICES, PROMPTS = 5, 1000
TOKENS = 4096  # of one batch
WORDS = (" #", " *", " map", " the", " of", " a", " b", " blue", " red", " house", " water", " 1")
CLASSES = {"hash": "#", "star": "*", "digit": "digit"}


def dataset(prompts: int = PROMPTS, slices: int = SLICES) -> dict[str, Any]:
    loaded = mindshare.load("smollm2")
    texts = list(_texts(prompts))
    found: dict[str, Any] = {"plain": [], "run": [], "eager": [], "memory_gb": []}
    with tempfile.TemporaryDirectory() as place:
        _run(loaded, texts[:2], Path(place) / "warm")  # the self-checks are made once
        for number in range(slices):
            some = texts[number::slices]
            found["plain"].append(_timed(lambda some=some: _plain(loaded, some)))
            watch = _Memory()
            folder = Path(place) / str(number)
            took = _timed(lambda some=some, f=folder, w=watch: _run(loaded, some, f, w))
            found["run"].append(took)
            found["memory_gb"].append(round(watch.peak, 3))
        budget = _best_budget(loaded, texts[:8])
        found["eager"].append(_timed(lambda: _eager(loaded, texts[::slices], budget)))
        found["eager_tokens"] = budget
    return found | {"prompts": prompts, "tokens": sum(len(t.split()) for t in texts)}


def _texts(count: int) -> Iterator[str]:
    chance = random.Random(0)
    for _ in range(count):
        yield "".join(chance.choices(WORDS, k=chance.randint(20, 400)))


class _Memory:
    def __init__(self) -> None:
        self.peak, self._process = 0.0, psutil.Process()

    def __call__(self, _done: int, _total: int) -> None:
        self.peak = max(self.peak, self._process.memory_info().rss / 1e9)


def _timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _run(loaded: LoadedModel, texts: Sequence[str], folder: Path, watch: Any = None) -> None:
    mindshare.measure(loaded, texts, classes=CLASSES, into=folder, progress=watch)


def _batches(loaded: LoadedModel, texts: Sequence[str], budget: int) -> Iterator[torch.Tensor]:
    """By length, padded on the right, as many as fit; under causal attention no mask is needed."""
    assert loaded.tokenizer is not None
    rows = sorted((loaded.tokenizer(text).input_ids for text in texts), key=len, reverse=True)
    while rows:
        length = len(rows[0])
        some, rows = rows[: max(1, budget // length)], rows[max(1, budget // length) :]
        yield torch.tensor([row + [row[-1]] * (length - len(row)) for row in some])


def _plain(loaded: LoadedModel, texts: Sequence[str]) -> None:
    for ids in _batches(loaded, texts, TOKENS):
        workloads.plain(loaded.model, ids)()


def _eager(loaded: LoadedModel, texts: Sequence[str], budget: int) -> None:
    decoder = without_head(loaded.model)
    for ids in _batches(loaded, texts, budget):
        columns = workloads.classes(ids.shape[1], batch=len(ids))
        with torch.inference_mode(), implementation(loaded.model, "eager"):
            attentions = decoder(input_ids=ids, use_cache=False, output_attentions=True).attentions
            for a in attentions:
                _ = a @ columns[:, None]
                _ = a.tril(-1).sum(2)


def _best_budget(loaded: LoadedModel, texts: Sequence[str]) -> int:
    """The loop's own best batch size."""
    return min((512, 1024, 2048, 4096), key=lambda b: _timed(lambda: _eager(loaded, texts, b)))
