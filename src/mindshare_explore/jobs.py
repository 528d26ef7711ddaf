"""Model work, one piece at a time: a short queue, progress, and cancelling that frees the machine.

A job is a function that is given its `QueuedJob` and reports there; its `step` raises `Cancelled`
once someone has asked for that. This module knows no models.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Literal

from mindshare.errors import MindshareError

MOST_WAITING = 8
MOST_REMEMBERED = 100


class Cancelled(Exception):  # noqa: N818, as asyncio's
    """Someone asked for it: no error."""


class QueueFull(MindshareError):  # noqa: N818
    pass


@dataclass
class QueuedJob:
    """One piece of work, and how far it is."""

    title: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
    doing: str = ""
    done: int = 0
    total: int = 0
    result: str | None = None  # id of what came of it
    problem: dict[str, str | None] | None = None
    seconds: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _over: threading.Event = field(default_factory=threading.Event, repr=False)

    def step(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Say how far it is; raises if it is to stop."""
        if self._stop.is_set():
            raise Cancelled
        self.doing, self.done, self.total = doing, done, total

    def cancel(self) -> None:
        self._stop.set()
        if self.state == "waiting":
            self.state = "cancelled"
            self._over.set()

    def to_json(self) -> dict[str, Any]:
        names = ("id", "title", "state", "doing", "done", "total", "result", "problem", "seconds")
        return {name: getattr(self, name) for name in names}


Work = Callable[[QueuedJob], str | None]
CLOSING = 30.0  # seconds that a job has to end in


class JobQueue:
    """Jobs in order, one at a time, in a thread that ends with the process, whatever it does."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, QueuedJob] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[tuple[QueuedJob, Work] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="explorer", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (next_one := self._waiting.get()) is not None:
            job, work = next_one
            if job.state == "waiting":
                _run(job, work)
            job._over.set()

    def submit(self, title: str, work: Work) -> QueuedJob:
        job = QueuedJob(title)
        with self._lock:
            waiting = sum(one.state == "waiting" for one in self._jobs.values())
            if waiting >= MOST_WAITING:
                raise QueueFull(
                    f"{waiting} jobs are waiting already",
                    allowed=f"up to {MOST_WAITING}",
                    next_step="wait for one of them, or cancel it",
                )
            self._jobs[job.id] = job
            while len(self._jobs) > MOST_REMEMBERED:
                self._jobs.popitem(last=False)
            self._waiting.put((job, work))
        return job

    def get(self, id_: str) -> QueuedJob | None:
        return self._jobs.get(id_)

    def all(self) -> list[QueuedJob]:
        return list(self._jobs.values())

    def wait(self, job: QueuedJob, seconds: float = 600.0) -> QueuedJob:
        """For tests and notebooks: until it is over."""
        job._over.wait(seconds)
        return job

    def close(self) -> None:
        for job in self.all():
            job.cancel()
        self._waiting.put(None)
        self._thread.join(CLOSING)


def _run(job: QueuedJob, work: Work) -> None:
    job.state, begun = "running", time.monotonic()
    try:
        job.result = work(job)
        state: Any = "done"
    except Cancelled:
        state = "cancelled"
    except Exception as error:  # the page says what happened
        state = "failed"
        if not isinstance(error, MindshareError):
            what = f"{type(error).__name__}: {error}"
            error = MindshareError(what, next_step="please report this")
        job.problem = problem_of(error)
    job.seconds = round(time.monotonic() - begun, 3)
    job.state = state  # last: whoever sees that it is over finds the rest


def problem_of(error: MindshareError) -> dict[str, str | None]:
    """An error's parts, for the page."""
    return {name: getattr(error, name) for name in ("what", "where", "allowed", "next_step")}
