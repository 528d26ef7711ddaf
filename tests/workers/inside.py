"""A transport whose workers live in this process, and to whom things can be made to happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from mindshare.workers.credentials import Credentials
from mindshare.workers.transport import Finished, Gone, Ready, Report, Work
from mindshare.workers.worker import Outcome, Served, Setup

Fate = Callable[[int, Work, Outcome], list[Report]]


def live(worker: int, work: Work, outcome: Outcome) -> list[Report]:
    return [Finished(worker, work.serial, outcome)]


class Inside:
    """All workers are one model; `fate` says what is heard of a worker that has done a batch."""

    depth = 2

    def __init__(self, setup: Setup, fate: Fate = live) -> None:
        self.fate = fate
        self.started: list[int] = []
        self.ended: list[int] = []
        self.changes: dict[int, dict[str, str]] = {}  # of a worker's credentials
        self.stillborn: set[int] = set()
        self._served = Served()
        credentials = self._served.begin(setup)
        assert isinstance(credentials, Credentials)
        self._credentials = credentials
        self._said: deque[Report] = deque()
        self._given: deque[tuple[int, Work]] = deque()

    def start(self, worker: int) -> None:
        self.started.append(worker)
        if worker in self.stillborn:
            self._said.append(Gone(worker, "out of memory"))
            return
        changed = replace(self._credentials, pid=worker, **self.changes.get(worker, {}))  # type: ignore[arg-type]
        self._said.append(Ready(worker, changed))

    def give(self, worker: int, work: Work) -> None:
        self._given.append((worker, work))

    def reports(self, patience: float) -> list[Report]:
        del patience
        if not self._said and self._given:
            worker, work = self._given.popleft()
            self._said += self.fate(worker, work, self._served.outcome(work.jobs, work.asked))
        return [self._said.popleft()] if self._said else []

    def end(self, worker: int) -> None:
        self.ended.append(worker)
        self._given = deque(one for one in self._given if one[0] != worker)

    def close(self) -> None:
        self._said.clear()
