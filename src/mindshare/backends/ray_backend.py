"""Workers as actors of a Ray cluster, found or started; Ray puts them wherever there is room.

A cluster that is started here listens on this machine only, asks for a token that ends with this
process, tells nobody about itself and leaves no files. One that was there before is left running.
Ray is an optional extra and imported only when it is used.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from mindshare.attention.jobs import Job, Request
from mindshare.backends.pool import (
    CORES_PER_PROCESS,
    JobBatch,
    WorkerError,
    WorkerPool,
    WorkerReport,
    power_of_two,
    usable_cores,
)
from mindshare.backends.worker import ModelSpec, Worker, WorkerSetup

log = logging.getLogger("mindshare.backends")
OBJECT_STORE = 256 * 2**20  # bytes; only jobs and results in flight lie there
_LOOPBACK = ("127.0.0.1", "::1")
_SHORT = 30  # characters; Ray adds about 70, and a socket's path may have 107


class RayBackend(WorkerPool):
    """Workers of a Ray cluster.

    Without `workers`, as many as there are GPUs for, or one for each sixteen processors. A model
    larger than one GPU has `device_map` in its spec and `gpus_per_worker` above 1.
    """

    def __init__(
        self,
        spec: ModelSpec,
        *,
        address: str | None = None,
        workers: int | None = None,
        gpus_per_worker: float | None = None,
    ) -> None:
        self._spec, self._address, self._workers = spec, address, workers
        self._gpus = float(spec.on_gpu) if gpus_per_worker is None else gpus_per_worker

    def __enter__(self) -> Self:
        self.cluster = Cluster.open(self._address)
        try:
            nodes = self.cluster.nodes()
            count, share = share_out(nodes, workers=self._workers, gpus=self._gpus)
            if (room := share.fits(nodes)) < count:
                rest = "the others start when there is more"
                log.warning("there is room for %d of %d workers; %s", room, count, rest)
            setup = WorkerSetup.like_here(self._spec, threads=power_of_two(share.cpus))
            super().__init__(RayLink(self.cluster, setup, share), count)
        except BaseException:
            self.cluster.close()
            raise
        return super().__enter__()


class RayWorker(Worker):
    """The actor.

    What it says travels pickled, as one piece: arrays that Ray unpacks itself can't be written to
    and keep its object store full for as long as they live.
    """

    def say(self) -> bytes:
        return pickle.dumps(self.fingerprint)

    def run(self, jobs: Sequence[Job], request: Request) -> bytes:
        return pickle.dumps(self.outcome(jobs, request))


class RayLink:
    """Actors of a cluster.

    The pool starts a lost one again, as a new actor: one that Ray restarted by itself would compute
    before its fingerprint was seen, and a task that Ray retried would wait for that very actor
    while others are free.
    """

    depth = 2  # the next batch is there when one is done

    def __init__(self, cluster: Cluster, setup: WorkerSetup, share: WorkerShare) -> None:
        self._cluster, self._ray, self._setup = cluster, cluster.ray, setup
        self._make = self._ray.remote(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )(RayWorker)
        self._actors: dict[int, Any] = {}
        self._pending: dict[Any, tuple[int, JobBatch | None]] = {}  # reference → worker, batch

    def start(self, worker: int) -> None:
        self.end(worker)
        self._actors[worker] = self._make.remote(self._setup)
        self._pending[self._actors[worker].say.remote()] = (worker, None)

    def send(self, worker: int, batch: JobBatch) -> None:
        reference = self._actors[worker].run.remote(batch.jobs, batch.request)
        self._pending[reference] = (worker, batch)

    def reports(self, patience: float) -> list[WorkerReport]:
        if not self._pending:
            return []
        ready, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=patience)
        return [self._report(reference) for reference in ready]

    def _report(self, reference: Any) -> WorkerReport:
        worker, batch = self._pending.pop(reference)
        try:
            return WorkerReport(worker, pickle.loads(self._ray.get(reference)), batch)
        except self._ray.exceptions.RayError as error:
            return WorkerReport(worker, _reason(error))

    def end(self, worker: int) -> None:
        self._pending = {ref: of for ref, of in self._pending.items() if of[0] != worker}
        if worker in self._actors:
            self._ray.kill(self._actors.pop(worker), no_restart=True)

    def close(self) -> None:
        try:
            for worker in list(self._actors):
                self.end(worker)
        finally:
            self._cluster.close()


def _reason(error: Exception) -> str:
    """The sentence that matters of what Ray says, which is a page."""
    if type(error).__name__ == "ActorUnavailableError":
        return "it can't be reached any more"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "creation task" in lines[0]:  # a traceback, whose last line is the error
        return lines[-1]
    because = [line for line in lines if " because " in line]
    sentence = (because or lines or ["no reason given"])[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {sentence}"


def import_ray(*, local: bool) -> Any:
    """Ray itself, told what it reads only when it is imported."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # It would print pages of its own on stdout when a worker dies; the pool logs one line.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    if local:
        # Ray's own switch for "this machine only"; without it, it finds the outward address.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
    except ImportError as error:
        raise WorkerError(
            f"Ray is not installed: {error}",
            next_step="pip install 'mindshare[ray]', or run with --on local",
        ) from error
    return ray


