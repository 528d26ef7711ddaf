"""`insertion`: what an inserted run of tokens does to each head's attention, as a `Chart`.

Every prompt is measured as it is and with each insertion. Maps show all heads; close looks show
heads that are named as people write them, or found in a table: those that change most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack, cast

from mindshare.api.candidates import Candidate
from mindshare.api.charts import (
    MOST_LINES,
    Analysis,
    Chart,
    Drawing,
    RunParts,
    as_drawn,
    chosen_look,
    run_analysis,
)
from mindshare.api.comparison import Comparison
from mindshare.api.heads import HeadsGiven, check_heads, check_labels, heads_of, top_heads
from mindshare.api.likes import Preset, condition_names, liked
from mindshare.errors import SelectionError, checked, require_all_known, require_known
from mindshare.facts import alignment_notes, insertion_findings
from mindshare.figures import (
    Figure,
    HeadMapOptions,
    LineOptions,
    ProfileOptions,
    Style,
    TokenStripOptions,
    check_names,
    family_panel,
    layer_lines,
    profile_grid,
    response_map,
    sweep_curves,
    text_strip,
)
from mindshare.figures.captions import condition_label
from mindshare.figures.selection import only
from mindshare.naming import WITHOUT, file_word
from mindshare.stats import (
    LEFT,
    RESPONSE,
    Thresholds,
    aligned,
    phases,
    respond,
    same_readers,
)
from mindshare.study import InsertionStudy, Measurement, PromptSource, build_insertion_study
from mindshare.study.study import Head
from mindshare.tables import ONE_BASED

if TYPE_CHECKING:
    import pyarrow as pa

MAPS = ("amplitude", "shape", "entropy_change", "divergence", "retained", "affine_r2")
RANKED_BY = tuple(measure for measure in RESPONSE if measure != LEFT)
_TOP = 3  # heads that are looked at closely if none are named
_STRIP = 800  # tokens of a prompt whose text is drawn


class InsertionParts(Drawing, RunParts, total=False):
    """Everything else about an insertion, by name."""

    against: str | None  # e.g. "random-sentence": as many tokens, for comparison
    at: str | Sequence[str]  # between, start, end, before:SPAN, after:SPAN, random; or several
    seed: int  # of random places and sentences
    layers: Sequence[int] | None
    queries: (
        str  # both (default): whole sequences by all tokens, what is compared by the original ones
    )
    near: int
    chunk_tokens: int | None  # feed versions in pieces of so many tokens; what they share, once
    heads: HeadsGiven  # [(0, 0), (0, 7)], "0.0,0.7", or label → heads
    top: int | None  # also draw so many heads that change most; 3 if no heads are named
    by: str  # the response number that `top` ranks heads by
    maps: Sequence[str]  # the response numbers to draw by layer and head, of `MAPS`
    drop_first: bool  # leave the first token out of the pictures
    count_first: bool  # count it in the response numbers, where it drowns the others
    show: str | None  # id of the prompt whose tokens are drawn; None: the first
    thresholds: Thresholds
    like: str | None  # "seed-003" or "seed-004": the published chart's own picture


@checked
def insertion(
    models: Any,
    prompts: Any,
    *,
    insert: str | Sequence[str] | None = None,
    **parts: Unpack[InsertionParts],
) -> Chart:
    """What inserting a run of tokens does to attention, in every head.

    `insert` is '/ *55' (a text, 55 times), '/ *10,25,55', 'random-sentence*55', 'file:PATH', any
    text, or a list of these; `at` says where. `models` and `prompts` are as for `mindshare.shares`.
    The tables: `conditions`, `places`, `sequence`, `retained`, `rescaling`, `response`, `phases`
    for each model, and the numbers over the prompts, `summary`, `by_layer` and `overall`.
    """
    # `__annotations__` holds a TypedDict's inherited keys, too.
    require_all_known(parts, InsertionParts.__annotations__, "part of an insertion")
    given, like = liked({"insert": insert, **parts}, "insertion")
    fields = ("against", "at", "seed", "layers", "queries", "near", "chunk_tokens")
    definition: dict[str, Any] = {n: v for n, v in given.items() if n in fields}
    study = build_insertion_study(given.pop("insert") or "/ *55", **definition)
    analysis = InsertionAnalysis(study, cast("InsertionParts", given), like)
    return run_analysis(analysis, models, prompts, given)


# ── from measurements to a chart ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class InsertionAnalysis(Analysis):
    """Responses of every head, summarised over the prompts."""

    study: InsertionStudy
    parts: InsertionParts
    like: Preset | None

    @property
    def by(self) -> str:
        return self.parts.get("by", "divergence")

    @property
    def style(self) -> Style:
        return Style(**chosen_look(self.parts))

    def check(self, models: Sequence[Candidate], prompts: PromptSource) -> None:
        self._check_words(prompts)
        labels = [model.label for model in models]
        check_names(self.parts, [WITHOUT, *self.study.conditions, *labels])
        given = self.parts.get("heads")
        check_labels(given, labels)
        files = [file_word(label) for label in labels]
        for name in files:
            if files.count(name) > 1:  # each model's tables are files of their own
                raise SelectionError(
                    f"two models would write files called {name!r}",
                    next_step="give the models other names: label → model",
                )
        for model in models:
            check_heads(heads_of(given, model.label), model, layers=self.study.layers)

    def _check_words(self, prompts: PromptSource) -> None:
        """What can be wrong without a look at any model."""
        _ = self.style
        top, show = self.parts.get("top"), self.parts.get("show")
        if top is not None and not (isinstance(top, int) and top >= 1):
            raise SelectionError(f"top={top} draws no head", allowed="1, 2, 3, …")
        require_known(self.by, RANKED_BY, f"heads can't be ranked by {self.by!r}")
        for word in self.parts.get("maps", ()):
            require_known(word, MAPS, f"there is no map of {word!r}")
        if show and not any(prompt.id == show for prompt in prompts):
            raise SelectionError(
                f"there is no prompt {show!r} to show",
                allowed=", ".join(prompt.id for prompt in islice(prompts, 20)),
            )

    def chart(self, comparison: Comparison) -> Chart:
        responses = {
            label: respond(
                same_readers(one.table("sequence")),
                one.table("places"),
                one.table("rescaling"),
                thresholds=self.parts.get("thresholds") or Thresholds(),
                drop_first=not self.parts.get("count_first", False),
            )
            for label, one in comparison.measurements.items()
        }
        statistics = {
            "summary": comparison.estimate(RESPONSE, responses),
            "by_layer": comparison.estimate(RESPONSE, responses, over=("heads",)),
            "overall": comparison.estimate(RESPONSE, responses, over=("heads", "layers")),
        }
        tables = statistics | _tables(comparison, responses)
        figures = InsertionFigures(self, comparison, statistics, responses)
        told, top = as_drawn(tables, self.style.labels), figures.top
        if self.style.labels == ONE_BASED:
            top = {label: [(a + 1, b + 1) for a, b in heads] for label, heads in top.items()}
        findings = insertion_findings(
            told, groups=comparison.groups, against=figures.against, top=top, by=self.by
        )
        return Chart(
            figures=tuple(figures.draw()),
            tables=tables,
            measurements=comparison.measurements,
            notes=(*comparison.notes, *alignment_notes(tables), *figures.not_drawn()),
            findings=findings,
        )


def _tables(comparison: Comparison, responses: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Every model's own tables; the model's name goes into the table's if there are several."""
    tables: dict[str, pa.Table] = {}
    for label, one in comparison.measurements.items():
        made = {
            "response": responses[label],
            "phases": phases(one.table("sequence"), one.table("places")),
        }
        suffix = f"_{file_word(label)}" if len(comparison.measurements) > 1 else ""
        tables |= {f"{name}{suffix}": content for name, content in {**one.tables, **made}.items()}
    return tables


