"""The door `insertion`: what an inserted run of tokens does to each head's attention.

    read every version ─► refuse ─► load, measure, forget ─► responses ─► figures, findings

What is measured is an `InsertionStudy`; which heads are looked at closely is said, or found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from mindshare.charts.candidates import Candidate, Loading, candidates
from mindshare.charts.chart import Chart
from mindshare.charts.comparison import Progress, groups_of
from mindshare.charts.heads import (
    RANKED_BY,
    Head,
    HeadsGiven,
    check_heads,
    check_labels,
    heads_of,
    top_heads,
)
from mindshare.charts.insertion_figures import MAPS, Looked, draw
from mindshare.charts.insertion_words import alignment_notes, findings
from mindshare.errors import SelectionError, nearest
from mindshare.figures import Style
from mindshare.naming import file_word
from mindshare.stats import Resampling, Thresholds, phases, respond, summarise_response
from mindshare.study import (
    InsertionStudy,
    Into,
    Measurement,
    Stored,
    as_prompts,
    build_insertion_study,
    check_selection,
    fixed_insertion,
    measure_insertion,
    read_versions,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.prompts import Prompt
    from mindshare.study import Versions


class InsertionParts(TypedDict, total=False):
    """Everything else about an insertion, by name."""

    against: str | None  # e.g. "random-sentence": as many tokens, for comparison
    at: str | Sequence[str]  # between, start, end, before:SPAN, after:SPAN, random; or several
    seed: int  # of random places and sentences
    layers: Sequence[int] | None
    queries: str  # all, or original
    near: int
    heads: HeadsGiven  # [(0, 0), (0, 7)], "0.0,0.7", or label → heads
    top: int | None  # also draw so many heads that change most; 3 if no heads are named
    by: str  # the response number that `top` ranks heads by
    maps: Sequence[str]  # the response numbers to draw by layer and head; all that can be
    drop_first: bool  # leave the first token out of the pictures
    count_first: bool  # count it in the response numbers, where it drowns the others
    show: str | None  # id of the prompt whose tokens are drawn; None: the first
    thresholds: Thresholds
    palette: str
    labels: str
    resampling: Resampling
    loading: Loading
    progress: Progress
    into: str | Path | Into


def insertion(
    models: Any,
    prompts: Any,
    *,
    insert: str | Sequence[str] = "/ *55",
    **parts: Unpack[InsertionParts],
) -> Chart:
    """What inserting a run of tokens does to attention, in every head.

    `insert` is '/ *55' (a text, 55 times), '/ *10,25,55', 'random-sentence*55', 'file:PATH', any
    text, or a list of these; `at` says where. `models` and `prompts` are as for `mindshare.shares`.
    The tables: `conditions`, `places`, `sequence`, `retained`, `rescaling`, `response`, `phases`
    for each model, and the numbers over the prompts, `summary`, `by_layer` and `overall`.
    """
    asked = _Asked.of(models, prompts, insert, parts)
    readings = asked.readings()
    return asked.chart(asked.measure_all(readings), alignment_notes(readings))


@dataclass(frozen=True)
class _Asked:
    """The parts of a call, sorted out and checked before any work is done."""

    candidates: list[Candidate]
    prompts: list[Prompt]
    study: InsertionStudy
    parts: InsertionParts

    @classmethod
    def of(
        cls, models: Any, prompts: Any, insert: str | Sequence[str], parts: InsertionParts
    ) -> _Asked:
        unknown = [name for name in parts if name not in InsertionParts.__annotations__]
        if unknown:
            known = InsertionParts.__annotations__
            raise SelectionError(
                f"unknown part of an insertion {unknown[0]!r}{nearest(unknown[0], known)}",
                allowed=", ".join(known),
            )
        defined = ("against", "at", "seed", "queries", "near")
        study = build_insertion_study(
            insert,
            layers=None if parts.get("layers") is None else tuple(parts["layers"] or ()),
            **{name: parts[name] for name in defined if name in parts},  # type: ignore[literal-required]
        )
        asked = cls(
            candidates(models, parts.get("loading") or Loading()), as_prompts(prompts), study, parts
        )
        asked._check()
        return asked

    def _check(self) -> None:
        self._check_words()
        labels = [one.label for one in self.candidates]
        check_labels(self.parts.get("heads"), labels)
        _check_distinct([file_word(label) for label in labels])
        for one in self.candidates:
            check_selection(one.facts, name=one.label, layers=self.study.layers, heads=None)
            heads = heads_of(self.parts.get("heads"), one.label)
            check_heads(heads, one, layers=self.study.layers)

    def _check_words(self) -> None:
        """What can be wrong without a look at any model."""
        _style(self.parts)
        top = self.parts.get("top")
        if top is not None and top < 1:
            raise SelectionError(f"top={top} draws no head", allowed="1, 2, 3, …")
        if self.by not in RANKED_BY:
            raise SelectionError(
                f"heads can't be ranked by {self.by!r}{nearest(self.by, RANKED_BY)}",
                allowed=", ".join(RANKED_BY),
            )
        for word in self.parts.get("maps", ()):
            if word not in MAPS:
                raise SelectionError(
                    f"there is no map of {word!r}{nearest(word, MAPS)}", allowed=", ".join(MAPS)
                )
        if self.shown not in [prompt.id for prompt in self.prompts]:
            raise SelectionError(
                f"there is no prompt {self.shown!r} to show",
                allowed=", ".join(prompt.id for prompt in self.prompts[:20]),
            )

    @property
    def by(self) -> str:
        return self.parts.get("by", "divergence")

    @property
    def shown(self) -> str:
        return self.parts.get("show") or self.prompts[0].id

    def readings(self) -> dict[str, list[Versions]]:
        if self.parts.get("into") is not None:
            Into.of(self.parts["into"]).check(fixed_insertion(self.study))
        return {
            one.label: [read_versions(one.reader, p, self.study) for p in self.prompts]
            for one in self.candidates
        }

    def measure_all(self, readings: Mapping[str, Sequence[Versions]]) -> dict[str, Measurement]:
        into = self.parts.get("into")
        if into is None:
            report = self.parts.get("progress")
            return {
                one.label: self._measure(
                    one, readings[one.label], None if report is None else partial(report, one.label)
                )
                for one in self.candidates
            }
        expected = {
            label: sum(1 + len(one.versions) for one in some) for label, some in readings.items()
        }
        with Into.of(into).open(fixed_insertion(self.study), expected) as keeping:
            return {
                one.label: self._measure(
                    one,
                    readings[one.label],
                    keeping.progress(one.label),
                    keeping.shelf(one.label),
                )
                for one in self.candidates
            }

    def _measure(
        self,
        candidate: Candidate,
        versions: Sequence[Versions],
        progress: Callable[[int, int], None] | None,
        shelf: Stored | None = None,
    ) -> Measurement:
        with candidate.loaded() as loaded:
            return measure_insertion(loaded, versions, self.study, progress=progress, shelf=shelf)

    def chart(self, measured: Mapping[str, Measurement], notes: Sequence[str]) -> Chart:
        responses = {label: self._response(found) for label, found in measured.items()}
        options = self.parts.get("resampling") or Resampling()
        summarised = partial(summarise_response, options=options, groups=groups_of(self.prompts))
        summary = summarised(responses)
        by_layer = summarised(responses, over_heads=True)
        overall = summarised(responses, over_heads=True, over_layers=True)
        looked = Looked(
            measured=measured,
            study=self.study,
            prompt=self.shown,
            heads=self._named(),
            top=self._top(summary),
            summary=summary,
            by_layer=by_layer,
            overall=overall,
            style=_style(self.parts),
            drop_first=self.parts.get("drop_first", False),
            maps=tuple(self.parts.get("maps", MAPS)),
        )
        return Chart(
            figures=draw(looked),
            tables={
                "summary": summary,
                "by_layer": by_layer,
                "overall": overall,
                **_tables(measured, responses),
            },
            measurements=measured,
            notes=(*notes, *looked.not_drawn()),
            findings=(*findings(looked, responses, options), *self._top_heads(looked)),
        )

    def _response(self, found: Measurement) -> pa.Table:
        return respond(
            found.table("sequence"),
            found.table("places"),
            found.table("rescaling"),
            thresholds=self.parts.get("thresholds") or Thresholds(),
            drop_first=not self.parts.get("count_first", False),
        )

    def _named(self) -> dict[str, list[Head]]:
        given = self.parts.get("heads")
        found = {one.label: heads_of(given, one.label) for one in self.candidates}
        return {label: heads for label, heads in found.items() if heads}

    def _top(self, summary: pa.Table) -> dict[str, list[Head]]:
        """For models that no head is named for, and for all if it was asked for."""
        condition, count = self.study.insertions[0].name, self.parts.get("top")
        named = self._named() if count is None else {}
        return {
            one.label: top_heads(summary, one.label, condition, by=self.by, count=count or 3)
            for one in self.candidates
            if one.label not in named
        }

    def _top_heads(self, looked: Looked) -> list[str]:
        if not looked.top:
            return []
        chosen = "; ".join(
            f"{label}: {', '.join(f'{layer}.{head}' for layer, head in heads)}"
            for label, heads in looked.top.items()
        )
        return [f"The heads that change most, by {self.by} (layer.head, 0-based): {chosen}."]


def _check_distinct(words: Sequence[str]) -> None:
    """Each model's tables are files of their own."""
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise SelectionError(
            f"two models would write files called {twice[0]!r}",
            next_step="give the models other names: label → model",
        )


def _style(parts: InsertionParts) -> Style:
    words = {name: parts[name] for name in ("palette", "labels") if parts.get(name)}
    return Style(**words)


def _tables(
    measured: Mapping[str, Measurement], responses: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """Every model's own tables; the model's name goes into the table's if there are several."""
    found: dict[str, pa.Table] = {}
    for label, one in measured.items():
        own = {
            **one.tables,
            "response": responses[label],
            "phases": phases(one.table("sequence"), one.table("places")),
        }
        suffix = f"_{file_word(label)}" if len(measured) > 1 else ""
        found |= {f"{name}{suffix}": content for name, content in own.items()}
    return found