@dataclass
class Cluster:
    """A connection to Ray; `close` undoes what `open` did, and no more."""

    ray: Any
    folder: str | None = None  # of a cluster that was started here
    ours: bool = False  # connected by us

    @classmethod
    def open(cls, address: str | None) -> Cluster:
        """Join the cluster at this address, or start one on this machine."""
        ray = import_ray(local=address is None)
        if ray.is_initialized():  # whoever did that also ends it
            return cls(ray)
        cluster = cls(ray, _short_folder() if address is None else None, ours=True)
        try:
            cluster._start() if address is None else cluster._join(address)
        except BaseException:
            cluster.close()
            raise
        return cluster

    def _join(self, address: str) -> None:
        try:
            self.ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (ValueError, RuntimeError, OSError, self.ray.exceptions.RayError) as error:
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise WorkerError(
                f"no Ray cluster at {address!r}: {first}",
                next_step="start one with `ray start --head`, or leave the address away",
            ) from error

    def _start(self) -> None:
        self.ray.init(
            address="local",
            num_cpus=usable_cores(),
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            log_to_driver=False,
            configure_logging=False,
            _node_ip_address=_LOOPBACK[0],
            _temp_dir=self.folder,
        )
        listening = self.ray.util.get_node_ip_address()
        if listening not in _LOOPBACK:
            raise WorkerError(
                f"Ray would listen on {listening}, not on this machine only",
                next_step="import ray after mindshare, or start a cluster and give its address",
            )

    def close(self) -> None:
        if self.ours:
            self.ray.shutdown()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def nodes(self) -> list[dict[str, float]]:
        """What each living node has."""
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]


def _short_folder() -> str:
    """Paths of sockets must be short; the user's temporary folder may be too long."""
    folder = tempfile.gettempdir()
    return tempfile.mkdtemp(
        prefix="mindshare-ray-", dir=folder if len(folder) <= _SHORT else "/tmp"
    )


@dataclass(frozen=True)
class WorkerShare:
    """What one worker takes of a node."""

    cpus: int
    gpus: float

    def fits(self, nodes: list[dict[str, float]]) -> int:
        """How many workers there is room for."""
        by_cpu = (int(node.get("CPU", 0) // self.cpus) for node in nodes)
        if not self.gpus:
            return sum(by_cpu)
        by_gpu = (int(node.get("GPU", 0) // self.gpus) for node in nodes)
        return sum(map(min, by_cpu, by_gpu))


def share_out(
    nodes: list[dict[str, float]], *, workers: int | None, gpus: float
) -> tuple[int, WorkerShare]:
    """How many workers, and what each gets: as many processors as let all of them run.

    Where nothing is said: a worker for each GPU or GPUs; else sixteen processors each, or as many
    as the smallest node has.
    """
    nodes = [node for node in nodes if node.get("CPU", 0) >= 1]
    room = WorkerShare(1, gpus).fits(nodes)
    if not room:
        raise WorkerError(
            f"no node has room for a worker of 1 processors and {gpus:g} GPUs",
            allowed="; ".join(f"{n.get('CPU', 0):g} CPU, {n.get('GPU', 0):g} GPU" for n in nodes),
            next_step="ask for less for each worker, or add nodes",
        )
    if workers is None and not gpus:
        smallest = int(min(node["CPU"] for node in nodes))
        share = WorkerShare(power_of_two(min(CORES_PER_PROCESS, smallest)), gpus)
        return share.fits(nodes), share
    workers = workers or room
    cpus = power_of_two(int(max(node["CPU"] for node in nodes)))
    while cpus > 1 and WorkerShare(cpus, gpus).fits(nodes) < workers:
        cpus //= 2
    return workers, WorkerShare(cpus, gpus)
