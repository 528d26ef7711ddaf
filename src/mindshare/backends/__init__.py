"""Where models run when one process is not enough: processes of this machine, or many machines.

    with BackendOptions("ray", workers=8).open(ModelSpec("org/model")) as backend:
        backend.identity                          # the model: name, fingerprint, precision
        for results in backend.results(jobs, request):
            ...                                   # every job once, in any order

local, one process    the model is loaded here (`mindshare.study.backend.LocalBackend`)
local, several        processes of this machine
ray                   actors of a Ray cluster, local or at an address

Every backend gives the same bytes. Results come back to the caller, who alone writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from mindshare.backends.pool import ProcessBackend, ProcessLayout, WorkerError
from mindshare.backends.ray_backend import RayBackend
from mindshare.backends.worker import ModelSpec
from mindshare.errors import SelectionError, require_known
from mindshare.study.backend import Backend, LocalBackend

__all__ = ["BackendOptions", "ModelSpec", "WorkerError"]
PLACES = ("local", "ray")
MOST_WORKERS = 10_000  # each is a process with a model of its own


@dataclass(frozen=True)
class BackendOptions:
    """Where models run.

    `address` is that of a running Ray cluster ("auto" finds it); None starts one here.
    `gpus_per_worker` is for Ray too; None is one where the model needs any.
    """

    on: str = "local"
    address: str | None = None
    workers: int | None = None
    gpus_per_worker: float | None = None

    def __post_init__(self) -> None:
        require_known(self.on, PLACES, f"unknown place {self.on!r}")
        if self.on == "local" and self.address is not None:
            raise SelectionError("an address is for Ray", next_step="add --on ray")
        if self.workers is not None and not 1 <= self.workers <= MOST_WORKERS:
            raise SelectionError(
                f"{self.workers} workers cannot be started", allowed=f"1 to {MOST_WORKERS:,}"
            )

    def open(self, spec: ModelSpec) -> AbstractContextManager[Backend]:
        """The model, running; what was started for it ends with the `with`."""
        if self.on == "ray":
            return RayBackend(
                spec,
                address=self.address,
                workers=self.workers,
                gpus_per_worker=self.gpus_per_worker,
            )
        division = ProcessLayout.sensible(spec, self.workers)
        if division.processes == 1:
            return _in_this_process(spec)
        return ProcessBackend(spec, division)


@contextmanager
def _in_this_process(spec: ModelSpec) -> Iterator[Backend]:
    backend = LocalBackend(spec.load())
    identity = backend.identity  # refuses at once a model that is not measured exactly
    try:
        yield backend
    finally:
        # The weights go even if the backend is still referred to: the next model needs their room.
        vars(backend).clear()
        vars(backend)["identity"] = identity
