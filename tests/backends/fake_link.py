"""A link whose workers live in this process, and to whom things can be made to happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mindshare.backends.pool import JobBatch, WorkerReport
from mindshare.backends.worker import Outcome, Worker, WorkerFingerprint, WorkerSetup

Fate = Callable[[int, JobBatch, Outcome], list[WorkerReport]]


def live(worker: int, batch: JobBatch, outcome: Outcome) -> list[WorkerReport]:
    return [WorkerReport(worker, outcome, batch)]


class FakeLink:
    """All workers are one model; `fate` says what is heard of a worker that has done a batch.

    A worker is told apart by how many were started before it: that is the `pid` it gives.
    """

    depth = 2

    def __init__(self, setup: WorkerSetup, fate: Fate = live) -> None:
        self.fate = fate
        self.started: list[int] = []
        self.ended: list[int] = []
        self.changes: dict[int, dict[str, Any]] = {}  # of the fingerprint of the n-th start
        self.stillborn: set[int] = set()  # starts that come to nothing
        self._worker = Worker(setup)
        self._said: deque[WorkerReport] = deque()
        self._given: deque[tuple[int, JobBatch]] = deque()

    def start(self, worker: int) -> None:
        number = len(self.started)
        self.started.append(worker)
        self._drop(worker)
        if number in self.stillborn:
            self._said.append(WorkerReport(worker, "out of memory"))
            return
        assert isinstance(self._worker.fingerprint, WorkerFingerprint)
        changed = replace(self._worker.fingerprint, pid=number, **self.changes.get(number, {}))
        self._said.append(WorkerReport(worker, changed))

    def send(self, worker: int, batch: JobBatch) -> None:
        self._given.append((worker, batch))

    def reports(self, patience: float) -> list[WorkerReport]:
        del patience
        if not self._said and self._given:
            worker, batch = self._given.popleft()
            outcome = self._worker.outcome(batch.jobs, batch.request)
            self._said += self.fate(worker, batch, outcome)
        return [self._said.popleft()] if self._said else []

    def end(self, worker: int) -> None:
        self.ended.append(worker)
        self._drop(worker)

    def _drop(self, worker: int) -> None:
        self._given = deque(one for one in self._given if one[0] != worker)

    def close(self) -> None:
        self._said.clear()
