"""The doors: `shares` draws token classes by layer, `head_map` one class by layer and head.

Both compare models on the same prompts, and return a `Chart`. What is measured is a `Study`; how it
is drawn are the words in `Drawing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from mindshare.charts.candidates import Loading, candidates
from mindshare.charts.chart import Chart
from mindshare.charts.comparison import Comparison, Progress, compare
from mindshare.errors import SelectionError, nearest
from mindshare.figures import ClassBarsOptions, Figure, HeadMapOptions, class_bars
from mindshare.figures import head_map as draw_head_map
from mindshare.naming import file_word
from mindshare.stats import MEASURES, Resampling, summarise
from mindshare.study import Into, Study, as_prompts, build_study
from mindshare.study.study import Definition

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMN_ROWS = 60  # rows of a summary whose bars stay legible at column width


class Drawing(TypedDict, total=False):
    """How a chart looks."""

    palette: str  # "seed", or "safe" for colour-blind readers
    labels: str  # "zero-based" or "one-based" numbers of layers and heads
    width: str | None  # "column" or "page"; None: what the bars need
    title: str | None


class Definitions(Definition, Drawing, total=False):
    """What to measure and how to draw it, by name."""

    resampling: Resampling
    loading: Loading
    progress: Progress
    into: str | Path | Into  # keeps every answer: called again, the study goes on from there


@dataclass(frozen=True)
class _Asked:
    """The parts of a call, sorted out."""

    comparison: Comparison
    study: Study
    drawing: dict[str, Any]
    resampling: Resampling
    measure: str

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.study.classes)

    @property
    def labels(self) -> list[str]:
        return list(self.comparison.measurements)

    def summary(self) -> pa.Table:
        return summarise(
            self.comparison.masses,
            measure=self.measure,
            options=self.resampling,
            groups=self.comparison.groups,
        )

    def contrasts(self) -> dict[str, pa.Table]:
        """`B_minus_A`: each further model minus the first."""
        return {
            f"{file_word(b)}_minus_{file_word(a)}": self.comparison.contrast(
                a, b, measure=self.measure, options=self.resampling
            )
            for a, b in self.comparison.pairs
        }

    def chart(self, figures: Sequence[Figure], summary: pa.Table) -> Chart:
        own = {
            f"{name}_{file_word(label)}": found.table(name)
            for name in ("mass", "tokens", "classes")
            for label, found in self.comparison.measurements.items()
        }
        return Chart(
            figures=tuple(figures),
            tables={"summary": summary, **self.contrasts(), **own},
            measurements=self.comparison.measurements,
            notes=self.comparison.notes,
        )


def shares(
    models: Any, prompts: Any, *, measure: str = "mass", **parts: Unpack[Definitions]
) -> Chart:
    """How much attention each token class gets, layer by layer, one bar a model.

    `models` is one model or several: references, loaded models, or label → model. `prompts` and the
    definition (`classes`, `policy`, `layers`, `queries`, …) are as for `mindshare.measure`; heads
    are averaged unless `heads` says otherwise. `measure` is mass, share, density, expected or lift.
    Drawing: `palette`, `labels`, `width`, `title`.
    """
    parts.setdefault("heads", "mean")
    asked = _ask(models, prompts, measure, parts)
    summary = asked.summary()
    width = {"width": "page" if summary.num_rows > _COLUMN_ROWS else "column"}
    options = ClassBarsOptions(class_order=asked.classes, **(width | asked.drawing))
    return asked.chart([class_bars(summary, options, about=_about(asked))], summary)


def head_map(
    models: Any, prompts: Any, *, cls: str, measure: str = "mass", **parts: Unpack[Definitions]
) -> Chart:
    """One class by layer and head: a map for each model, and for the difference to the first.

    `cls` is the name of the class; everything else is as for `shares`.
    """
    asked = _ask(models, prompts, measure, parts, shown=cls)
    summary = asked.summary()
    about = _about(asked)

    def draw(table: pa.Table, *words: str, model: str | None = None) -> Figure:
        options = HeadMapOptions(model=model, name=_name(*words), **asked.drawing)
        return draw_head_map(table, cls, options, about=about)

    own = [draw(summary, measure, cls, label, model=label) for label in asked.labels]
    differences = [draw(t, measure, cls, name) for name, t in asked.contrasts().items()]
    return asked.chart([*differences, *own], summary)


def _ask(
    models: Any, prompts: Any, measure: str, parts: Mapping[str, Any], *, shown: str | None = None
) -> _Asked:
    """Refuse what can't be drawn, then measure."""
    if measure not in MEASURES:
        raise SelectionError(
            f"{measure!r} can't be drawn by class{nearest(measure, MEASURES)}",
            allowed=", ".join(MEASURES),
        )
    drawing = {k: v for k, v in parts.items() if k in Drawing.__annotations__ and v is not None}
    others = ("resampling", "loading", "progress", "into")
    defined = {
        k: v for k, v in parts.items() if k not in Drawing.__annotations__ and k not in others
    }
    study = build_study(**{"measures": ["mass"], **defined})
    if not study.classes:
        raise SelectionError(
            "there is no token class to draw",
            next_step="name at least one, e.g. classes={'hash': '#'} or --class hash='#'",
        )
    names = [*dict(study.classes), "other"]
    if shown is not None and shown not in names:
        raise SelectionError(
            f"there is no class {shown!r}{nearest(shown, names)}", allowed=", ".join(names)
        )
    ClassBarsOptions(**drawing)  # a wrong word is refused before any work is done
    comparison = compare(
        candidates(models, parts.get("loading") or Loading()),
        as_prompts(prompts),
        study,
        progress=parts.get("progress"),
        into=None if parts.get("into") is None else Into.of(parts["into"]),
    )
    return _Asked(comparison, study, drawing, parts.get("resampling") or Resampling(), measure)


def _about(asked: _Asked) -> dict[str, str]:
    facts = {
        label: f"{found.provenance['model']['name']} {found.provenance['model']['fingerprint']}"
        for label, found in asked.comparison.measurements.items()
    }
    models = "; ".join(f"{label} = {who}" for label, who in facts.items())
    return {"models": models, "study": asked.study.hash}


def _name(*words: str) -> str:
    return "_".join(file_word(word) for word in ("head_map", *words))
