"""Times of each way and of the plain forward pass: one process, interleaved, round by round.

Whatever else runs on a shared machine only ever adds time, so the quickest round of each way is
what it costs; it takes many rounds to meet a quiet moment with every way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import torch

import mindshare
from bench import workloads
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.recipes.meaningless_tokens.problems import problem_prompts
from mindshare.study import (
    InsertionStudy,
    build_insertion_study,
    measure_insertion,
    read_versions,
)

ROUNDS = {256: 30, 1024: 30, 4096: 8, 8192: 4}
FEW = {256: 5, 1024: 3, 4096: 1, 8192: 1}  # for what is only reported
MAIN = ("plain", "mass", "mass + received")
REPORTED = ("plain", "mass + entropy", "mass + distance")

Times = dict[str, list[float]]  # of each way, the seconds of every round


def interleaved(ways: Mapping[str, Callable[[], None]], rounds: int) -> Times:
    times: Times = {name: [] for name in ways}
    order = list(ways.items())
    for _ in range(rounds):
        for name, run in order:
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
        order.append(order.pop(0))  # no way is always first
    return times


def by_length(tokens: int, names: Sequence[str], rounds: int) -> Times:
    """Every group of ways in a process of its own: what a large one leaves behind slows others."""
    model = mindshare.load("smollm2").model
    ids, short = workloads.inputs(tokens), workloads.inputs(64)
    for name in names:  # warm up on a short prompt
        workloads.named(name, model, short)()
    return interleaved({name: workloads.named(name, model, ids) for name in names}, rounds)


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
    return interleaved(ways, 6)


def insertion(problems: int = 20, rounds: int = 3) -> Times:
    """The study of meaningless tokens, three versions a problem, against its plain passes.

    Problem by problem, so that both ways meet the same moments of a shared machine; a round's time
    is the sum over its problems.
    """
    loaded = mindshare.load("smollm2")
    prompts = problem_prompts(problems)
    study = build_insertion_study("/ *55", against="random-sentence")
    measure_insertion(loaded, prompts[:1], study)  # the self-check runs once a model type
    times: Times = {"plain": [], "insertion": []}
    for _ in range(rounds):
        ways = [_one_problem(loaded, prompt, study) for prompt in prompts]
        found = [interleaved(way, 1) for way in ways]
        for name in times:
            times[name].append(sum(one[name][0] for one in found))
    return times


def _one_problem(
    loaded: LoadedModel, prompt: Prompt, study: InsertionStudy
) -> dict[str, Callable[[], None]]:
    versions = read_versions(loaded, prompt, study)
    read = [versions.without, *(one.encoded for one in versions.versions)]
    passes = [workloads.plain(loaded.model, torch.tensor([one.ids])) for one in read]

    def plain() -> None:
        for run in passes:
            run()

    def measured() -> None:
        measure_insertion(loaded, prompt, study)

    return {"plain": plain, "insertion": measured}
