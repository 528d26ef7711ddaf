"""Several workers → a `Backend`: every job's result once, whichever worker dies on the way.

    jobs ─► batches ─► free workers ─► results
               ▲            │ lost
               └── again ◄──┘

A worker that is lost is started again, and the batch it had goes to any free worker. Which worker
computes what changes no number. How workers are started and reached is a `WorkerLink`: here
processes of this machine, in `ray_backend` the actors of a Ray cluster.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import NamedTuple, Protocol, Self

from mindshare.attention.jobs import Job, PromptResult, Request, group_by_reference
from mindshare.backends.worker import ModelSpec, Outcome, Worker, WorkerFingerprint, WorkerSetup
from mindshare.errors import MindshareError
from mindshare.study.backend import ModelIdentity

log = logging.getLogger("mindshare.backends")
CORES_PER_PROCESS = 16  # more threads than these have little to do in one pass
RETRIES = 3  # of one batch
PATIENCE = 1800.0  # seconds until some worker has loaded the model
_BATCHES_PER_WORKER = 4  # at least: the last ones then end at about the same time
_EXIT_WAIT = 5.0  # seconds for a process whose pipe has closed to end by itself
_CLOSE_WAIT = 2.0  # … when everything is done


class WorkerError(MindshareError):
    """Workers that are lost and cannot be replaced."""


@dataclass(eq=False)
class JobBatch:
    """Jobs that go to one worker together, and how often that worker was lost."""

    jobs: list[Job]
    request: Request
    lost: int = 0

    def __str__(self) -> str:
        # Named by its jobs, so that it has the same name in every run's log.
        items = " ".join(sorted(job.item for job in self.jobs))
        name = hashlib.sha256(items.encode()).hexdigest()[:12]
        longest, count = max(map(len, self.jobs)), len(self.jobs)
        size = f"1 prompt of {longest}" if count == 1 else f"{count} prompts of up to {longest}"
        return f"batch {name} ({size} tokens)"


class WorkerReport(NamedTuple):
    """What is heard of a worker.

    It is ready (a fingerprint), has done a batch (its outcome), can't load the model (an error:
    starting again is no use), or is lost (the reason, or a traceback that ends with it).
    """

    worker: int
    content: WorkerFingerprint | Outcome | MindshareError | str
    batch: JobBatch | None = None  # of an outcome


class WorkerLink(Protocol):
    """Starts workers and carries batches. Decides nothing."""

    depth: int  # batches that a worker may have at a time

    def start(self, worker: int) -> None:
        """A new worker under this number, in place of one that is lost or has failed."""

    def send(self, worker: int, batch: JobBatch) -> None: ...

    def reports(self, patience: float) -> list[WorkerReport]:
        """Wait for the next ones; none after so many seconds of silence."""

    def end(self, worker: int) -> None:
        """At once, whatever it is doing; may have ended already."""

    def close(self) -> None:
        """End all that was started."""


@dataclass
class _Member:
    """One worker as the pool sees it."""

    fingerprint: WorkerFingerprint | None = None  # None: still loading
    queue: list[JobBatch] = field(default_factory=list)  # the first one is being computed
    restarted: bool = False

    def __str__(self) -> str:
        return "a starting worker" if self.fingerprint is None else self.fingerprint.process


class WorkerPool:
    """A context manager: workers start when it is entered and have ended when it is left."""

    def __init__(
        self,
        link: WorkerLink,
        workers: int,
        *,
        retries: int = RETRIES,
        patience: float = PATIENCE,
    ) -> None:
        self._link, self.workers = link, workers
        self._retries, self._patience = retries, patience
        self._members: dict[int, _Member] = {}
        self._waiting: deque[JobBatch] = deque()  # in no worker's queue
        self._due: set[JobBatch] = set()  # results not yet given out
        self._first: WorkerFingerprint | None = None  # all others must agree with it
        self._failed_starts = 0  # in a row

    def __enter__(self) -> Self:
        try:
            for number in range(self.workers):
                self._members[number] = _Member()
                self._link.start(number)
            while self._first is None:
                for report in self._reports():
                    list(self._handle(report))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._members.clear()
        self._link.close()

    @property
    def identity(self) -> ModelIdentity:
        """The model that all workers run."""
        assert self._first is not None, "known once the pool is entered"
        return self._first.identity

    @property
    def fingerprints(self) -> list[WorkerFingerprint]:
        """Of the workers that are ready."""
        return [m.fingerprint for m in self._members.values() if m.fingerprint is not None]

    def results(self, jobs: Sequence[Job], request: Request) -> Iterator[list[PromptResult]]:
        """Every job's result once, in any order."""
        # What an earlier call did not wait for is no longer due, and dropped when it comes.
        self._waiting = deque(JobBatch(batch, request) for batch in self._batches(jobs, request))
        self._due = set(self._waiting)
        while self._due:
            self._hand_out()
            for report in self._reports():
                yield from self._handle(report)

    def _batches(self, jobs: Sequence[Job], request: Request) -> Iterator[list[Job]]:
        """Jobs that share a reference pass stay together. Longest first, so that the end is short.

        Those that are fed in chunks stay together if they begin alike, up to a worker's share.
        Whether a batch is one pass is for the worker to decide; it changes no number.
        """
        from mindshare.attention.forward import TOKENS

        chunk = request.chunk_tokens
        share = sum(job.padded for job in jobs) // (self.workers * _BATCHES_PER_WORKER)
        most = max(1, share) if chunk is not None else min(TOKENS, max(1, share))

        def alike(group: list[Job]) -> tuple[int, bytes]:
            """What the groups of one batch have in common."""
            return (-_padded(group), b"") if chunk is None else (0, group[0].ids[:chunk].tobytes())

        batch, common = list[Job](), (0, b"")
        groups = group_by_reference(jobs)
        for group in sorted(groups, key=lambda group: (alike(group), group[0].item)):
            if batch and (alike(group) != common or _padded(batch) + _padded(group) > most):
                yield batch
                batch = []
            batch, common = [*batch, *group], alike(group)
        if batch:
            yield batch

    def _hand_out(self) -> None:
        """To the shortest queue; queues of more than one only while there is plenty left."""
        while self._waiting:
            room = self._link.depth if len(self._waiting) > len(self._members) else 1
            free = {
                number: len(member.queue)
                for number, member in self._members.items()
                if member.fingerprint is not None and len(member.queue) < room
            }
            if not free:
                return
            worker = min(free, key=lambda number: free[number])
            batch = self._waiting.popleft()
            self._members[worker].queue.append(batch)
            self._link.send(worker, batch)

    def _reports(self) -> list[WorkerReport]:
        """Waits, however long a batch takes; but some worker has to be ready in time."""
        reports = self._link.reports(self._patience)
        if not reports and not self.fingerprints:
            raise WorkerError(
                f"no worker has loaded the model within {self._patience:.0f} s",
                next_step="see whether the machines have room for it: processors, devices, memory",
            )
        return reports

    def _handle(self, report: WorkerReport) -> Iterator[list[PromptResult]]:
        worker, content, batch = report
        if worker not in self._members:  # given up since it was sent
            return
        if isinstance(content, WorkerFingerprint):
            self._failed_starts = 0
            self._welcome(worker, content)
        elif isinstance(content, MindshareError):
            self._turn_away(worker, content)
        elif isinstance(content, str):
            self._lost(worker, content.strip().splitlines()[-1])
        elif content.failed is not None:
            log.debug("%s", content.failed)
            self._lost(worker, f"it failed: {content.failed.strip().splitlines()[-1]}")
        elif batch is not None:
            yield from self._done(self._members[worker], content, batch)

    def _done(
        self, member: _Member, outcome: Outcome, batch: JobBatch
    ) -> Iterator[list[PromptResult]]:
        if batch in member.queue:
            member.queue.remove(batch)
        if batch not in self._due:
            log.info("a batch was answered again by %s; dropped", member)
            return
        self._due.discard(batch)
        if outcome.results:
            yield outcome.results
        if outcome.refused is not None:
            raise outcome.refused

    def _welcome(self, worker: int, fingerprint: WorkerFingerprint) -> None:
        try:
            (self._first or fingerprint).require_same(fingerprint)
        except MindshareError as error:
            self._turn_away(worker, error)
            return
        self._first = self._first or fingerprint
        self._members[worker].fingerprint = fingerprint
        log.info("worker ready: %s", fingerprint.process)

    def _turn_away(self, worker: int, error: MindshareError) -> None:
        """Ends the run at its beginning; after a restart, the others go on without."""
        member = self._members.pop(worker)
        self._link.end(worker)
        if not member.restarted or not self._members:
            raise error
        log.warning("a worker is not used, the others go on: %s", error.what)

    def _lost(self, worker: int, why: str) -> None:
        member = self._members.pop(worker)
        self._failed_starts += member.fingerprint is None
        # Not when many in a row never came to work: the rest may do without.
        if self._failed_starts < self._retries + self.workers:
            log.warning("worker lost (%s): %s; it is started again", member, why)
            self._members[worker] = _Member(restarted=True)
            self._link.start(worker)
        elif self._members:
            log.warning("worker lost (%s): %s; the others go on", member, why)
            self._link.end(worker)
        else:
            raise WorkerError(
                f"{self._failed_starts} workers in a row ended before they had loaded the model: "
                f"{why}",
                next_step="see whether there is enough memory for the model, and try one worker",
            )
        self._take_back(member.queue, why)

    def _take_back(self, queue: list[JobBatch], why: str) -> None:
        """The batches of a worker that is lost go to others."""
        for place, batch in reversed(list(enumerate(queue))):
            if batch not in self._due:
                continue
            self._waiting.appendleft(batch)
            if place > 0:  # not begun, so it is not what ended the worker
                log.info("%s had not been begun and is given to another worker", batch)
                continue
            batch.lost += 1
            if batch.lost > self._retries:
                raise WorkerError(
                    f"{batch} was lost {batch.lost} times with the worker that had it: {why}",
                    where=f"prompt hash {max(batch.jobs, key=len).item}",
                    next_step="see whether this batch needs more memory than a worker has; what "
                    "is stored is kept, and the same command goes on from there",
                )
            tried = f"retry {batch.lost} of {self._retries}"
            log.warning("%s is tried again: %s (%s)", batch, why, tried)


