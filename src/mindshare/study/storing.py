"""A run's store as the shelf of one model's answers; and answers → Parquet tables in its folder.

    with Into("results/maps").open(fixed_parts(study), {"smollm2": len(prompts)}) as keeping:
        asking = Asking.of(loaded, study, shelf=keeping.shelf("smollm2"))
        write_tables(asking, prompts, keeping)

Called again, only what is not there is asked. Answers are written while the next are in the making.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mindshare.errors import MindshareError, PromptError
from mindshare.prompts import Prompt
from mindshare.runs import Done, Failed, Finaliser, Planned, Store
from mindshare.runs import Progress as RunProgress
from mindshare.study.answers import Kept, Lacking, Progress
from mindshare.study.measurement import Measurement
from mindshare.study.packed import pack, unpack
from mindshare.study.pipeline import Asking, Tables
from mindshare.study.reading import Read

if TYPE_CHECKING:
    from mindshare.attention.batches import Answer

_SHOWN = 3  # prompts that were left out, named in a sentence
BadRows = Literal["stop", "skip"]


@dataclass(frozen=True)
class Into:
    """A folder that keeps every answer, so that a study can be stopped, resumed and extended."""

    folder: str | Path
    bad_rows: BadRows = "stop"  # or "skip": what can't be measured is noted and left out
    replace: bool = False
    progress: RunProgress | None = None
    beside: Mapping[str, str] = field(default_factory=dict)  # further text files, by name
    unread: Sequence[tuple[str, str]] = ()  # rows of the data that gave no prompt: place, reason

    @classmethod
    def of(cls, given: str | Path | Into) -> Into:
        return given if isinstance(given, Into) else cls(given)

    def check(self, definition: Mapping[str, Any]) -> None:
        """Refuse at once what `open` would refuse after prompts were read and models loaded."""
        if not self.replace:
            Store.check(self.folder, definition)

    def open(self, definition: Mapping[str, Any], expected: Mapping[str, int]) -> Keeping:
        """`expected`: how many prompts each model is to see, by its label."""
        store = Store.open(self.folder, definition, replace=self.replace)
        first, *others = expected.items()
        store.expect({first[0]: first[1] + len(self.unread), **dict(others)})
        return Keeping(store, self, len(expected))


@dataclass
class Keeping:
    """A run that is open: one shelf a model, and how far it is."""

    store: Store
    into: Into
    models: int
    shelves: dict[str, Stored] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)  # prompts, by model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for shelf in self.shelves.values():
                shelf.close()
        finally:
            self.store.close()

    @property
    def folder(self) -> Path:
        return self.store.folder

    def shelf(self, label: str) -> Stored:
        if label not in self.shelves:
            first = not self.shelves
            self.shelves[label] = Stored(self.store, label, self.into.bad_rows)
            if first and self.into.unread:  # whatever the model, these rows are nobody's
                self.shelves[label].leave_out(self.into.unread)
        return self.shelves[label]

    def progress(self, label: str) -> Progress:
        """One model's progress as a part of the whole."""

        def report(done: int, total: int) -> None:
            self.done[label] = done
            if self.into.progress is not None:
                failed = sum(len(shelf.failed) for shelf in self.shelves.values())
                unread = len(self.into.unread)
                self.into.progress.update(
                    sum(self.done.values()) - failed,
                    self.models * total + unread,
                    tokens=sum(shelf.tokens for shelf in self.shelves.values()),
                    failed=failed + unread,
                )

        return report

    def left_out_words(self) -> list[str]:
        """The same for a reader: how many, and the first of them."""
        left = self.left_out()
        first = "; ".join(f"{who}: {why}" for who, why in list(left.items())[:_SHOWN])
        more = "; …" if len(left) > _SHOWN else ""
        return [f"Left out, {len(left):,} in all: {first}{more}"] if left else []

    def left_out(self) -> dict[str, str]:
        """What could not be measured, and why; stands in the manifest, too."""
        return dict(self.into.unread) | {
            f"{shelf.label}: {prompt}": reason
            for shelf in self.shelves.values()
            for prompt, reason in shelf.failed.items()
        }


