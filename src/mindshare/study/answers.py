"""Prompts + someone who answers → every prompt with its numbers, in order.

    read a window of prompts ─► ask for what is not on the shelf yet ─► put it there ─► next
    read again, in order ─► take from the shelf

A shelf is memory for a few prompts, the store of a run for many. Only a window of prompts is held
at a time; while it is asked about, the next one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from mindshare.errors import MindshareError
from mindshare.prompts import Prompt
from mindshare.study.passes import Answering
from mindshare.study.reading import Read, Reading, asked_of

if TYPE_CHECKING:
    from mindshare.attention.batches import Answer
    from mindshare.attention.measures import LayerNumbers

T = TypeVar("T")
WINDOW = 1024  # prompts for each worker: enough to find company of every length

Lacking = frozenset[int] | None  # layers that are not there; None: all of them


@dataclass(frozen=True)
class Kept:
    """What a shelf has of one job."""

    layers: Mapping[int, LayerNumbers]
    kernels: Mapping[int, str]


class Shelf(Protocol):
    """Where answers are kept."""

    def missing(self, reads: Sequence[Read], layers: Lacking) -> dict[str, Lacking]:
        """The jobs to be asked about, and for which layers."""
        ...

    def put(self, answers: Sequence[Answer], reads: Mapping[str, Read], *, whole: bool) -> None: ...

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        """A prompt that can't be read: raise, or remember why."""
        ...

    def take(self, items: Iterable[str], layers: Lacking) -> Iterator[Kept]:
        """In the order asked for."""
        ...


class InMemory:
    """A shelf for a few prompts."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}

    def missing(self, reads: Sequence[Read], layers: Lacking) -> dict[str, Lacking]:
        return {read.job.item: layers for read in reads if read.job.item not in self._kept}

    def put(
        self, answers: Sequence[Answer], reads: Mapping[str, Read], *, whole: bool
    ) -> None:  # whatever was asked for is all there is
        del reads, whole
        self._kept |= {one.item: Kept(one.layers, one.kernels) for one in answers}

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        del prompt
        raise error

    def take(self, items: Iterable[str], layers: Lacking) -> Iterator[Kept]:
        del layers
        return (self._kept[item] for item in items)


Progress = Callable[[int, int], None]  # prompts done, prompts in all


@dataclass(frozen=True)
class Answered:
    """Who is asked, how prompts are read, where answers are kept."""

    reading: Reading
    answering: Answering
    shelf: Shelf
    progress: Progress | None = None

    def all(self, prompts: Sequence[Prompt]) -> Iterator[tuple[Read, Kept]]:
        """Every prompt that could be read, in order; nothing is given out before all is there."""
        return self.given(prompts, self.fill(prompts))

    def fill(self, prompts: Sequence[Prompt]) -> Window | None:
        """Ask for all that is not on the shelf; gives the window if one was enough."""
        only, done = None, 0
        windows = (self._read(some) for some in _windows(prompts, WINDOW * self.answering.workers))
        for number, window in enumerate(_ahead(windows)):
            only = window if number == 0 else None
            done = self._ask(window, done, len(prompts))
        return only

    def given(
        self, prompts: Sequence[Prompt], only: Window | None = None
    ) -> Iterator[tuple[Read, Kept]]:
        """From the shelf, in the order of the prompts; `only` is what `fill` gave."""
        again = [only] if only is not None else (self._read(w) for w in _windows(prompts, WINDOW))
        for window in again:
            items = [read.job.item for read in window.reads]
            yield from zip(window.reads, self.shelf.take(items, self._layers), strict=True)

    @property
    def _layers(self) -> Lacking:
        layers = self.reading.study.layers
        return None if layers is None else frozenset(layers)

    def _read(self, prompts: Sequence[Prompt]) -> Window:
        reads, refused = [], []
        for prompt in prompts:
            try:
                reads.append(self.reading.read(prompt))
            except MindshareError as error:
                refused.append((prompt, error))
        return Window(reads, refused)

    def _ask(self, window: Window, done: int, total: int) -> int:
        for prompt, error in window.refused:
            self.shelf.refuse(prompt, error)
        by_item = {read.job.item: read for read in window.reads}
        missing = self.shelf.missing(window.reads, self._layers)
        after = done + len(window.reads) + len(window.refused)
        done = after - len(missing)
        self._report(done, total)
        for layers, items in _by_layers(missing).items():
            asked = replace(asked_of(self.reading.study), layers=layers)
            jobs = [by_item[item].job for item in items]
            for answers in self.answering.answers(jobs, asked):
                self.shelf.put(answers, by_item, whole=layers is None)
                done += len(answers)
                self._report(done, total)
        return after

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(done, total)


@dataclass(frozen=True)
class Window:
    """Prompts that are in hand at the same time."""

    reads: list[Read]
    refused: list[tuple[Prompt, MindshareError]]


def _windows(prompts: Sequence[Prompt], size: int) -> Iterator[list[Prompt]]:
    rest = iter(prompts)
    while window := list(islice(rest, size)):
        yield window


def _by_layers(missing: Mapping[str, Lacking]) -> dict[Lacking, list[str]]:
    """The jobs that lack the same layers; usually all of them, or none."""
    found: dict[Lacking, list[str]] = {}
    for item, layers in missing.items():
        found.setdefault(layers, []).append(item)
    return found


def _ahead(made: Iterator[T]) -> Iterator[T]:
    """The same, with the next one in the making while this one is used."""
    nothing = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, made, nothing)
        while (one := coming.result()) is not nothing:
            coming = pool.submit(next, made, nothing)
            yield one  # type: ignore[misc]
