"""Ratios to the plain forward pass: one process, interleaved, paired round by round.

A shared machine drifts by more than what is measured here, so the ratio is the median over the
rounds of each round's own ratio.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

import mindshare
from bench import workloads
from mindshare.recipes.meaningless_tokens.problems import problem_prompts
from mindshare.study import build_insertion_study, measure_insertion, read_versions

ROUNDS = {256: 21, 1024: 15, 4096: 5, 8192: 3}
FEW = {256: 5, 1024: 3, 4096: 1, 8192: 1}  # for what is only reported
MAIN = ("plain", "mass", "mass + received")


Times = dict[str, list[float]]  # of each way, the seconds of every round


def interleaved(
    ways: Mapping[str, Callable[[], None]], rounds: int, *, few: int | None = None
) -> Times:
    """Ways outside MAIN run only in the first `few` rounds."""
    times: Times = {name: [] for name in ways}
    for round_ in range(rounds):
        for name, run in ways.items():
            if few is not None and round_ >= few and name not in MAIN:
                continue
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return times


def by_length(tokens: int) -> Times:
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


def eager_once(tokens: int) -> Times:
    """Long eager passes, in a process of their own: they may not fit."""
    model = mindshare.load("smollm2").model
    ids = workloads.inputs(tokens)
    return interleaved({n: workloads.named(n, model, ids) for n in ("plain", "eager")}, 1)


def batch(size: int = 64, tokens: int = 100) -> Times:
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


def insertion(problems: int = 20) -> Times:
    """The study of meaningless tokens, three versions a problem, against its plain passes."""
    loaded = mindshare.load("smollm2")
    prompts = problem_prompts(problems)
    study = build_insertion_study("/ *55", against="random-sentence")
    versions = [read_versions(loaded, prompt, study) for prompt in prompts]
    read = [v.without for v in versions] + [x.encoded for v in versions for x in v.versions]
    passes = [workloads.plain(loaded.model, torch.tensor([one.ids])) for one in read]

    def plain() -> None:
        for run in passes:
            run()

    def measured() -> None:
        measure_insertion(loaded, prompts, study)

    measure_insertion(loaded, prompts[:1], study)  # the self-check runs once a model type
    return interleaved({"plain": plain, "insertion": measured}, 5)
