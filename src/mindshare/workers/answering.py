"""Where to run, in a user's words → someone who answers.

local, one process    the model is loaded here
local, several        processes of this machine
ray                   actors of a Ray cluster, local or at an address
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mindshare.errors import SelectionError, nearest
from mindshare.study.respondent import Answerer, Respondent
from mindshare.workers.crew import Limits
from mindshare.workers.processes import Processes, divisible, sensible
from mindshare.workers.ray_workers import RayWorkers
from mindshare.workers.spec import ModelSpec

if TYPE_CHECKING:
    from mindshare.attention.batches import Answer, Asked, Job

PLACES = ("local", "ray")


@dataclass(frozen=True)
class Place:
    """Where models run. `address` is that of a Ray cluster ("auto" finds it); None starts one."""

    on: str = "local"
    address: str | None = None
    workers: int | None = None

    def answering(self, spec: ModelSpec) -> AbstractContextManager[Answerer]:
        return answering_for(spec, on=self.on, address=self.address, workers=self.workers)


def answering_for(
    spec: ModelSpec,
    *,
    on: str = "local",
    address: str | None = None,
    workers: int | None = None,
    gpus_per_worker: float | None = None,
) -> AbstractContextManager[Answerer]:
    """`address` is that of a running Ray cluster ("auto" finds it); None starts one here.

    `gpus_per_worker` is for Ray too; None is one where the model needs any.
    """
    _check(on, address, workers)
    if on == "ray":
        return RayWorkers(spec, address=address, workers=workers, gpus_per_worker=gpus_per_worker)
    plan = sensible(workers, gpu=divisible(spec))
    if plan.processes == 1:
        return Here(spec)
    return Processes(spec, plan=plan, limits=Limits(plan.processes))


def _check(on: str, address: str | None, workers: int | None) -> None:
    if on not in PLACES:
        raise SelectionError(
            f"unknown place {on!r}{nearest(on, PLACES)}", allowed=", ".join(PLACES)
        )
    if on == "local" and address is not None:
        raise SelectionError("an address is for Ray", next_step="add --on ray")
    if workers is not None and workers < 1:
        raise SelectionError(f"{workers} workers cannot answer", allowed="1 or more")


class Here:
    """The model in this process, with all its threads."""

    workers = 1

    def __init__(self, spec: ModelSpec, *, tokens: int | None = None) -> None:
        self._spec, self._tokens = spec, tokens

    def __enter__(self) -> Self:
        from mindshare.study.passes import Passes

        self.loaded = self._spec.load()
        self._respondent = Respondent.of(self.loaded)
        self._passes = Passes(self.loaded.model, tokens=self._tokens)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del self.loaded, self._passes  # the weights go, whoever still holds this

    @property
    def respondent(self) -> Respondent:
        return self._respondent

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        return self._passes.answers(jobs, asked)
