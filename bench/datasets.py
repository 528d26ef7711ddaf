"""A thousand prompts: a run with all its tables, against plain batches and `output_attentions`.

Five slices of 200 prompts of 20 to 400 tokens, written by a seeded generator. Each slice goes
through every way in turn, so that all meet the same moments of a shared machine. A run is all of
it: reading, passes, the store, the Parquet tables. The plain passes and the loop over
`output_attentions` go by length too, in batches of whatever size suits each best; the loop only
computes masses and column sums and keeps nothing.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import torch

import mindshare
from bench import workloads
from bench.page import LONGER, WATCHED
from mindshare.attention.forward import without_head
from mindshare.attention.recorder import implementation
from mindshare.models import LoadedModel

SLICES, PROMPTS = 5, 1000
BUDGETS = (512, 1024, 2048, 4096)  # tokens of one batch
WORDS = (" #", " *", " map", " the", " of", " a", " b", " blue", " red", " house", " water", " 1")
CLASSES = {"hash": "#", "star": "*", "digit": "digit"}


def dataset(prompts: int = PROMPTS, slices: int = SLICES) -> dict[str, Any]:
    loaded = mindshare.load("smollm2")
    texts = list(_texts(prompts))
    found: dict[str, Any] = {"plain": [], "run": [], "eager": []}
    trial = texts[: prompts // 40]
    plain_tokens = _best_budget(lambda budget: _plain(loaded, trial, budget))
    eager_tokens = _best_budget(lambda budget: _eager(loaded, trial, budget))
    with tempfile.TemporaryDirectory() as place:
        _run(loaded, texts[:2], Path(place) / "warm")  # the self-checks are made once
        for number in range(slices):
            some, folder = texts[number::slices], Path(place) / str(number)
            ways: dict[str, Callable[[], None]] = {
                "plain": partial(_plain, loaded, some, plain_tokens),
                "run": partial(_run, loaded, some, folder),
                "eager": partial(_eager, loaded, some, eager_tokens),
            }
            for name, way in ways.items():
                found[name].append(_timed(way))
    tokens = sum(len(text.split()) for text in texts)
    budgets = {"plain_tokens": plain_tokens, "eager_tokens": eager_tokens}
    return found | budgets | {"prompts": prompts, "tokens": tokens}


def longer(prompts: int = 12, slices: int = 3) -> dict[str, Any]:
    """The run and the loop over prompts whose matrices are not small, one at a time."""
    loaded, texts = mindshare.load("smollm2"), list(_texts(prompts, LONGER))
    found: dict[str, Any] = {"run": [], "eager": [], "prompts": prompts}
    with tempfile.TemporaryDirectory() as place:
        _run(loaded, ["warm"], Path(place) / "warm")
        for number in range(slices):
            some = texts[number::slices]
            found["run"].append(_timed(partial(_run, loaded, some, Path(place) / str(number))))
            found["eager"].append(_timed(partial(_eager, loaded, some, 1)))
    return found


def _texts(count: int, lengths: tuple[int, int] = (20, 400)) -> Iterator[str]:
    chance = random.Random(0)
    for _ in range(count):
        yield "".join(chance.choices(WORDS, k=chance.randint(*lengths)))


def memory(prompts: int = WATCHED, parts: int = SLICES) -> list[float]:
    """The largest resident set in each part of one run, GB; for a process of its own."""
    loaded, process = mindshare.load("smollm2"), psutil.Process()
    peaks = [0.0] * parts

    def watch(done: int, total: int) -> None:
        part = min(parts - 1, done * parts // total)
        peaks[part] = max(peaks[part], process.memory_info().rss / 1e9)

    with tempfile.TemporaryDirectory() as place:
        _run(loaded, list(_texts(prompts)), Path(place) / "run", watch)
    return peaks


def _timed(work: Callable[[], None]) -> float:
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


def _plain(loaded: LoadedModel, texts: Sequence[str], budget: int) -> None:
    for ids in _batches(loaded, texts, budget):
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


def _best_budget(way: Callable[[int], None], rounds: int = 2) -> int:
    """The batch size that suits a way best: the quickest of several, each tried in turn."""
    took = dict.fromkeys(BUDGETS, math.inf)
    for _ in range(rounds):
        for budget in BUDGETS:
            took[budget] = min(took[budget], _timed(partial(way, budget)))
    return min(BUDGETS, key=lambda budget: took[budget])
