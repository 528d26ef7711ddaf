"""A `summary` table → bars by layer, one bar per model.

Measures that add up over the classes are stacked, with one whisker for the total; others have a row
of bars per class, each bar with its own whisker. Two shares, which sum to 1, become lines. Few
bars: one group per layer, the models' names under their bars. Many bars, or one model: the layers
along the axis, one row per model. Draws what is in the tables and computes nothing but where a
segment starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.facts.words import PAIR, listed
from mindshare.figures.captions import (
    LISTED,
    Encoding,
    axis_title,
    axis_words,
    heads_words,
    summary_figure,
)
from mindshare.figures.colours import INK, PAPER
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.lines import LineOptions, share_lines
from mindshare.figures.selection import Row, Selection, select
from mindshare.figures.theme import (
    Spec,
    Style,
    channel,
    coloured,
    layer,
    legend,
    name_axis,
    number_axis,
    shortened,
    text_width,
    tooltip,
)
from mindshare.figures.titles import summary_title
from mindshare.naming import UNNAMED

COLUMNS = ("model", "layer", "head", "class", "mean", "low", "high", "n_prompts")
_AXIS_ROOM = 62  # pixels for the y axis and its title
_ROW_LABEL = 20  # pixels for the labels of rows, at the right
_GAP = 6  # pixels between the groups
_NARROWEST = 16  # pixels of a bar with a name under it
_HEIGHTS = {1: 190, 2: 120, 3: 96}  # pixels of a row, by the number of rows
_MOST_ROWS = 24


@dataclass(frozen=True)
class ClassBarsOptions(Style):
    """What to draw and how."""

    class_order: tuple[str, ...] | None = None  # bottom to top; None: the first rule on top
    layers: tuple[int, ...] | None = None
    whiskers: bool = True
    first_colour: int = 0  # of the palette: colours before it are those of other classes


@redrawable(ClassBarsOptions)
def class_bars(
    summary: pa.Table,
    options: ClassBarsOptions | None = None,
    *,
    totals: pa.Table | None = None,
    contrast: pa.Table | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Token classes by layer and model; `about` adds to the definition (classes, heads, data).

    `totals` is a summary of the classes' sum, whose intervals stacked bars show: that of a sum is
    not in the intervals of its parts. `contrast` holds the differences between two models, of which
    the title tells the largest significant one. A measure of heads (entropy, …) has no classes.
    """
    options = options or ClassBarsOptions()
    missing = [name for name in COLUMNS if name not in summary.column_names]
    if missing:
        raise SelectionError(f"this table has no column {missing[0]!r}, so it can't be drawn")

    def selected(table: pa.Table) -> Selection:
        return select(table, options, about).only("layer", options.layers)

    data = selected(summary)
    order = _class_order(data, options)
    sums = [] if totals is None else selected(totals).rows
    bars = _ClassBars(data.only("class", order), options, order, sums, contrast)
    if len(bars.panels) > _MOST_ROWS:
        raise SelectionError(
            f"{len(bars.panels)} rows ({' × '.join(bars.split)}) are too many for one chart",
            allowed=f"up to {_MOST_ROWS}",
            next_step="choose fewer heads, classes or models, or draw a head map",
        )
    if bars.is_line:
        rest, top = order
        style = {field.name: getattr(options, field.name) for field in fields(Style)}
        style |= {"name": options.name or "class_bars_share", "bands": options.whiskers}
        lines = LineOptions(**style)
        return share_lines(data.only("class", [top]), lines, bars.label(rest), bars.differences)
    table = bars.data.table
    if sums and bars.whiskers and bars.stacked and len(order) > 1:
        table = pa.concat_tables([table, selected(totals).table.cast(table.schema)])
    return summary_figure(_view(bars), bars.data, _encoding(bars), table=table)


def _class_order(data: Selection, options: ClassBarsOptions) -> list[str | None]:
    """Bottom to top; by default the named classes, the first rule on top, where legends begin."""
    classes = data.values("class")
    if classes == [None]:
        return [None]
    named = [name for name in reversed(classes) if name not in UNNAMED]
    order: list[str | None] = list(options.class_order or named or classes)
    if len(set(order)) < len(order):
        raise SelectionError(f"class_order names a class twice: {', '.join(map(str, order))}")
    return order


