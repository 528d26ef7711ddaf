"""The everyday door: a model and prompts → a Measurement.

    encode ─► classify ─► query sets ─► forward passes ─► numbers ─► rows ─► tables

A prompt's numbers never depend on its neighbours, so the same study gives the same bytes in any
order and in batches of any size.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from mindshare.errors import PromptError, SelectionError
from mindshare.models import LoadedModel, Reader
from mindshare.prompts import Prompt
from mindshare.study.answers import Answered, InMemory, Kept, Progress, Shelf
from mindshare.study.encoding import as_loaded, as_prompts, check_selection
from mindshare.study.measurement import Measurement
from mindshare.study.passes import Passes
from mindshare.study.provenance import describe_run, prompt_facts, table_metadata
from mindshare.study.reading import Read, Reading, fixed_parts
from mindshare.study.respondent import Answerer, Respondent
from mindshare.study.rows import PromptNumbers, prompt_rows
from mindshare.study.study import Definition, Study, build_study
from mindshare.table import joined, table

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from mindshare.study.storing import Into


def measure(
    model: LoadedModel | str | Any,
    prompts: str | Prompt | Sequence[Any] | Iterable[Prompt],
    *,
    study: Study | None = None,
    into: str | Path | Into | None = None,
    progress: Progress | None = None,
    **definition: Unpack[Definition],
) -> Measurement:
    """Where the model's attention goes.

    `model` is a LoadedModel, or what `mindshare.load` takes. `prompts` is a text, a Prompt, a list
    of chat messages, or several of these. The definition is a `Study`, or its parts by name:
    `classes={"hash": "#", "space": "whitespace"}`, `policy="priority"`,
    `measures=["mass", "received", "entropy", "distance"]`, `layers=[0, 16]` or "mean",
    `heads=[0, 1]` or "mean", `queries="all"` (or "last", "span:NAME", "class:NAME", "after:SPAN",
    or several), `near=0`, `chunk_tokens=None`, `kernel="auto"`.

    `into` is a folder for many prompts: every answer is kept there, so the same call goes on after
    an interruption and measures only what was added; the tables are streamed into it.
    """
    if study is None:
        study = build_study(**definition)
    elif definition:
        raise SelectionError("give a study or its parts, not both", allowed="study=… alone")
    loaded = as_loaded(model)
    items = as_prompts(prompts)
    if into is None:
        return Asking.of(loaded, study, progress=progress).measure(items)
    from mindshare.study.storing import Into, write_tables

    with Into.of(into).open(fixed_parts(study), {loaded.name: len(items)}) as keeping:
        report = progress or keeping.progress(loaded.name)
        shelf = keeping.shelf(loaded.name)
        asking = Asking.of(loaded, study, shelf=shelf, progress=report)
        return write_tables(asking, items, keeping)


@dataclass(frozen=True)
class Asking:
    """A study put to one model, wherever that is, and where its answers are kept."""

    study: Study
    respondent: Respondent
    answered: Answered

    def __post_init__(self) -> None:
        """Layers and heads that the model has not are refused, whoever asks."""
        who, study = self.respondent, self.study
        check_selection(who.facts, name=who.name, layers=study.layers, heads=study.heads)

    @classmethod
    def of(
        cls,
        loaded: LoadedModel,
        study: Study,
        *,
        shelf: Shelf | None = None,
        progress: Progress | None = None,
    ) -> Asking:
        """A model in this process."""
        respondent = Respondent.of(loaded)
        reading = Reading(loaded, study, respondent.identity)
        passes = Passes(loaded.model)
        return cls(study, respondent, Answered(reading, passes, shelf or InMemory(), progress))

    @classmethod
    def by(
        cls,
        answerer: Answerer,
        reader: Reader | LoadedModel,
        study: Study,
        *,
        shelf: Shelf | None = None,
        progress: Progress | None = None,
    ) -> Asking:
        """A model elsewhere; prompts are read here."""
        reading = Reading(reader, study, answerer.respondent.identity)
        answered = Answered(reading, answerer, shelf or InMemory(), progress)
        return cls(study, answerer.respondent, answered)

    def measure(self, prompts: Sequence[Prompt]) -> Measurement:
        """All tables in memory."""
        started = time.perf_counter()
        made = Tables(self.respondent, self.study)
        parts = [made.rows(read, kept) for read, kept in self.answered.all(prompts)]
        if not parts:
            raise PromptError("none of the prompts can be measured", next_step="see the failures")
        tables = {name: joined([part[name] for part in parts]) for name in parts[0]}
        return Measurement(tables, made.provenance(time.perf_counter() - started))


@dataclass
class Tables:
    """Answers of one model → its tables, prompt by prompt; remembers what a manifest says."""

    respondent: Respondent
    study: Study
    kernels: dict[int, str] = field(default_factory=dict)
    prompts: list[dict[str, Any]] = field(default_factory=list)

    def rows(self, read: Read, kept: Kept) -> dict[str, pa.Table]:
        """The rows of one prompt in every table."""
        self.kernels.update(kept.kernels)
        self.prompts.append(prompt_facts(read.encoded))
        rows = prompt_rows(_numbers(read, kept, self.study), self.study)
        return {name: table(name, columns, self._about) for name, columns in rows.items()}

    @cached_property
    def _about(self) -> dict[str, str]:
        return table_metadata(self.respondent, self.study)

    def provenance(self, seconds: float) -> dict[str, Any]:
        run = {
            "kernels": sorted({name for used in self.kernels.values() for name in used.split("+")}),
            "layers_seen": sorted(self.kernels),
            "self_check": self.respondent.verdict,
            "wall_seconds": round(seconds, 3),
        }
        return describe_run(self.respondent, self.study, self.prompts, run)


def _numbers(read: Read, kept: Kept, study: Study) -> PromptNumbers:
    import torch

    from mindshare.attention.capture import query_counts

    masks = read.job.queries
    counts = query_counts(torch.from_numpy(masks)[None].float(), study.near)[0].numpy()
    return PromptNumbers(
        encoded=read.encoded,
        classed=read.classed,
        layers=dict(sorted(kept.layers.items())),
        n_queries=masks.sum(1),
        n_queries_by_key=counts,
    )
