"""Prompts through a model: encode a window, compute what the store lacks, keep it, give it out.

    prompts ─► a window of them, encoded ─► what is missing ─► backend ─► store ─► results, in order

Everything that is measured goes this way: prompts by token class and insertions, in this process
and elsewhere. Only a window of prompts is held at a time; while it is computed, the next one is
encoded. A prompt's numbers never depend on its neighbours, so the same study gives the same bytes
in any order and in batches of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol, TypeVar

from mindshare.attention.jobs import Job, Layers, PromptResult
from mindshare.errors import MindshareError
from mindshare.prompts import Prompt
from mindshare.prompts.given import PromptSource
from mindshare.study.backend import Backend
from mindshare.study.encoding import EncodedPrompt, PromptEncoder, check_study
from mindshare.study.measurement import Measurement, TableMaker
from mindshare.study.study import AnyStudy

T = TypeVar("T")
WINDOW = 1024  # prompts for each worker: enough to find others of the same length for a batch

Progress = Callable[[int, int], None]  # passes done, passes in all


class ResultStore(Protocol):
    """Where results are kept, by item."""

    def missing(self, window: Sequence[EncodedPrompt], layers: Layers) -> dict[str, Layers]:
        """The items of a window that are to be computed, and in which layers."""

    def put(
        self, results: Sequence[PromptResult], jobs: Mapping[str, tuple[str, Job]], *, whole: bool
    ) -> None:
        """`jobs`: item → its name in the plan, and the job; `whole`: in every layer there is."""

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        """A prompt that can't be measured: raise, or remember why."""

    def read(self, items: Iterable[str], layers: Layers) -> Iterator[PromptResult]:
        """In the order asked for."""


class MemoryStore:
    """Holds the results of one window."""

    def __init__(self) -> None:
        self._results: dict[str, PromptResult] = {}

    def missing(self, window: Sequence[EncodedPrompt], layers: Layers) -> dict[str, Layers]:
        items = dict.fromkeys(job.item for prompt in window for job in prompt.jobs)
        self._results = {item: x for item, x in self._results.items() if item in items}
        return {item: layers for item in items if item not in self._results}

    def put(
        self, results: Sequence[PromptResult], jobs: Mapping[str, tuple[str, Job]], *, whole: bool
    ) -> None:
        del jobs, whole  # whatever was asked for is all there is
        self._results |= {result.item: result for result in results}

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        del prompt
        raise error

    def read(self, items: Iterable[str], layers: Layers) -> Iterator[PromptResult]:
        del layers
        return (self._results[item] for item in items)


@dataclass(frozen=True)
class Measurer:
    """A study put to one model, wherever that is, and where its results are kept."""

    encoder: PromptEncoder
    backend: Backend
    store: ResultStore = field(default_factory=MemoryStore)
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuses layers and heads that the model does not have."""
        model = self.backend.identity
        check_study(model.facts, self.study, name=model.name)

    @property
    def study(self) -> AnyStudy:
        return self.encoder.study

    def measure(self, prompts: PromptSource, *, folder: Path | None = None) -> Measurement:
        """All tables: in memory, or in nameless files of a folder, from which they are mapped."""
        maker = TableMaker(self.backend.identity, self.study)
        return maker.collect(self.results(prompts), folder=folder)

    def results(self, prompts: PromptSource) -> Iterator[tuple[EncodedPrompt, list[PromptResult]]]:
        """Every prompt that can be encoded, with the results of its jobs, in order."""
        total, done = len(prompts) * self.study.passes, 0
        size = WINDOW * self.backend.workers
        unread = iter(prompts)
        windows = iter(lambda: self._encode(list(islice(unread, size))), _Window())
        for window in _ahead(windows):
            total -= len(window.refused) * (self.study.passes - 1)  # what is refused counts as one
            done = self._compute(window, done, total)
            items = [job.item for prompt in window.prompts for job in prompt.jobs]
            results = self.store.read(items, self.study.chosen_layers)
            for prompt in window.prompts:
                yield prompt, list(islice(results, len(prompt.jobs)))

    def _encode(self, prompts: Sequence[Prompt]) -> _Window:
        window = _Window()
        for prompt in prompts:
            try:
                encoded = self.encoder.encode(prompt)
            except MindshareError as error:
                window.refused.append((prompt, error))
            else:
                jobs = encoded.with_jobs(self.study, self.backend.identity.key)
                window.prompts.append(jobs)
        return window

    def _compute(self, window: _Window, done: int, total: int) -> int:
        """What the store lacks of a window; gives the number of passes done so far."""
        for prompt, error in window.refused:
            self.store.refuse(prompt, error)
        jobs = {
            job.item: (name, job)
            for encoded in window.prompts
            for name, job in zip(encoded.names, encoded.jobs, strict=True)
        }
        missing = self.store.missing(window.prompts, self.study.chosen_layers)
        after = done + len(window.prompts) * self.study.passes + len(window.refused)
        done = after - len(missing)
        self._report(done, total)
        # Items that lack the same layers go together; usually all of them do, or none.
        by_layers: dict[Layers, list[Job]] = {}
        for item, layers in missing.items():
            by_layers.setdefault(layers, []).append(jobs[item][1])
        for layers, lacking in by_layers.items():
            request = replace(self.study.request(), layers=layers)
            with window.named_refusals():
                for results in self.backend.results(lacking, request):
                    self.store.put(results, jobs, whole=layers is None)
                    done += len(results)
                    self._report(done, total)
        return after

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(done, total)


@dataclass
class _Window:
    """Prompts that are in hand at the same time; equal to an empty one once there are no more."""

    prompts: list[EncodedPrompt] = field(default_factory=list)
    refused: list[tuple[Prompt, MindshareError]] = field(default_factory=list)

    @contextmanager
    def named_refusals(self) -> Iterator[None]:
        """Refusals by a pass say of which prompt: a pass knows its job."""
        try:
            yield
        except MindshareError as error:
            of_item = {job.item: one.prompt for one in self.prompts for job in one.jobs}
            prompt = of_item.get(error.item or "")
            if prompt is None:
                raise
            raise error.within(prompt.place or f"prompt {prompt.id}") from error


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next one being made in a thread while this one is used."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item  # type: ignore[misc]