@dataclass(frozen=True)
class _ClassBars:
    """The rows to draw, and the layout that follows from them."""

    data: Selection
    options: ClassBarsOptions
    order: list[str | None]  # classes, bottom to top
    totals: list[Row]  # sums over the classes, with their intervals
    contrast: pa.Table | None  # between two models

    @property
    def differences(self) -> pa.Table | None:
        """Between the models, of the classes that are drawn; of shares that of the top one."""
        if self.contrast is None:
            return None
        drawn = self.order[1:] if self.is_line else self.order
        return select(self.contrast, self.options).only("class", drawn).table

    @property
    def layers(self) -> list[int]:
        """Single ones; none of a mean over them, or where heads were hidden from together."""
        return [n for n in self.data.layers if n is not None]

    @property
    def stacked(self) -> bool:
        """Only means over the same prompts add up."""
        return self.data.measure.additive and not self.some_absent

    @cached_property
    def some_absent(self) -> bool:
        return len(self.order) > 1 and any(row.get("n_absent") for row in self.data.rows)

    @property
    def is_share(self) -> bool:
        """Every stack reaches 1."""
        return self.data.measure.name == "share"

    @property
    def is_line(self) -> bool:
        """Two shares sum to 1: by layer, one line per model says both."""
        by_layer = self.data.heads == [None] and len(self.data.layers) > 1
        two = self.is_share and self.stacked and len(self.order) == 2
        return two and by_layer and None not in self.data.layers

    @cached_property
    def group_width(self) -> float:
        """Pixels of a layer's group of bars, one per model with its name below."""
        labelled = len(self.data.heads) > 1 or (not self.stacked and len(self.order) > 1)
        row_label = _ROW_LABEL if labelled else 0
        # The first name, if slanted, may reach out to the left of the y axis.
        widest = max(
            text_width(name) for name in shortened(list(map(self.options.word, self.data.models)))
        )
        room = self.options.pixels - _AXIS_ROOM - row_label - max(0.0, widest * 0.71 - _AXIS_ROOM)
        return (room - _GAP * (len(self.data.layers) - 1)) / len(self.data.layers)

    @cached_property
    def grouped(self) -> bool:
        """A group per layer, else a row per model."""
        models = len(self.data.models)
        return models > 1 and self.group_width / models >= _NARROWEST

    @property
    def width(self) -> float:
        """Pixels of one group, or of one row."""
        return round(self.group_width, 1) if self.grouped else self.options.pixels - _AXIS_ROOM

    @property
    def height(self) -> float:
        """Of a row: of several, each has a title along it."""
        usual = _HEIGHTS.get(len(self.panels), 76)
        return max(usual, min(round(text_width(axis_title(self.data))), _HEIGHTS[1]))

    @cached_property
    def split(self) -> tuple[str, ...]:
        """The columns whose values make a row of bars."""
        several = {
            "head": len(self.data.heads) > 1,
            "class": not self.stacked and len(self.order) > 1,
            "model": not self.grouped and len(self.data.models) > 1,
        }
        return tuple(name for name, wanted in several.items() if wanted)

    @cached_property
    def panels(self) -> list[str]:
        """The labels of the rows of bars, from the top."""
        order: dict[str, list[Any]] = {
            "head": self.data.heads,
            "class": self.data.values("class"),
            "model": self.data.models,
        }
        rows = sorted(self.data.rows, key=lambda r: [order[n].index(r[n]) for n in self.split])
        return list(dict.fromkeys(self.panel(row) for row in rows))

    def panel(self, row: Row) -> str:
        labels = {"class": self.label(row["class"]), "model": self.options.word(row["model"])}
        if row["head"] is not None:
            labels["head"] = f"Head {self.options.number(row['head'])}"
        return " · ".join(labels[name] for name in self.split)

    def label(self, name: str | None) -> str:
        return "" if name is None else self.options.word(name)

    @cached_property
    def whiskers(self) -> list[Row]:
        """Rows whose intervals start where the bar does: each bar's own, or the total's."""
        rows = self.data.rows
        if self.stacked and len(self.order) > 1:
            # Two shares sum to 1, so the interval of the lower one is that of the line between.
            lower = [row for row in rows if row["class"] == self.order[0]]
            rows = self.totals if not self.is_share else lower if len(self.order) == 2 else []
        return [row for row in rows if row["low"] is not None] if self.options.whiskers else []


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _view(bars: _ClassBars) -> Spec:
    place = {name: i for i, name in enumerate(bars.order)}  # from the bottom; a total is on top
    values = [
        {name: row[name] for name in COLUMNS}
        | bars.options.place(row)
        | {"kind": kind, "panel": bars.panel(row), "order": place.get(row["class"], len(place))}
        for kind, rows in (("bar", bars.data.drawn), ("whisker", bars.whiskers))
        for row in rows
    ]
    inner: Spec = {"width": bars.width, "height": bars.height, "layer": _layers(bars)}
    if facet := _facet(bars):
        inner = {"facet": facet, "spacing": {"row": 14, "column": _GAP}, "spec": inner}
    return {"data": {"values": values}, **inner}


