"""A `response_summary` over heads → one response number by layer, a line for each condition.

Several models: a panel for each, or a line for each if there is one condition. Bands are intervals.
Draws what is in the table and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.figure import Figure
from mindshare.figures.insertion import layer_words
from mindshare.figures.insertion.curves import Curve, CurvePanel, coloured, curve_view
from mindshare.figures.insertion.grid import Grid, row, whole_spec
from mindshare.figures.insertion.legend import Entry, legend_view
from mindshare.figures.insertion.panel_words import broken
from mindshare.figures.insertion.response_measures import MIDDLE, check_measure
from mindshare.figures.insertion.version_words import called, named
from mindshare.figures.insertion.versions import metadata, pick, require
from mindshare.figures.selection import Row, Shown
from mindshare.figures.theme import LABELS, Style, every, text_width
from mindshare.figures.wording import has_intervals

Spec = dict[str, Any]
_HEIGHT = 140


@dataclass(frozen=True)
class LayerLinesOptions(Style):
    """What to draw and how."""

    conditions: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words
    bands: bool = True


@dataclass(frozen=True)
class LayerLines:
    """Everything that decides the chart."""

    shown: Shown
    options: LayerLinesOptions
    about: Mapping[str, str]

    @property
    def conditions(self) -> list[str]:
        return list(dict.fromkeys(self.shown.table["condition"].to_pylist()))

    @property
    def by_model(self) -> bool:
        """A line a model; else a line a condition, and a panel a model."""
        return len(self.conditions) == 1

    @property
    def bands(self) -> bool:
        return self.options.bands and has_intervals(self.shown)

    @property
    def panels(self) -> list[str | None]:
        """Models that have a panel; None: all in one."""
        return [None] if self.by_model else list(self.shown.models)

    def words(self, condition: str) -> str:
        return called(condition, self.options.condition_labels)

    def curves(self, model: str | None) -> tuple[Curve, ...]:
        """The lines of one panel; a line keeps its colour in every panel."""
        names = self.shown.models if self.by_model else self.conditions
        lines: dict[str, list[Row]] = {name: [] for name in names}
        for one in self.shown.rows:
            if model in (None, one["model"]):
                key = one["model"] if self.by_model else one["condition"]
                lines[key].append({**one, "x": one["layer"]})
        shown = {n if self.by_model else self.words(n): rows for n, rows in lines.items()}
        for rows in shown.values():
            rows.sort(key=lambda one: int(one["layer"]))
        return coloured(shown, self.options.colours)


def layer_lines(
    summary: pa.Table,
    measure: str = "retained",
    options: LayerLinesOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One response number, mean over the heads, by layer."""
    options = options or LayerLinesOptions()
    lines = LayerLines(_choose(summary, measure, options), options, about or {})
    title = options.title or layer_words.title(lines)
    description = layer_words.description(lines)
    words = (layer_words.caption(lines), description)
    return Figure(
        name=options.name or layer_words.name(lines),
        spec=whole_spec(list(_views(lines)), options, title=title, words=words),
        table=lines.shown.table,
        title=title,
        definition=layer_words.definition(lines),
        description=description,
    )


def _choose(summary: pa.Table, measure: str, options: LayerLinesOptions) -> Shown:
    check_measure(measure)
    require(summary, "response_summary")
    rows = pick(summary, "response_summary", measure=measure)
    found = Shown(rows, measure, "", metadata(summary))
    found = found.only("condition", options.conditions).only("model", options.models)
    if found.heads != [None] or None in found.layers:
        raise SelectionError(
            "lines by layer need the mean over the heads of each layer, and this table has "
            + ("the mean over the layers" if None in found.layers else "single heads"),
            next_step="mindshare.stats.summarise_response(…, over_heads=True)",
        )
    return found


def _views(lines: LayerLines) -> Iterator[Spec]:
    grid = Grid.of(len(lines.panels), lines.options)
    curves = lines.curves(lines.panels[0])
    if len(curves) > 1:
        yield legend_view([Entry(c.words, "line", c.colour) for c in curves], grid.inner)
    for models in grid.rows(lines.panels):
        yield row([_panel(lines, model, grid, i) for i, model in enumerate(models)])


def _panel(lines: LayerLines, model: str | None, grid: Grid, column: int) -> Spec:
    several = len(lines.panels) > 1
    panel = CurvePanel(
        curves=lines.curves(model),
        x=_x(lines, grid.panel_width),
        size=(grid.panel_width, _HEIGHT),
        words=("layer (0-based)", named(lines.shown.measure)),
        y_title=None if column else named(lines.shown.measure),
        title=tuple(broken(str(model), grid.panel_width + 16)) if several else (),
        reference=MIDDLE.get(lines.shown.measure),
        intervals=lines.bands,
    )
    return curve_view(panel)


def _x(lines: LayerLines, width: float) -> Spec:
    """As many layer numbers as fit without touching."""
    style = lines.options
    layers = [n for n in lines.shown.layers if n is not None]
    low, high = layers[0], layers[-1]
    widest = max(text_width(str(style.number(n))) for n in layers)
    gap = every(width / (high - low + 1) / (widest + 6))
    return {
        "field": "x",
        "type": "quantitative",
        "scale": {"domain": [low - 0.5, high + 0.5], "nice": False, "zero": False},
        "axis": {
            "title": "Layer",
            "values": [n for n in range(low, high + 1) if style.number(n) % gap == 0],
            "labelExpr": f"datum.value + {LABELS[style.labels]}",
            "labelOverlap": False,
            "grid": False,
        },
    }
