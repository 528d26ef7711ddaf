"""What a crew and its workers say to one another, whatever lies between them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from mindshare.errors import MindshareError
from mindshare.workers.credentials import Credentials
from mindshare.workers.worker import Outcome

if TYPE_CHECKING:
    from mindshare.attention.batches import Asked, Job


class WorkerError(MindshareError):
    """Workers that are lost and cannot be replaced."""


@dataclass(frozen=True)
class Work:
    """A batch: jobs of one padded length, and what is asked about them."""

    serial: int  # never used twice
    jobs: list[Job]
    asked: Asked

    @cached_property
    def name(self) -> str:
        """By the names of its jobs, so that it is the same in every run's log."""
        items = " ".join(sorted(job.item for job in self.jobs))
        return hashlib.sha256(items.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        longest, count = max(map(len, self.jobs)), len(self.jobs)
        size = f"1 prompt of {longest}" if count == 1 else f"{count} prompts of up to {longest}"
        return f"batch {self.name} ({size} tokens)"


@dataclass(frozen=True)
class Ready:
    """A worker has loaded its model."""

    worker: int
    credentials: Credentials


@dataclass(frozen=True)
class Finished:
    """A worker has done a batch."""

    worker: int
    serial: int
    outcome: Outcome


@dataclass(frozen=True)
class Gone:
    """A worker has ended, or could not begin."""

    worker: int
    why: str
    refused: MindshareError | None = None  # about the model: another worker won't fare better


Report = Ready | Finished | Gone


class Transport(Protocol):
    """Starts workers, carries batches there and reports back. Decides nothing."""

    depth: int  # batches that a worker may have at a time

    def start(self, worker: int) -> None: ...

    def give(self, worker: int, work: Work) -> None: ...

    def reports(self, patience: float) -> list[Report]:
        """Wait until someone says something; nothing after so many seconds of silence."""
        ...

    def end(self, worker: int) -> None:
        """At once, whatever it is doing; may be gone already."""
        ...

    def close(self) -> None:
        """End all that was started."""
        ...
