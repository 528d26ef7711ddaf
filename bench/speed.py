"""Ratios to the plain forward pass: one process, interleaved, the minimum of several rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

import mindshare
from bench import workloads

ROUNDS = {256: 20, 1024: 10, 4096: 4, 8192: 3}
FEW = {256: 5, 1024: 3, 4096: 1, 8192: 1}  # for what is only reported
MAIN = ("plain", "mass", "mass + received")


def interleaved(
    ways: Mapping[str, Callable[[], None]], rounds: int, *, few: int | None = None
) -> dict[str, float]:
    """The shortest time of each way in seconds; ways outside MAIN run only `few` rounds."""
    best = dict.fromkeys(ways, float("inf"))
    for round_ in range(rounds):
        for name, run in ways.items():
            if few is not None and round_ >= few and name not in MAIN:
                continue
            started = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def by_length(tokens: int) -> dict[str, float]:
    model = mindshare.load("smollm2").model
    ids = workloads.inputs(tokens)
    names = ["plain", *workloads.WAYS]
    if tokens <= 1024:
        names.append("eager")
    short = workloads.inputs(64)
    for name in names:  # warm up on a short prompt
        workloads.named(name, model, short)()
    ways = {name: workloads.named(name, model, ids) for name in names}
    return interleaved(ways, ROUNDS[tokens], few=FEW[tokens])


def eager_once(tokens: int) -> dict[str, float]:
    """Long eager passes, in a process of their own: they may not fit."""
    model = mindshare.load("smollm2").model
    ids = workloads.inputs(tokens)
    ways = {n: workloads.named(n, model, ids) for n in ("plain", "eager")}
    best = dict.fromkeys(ways, float("inf"))
    for name, run in ways.items():
        started = time.perf_counter()
        run()
        best[name] = time.perf_counter() - started
    return best


def batch(size: int = 64, tokens: int = 100) -> dict[str, float]:
    """Prompts of 80 to 120 tokens, padded on the right, against the plain padded batch."""
    model = mindshare.load("smollm2").model
    lengths = torch.linspace(tokens - 20, tokens + 20, size).long()
    ids = workloads.inputs(int(lengths.max()), batch=size)
    valid = torch.arange(ids.shape[1]) < lengths[:, None]
    ways = {
        "plain": workloads.plain(model, ids),
        "mass": workloads.measured(model, ids, valid=valid, received=False),
        "mass + received": workloads.measured(model, ids, valid=valid),
    }
    return interleaved(ways, 5)