class InsertionFigures:
    """Close looks at some heads, maps of all, lines over layers and over a sweep."""

    def __init__(
        self,
        analysis: InsertionAnalysis,
        comparison: Comparison,
        statistics: Mapping[str, pa.Table],
        responses: Mapping[str, pa.Table],
    ) -> None:
        self.study, parts = analysis.study, analysis.parts
        self.measured, self.statistics = comparison.measurements, statistics
        self.responses = responses
        self.style, self.drop_first = analysis.style, parts.get("drop_first", False)
        self.look, self.like = chosen_look(parts), analysis.like
        self.maps = tuple(parts.get("maps", MAPS[:1]))
        # A prompt that was to be shown but could not be measured gives way to the first.
        ids = [prompt.id for prompt in comparison.prompts]
        show = parts.get("show")
        self.prompt: str = next((name for name in ids if name == show), ids[0])
        self.condition = self.study.insertions[0].name  # the one that is looked at closely
        self.against = self.study.against[0].name if self.study.against else None
        named = {label: heads_of(parts.get("heads"), label) for label in self.measured}
        self.heads = {label: heads for label, heads in named.items() if heads}
        top = parts.get("top")
        self.top = {
            label: top_heads(
                statistics["summary"], label, self.condition, by=analysis.by, count=top or _TOP
            )
            for label in self.measured
            if top is not None or label not in self.heads
        }
        self.about = comparison.about(self.study)

    @property
    def sweep_lines(self) -> int:
        """At most so many lines a sweep needs: models × texts × places."""
        texts = {(one.name.partition(" ×")[0], one.place) for one in self.study.insertions}
        return len(texts) * len(self.measured) * (2 if self.study.against else 1)

    def not_drawn(self) -> list[str]:
        """What is left out of the pictures, though not of the tables."""
        notes = []
        if len(self.study.conditions) > MOST_LINES:
            notes.append(
                f"retained_by_layer draws the first {MOST_LINES} of {len(self.study.conditions)} "
                "conditions; the table by_layer has all"
            )
        if len(self.study.insertions) > 1 and self.sweep_lines > MOST_LINES:
            notes.append(
                f"the sweep is not drawn, it would need {self.sweep_lines} lines and {MOST_LINES} "
                "can be told apart; the table overall has its numbers"
            )
        return notes

    def draw(self) -> Iterator[Figure]:
        if self.like is not None and self.like.figure == "panel" and self.against:
            yield self._panel(self.against)
            return
        for label in self.measured:
            for name, heads in (("profiles", self.heads), ("profiles_top", self.top)):
                if label in heads:
                    yield self._profiles(label, name, heads[label])
        if self.like is not None:
            return
        if self.against is not None:
            yield self._panel(self.against)
        for label, measurement in self.measured.items():
            for measure in self.maps:
                # The same labels on every map would say the same thing again.
                symbols = measure == self.maps[0]
                yield response_map(
                    self.statistics["summary"],
                    measure,
                    HeadMapOptions(**self._options("map", measure, label=label), symbols=symbols),
                    model=label,
                    condition=self.condition,
                    about=self.about,
                )
            yield self._text(label, measurement)
        yield layer_lines(
            self.statistics["by_layer"],
            "retained",
            LineOptions(
                **self._options("retained_by_layer"), conditions=self.study.conditions[:MOST_LINES]
            ),
            about=self.about,
        )
        if len(self.study.insertions) > 1 and self.sweep_lines <= MOST_LINES:
            yield sweep_curves(
                self.statistics["overall"],
                {label: one.table("conditions") for label, one in self.measured.items()},
                LineOptions(**self._options("sweep", columns=2)),
                about=self.about,
            )

    def _options(self, *words: str, label: str | None = None, columns: int = 1) -> dict[str, Any]:
        """Look, width and file name; the model's name is part of it if there are several."""
        parts = [*words, *([label] if label and len(self.measured) > 1 else [])]
        width = {"width": "page" if columns > 1 else "column"}
        return width | self.look | {"name": "_".join(file_word(word) for word in parts)}

    def _published(self, options: dict[str, Any]) -> dict[str, Any]:
        """As in the chart that this one is to be like."""
        if self.like is None:
            return options
        against = [] if self.against is None else [self.against]
        names = condition_names([self.condition], against)
        return self.like.styled(options, names) | dict(self.like.options)

    def _profiles(self, label: str, name: str, heads: list[Head]) -> Figure:
        sequence, places = (self.measured[label].table(n) for n in ("sequence", "places"))
        options = self._options(name, label=label, columns=len(heads))
        if name == "profiles_top" and label in self.heads:  # where heads were named too
            words = condition_label(self.condition, self.style)
            options = {"title": f"Heads that change most with {words}: {label}"} | options
        # Two versions are compared by the readers that both have; published charts by all.
        compared = sequence if self.like else same_readers(sequence)
        return profile_grid(
            aligned(*self._of_prompt(compared, places), cells=heads),
            sequence,
            places,
            ProfileOptions(**self._published(options), drop_first=self.drop_first),
            model=label,
            prompt=self.prompt,
            condition=self.condition,
            heads=heads,
            response=self.responses[label],
            about=self.about,
        )

    def _of_prompt(self, *tables: pa.Table) -> list[pa.Table]:
        """The rows of the prompt that is drawn."""
        return [only(content, "prompt", [self.prompt]) for content in tables]

    def _panel(self, against: str) -> Figure:
        options = self._options("panel", columns=len(self.measured))
        return family_panel(
            {k: (one.table("sequence"), one.table("places")) for k, one in self.measured.items()},
            ProfileOptions(**self._published(options), drop_first=self.drop_first),
            prompt=self.prompt,
            conditions=(self.condition, against),
            heads={label: heads[0] for label, heads in (self.top | self.heads).items()},
            about=self.about,
        )

    def _text(self, label: str, measurement: Measurement) -> Figure:
        sequence = same_readers(measurement.table("sequence"))
        places = measurement.table("places")
        return text_strip(
            aligned(
                *self._of_prompt(sequence, places), cells=[(None, None)]
            ),  # the mean of all layers and heads
            TokenStripOptions(
                **self._options("text", label=label, columns=2),
                drop_first=self.drop_first,
                positions=self._around(places),
            ),
            model=label,
            prompt=self.prompt,
            condition=self.condition,
            places=places,
            about=self.about,
        )

    def _around(self, places: pa.Table) -> tuple[int, int] | None:
        """Of a long prompt, the positions around the insertion; None: all of them."""
        rows = [
            (row["part"], row["position_without"])
            for row in places.to_pylist()
            if (row["prompt"], row["condition"]) == (self.prompt, self.condition)
        ]
        matched = [place for _, place in rows if place is not None]
        if len(matched) <= _STRIP:
            return None
        begins = next((i for i, (part, _) in enumerate(rows) if part == "inserted"), len(rows))
        before = sum(place is not None for _, place in rows[:begins])
        first = max(0, min(before - _STRIP // 2, matched[-1] + 1 - _STRIP))
        return first, first + _STRIP
