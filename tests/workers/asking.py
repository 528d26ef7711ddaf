"""A small model in a folder, jobs for it, and their answers as bytes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mindshare.attention.batches import Answer, Asked, Job
from mindshare.study.packed import pack
from mindshare.study.passes import Passes
from mindshare.workers.spec import ModelSpec
from tests.models import tiny

ASKED = Asked(entropy=True, distance=True)
CONTEXT = 320


def model_folder(folder: Path) -> Path:
    return tiny.llama_folder(folder, max_position_embeddings=CONTEXT, num_hidden_layers=4)


def spec(folder: Path) -> ModelSpec:
    return ModelSpec(str(folder))


def jobs(count: int = 60, *, longest: int = 300) -> list[Job]:
    random = np.random.default_rng(5)
    return [
        Job(
            item=f"{number:04x}",
            ids=random.integers(3, tiny.VOCABULARY_SIZE, length),
            columns=random.random((length, 3), np.float32),
            queries=np.ones((1, length), bool),
        )
        for number, length in enumerate(random.integers(1, longest, count))
    ]


def as_bytes(answers: Iterable[Answer]) -> dict[str, dict[int, bytes]]:
    """By item and layer. An item that is answered twice is an error."""
    found: dict[str, dict[int, bytes]] = {}
    for one in answers:
        assert one.item not in found
        found[one.item] = {layer: pack(numbers) for layer, numbers in one.layers.items()}
    return found


def from_passes(folder: Path, some: list[Job], asked: Asked = ASKED) -> dict[str, dict[int, bytes]]:
    """What has to come out, from a model in this process."""
    passes = Passes(spec(folder).load().model)
    return as_bytes(one for answers in passes.answers(some, asked) for one in answers)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def gone(pid: int) -> bool:
    """Ended, or at least a corpse that nobody has buried yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def all_end(pids: Iterable[int], *, seconds: float) -> None:
    """Nobody is left of those who were started, after a while at most."""
    until = time.monotonic() + seconds
    while left := [pid for pid in pids if not gone(pid)]:
        assert time.monotonic() < until, [Path(f"/proc/{pid}/cmdline").read_text() for pid in left]
        time.sleep(0.1)
