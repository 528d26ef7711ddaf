"""`shares` draws token classes by layer, `head_map` one by layer and head; both give a `Chart`.

    models ─► candidates ─► encode and refuse ─► measure ─► statistics ─► figures ─► Chart

`run_analysis` is that road, for every kind of study. An `Analysis` says what differs between them:
what is measured, what is refused beforehand, and what becomes of the tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from mindshare.api.candidates import Candidate, Loading, candidates
from mindshare.api.comparison import Comparison, ModelProgress, compare
from mindshare.api.likes import Preset, liked
from mindshare.errors import SelectionError, checked, require_known
from mindshare.facts import Sentence, in_short
from mindshare.figures import (
    FORMATS,
    ClassBarsOptions,
    Figure,
    HeadMapOptions,
    LineOptions,
    Style,
    check_names,
    class_bars,
    layer_lines,
    save_figures,
)
from mindshare.figures import head_map as draw_head_map
from mindshare.folders import Texts
from mindshare.measures import MEASURES, Measure, at_level
from mindshare.naming import file_word
from mindshare.stats import Resampling, ranked
from mindshare.study import (
    AnyStudy,
    Column,
    PromptSource,
    RunFolder,
    Study,
    StudyParts,
    as_prompts,
    build_study,
)
from mindshare.tables import ONE_BASED, one_based, table

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.study import Measurement

TOP = 5  # differences between two models that are listed
MOST_LINES = 8  # classes or conditions that lines can tell apart
_COLUMN_ROWS = 60  # rows of a summary whose bars stay legible at column width


@dataclass(frozen=True, repr=False)
class Chart:
    """`figures` to look at, `tables` to compute with, `notes` to read before either."""

    figures: tuple[Figure, ...]
    tables: Mapping[str, pa.Table]  # summary, B_minus_A, mass_…, tokens_…, classes_…
    measurements: Mapping[str, Measurement]  # by model label
    notes: tuple[str, ...]
    findings: tuple[str, ...] = ()  # what the numbers say, in sentences

    def __repr__(self) -> str:
        models = ", ".join(self.measurements)
        return f"Chart({', '.join(figure.name for figure in self.figures)}; models: {models})"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """A notebook shows what was found, and all figures below one another."""
        if len(self.figures) == 1 and not self.findings:
            return self.figures[0]._repr_mimebundle_(**options)
        said = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.findings)
        pictures = "".join(f"<div>{figure.svg()}</div>" for figure in self.figures)
        return {
            "text/html": f"<ul>{said}</ul>{pictures}" if said else pictures,
            "text/plain": "\n".join([repr(self), *self.findings]),
        }

    @checked
    def save(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        progress: Callable[[int, int], None] | None = None,
        beside: Texts | None = None,
        command: str | None = None,
        formats: Sequence[str] = FORMATS,
    ) -> Path:
        """Every figure in these formats, all tables, a manifest; or nothing.

        `beside` are further text files, by name; `command` is what makes the same results again.
        `formats` are of png, svg, pdf, csv, html, parquet and json (Vega-Lite).
        """
        models = {label: dict(one.provenance) for label, one in self.measurements.items()}
        hashes = sorted({provenance["study_hash"] for provenance in models.values()})
        study = {"hash": "+".join(hashes)} | ({} if command is None else {"command": command})
        return save_figures(
            self.figures,
            folder,
            tables=self.tables,
            manifest={
                "models": models,
                "notes": list(self.notes),
                "findings": list(self.findings),
                "study": study,
            },
            replace=replace,
            progress=progress,
            beside=beside,
            formats=formats,
        )


# ── the road of every chart ───────────────────────────────────────────────────────────────────────


class RunParts(TypedDict, total=False):
    """How any chart is computed, by name."""

    column: Column  # of a table of prompts; None: the one called prompt, text or messages
    resampling: Resampling
    loading: Loading
    progress: ModelProgress | None
    into: str | Path | RunFolder  # keeps every result: called again, the study goes on from there


class Analysis(ABC):
    """One kind of study: what is measured, and what becomes of the tables."""

    study: AnyStudy

    def check(self, models: Sequence[Candidate], prompts: PromptSource) -> None:  # noqa: B027
        """Refuse what can be refused before any prompt is tokenised."""

    @abstractmethod
    def chart(self, comparison: Comparison) -> Chart:
        """Statistics over prompts, figures, notes and findings."""


def run_analysis(
    analysis: Analysis, models: Any, prompts: Any, parts: Mapping[str, Any], *, skip: bool = False
) -> Chart:
    """`parts`: those of `RunParts` are used, others are the analysis' own.

    `skip`: prompts that can't be measured are left out though no run says so.
    """
    chosen = candidates(models, parts.get("loading") or Loading())
    source = as_prompts(prompts, column=parts.get("column"))
    analysis.check(chosen, source)
    into = None if parts.get("into") is None else RunFolder.of(parts["into"])
    rest = {"progress": parts.get("progress"), "resampling": parts.get("resampling")}
    skip = skip or skips(parts)
    return analysis.chart(compare(chosen, source, analysis.study, into=into, skip=skip, **rest))


def skips(parts: Mapping[str, Any]) -> bool:
    """Whether the run among the parts leaves out prompts that can't be measured."""
    return getattr(parts.get("into"), "bad_rows", "stop") == "skip"


