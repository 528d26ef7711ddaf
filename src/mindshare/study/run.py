"""A run on disk: every result is kept, so that a study can be stopped, resumed and extended.

    with RunFolder("results/maps").open(study, {"smollm2": prompts}) as run:
        measurer = Measurer(encoder, backend, run.results("smollm2"))
        write_tables(measurer, prompts, run)

Called again, only what is not there is computed. Results are written to the run's store while the
next are computed; the rows of a window go into the tables as soon as its results are there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, Unpack

from mindshare.attention.jobs import Job, Layers, PromptResult, pack, unpack
from mindshare.errors import MindshareError, SelectionError, checked, first_line
from mindshare.folders import Texts
from mindshare.models import LoadedModel
from mindshare.naming import layer_ranges
from mindshare.prompts import Prompt
from mindshare.prompts.given import Column, PromptSource, as_prompts
from mindshare.store import Done, Failed, Finaliser, Planned, RunWriter, figures_drawn
from mindshare.store import Progress as RunProgress
from mindshare.study.backend import LocalBackend
from mindshare.study.encoding import EncodedPrompt, PromptEncoder, as_loaded
from mindshare.study.measurement import Measurement, TableMaker, read
from mindshare.study.measurer import Measurer, Progress
from mindshare.study.study import AnyStudy, StudyParts, build_study

_SHOWN = 3  # prompts that were left out, named in a sentence
BadRows = Literal["stop", "skip"]


@dataclass(frozen=True)
class RunFolder:
    """Where a run is kept, and how."""

    folder: str | Path
    bad_rows: BadRows = "stop"  # or "skip": what can't be measured is noted and left out
    replace: bool = False
    progress: RunProgress | None = None
    beside: Texts = field(default_factory=dict)  # further text files
    tell: Callable[[str], None] | None = None  # what is to be known before the work starts

    @classmethod
    def of(cls, given: str | Path | RunFolder) -> RunFolder:
        return given if isinstance(given, RunFolder) else cls(given)

    def check(self, definition: Mapping[str, Any]) -> None:
        """Refuse at once what `open` would refuse after prompts were read and models loaded."""
        if not self.replace:
            RunWriter.check(self.folder, definition)

    def open(
        self,
        study: AnyStudy,
        prompts: Mapping[str, PromptSource],
        refused: Mapping[str, MindshareError] | None = None,
    ) -> OpenRun:
        """For these prompts, by model.

        Rows of a data source that gave none, and prompts that are `refused` (by id), stand in the
        run's plan once, as failures of the first model.
        """
        refused, first = refused or {}, next(iter(prompts))
        bad = [row for some in prompts.values() for row in getattr(some, "bad", ())]
        unread = list(dict.fromkeys(bad))
        store = RunWriter.open(self.folder, study.fixed_parts(), replace=self.replace)
        passes = {k: (len(some) - len(refused)) * study.passes for k, some in prompts.items()}
        # Of each that is refused, now or later, all passes but one are taken off again.
        others = len(refused) * study.passes + len(unread)
        store.expect(passes | {first: passes[first] + others})
        run = OpenRun(*(store, self, len(prompts), unread), passes=study.passes, known=len(refused))
        run.tell_added_layers(prompts, study.chosen_layers)
        for prompt in prompts[first] if refused else ():
            if prompt.id in refused:
                run.results(first).refuse(prompt, refused[prompt.id])
        return run


@dataclass
class OpenRun:
    """A run that is open: the results of each model, and how far it is."""

    store: RunWriter
    into: RunFolder
    models: int
    unread: Sequence[tuple[str, str]]  # rows of the data that gave no prompt: place, reason
    passes: int = 1  # of a prompt
    known: int = 0  # prompts that were refused before any pass was made
    by_model: dict[str, RunResults] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)  # passes, by model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for results in self.by_model.values():
                results.close()
        finally:
            self.store.close()

    @property
    def folder(self) -> Path:
        return self.store.folder

    def tell_added_layers(self, labels: Iterable[str], asked: Layers) -> None:
        """Say where layers are added to those of earlier calls: a pass ended after the last."""
        for label in labels if self.into.tell is not None else ():
            kept = self.store.kept_layers(label)
            if self.into.tell is not None and kept and (asked is None or asked - kept):
                more = "all others" if asked is None else layer_ranges(sorted(asked - kept))
                self.into.tell(
                    f"{label}: results have layers {layer_ranges(sorted(kept))} so far; to add "
                    f"{more}, their prompts go through the model again"
                )

    def results(self, label: str) -> RunResults:
        """The results of one model."""
        if label not in self.by_model:
            first = not self.by_model
            self.by_model[label] = RunResults(
                self.store, label, self.into.bad_rows, passes=self.passes
            )
            if first and self.unread:  # whatever the model, these rows are nobody's
                self.by_model[label].leave_out(self.unread)
        return self.by_model[label]

    def progress(self, label: str) -> Progress:
        """One model's progress as a part of the whole."""

        def report(done: int, total: int) -> None:
            self.done[label] = done
            if self.into.progress is not None:
                failed = sum(len(one.failed) for one in self.by_model.values())
                unread = len(self.unread)
                # What was refused beforehand is no part of the models' own counts.
                self.into.progress.update(
                    sum(self.done.values()) - (failed - self.known),
                    self.models * total + self.known + unread,
                    tokens=sum(one.tokens for one in self.by_model.values()),
                    failed=failed + unread,
                )

        return report

    def left_out_words(self) -> list[str]:
        """What could not be measured, for a reader: how many, and the first of them."""
        left = self.left_out()
        first = "; ".join(f"{who}: {why}" for who, why in list(left.items())[:_SHOWN])
        more = "; …" if len(left) > _SHOWN else ""
        return [f"Left out, {len(left):,} in all: {first}{more}"] if left else []

    def left_out(self) -> dict[str, str]:
        """What could not be measured, and why; stands in the manifest, too."""
        return dict(self.unread) | {
            f"{one.label}: {prompt}": reason
            for one in self.by_model.values()
            for prompt, reason in one.failed.items()
        }


