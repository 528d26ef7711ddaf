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
from typing import Any, Literal

from mindshare.errors import MindshareError

MOST_WAITING = 8
MOST_REMEMBERED = 100

State = Literal["waiting", "running", "done", "failed", "cancelled"]


class Cancelled(Exception):  # noqa: N818, as asyncio's
    """Someone asked for it: no error."""


class QueueFull(MindshareError):  # noqa: N818
    pass


@dataclass
class QueuedJob:
    """One piece of work, and how far it is."""

    title: str
    work: Callable[[QueuedJob], str | None] = field(repr=False)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = "waiting"
    doing: str = ""
    done: int = 0
    total: int = 0
    result: str | None = None  # id of what came of it
    problem: dict[str, str | None] | None = None
    started: float | None = None
    seconds: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def step(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Say how far it is; raises if it is to stop."""
        if self._stop.is_set():
            raise Cancelled
        self.doing, self.done, self.total = doing, done, total

    def cancel(self) -> None:
        self._stop.set()
        if self.state == "waiting":
            self.state = "cancelled"

    @property
    def over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def to_json(self) -> dict[str, Any]:
        names = ("id", "title", "state", "doing", "done", "total", "result", "problem", "seconds")
        return {name: getattr(self, name) for name in names}


class JobQueue:
    """Jobs in order, one at a time, in a thread of their own."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, QueuedJob] = OrderedDict()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, title: str, work: Callable[[QueuedJob], str | None]) -> QueuedJob:
        with self._changed:
            waiting = sum(job.state == "waiting" for job in self._jobs.values())
            if waiting >= MOST_WAITING:
                raise QueueFull(
                    f"{waiting} jobs are waiting already",
                    allowed=f"up to {MOST_WAITING}",
                    next_step="wait for one of them, or cancel it",
                )
            job = QueuedJob(title, work)
            self._jobs[job.id] = job
            while len(self._jobs) > MOST_REMEMBERED:
                self._jobs.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="explorer", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return job

    def get(self, id_: str) -> QueuedJob | None:
        return self._jobs.get(id_)

    def all(self) -> list[QueuedJob]:
        return list(self._jobs.values())

    def wait(self, job: QueuedJob, seconds: float = 600.0) -> QueuedJob:
        """For tests and notebooks: until it is over."""
        with self._changed:
            self._changed.wait_for(lambda: job.over, timeout=seconds)
        return job

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for job in self._jobs.values():
                job.cancel()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _next(self) -> QueuedJob | None:
        with self._changed:
            while not self._closed:
                for job in self._jobs.values():
                    if job.state == "waiting":
                        job.state, job.started = "running", time.monotonic()
                        return job
                self._changed.wait()
        return None

    def _run(self) -> None:
        while (job := self._next()) is not None:
            state: State = "failed"
            try:
                job.result = job.work(job)
                state = "done"
            except Cancelled:
                state = "cancelled"
            except MindshareError as error:
                job.problem = problem_of(error)
            except Exception as error:  # the thread must live; the page says what happened
                what = f"{type(error).__name__}: {error}"
                job.problem = problem_of(MindshareError(what, next_step="please report this"))
            with self._changed:
                job.state = state
                job.seconds = round(time.monotonic() - (job.started or 0.0), 3)
                self._changed.notify_all()


def problem_of(error: MindshareError) -> dict[str, str | None]:
    """An error's parts, for the page."""
    parts = ("what", "where", "allowed", "next_step")
    return {name: getattr(error, name) for name in parts}