# ── charts of token classes ───────────────────────────────────────────────────────────────────────


class Drawing(TypedDict, total=False):
    """How a chart looks."""

    palette: str | None  # "seed", or "safe" for colour-blind readers
    labels: str | None  # "zero-based" or "one-based" numbers of layers and heads
    width: str | None  # in print: "column", "page", "8.5cm", "3.4in"; None: what the chart needs
    font_size: float | None  # points, in print
    title: str | None  # None: made from what is shown; empty: none
    subtitle: str | None  # None: the caption; empty: none
    y_title: str | None  # of what is measured: the vertical axis, or the colours of a map
    bare: bool | None  # neither title nor subtitle
    label: Mapping[str, str] | None  # class, condition or model → what it is called in the picture
    colour: Mapping[str, str] | None  # the same → "#rrggbb"


def chosen_look(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `Style` among the parts of a chart; wrong words are refused."""
    # `__annotations__` holds a TypedDict's own keys and the inherited ones.
    chosen = {n: parts[n] for n in Drawing.__annotations__ if parts.get(n) is not None}
    Style(**chosen)
    return chosen


def as_drawn(tables: Mapping[str, pa.Table], labels: str | None) -> dict[str, pa.Table]:
    """The tables for sentences, which count layers and heads as the pictures do."""
    return {n: one_based(t) if labels == ONE_BASED else t for n, t in tables.items()}


class Definitions(StudyParts, Drawing, RunParts, total=False):
    """What to measure and how to draw it, by name."""

    top: int | None  # so many of the largest differences between models are listed; None: 5
    compare_heads: bool  # head by head, though the models are unrelated
    like: str | None  # "seed-000": the published chart's own picture, of `shares`


_NO_STUDY = Definitions.__annotations__.keys() - StudyParts.__annotations__.keys()


@checked
def shares(
    models: Any, prompts: Any, *, measure: str = "mass", **parts: Unpack[Definitions]
) -> Chart:
    """How much attention each token class gets, layer by layer, one bar per model.

    `models` is one model or several: references, loaded models, or label → model. `prompts` and the
    definition (`classes`, `policy`, `layers`, `queries`, …) are as for `mindshare.measure`; heads
    are averaged unless `heads` says otherwise. `measure` is one of a class, such as mass, share
    or lift, or one of heads, such as entropy, which needs no classes: see `mindshare.measures`.
    How it looks: `width`, `font_size`, `title`, `y_title`, `label`, `colour`, `bare`, … as in
    `mindshare.figures.Style`.
    """
    parts.setdefault("heads", "mean")
    given, like = liked(parts, "shares")
    return run_analysis(SharesAnalysis.of(measure, given, like=like), models, prompts, given)


@checked
def head_map(
    models: Any,
    prompts: Any,
    *,
    cls: str | None = None,
    measure: str = "mass",
    **parts: Unpack[Definitions],
) -> Chart:
    """One class by layer and head: a map for each model, and for the difference to the first.

    `cls` is the name of the class, if there are several; measures of heads have none. Everything
    else is as for `shares`.
    """
    given, _ = liked(parts, "head_map")
    return run_analysis(HeadMapAnalysis.of(measure, given, chosen=cls), models, prompts, given)


@dataclass(frozen=True)
class ClassAnalysis(Analysis):
    """A measure of token classes, or of heads, summarised over the prompts; models in pairs."""

    study: Study
    measure: Measure
    drawing: dict[str, Any]
    top: int  # differences between two models that are listed
    compare_heads: bool  # though the models are unrelated

    @classmethod
    def of(cls, measure: str, parts: Mapping[str, Any], **fields: Any) -> Self:
        """From what people write; wrong words are refused before any work is done."""
        known = (*at_level("class"), *at_level("head"))
        require_known(measure, known, f"{measure!r} can't be drawn by layer")
        definition = {k: v for k, v in parts.items() if k not in _NO_STUDY}
        chosen, drawing = MEASURES[measure], chosen_look(parts)
        study = build_study(**{"measures": [chosen.statistic], **definition})
        top = TOP if parts.get("top") is None else parts["top"]
        if not (isinstance(top, int) and top >= 1):
            raise SelectionError(f"top={top} lists nothing", allowed="1, 2, 3, …")
        return cls(study, chosen, drawing, top, bool(parts.get("compare_heads")), **fields)

    def __post_init__(self) -> None:
        if self.measure.level == "class" and not self.study.classes:
            raise SelectionError(
                "there is no token class to draw",
                next_step="name at least one, e.g. classes={'hash': '#'} or --class hash='#'",
            )
        if len(self.study.queries) > 1:
            raise SelectionError(
                f"query sets {', '.join(self.study.queries)} are too many for a chart",
                allowed="one at a time",
                next_step="draw each by itself; mindshare.measure takes several",
            )

    def check(self, models: Sequence[Candidate], prompts: PromptSource) -> None:
        del prompts
        check_names(self.drawing, [*self.classes, "other", *(model.label for model in models)])

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.study.classes)

    @property
    def shown(self) -> tuple[str, ...]:
        """The classes that are drawn; none of a measure of heads."""
        return self.classes

    @abstractmethod
    def figures(
        self, comparison: Comparison, summary: pa.Table, contrasts: Mapping[str, pa.Table]
    ) -> list[Figure]: ...

    def chart(self, comparison: Comparison) -> Chart:
        summary = comparison.estimate(self.measure.name)
        contrasts = comparison.contrasts(self.measure.name, heads=self.compare_heads)
        largest = {f"largest_{name}": self._largest(found) for name, found in contrasts.items()}
        measured = comparison.files(self.measure.table, "tokens", "classes")
        tables = {"summary": summary, **contrasts, **largest, **measured}
        return Chart(
            figures=tuple(self.figures(comparison, summary, contrasts)),
            tables=tables,
            measurements=comparison.measurements,
            notes=(*comparison.notes, *self._heads_notes(comparison)),
            findings=self._findings(comparison, tables, ["summary", *contrasts]),
        )

    def _findings(
        self, comparison: Comparison, tables: Mapping[str, pa.Table], over_prompts: Sequence[str]
    ) -> tuple[Sentence, ...]:
        """The answer in a few sentences, which count layers as the pictures do."""
        told = {name: tables[name] for name in over_prompts}
        if "heads" in self.study.mean_over:  # by head, the lift of every cell is too much to ask
            masses = (name for name in tables if name.startswith(f"{self.measure.table}_"))
            told |= {name: tables[name] for name in masses}
        return in_short(as_drawn(told, self.drawing.get("labels")), groups=comparison.groups)

    def _largest(self, contrast: pa.Table) -> pa.Table:
        """The largest differences of the classes that are drawn, whichever their sign."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.shown:
            contrast = contrast.filter(pc.is_in(contrast["class"], value_set=pa.array(self.shown)))
        return ranked(contrast, most=self.top)

    def _heads_notes(self, comparison: Comparison) -> list[str]:
        """Where single heads were measured of models that have none in common."""
        if "heads" in self.study.mean_over or self.compare_heads:
            return []
        return [
            f"{a} and {b} are unrelated (architecture, layers, heads or tokens differ): a head of "
            "one is no head of the other, so layers are compared; --compare-heads compares heads"
            for a, b in comparison.unrelated
        ]

    def _difference_lines(self, name: str, contrast: pa.Table, about: dict[str, str]) -> Figure:
        """Differences by layer."""
        classes = self.shown[:MOST_LINES] or None
        drawing = {k: v for k, v in self.drawing.items() if k not in ("title", "y_title")}
        title = f"difference_in_{self.measure.name}_by_layer_{name}"
        options = LineOptions(name=file_word(title), classes=classes, **drawing)
        return layer_lines(contrast, options=options, about=about)


@dataclass(frozen=True)
class SharesAnalysis(ClassAnalysis):
    """Bars by layer."""

    like: Preset | None = None

    def figures(
        self, comparison: Comparison, summary: pa.Table, contrasts: Mapping[str, pa.Table]
    ) -> list[Figure]:
        totals, about = self._totals(comparison), comparison.about(self.study)
        if self.like is not None:
            return [class_bars(summary, self._as_published(self.like, summary), about=about)]
        width = {"width": "page" if summary.num_rows > _COLUMN_ROWS else "column"}
        options = ClassBarsOptions(**(width | self.drawing))
        lines = [
            self._difference_lines(name, found, about)
            for name, found in contrasts.items()
            if by_layer(found)
        ]
        pair = next(iter(contrasts.values())) if len(contrasts) == 1 else None
        return [class_bars(summary, options, totals=totals, contrast=pair, about=about), *lines]

    def _as_published(self, like: Preset, summary: pa.Table) -> ClassBarsOptions:
        """The layers of the same depth, unless some were chosen."""
        look = like.styled(self.drawing, {name: name for name in self.classes})
        count = 1 + max(summary["layer"].to_pylist())
        layers = None if self.study.layers else like.layers(count)
        return ClassBarsOptions(**look, **like.options, layers=layers)

    def _totals(self, comparison: Comparison) -> pa.Table | None:
        """The sum of the classes, for the whiskers of stacked bars; None: no such sum is drawn."""
        name = self.measure.name
        if not self.measure.additive or name == "share":
            return None
        tables = comparison.tables(self.measure.table)
        sums = {label: total_mass(mass, self.classes, name) for label, mass in tables.items()}
        return comparison.estimate(name, sums)


@dataclass(frozen=True)
class HeadMapAnalysis(ClassAnalysis):
    """Maps by layer and head: the differences first, then each model."""

    chosen: str | None = None  # the class, if it was named

    @property
    def token_class(self) -> str | None:
        """The class that is drawn; None: a measure of heads has none."""
        if self.chosen or self.measure.level == "head":
            return self.chosen
        return self.classes[0]

    @property
    def shown(self) -> tuple[str, ...]:
        return () if self.token_class is None else (self.token_class,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure.level == "head" and self.chosen:
            raise SelectionError(
                f"{self.measure.name} is a head's, and has no class {self.chosen!r}",
                next_step="leave the class out",
            )
        if self.chosen is not None:
            names = [*self.classes, "other"]
            require_known(self.chosen, names, f"there is no class {self.chosen!r}")
        if self.measure.level == "class" and self.chosen is None and len(self.classes) > 1:
            raise SelectionError(
                f"{len(self.classes)} classes are given, and a map shows one",
                next_step=f"choose with --show: {', '.join(self.classes)}",
            )

    def figures(
        self, comparison: Comparison, summary: pa.Table, contrasts: Mapping[str, pa.Table]
    ) -> list[Figure]:
        words = ["head_map", self.measure.name, *filter(None, [self.token_class])]
        about = comparison.about(self.study)

        def draw(content: pa.Table, word: str, model: str | None = None) -> Figure:
            name = "_".join(map(file_word, [*words, word]))
            options = HeadMapOptions(model=model, name=name, **self.drawing)
            return draw_head_map(content, self.token_class, options, about=about)

        differences = [
            self._difference_lines(name, content, about)
            if by_layer(content)
            else draw(content, name)
            for name, content in contrasts.items()
        ]
        return differences + [draw(summary, label, label) for label in comparison.measurements]


def by_layer(contrast: pa.Table) -> bool:
    """Whether it holds the mean over heads of several layers."""
    layers = contrast["layer"].unique()
    means = contrast["head"].null_count == contrast.num_rows
    return bool(means and layers.null_count == 0 and len(layers) > 1)


def total_mass(mass: pa.Table, classes: Sequence[str], measure: str = "mass") -> pa.Table:
    """A `mass` table → the same with one class, `total`: the sum of these, prompt by prompt.

    Its other numbers are null: they are not those of a sum.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = ["prompt", "queries", "layer", "head"]
    named = mass.filter(pc.is_in(mass["class"], value_set=pa.array(list(classes))))
    sums = named.group_by(keys, use_threads=False).aggregate([(measure, "sum")])
    columns: dict[str, Any] = {
        name: pa.nulls(sums.num_rows, mass.schema.field(name).type) for name in mass.column_names
    }
    columns |= {key: sums[key].combine_chunks() for key in keys}
    columns |= {
        "class": pa.repeat("total", sums.num_rows),
        measure: sums[f"{measure}_sum"].combine_chunks().cast(pa.float32()),
    }
    return table("mass", columns, {})