class RunResults:
    """The results of one model in a run.

    A prompt that can't be measured stops the run, or is noted and left out.
    """

    def __init__(self, store: RunWriter, label: str, bad: BadRows, *, passes: int = 1) -> None:
        self.store, self.label, self.bad, self.passes = store, label, bad, passes
        self.tokens = 0
        self.failed: dict[str, str] = {}  # prompt → reason
        self._planned, self._begun = 0, False
        self._writer = ThreadPoolExecutor(1)
        self._written: Future[None] | None = None

    def missing(self, window: Sequence[EncodedPrompt], layers: Layers) -> dict[str, Layers]:
        jobs = {job.item: job for prompt in window for job in prompt.jobs}
        plan = [
            Planned(name, job.item, encoded.prompt.place, len(job))
            for encoded in window
            for name, job in zip(encoded.names, encoded.jobs, strict=True)
        ]
        self._plan(plan, layers)
        if not self._begun:  # the model is ready: the pace counts from here
            self._begun = True
            self.store.working_on(self.label)
        self._settle()
        missing = self.store.missing(jobs, layers)
        self.tokens += sum(len(job) for item, job in jobs.items() if item not in missing)
        return missing

    def put(
        self, results: Sequence[PromptResult], jobs: Mapping[str, tuple[str, Job]], *, whole: bool
    ) -> None:
        """Behind the caller's back, one batch at a time."""
        self.tokens += sum(len(jobs[one.item][1]) for one in results)
        self._settle()
        self._written = self._writer.submit(self._put, results, jobs, whole)

    def _put(
        self, results: Sequence[PromptResult], jobs: Mapping[str, tuple[str, Job]], whole: bool
    ) -> None:
        self.store.put(
            [
                Done(
                    item=one.item,
                    label=self.label,
                    prompt=jobs[one.item][0],
                    parts={layer: pack(numbers) for layer, numbers in one.layers.items()},
                    info={
                        "kernels": {str(layer): name for layer, name in one.kernels.items()},
                        **({"shared": one.shared} if one.shared else {}),
                    },
                    tokens=len(jobs[one.item][1]),
                    whole=whole,
                )
                for one in results
            ]
        )

    def refuse(self, prompt: Prompt, error: MindshareError) -> None:
        if self.bad == "stop":
            raise error
        if prompt.id in self.failed:
            return
        reason = first_line(error)
        self._fail([(prompt.id, prompt.place, reason)])
        self.failed[prompt.id] = reason
        if self.passes > 1:  # it counts as one
            expected = self.store.expected
            less = expected.get(self.label, 0) - (self.passes - 1)
            self.store.expect(expected | {self.label: less})

    def leave_out(self, unread: Sequence[tuple[str, str]]) -> None:
        """Rows that gave no prompt: planned and failed, so that they never vanish."""
        self._fail([(f"row not used, {place}", place, why) for place, why in unread])

    def _fail(self, failed: Sequence[tuple[str, str | None, str]]) -> None:
        """(name, place, reason) of each; all of them reach the disk at once."""
        names = [f"{self.label} {name}" for name, _, _ in failed]
        items = [hashlib.sha256(name.encode()).hexdigest()[:32] for name in names]
        both = list(zip(items, failed, strict=True))
        self._plan([Planned(name, item, place) for item, (name, place, _) in both], None)
        self.store.put([Failed(item, self.label, name, why) for item, (name, _, why) in both])

    def read(self, items: Iterable[str], layers: Layers) -> Iterator[PromptResult]:
        self._settle()
        for found in self.store.read(items, layers=layers):
            numbers = {layer: unpack(data) for layer, data in sorted(found.parts.items())}
            kernels = {int(n): name for n, name in found.info.get("kernels", {}).items()}
            chosen = {layer: name for layer, name in kernels.items() if layer in numbers}
            yield PromptResult(found.item, numbers, chosen, found.info.get("shared", 0))

    def close(self) -> None:
        try:
            self._settle()
        finally:
            self._writer.shutdown()

    def _plan(self, plan: Sequence[Planned], layers: Layers) -> None:
        self.store.plan(self.label, plan, layers=layers, first=self._planned)
        self._planned += len(plan)

    def _settle(self) -> None:
        """Until the last results are on the disk; raises what went wrong there."""
        written, self._written = self._written, None
        if written is not None:
            written.result()