def _facet(bars: _ClassBars) -> Spec:
    facet: Spec = {}
    if bars.grouped:
        label = f"isValid(datum.value) ? 'Layer ' + datum.value : {json.dumps(_unlayered(bars))}"
        header = {"labelOrient": "bottom", "labelExpr": label, "labelPadding": 4, "title": None}
        facet["column"] = channel("layer", "ordinal", header=header)
    if len(bars.panels) > 1:
        # Beside the rows if there are columns too: above, the label would stand over each cell.
        beside = {"labelOrient": "right", "labelAngle": 90, "labelPadding": 6}
        above = {"labelOrient": "top", "labelAnchor": "start", "labelPadding": 2}
        header = {"title": None, **(beside if facet else above)}
        facet["row"] = channel("panel", "nominal", sort=bars.panels, header=header)
    return facet


def _layers(bars: _ClassBars) -> list[Spec]:
    layers = [_segments(bars)]
    neutral = bars.data.measure.neutral
    if neutral is not None and not bars.stacked:
        dashed: Spec = {"strokeDash": [4, 3], "color": INK, "strokeWidth": 0.9}
        layers.append(layer("rule", {"y": {"datum": neutral}}, **dashed))
    if bars.whiskers:
        encoding: Spec = {"x": _x(bars), "y": channel("low"), "y2": {"field": "high"}}
        encoding["tooltip"] = _tooltip(bars, total=bars.stacked)
        only = "datum.kind === 'whisker'"
        layers.append(layer("rule", encoding, where=only, color=INK, strokeWidth=1.4))
    return layers


def _segments(bars: _ClassBars) -> Spec:
    stack: list[Spec] = [{"calculate": "0", "as": "from"}, {"calculate": "datum.mean", "as": "to"}]
    if bars.stacked:
        sort = [{"field": "order", "order": "ascending"}]
        groups = ["panel", "layer", "model"]
        stack = [{"stack": "mean", "groupby": groups, "sort": sort, "as": ["from", "to"]}]
    axis = {"title": axis_title(bars.data), "tickCount": 5 if len(bars.panels) == 1 else 3}
    domain: Spec = {"scale": {"domain": [0, 1]}} if bars.is_share else {}
    return {
        "transform": [{"filter": "datum.kind === 'bar'"}, *stack],
        # White edges keep neighbours apart in grey print.
        "mark": {"type": "bar", "stroke": PAPER, "strokeWidth": 0.8 if bars.stacked else 0},
        "encoding": {
            "x": _x(bars),
            "y": channel("to", axis=axis, **domain),
            "y2": {"field": "from"},
            "color": _colour(bars),
            "tooltip": _tooltip(bars),
        },
    }


