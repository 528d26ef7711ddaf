"""A small model in a folder, jobs for it, and their results as bytes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil

from mindshare.attention.jobs import Job, Positions, PromptResult, Request, pack
from mindshare.backends import ModelSpec
from mindshare.study.backend import LocalBackend
from tests.models import tiny

REQUEST = Request(statistics=frozenset({"mass", "received", "entropy", "distance", "rescaling"}))
CONTEXT = 320


def model_folder(folder: Path) -> Path:
    return tiny.llama_folder(folder, max_position_embeddings=CONTEXT, num_hidden_layers=4)


def spec(folder: Path) -> ModelSpec:
    return ModelSpec(str(folder))


def jobs(count: int = 60, *, longest: int = 300) -> list[Job]:
    """Prompts, and no insertions."""
    random = np.random.default_rng(5)
    return [
        _job(f"{number:04x}", random, random.integers(3, tiny.VOCABULARY_SIZE, length))
        for number, length in enumerate(random.integers(1, longest, count))
    ]


def insertions(count: int = 6) -> list[Job]:
    """Prompts, each with two versions into which tokens were inserted, compared with its pass."""
    random = np.random.default_rng(6)
    found: list[Job] = []
    for number in range(count):
        ids = random.integers(3, tiny.VOCABULARY_SIZE, int(random.integers(30, 120)))
        found.append(reference := _job(f"a{number:03x}", random, ids))
        for version, more in enumerate((3, 8)):
            middle = len(ids) // 2
            inserted = random.integers(3, tiny.VOCABULARY_SIZE, more)
            job = _job(f"b{number:02x}{version}", random, np.insert(ids, middle, inserted))
            where = np.arange(len(ids))
            pairs = np.stack([where, where + more * (where >= middle)], 1)
            positions = Positions(pairs, np.arange(middle, middle + more), middle + more)
            found.append(replace(job, reference=reference, positions=positions))
    return found


def everything() -> list[Job]:
    return [*jobs(), *insertions()]


def _job(item: str, random: np.random.Generator, ids: np.ndarray) -> Job:
    return Job(item, ids, columns=random.random((len(ids), 3), np.float32))


def as_bytes(batches: Iterable[list[PromptResult]]) -> dict[str, dict[int, bytes]]:
    """By item and layer. An item that comes twice is an error."""
    found: dict[str, dict[int, bytes]] = {}
    for one in (one for results in batches for one in results):
        assert one.item not in found
        found[one.item] = {layer: pack(arrays) for layer, arrays in one.layers.items()}
    return found


def from_here(folder: Path, some: list[Job]) -> dict[str, dict[int, bytes]]:
    """What has to come out, from a model in this process."""
    return as_bytes(LocalBackend(spec(folder).load()).results(some, REQUEST))


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def hold(pid: int) -> None:
    """What this process is given from now on stays undone until it is killed."""
    os.kill(pid, signal.SIGSTOP)


def gone(pid: int) -> bool:
    """Ended, or at least a corpse that nobody has buried yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def all_end(pids: Iterable[int], *, seconds: float) -> None:
    """Nobody is left of those who were started, after a while at most."""
    until = time.monotonic() + seconds
    while left := [pid for pid in pids if not gone(pid)]:
        assert time.monotonic() < until, [psutil.Process(pid).cmdline() for pid in left]
        time.sleep(0.1)