def _padded(jobs: Sequence[Job]) -> int:
    return sum(job.padded for job in jobs)


@dataclass(frozen=True)
class ProcessLayout:
    """How a machine is divided among processes."""

    processes: int
    threads: int  # of each; a power of two: rows then split evenly, whatever their number
    devices: tuple[str, ...] = ()  # GPUs, one for each process; none: as the model says

    @classmethod
    def sensible(
        cls, spec: ModelSpec, workers: int | None = None, *, cores: int | None = None
    ) -> ProcessLayout:
        """One process for each GPU, or for every sixteen cores; `workers` of them if given.

        On two cores, one process with two threads: two processes are 7 % faster and hold the model
        twice (measured; see docs/many-machines.md).
        """
        cores = cores or usable_cores()
        # Not if the user placed the model on devices of their own choice.
        devices = _gpus() if spec.device == "cuda" and spec.device_map is None else ()
        processes = workers or len(devices) or max(1, cores // CORES_PER_PROCESS)
        return cls(processes, power_of_two(cores // processes), devices if processes > 1 else ())


def usable_cores() -> int:
    """Those this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def power_of_two(most: int) -> int:
    """The largest that is not above `most`, at least 1."""
    return 1 << (max(1, most).bit_length() - 1)


def _gpus() -> tuple[str, ...]:
    """As CUDA_VISIBLE_DEVICES names them."""
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return tuple(visible.split(",")[:count]) if visible else tuple(map(str, range(count)))


class ProcessBackend(WorkerPool):
    """Processes of this machine, each with a model of its own."""

    def __init__(self, spec: ModelSpec, division: ProcessLayout) -> None:
        setup = WorkerSetup(spec, threads=division.threads)
        super().__init__(ProcessLink(setup, division.devices), division.processes)


class ProcessLink:
    """Processes and pipes.

    Processes are spawned, never forked: threads of torch and of tokenizers do not survive a fork.
    When this process ends, however it ends, the pipes close and so the others end too.
    """

    depth = 1  # a pipe that is full in both directions would stand still

    def __init__(self, setup: WorkerSetup, devices: tuple[str, ...] = ()) -> None:
        self._setup, self._devices = setup, devices
        self._running: dict[int, tuple[SpawnProcess, Connection]] = {}
        self._batches: dict[int, JobBatch] = {}

    def start(self, worker: int) -> None:
        if worker in self._running:
            self.end(worker)
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(
            target=serve, args=(there, self.setup_of(worker)), daemon=True, name="mindshare-worker"
        )
        process.start()
        there.close()
        self._running[worker] = (process, here)

    def setup_of(self, worker: int) -> WorkerSetup:
        """With a device of its own; more workers than devices share them evenly."""
        if not self._devices:
            return self._setup
        device = self._devices[worker % len(self._devices)]
        return replace(self._setup, environment={"CUDA_VISIBLE_DEVICES": device})

    def send(self, worker: int, batch: JobBatch) -> None:
        self._batches[worker] = batch
        with suppress(OSError):  # it has ended: its pipe says so at the next look
            self._running[worker][1].send((batch.jobs, batch.request))

    def reports(self, patience: float) -> list[WorkerReport]:
        of_pipe = {pipe: worker for worker, (_, pipe) in self._running.items()}
        return [self._report(of_pipe[pipe]) for pipe in wait(list(of_pipe), patience)]  # type: ignore[index]

    def _report(self, worker: int) -> WorkerReport:
        process, pipe = self._running[worker]
        try:
            content = pipe.recv()
        except (EOFError, OSError):
            process.join(_EXIT_WAIT)
            return WorkerReport(worker, _exit_text(process))
        batch = self._batches.pop(worker) if isinstance(content, Outcome) else None
        return WorkerReport(worker, content, batch)

    def end(self, worker: int, patience: float = 0.0) -> None:
        """At once, or after some seconds in which an idle one ends by itself."""
        process, pipe = self._running.pop(worker)
        pipe.close()
        process.join(patience)
        process.kill()
        process.join()
        process.close()

    def close(self) -> None:
        for worker in list(self._running):
            self.end(worker, _CLOSE_WAIT)


def serve(pipe: Connection, setup: WorkerSetup) -> None:
    """What such a process runs: batches in, outcomes out, until the driver's end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends us
    worker = Worker(setup)
    try:
        pipe.send(worker.fingerprint)
        while True:
            jobs, request = pipe.recv()
            pipe.send(worker.outcome(jobs, request))
    except (EOFError, OSError):
        return  # the driver is gone


def _exit_text(process: SpawnProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"process {process.pid} was ended by {signal.Signals(-code).name}"
    return f"process {process.pid} ended with exit code {code}"