def write_tables(measurer: Measurer, prompts: PromptSource, run: OpenRun) -> Measurement:
    """Measure what is missing, and stream every table into the run's folder, in prompt order."""
    maker = TableMaker(measurer.backend.identity, measurer.study)
    drawn = figures_drawn(run.folder)
    if drawn and run.into.tell is not None:
        run.into.tell(
            f"{run.folder} gets tables, and no longer has its figures ({', '.join(drawn)}); the "
            "commands that drew them draw them again, and measure nothing"
        )
    with Finaliser(run.folder) as final:
        for name, rows in maker.pieces(measurer.results(prompts)):
            final.add(name, rows)
        for name, text in run.into.beside.items():
            final.text(name, text)
        final.commit(maker.provenance() | {"left_out": run.left_out()})
    return read(run.folder)


@checked
def measure(
    model: LoadedModel | str | Any,
    prompts: Any,
    *,
    column: Column = None,
    study: AnyStudy | None = None,
    into: str | Path | RunFolder | None = None,
    progress: Progress | None = None,
    **definition: Unpack[StudyParts],
) -> Measurement:
    """Where the model's attention goes.

    `model` is a LoadedModel, or what `mindshare.load` takes. `prompts` is a text, a Prompt, a list
    of chat messages, several of these, a `DataSource`, a path, or a table in memory (pandas,
    polars, Arrow, `datasets`, a dict of columns), of which `column` holds the prompts if it is not
    called prompt, text or messages. The definition is a `Study`, an
    `InsertionStudy` or a `KnockoutStudy`, or the parts of a `Study` by name:
    `classes={"hash": "#", "space": "whitespace"}`, `policy="priority"`,
    `measures=["mass", "received", "entropy", "distance"]`, `layers=[0, 16]` or "mean",
    `heads=[0, 1]` or "mean", `queries="all"` (or "last", "span:NAME", "class:NAME", "after:SPAN",
    or several), `near=0`, `chunk_tokens=None`, `kernel="auto"`.

    `into` is a folder for many prompts: every result is kept there, so the same call goes on after
    an interruption and measures only what was added; the tables are streamed into it.
    """
    if study is None:
        study = build_study(**definition)
    elif definition:
        raise SelectionError("give a study or its parts, not both", allowed="study=… alone")
    loaded, source = as_loaded(model), as_prompts(prompts, column=column)
    encoder, backend = PromptEncoder(loaded, study), LocalBackend(loaded)
    if into is None:
        return Measurer(encoder, backend, progress=progress).measure(source)
    with RunFolder.of(into).open(study, {loaded.name: source}) as run:
        report = progress or run.progress(loaded.name)
        measurer = Measurer(encoder, backend, run.results(loaded.name), report)
        return write_tables(measurer, source, run)