class Stored:
    """The shelf of one model. What it can't measure stops the run, or is noted and left out."""

    def __init__(self, store: Store, label: str, bad: BadRows) -> None:
        self.store, self.label, self.bad = store, label, bad
        self.tokens = 0
        self.failed: dict[str, str] = {}  # prompt → reason
        self._planned, self._begun = 0, False
        self._writer = ThreadPoolExecutor(1)
        self._written: Future[None] | None = None

    def missing(self, reads: Sequence[Read], layers: Lacking) -> dict[str, Lacking]:
        plan = [Planned(x.prompt.id, x.job.item, x.prompt.place, len(x.job)) for x in reads]
        self.plan(plan, layers)
        if not self._begun:  # the model is ready: the pace counts from here
            self._begun = True
            self.store.working_on(self.label)
        missing = self.store.missing([one.item for one in plan], layers)
        self.tokens += sum(len(x.job) for x in reads if x.job.item not in missing)
        return missing

    def put(self, answers: Sequence[Answer], reads: Mapping[str, Read], *, whole: bool) -> None:
        self.write([self._done(one, reads[one.item], whole) for one in answers])

    def write(self, batch: Sequence[Done]) -> None:
        """Behind the caller's back, one batch at a time."""
        self.tokens += sum(one.tokens for one in batch)
        self.settle()
        self._written = self._writer.submit(self.store.put, batch)

    def _done(self, answer: Answer, read: Read, whole: bool) -> Done:
        return Done(
            item=answer.item,
            label=self.label,
            prompt=read.prompt.id,
            parts={layer: pack(numbers) for layer, numbers in answer.layers.items()},
            info={"kernels": {str(layer): name for layer, name in answer.kernels.items()}},
            tokens=len(read.job),
            whole=whole,
        )

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        if self.bad == "stop":
            raise error
        if prompt.id in self.failed:
            return
        self._fail([(prompt.id, prompt.place, str(error).splitlines()[0])])
        self.failed[prompt.id] = str(error).splitlines()[0]

    def leave_out(self, unread: Sequence[tuple[str, str]]) -> None:
        """Rows that gave no prompt: planned and failed, so that they never vanish."""
        self._fail([(f"row not used, {place}", place, why) for place, why in unread])

    def _fail(self, failed: Sequence[tuple[str, str | None, str]]) -> None:
        """(name, place, reason) of each; all of them reach the disk at once."""
        names = [f"{self.label} {name}" for name, _, _ in failed]
        items = [hashlib.sha256(name.encode()).hexdigest()[:32] for name in names]
        both = list(zip(items, failed, strict=True))
        self.plan([Planned(name, item, place) for item, (name, place, _) in both], None)
        self.store.put([Failed(item, self.label, name, why) for item, (name, _, why) in both])

    def take(self, items: Iterable[str], layers: Lacking) -> Iterator[Kept]:
        self.settle()
        for result in self.store.read(items, layers=layers):
            numbers = {layer: unpack(data) for layer, data in result.parts.items()}
            kernels = {int(n): name for n, name in result.info.get("kernels", {}).items()}
            chosen = {n: name for n, name in kernels.items() if n in numbers}
            yield Kept(dict(sorted(numbers.items())), chosen)

    def close(self) -> None:
        try:
            self.settle()
        finally:
            self._writer.shutdown()

    def plan(self, plan: Sequence[Planned], layers: Lacking) -> None:
        self.store.plan(self.label, plan, layers=layers, first=self._planned)
        self._planned += len(plan)

    def settle(self) -> None:
        """Until the last answers are on the disk; raises what went wrong there."""
        written, self._written = self._written, None
        if written is not None:
            written.result()


def write_tables(
    asking: Asking,
    prompts: Sequence[Prompt],
    keeping: Keeping,
) -> Measurement:
    """Measure what is missing, then stream every table into the run's folder, in prompt order."""
    started = time.perf_counter()
    made = Tables(asking.respondent, asking.study)
    only = asking.answered.fill(prompts)
    with Finaliser(keeping.folder) as final:
        for read, kept in asking.answered.given(prompts, only):
            for name, rows in made.rows(read, kept).items():
                final.add(name, rows)
        if not made.prompts:
            raise PromptError("none of the prompts can be measured", next_step="mindshare status")
        for name, text in keeping.into.beside.items():
            final.text(name, text)
        seconds = time.perf_counter() - started
        final.commit(made.provenance(seconds) | {"left_out": keeping.left_out()})
    return Measurement.read(keeping.folder)
