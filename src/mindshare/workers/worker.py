"""What runs in a worker: a model, loaded once; jobs come in, packed answers go out.

`Worker` answers or raises. `Served` is the same for a caller in another process: it never raises,
since an exception may not survive the way back, and says what happened instead. Answers travel as
the packed bytes that are stored later: no larger than the numbers, what heads share only once.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.errors import MindshareError
from mindshare.study.packed import pack, unpack
from mindshare.workers.credentials import Credentials

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindshare.attention.batches import Answer, Asked, Job
    from mindshare.study.respondent import Respondent
    from mindshare.workers.spec import ModelSpec

_PASSED_ON = ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Setup:
    """What a worker is made from."""

    spec: ModelSpec
    threads: int | None = None  # None: as torch likes
    tokens: int | None = None  # of one pass, padding included; None: as many as `Passes` likes
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None  # where relative paths start
    cache: str | None = None

    def enter(self) -> None:
        """Before torch and transformers are imported: they read the environment once."""
        os.environ.update(self.environment)
        if self.folder and Path(self.folder).is_dir():
            os.chdir(self.folder)
        if self.cache and Path(self.cache).is_dir():
            os.environ["MINDSHARE_CACHE"] = self.cache


def surroundings() -> dict[str, str]:
    """What this process was told about networks, for workers that are not its children."""
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ}


@dataclass(frozen=True)
class PackedAnswer:
    item: str
    layers: dict[int, bytes]
    kernels: dict[int, str]

    @classmethod
    def of(cls, answer: Answer) -> PackedAnswer:
        layers = {layer: pack(numbers) for layer, numbers in answer.layers.items()}
        return cls(answer.item, layers, answer.kernels)

    def unpacked(self) -> Answer:
        from mindshare.attention.batches import Answer

        layers = {layer: unpack(data) for layer, data in self.layers.items()}
        return Answer(self.item, layers, self.kernels)


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: answers, perhaps not all, and then why."""

    found: list[PackedAnswer]
    refused: MindshareError | None = None  # about a prompt: trying again is no use
    failed: str | None = None  # about this worker, for all we know


class Worker:
    """A model and its passes."""

    def __init__(self, setup: Setup) -> None:
        import torch

        from mindshare.study.passes import Passes

        if setup.threads is not None:
            torch.set_num_threads(setup.threads)
        loaded = setup.spec.load()
        self._passes = Passes(loaded.model, tokens=setup.tokens)
        self.credentials = Credentials.of(loaded, self._passes)

    def respondent(self) -> Respondent:
        return self.credentials.respondent

    def answer(self, jobs: Sequence[Job], asked: Asked) -> list[Answer]:
        return [one for some in self.answers(jobs, asked) for one in some]

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        return self._passes.answers(jobs, asked)


class Served:
    """A worker for callers elsewhere."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def begin(self, setup: Setup) -> Credentials | MindshareError | str:
        """Load the model; an error that a person should read, or what else went wrong."""
        try:
            setup.enter()
            self._worker = Worker(setup)
            return self._worker.credentials
        except MindshareError as error:
            return error
        except Exception:  # whatever it is, the driver has to hear of it
            return traceback.format_exc()

    def outcome(self, jobs: Sequence[Job], asked: Asked) -> Outcome:
        assert self._worker is not None, "begin comes first"
        found: list[PackedAnswer] = []
        try:
            for answers in self._worker.answers(jobs, asked):
                found += map(PackedAnswer.of, answers)
        except MindshareError as error:
            return Outcome(found, refused=error)
        except Exception:  # a device that fell over, say
            return Outcome(found, failed=traceback.format_exc())
        return Outcome(found)
