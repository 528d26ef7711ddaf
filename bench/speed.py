"""Times of each way and of the plain forward pass: one process, interleaved, round by round.

Whatever else runs on a shared machine only ever adds time, so the quickest round of each way is
what it costs; it takes many rounds to meet a quiet moment with every way.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

import mindshare
from bench import workloads
from mindshare.attention.jobs import Job
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import (
    InsertionStudy,
    build_insertion_study,
    build_study,
    measure,
)
from mindshare.study.backend import LocalBackend
from mindshare.study.encoding import EncodedPrompt, encode_versions
from mindshare_recipes.meaningless_tokens import problem_prompts

ROUNDS = {256: 30, 1024: 30, 4096: 8, 8192: 4}
FEW = {256: 10, 1024: 8, 4096: 4, 8192: 3}  # of entropy and distance
EAGER = {256: 3, 1024: 3, 4096: 1, 8192: 1}  # which takes minutes, and most of the memory
MAIN = ("plain", "mass", "mass + received")
FIRST = ("plain", *workloads.FIRST_LAYERS)
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


def page_faults(tokens: int = 1024, rounds: int = 5, *, keep: bool) -> list[int]:
    """Of each pass with mass + received, freed memory being kept or not."""
    if keep and not mindshare.keep_memory():
        return []
    run = workloads.named(
        "mass + received", mindshare.load("smollm2").model, workloads.inputs(tokens)
    )
    run()
    counts = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        run()
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return counts


def batch(size: int = 64, tokens: int = 100) -> Times:
    """Prompts of 80 to 120 tokens, padded on the right, against the plain padded batch."""
    model = mindshare.load("smollm2").model
    lengths = torch.linspace(tokens - 20, tokens + 20, size).long()
    ids = workloads.inputs(int(lengths.max()), batch=size)
    valid = torch.arange(ids.shape[1]) < lengths[:, None]
    ways = {
        "plain": workloads.plain(model, ids),
        "mass": workloads.measured(model, ids, ("given",), valid=valid),
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
    measure(loaded, prompts[:1], study=study)  # the self-check runs once a model type
    times: Times = {"plain": [], "insertion": []}
    for _ in range(rounds):
        ways = [_one_problem(loaded, prompt, study) for prompt in prompts]
        found = [interleaved(way, 1) for way in ways]
        for name in times:
            times[name].append(sum(one[name][0] for one in found))
    return times


def first_layer_insertion(rounds: int = 15) -> Times:
    """One problem with and without its run of tokens, layer 0, against the plain passes of both.

    Only what is computed: the prompts are encoded before.
    """
    loaded = mindshare.load("smollm2")
    study = build_insertion_study("/ *55", layers=(0,))
    encoded = encode_versions(loaded, problem_prompts(1)[0], study)
    backend = LocalBackend(loaded)
    jobs = encoded.with_jobs(study, backend.identity.key).jobs
    request = study.request()
    passes = [workloads.plain(loaded.model, torch.tensor(job.ids[None])) for job in jobs]

    def plain() -> None:
        for run in passes:
            run()

    def first_layer() -> None:
        assert sum(map(len, backend.results(jobs, request))) == len(jobs)

    list(backend.results(jobs, replace(request, layers=None)))  # a model is seen whole once
    return interleaved({"plain": plain, "layer 0": first_layer}, rounds)


def common_beginning(
    prompts: int = 100, shared: int = 2000, own: int = 100, chunk: int = 100, timed: int = 4
) -> Times:
    """Prompts that begin with the same tokens, against plain passes over each whole.

    Of the plain passes, `timed` are run, spread between the parts of the others; their quickest
    stands for each.
    """
    loaded = mindshare.load("smollm2")
    study = build_study(classes={"hash": "#", "star": "*"}, chunk_tokens=chunk)
    document = workloads.inputs(shared)[0]
    ends = torch.randint(3, 49000, (prompts, own), generator=torch.Generator().manual_seed(1))
    ids = [torch.cat([document, end]).numpy() for end in ends]
    columns = workloads.classes(shared + own)[0].numpy()
    jobs = [Job(str(number), one, columns) for number, one in enumerate(ids)]
    list(LocalBackend(loaded).results([Job("first", ids[0][:200], columns[:200])], study.request()))
    plain = workloads.plain(loaded.model, torch.tensor(ids[0][None]))
    plain()
    times: Times = {"plain": [], "shared": []}
    for _ in range(timed):
        started = time.perf_counter()
        plain()
        times["plain"].append(prompts * (time.perf_counter() - started))
        backend = LocalBackend(loaded)  # nothing is kept yet
        started = time.perf_counter()
        assert sum(map(len, backend.results(jobs, study.request()))) == prompts
        times["shared"].append(time.perf_counter() - started)
    return times


def late_insertion(
    before: int = 2000, after: int = 100, chunk: int = 100, rounds: int = 5
) -> Times:
    """55 tokens late in a long prompt and a random sentence there, against the plain passes.

    Only what is computed: the versions are encoded before.
    """
    loaded = mindshare.load("smollm2")
    text, question = workloads.text(before), workloads.text(after)
    prompt = Prompt.from_text(text + question, {"question": (len(text), len(text + question))})
    ways = {}
    for name, size in (("in chunks", chunk), ("whole", None)):
        study = build_insertion_study("/ *55", against="random-sentence", chunk_tokens=size)
        encoded = encode_versions(loaded, prompt, study)
        ways[name] = _computed(loaded, encoded, study)
    read = [encoded.encoded, *(version.encoded for version in encoded.versions)]
    passes = [workloads.plain(loaded.model, torch.tensor([one.ids])) for one in read]
    return interleaved({"plain": lambda: [run() for run in passes] and None, **ways}, rounds)


def _computed(
    loaded: LoadedModel, encoded: EncodedPrompt, study: InsertionStudy
) -> Callable[[], None]:
    """All jobs of one prompt, with nothing kept from earlier."""
    jobs = encoded.with_jobs(study, LocalBackend(loaded).identity.key).jobs

    def run() -> None:
        assert sum(map(len, LocalBackend(loaded).results(jobs, study.request()))) == len(jobs)

    return run


def converted() -> str:
    """The folder of the embedded model, for others to load."""
    from mindshare.models.gguf import converted_folder
    from mindshare.models.reference import embedded_file

    mindshare.load("smollm2")
    return str(converted_folder(embedded_file()))


def second_call(rounds: int = 5) -> Times:
    """From the shell: a prompt that is measured, and what imports take of that: as Python does
    them, and with no search for garbage, no SciPy and no freeing at the end.

    Bytecode is kept, as Python does unless it is told not to.
    """
    command = [str(Path(sys.executable).parent / "mindshare"), "measure", "smollm2"]
    imports = "import torch; from transformers import LlamaForCausalLM, AutoTokenizer"
    without = "import gc, os, sys; gc.disable(); sys.modules['scipy'] = None"
    alone = f"{without}; {imports}; os._exit(0)"
    shell = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    run = partial(subprocess.run, check=True, capture_output=True, env=shell)
    with tempfile.TemporaryDirectory() as folder:
        rest = ["--text", "Look: ## ** ?", "--class", "hash=#", "--replace", "--out", folder + "/x"]
        calls = {
            "mindshare measure": [*command, *rest],
            "imports": [sys.executable, "-c", imports],
            "imports alone": [sys.executable, "-c", alone],
        }
        run(calls["mindshare measure"])
        ways = {name: lambda call=call: run(call) and None for name, call in calls.items()}
        return interleaved(ways, rounds)


def _one_problem(
    loaded: LoadedModel, prompt: Prompt, study: InsertionStudy
) -> dict[str, Callable[[], None]]:
    encoded = encode_versions(loaded, prompt, study)
    read = [encoded.encoded, *(version.encoded for version in encoded.versions)]
    passes = [workloads.plain(loaded.model, torch.tensor([one.ids])) for one in read]

    def plain() -> None:
        for run in passes:
            run()

    def measured() -> None:
        measure(loaded, prompt, study=study)

    return {"plain": plain, "insertion": measured}
