"""Several processes of this machine, each with a model of its own.

Processes are spawned, never forked: threads of torch and of tokenizers do not survive a fork. Each
gets a pipe; when this process ends, however it ends, the pipes close and so the others end too.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING

from mindshare.errors import MindshareError
from mindshare.workers.crew import Crew, Limits
from mindshare.workers.transport import Finished, Gone, Ready, Report, Work
from mindshare.workers.worker import Served, Setup

if TYPE_CHECKING:
    from mindshare.workers.spec import ModelSpec

CORES_OF_A_PROCESS = 16  # more threads than these have little to do in one pass
_GRACE = 5.0  # seconds for a process to end by itself
_PARTING = 2.0  # … when everything is done


@dataclass(frozen=True)
class Plan:
    """How a machine is divided."""

    processes: int
    threads: int  # of each; a power of two: rows then split evenly, whatever their number
    devices: tuple[str, ...] = ()  # GPUs, one for each process; none: as the model says


def sensible(workers: int | None = None, *, gpu: bool = False, cores: int | None = None) -> Plan:
    """One process for each GPU, or for every sixteen cores; `workers` of them if that is given.

    On two cores, one process with two threads: two processes are 7 % faster and hold the model
    twice (measured; see docs/many-machines.md).
    """
    cores = cores or usable_cores()
    devices = gpus() if gpu else ()
    processes = workers or len(devices) or max(1, cores // CORES_OF_A_PROCESS)
    return Plan(processes, power_of_two(cores // processes), devices if processes > 1 else ())


def usable_cores() -> int:
    """Those this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def power_of_two(most: int) -> int:
    """The largest that is not above `most`, at least 1."""
    return 1 << (max(1, most).bit_length() - 1)


def gpus() -> tuple[str, ...]:
    """As CUDA_VISIBLE_DEVICES names them."""
    import torch

    told = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = torch.cuda.device_count()
    return tuple(told.split(",")[:count]) if told else tuple(map(str, range(count)))


class Processes(Crew):
    """Answers from processes of this machine."""

    def __init__(
        self, spec: ModelSpec, *, plan: Plan | None = None, limits: Limits | None = None
    ) -> None:
        plan = plan or sensible(gpu=divisible(spec))
        limits = replace(limits or Limits(1), workers=plan.processes)
        setup = Setup(spec, threads=plan.threads, tokens=limits.tokens)
        super().__init__(ProcessTransport(setup, plan.devices), limits)


def divisible(spec: ModelSpec) -> bool:
    """Whether each process may have a GPU of its own: not if the user placed the model."""
    return spec.device == "cuda" and spec.device_map is None


def serve(pipe: Connection, setup: Setup) -> None:
    """All that such a process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends us
    served = Served()
    try:
        pipe.send(served.begin(setup))
        while True:
            serial, jobs, asked = pipe.recv()
            pipe.send((serial, served.outcome(jobs, asked)))
    except (EOFError, OSError):
        return  # the driver is gone


@dataclass(frozen=True)
class _Running:
    process: SpawnProcess
    pipe: Connection


class ProcessTransport:
    """Pipes. One batch at a time: a pipe that is full in both directions would stand still."""

    depth = 1

    def __init__(self, setup: Setup, devices: tuple[str, ...] = ()) -> None:
        self._setup, self._devices = setup, devices
        self._running: dict[int, _Running] = {}
        self._device_of: dict[int, str] = {}

    def start(self, worker: int) -> None:
        context = get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(
            target=serve, args=(there, self._setup_of(worker)), daemon=True, name="mindshare-worker"
        )
        process.start()
        there.close()
        self._running[worker] = _Running(process, here)

    def _setup_of(self, worker: int) -> Setup:
        free = [device for device in self._devices if device not in self._device_of.values()]
        if not free:
            return self._setup
        self._device_of[worker] = free[0]
        return replace(self._setup, environment={"CUDA_VISIBLE_DEVICES": free[0]})

    def give(self, worker: int, work: Work) -> None:
        with suppress(OSError):  # it has ended: its pipe says so at the next look
            self._running[worker].pipe.send((work.serial, work.jobs, work.asked))

    def reports(self, patience: float) -> list[Report]:
        of_pipe = {running.pipe: worker for worker, running in self._running.items()}
        return [self._report(of_pipe[pipe]) for pipe in wait(list(of_pipe), patience)]  # type: ignore[index]

    def _report(self, worker: int) -> Report:
        running = self._running[worker]
        try:
            said = running.pipe.recv()
        except (EOFError, OSError):
            running.process.join(_GRACE)
            return Gone(worker, _ending(running.process))
        if isinstance(said, tuple):
            return Finished(worker, *said)
        if isinstance(said, MindshareError):
            return Gone(worker, said.what, refused=said)
        if isinstance(said, str):
            return Gone(worker, said.strip().splitlines()[-1])
        return Ready(worker, said)

    def end(self, worker: int, patience: float = 0.0) -> None:
        """At once, or once it had a moment to end by itself, as an idle one does."""
        running = self._running.pop(worker)
        self._device_of.pop(worker, None)
        running.pipe.close()
        running.process.join(patience)
        running.process.kill()
        running.process.join()
        running.process.close()

    def close(self) -> None:
        for worker in list(self._running):
            self.end(worker, _PARTING)


def _ending(process: SpawnProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"process {process.pid} was ended by {signal.Signals(-code).name}"
    return f"process {process.pid} ended with exit code {code}"
