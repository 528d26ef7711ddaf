"""Actors of a Ray cluster, each with a model of its own.

Ray places actors, carries jobs and answers and says who has died; what becomes of a lost batch is
decided by the crew. Actors have no restarts and tasks no retries of Ray's own, so that nothing is
answered twice behind its back. Ray is an optional extra and imported only when it is used.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from mindshare.errors import MindshareError
from mindshare.workers.crew import Crew, Limits
from mindshare.workers.processes import power_of_two
from mindshare.workers.ray_cluster import Cluster, Share, share_out
from mindshare.workers.transport import Finished, Gone, Ready, Report, Work
from mindshare.workers.worker import Served, Setup, surroundings

if TYPE_CHECKING:
    from mindshare.workers.spec import ModelSpec

log = logging.getLogger("mindshare.workers")


class RayWorkers(Crew):
    """Answers from a Ray cluster.

    Without `workers`, as many as there are GPUs for, or one for each sixteen processors. Without
    `cpus_per_worker`, as many as let all of them run, a power of two. A model larger than one GPU
    has `device_map` in its spec and `gpus_per_worker` above 1.
    """

    def __init__(
        self,
        spec: ModelSpec,
        *,
        address: str | None = None,
        workers: int | None = None,
        cpus_per_worker: int | None = None,
        gpus_per_worker: float | None = None,
        limits: Limits | None = None,
    ) -> None:
        gpus = float(spec.on_gpu) if gpus_per_worker is None else gpus_per_worker
        self._wanted = _Wanted(spec, address, workers, cpus_per_worker, gpus)
        self._asked_limits = limits or Limits(1)

    def __enter__(self) -> Self:
        wanted = self._wanted
        self.cluster: Cluster = Cluster.open(wanted.address)
        try:
            count, share = share_out(
                self.cluster.nodes(), workers=wanted.workers, cpus=wanted.cpus, gpus=wanted.gpus
            )
            self._tell_room(count, share)
            limits = replace(self._asked_limits, workers=count)
            transport = RayTransport(self.cluster, wanted.setup(share, limits), share)
            super().__init__(transport, limits)
        except BaseException:
            self.cluster.close()
            raise
        return super().__enter__()

    def _tell_room(self, count: int, share: Share) -> None:
        room = share.fits(self.cluster.nodes())
        if room < count:
            log.warning(
                "there is room for %d of %d workers; the others start when there is more",
                room,
                count,
            )


@dataclass(frozen=True)
class _Wanted:
    spec: ModelSpec
    address: str | None
    workers: int | None
    cpus: int | None
    gpus: float

    def setup(self, share: Share, limits: Limits) -> Setup:
        return Setup(
            self.spec,
            threads=power_of_two(share.cpus),
            tokens=limits.tokens,
            environment=surroundings(),
            folder=os.getcwd(),
            cache=os.environ.get("MINDSHARE_CACHE"),
        )


class RayTransport:
    """Two batches to an actor: the next is there when one is done."""

    depth = 2

    def __init__(self, cluster: Cluster, setup: Setup, share: Share) -> None:
        self._cluster, self._ray, self._setup = cluster, cluster.ray, setup
        self._make = self._ray.remote(
            num_cpus=share.cpus,
            num_gpus=share.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )(Served)
        self._actors: dict[int, Any] = {}
        self._promised: dict[Any, tuple[int, int | None]] = {}  # reference → worker, serial

    def start(self, worker: int) -> None:
        self._actors[worker] = self._make.remote()
        self._promised[self._actors[worker].begin.remote(self._setup)] = (worker, None)

    def give(self, worker: int, work: Work) -> None:
        reference = self._actors[worker].outcome.remote(work.jobs, work.asked)
        self._promised[reference] = (worker, work.serial)

    def reports(self, patience: float) -> list[Report]:
        if not self._promised:
            return []
        ready, _ = self._ray.wait(list(self._promised), num_returns=1, timeout=patience)
        return [self._report(reference) for reference in ready]

    def _report(self, reference: Any) -> Report:
        worker, serial = self._promised.pop(reference)
        try:
            said = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return Gone(worker, _reason(error))
        if serial is not None:
            return Finished(worker, serial, said)
        if isinstance(said, MindshareError):
            return Gone(worker, said.what, refused=said)
        if isinstance(said, str):
            return Gone(worker, said.strip().splitlines()[-1])
        return Ready(worker, said)

    def end(self, worker: int) -> None:
        self._promised = {ref: of for ref, of in self._promised.items() if of[0] != worker}
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
    because = [line for line in lines if " because " in line]
    sentence = (because or lines or ["no reason given"])[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {sentence}"