def _x(bars: _ClassBars) -> Spec:
    if bars.grouped:
        axis = name_axis(bars.data.models, bars.width / len(bars.data.models), bars.options)
    elif bars.layers:
        room = bars.width / len(bars.layers)
        axis = {"title": "Layer", **number_axis(bars.layers, room, bars.options)}
    else:
        axis = {"title": None, "labelExpr": json.dumps(_unlayered(bars)), "labelAngle": 0}
    scale = {"paddingInner": 0.2, "paddingOuter": 0.1}
    if bars.grouped:
        return channel("model", "ordinal", sort=bars.data.models, scale=scale, axis=axis)
    return channel("layer", "ordinal", sort="ascending", scale=scale, axis=axis)


def _unlayered(bars: _ClassBars, *, most: int = PAIR) -> str:
    """What stands below a bar that is of no single layer; so many heads are named."""
    whole = bars.data.layers == bars.data.heads == [None]
    return heads_words(bars.data, most=most) if whole else "mean of the layers"


def _colour(bars: _ClassBars) -> Spec:
    if bars.order == [None]:
        return {"value": bars.options.colours.series[0]}
    colours = bars.data.class_colours(first=bars.options.first_colour)
    labels = {name: bars.label(name) for name in colours}
    shown = legend(labels, bars.options.pixels) if bars.stacked else None  # else rows are named
    return coloured("class", colours, shown)


def _tooltip(bars: _ClassBars, *, total: bool = False) -> list[Spec]:
    texts = {"model": "model", "layer": "layer"}
    texts |= {} if total or bars.order == [None] else {"class": "class"}
    mean = f"{bars.data.measure.word}, total" if total else bars.data.measure.word
    return tooltip(texts, {"mean": mean, "low": "low", "high": "high", "n_prompts": "prompts"})


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _encoding(bars: _ClassBars) -> Encoding:
    data, labels = bars.data, [bars.label(name) for name in bars.order]
    neutral = data.measure.neutral
    several = len(bars.order) > 1
    whose = "the total" if bars.stacked and several else "each bar"
    if bars.is_share and len(bars.order) == 2:
        whose = f"the share of {labels[0]}"
    layers = axis_words("layer", data.layers, bars.options)
    if not bars.layers:
        layers = _unlayered(bars, most=LISTED)
    axes = f"Horizontal: {layers}, one bar per model; vertical: from 0"
    if bars.order != [None]:
        stack = f". Each bar stacks, from the bottom: {listed(labels)}"
        axes += stack if bars.stacked else f". A row per token class: {listed(labels[::-1])}"
    if neutral is not None and not bars.stacked:
        axes += f". A dashed line marks {neutral:g}"
    why = "is over other prompts for other classes" if bars.some_absent else "does not add up"
    unstacked = f"{data.measure.title} {why}, so bars are not stacked"
    return Encoding(
        name=["class_bars", data.measure.name],
        title=_title(bars),
        kind="Stacked bars" if bars.stacked and several else "Bars",
        axes=axes,
        series=_series(bars),
        interval="Whisker" if bars.whiskers else "",
        whose=whose if bars.whiskers else "",
        facts=[unstacked if several and not bars.stacked else None],
    )


def _title(bars: _ClassBars) -> str:
    """Of two models, what the findings say; else where the bars are highest, if it can be told."""
    data = bars.data
    heights = bars.totals if len(bars.order) > 1 else data.drawn
    by = "layer" if bars.order == [None] else "token class" + " and layer" * bool(bars.layers)
    pair = len(data.models) == 2 and bars.order != [None]
    if bars.is_share or not bars.stacked or pair or "head" in bars.split:
        heights = [] if bars.order != [None] else data.drawn
    return summary_title(data, heights, by=by, differences=bars.differences)


def _series(bars: _ClassBars) -> dict[str, list[Row]]:
    """The bars of each model by class, and their totals."""
    series: dict[str, list[Row]] = {}
    for model in bars.data.models:
        for name in bars.order[::-1]:
            label = f"{model}, {bars.label(name)}" if name else model
            keys = (model, name)
            series[label] = [r for r in bars.data.drawn if (r["model"], r["class"]) == keys]
        if totals := [row for row in bars.totals if row["model"] == model]:
            series[f"{model}, total"] = totals
    return series
