"""A `summary` table → bars of token classes by layer, one bar a model.

Few bars: one group a layer, the models' names under their bars. Many bars, or one model: the layers
along the axis, one row a model. Measures that add up over classes are stacked; density and lift do
not add up, so each class gets a row of its own. Draws what is in the table and computes nothing but
where a segment starts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mindshare.figures import bar_words, wording
from mindshare.figures.bar_layout import panel, quoted
from mindshare.figures.bars import COLUMNS, Bars, ClassBarsOptions, choose_bars
from mindshare.figures.figure import Figure
from mindshare.figures.selection import Row
from mindshare.figures.theme import (
    INK,
    SCHEMA,
    class_colours,
    config,
    heading,
    text_width,
)

Spec = dict[str, Any]


def class_bars(
    summary: pa.Table,
    options: ClassBarsOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Token classes by layer and model; `about` adds to the definition (classes, heads, data)."""
    bars = choose_bars(summary, options or ClassBarsOptions(), about or {})
    title = bars.options.title or bar_words.title(bars)
    description = bar_words.description(bars)
    return Figure(
        name=bars.options.name or f"class_bars_{bars.shown.measure}",
        spec=_spec(bars, title, description),
        table=bars.shown.table,
        title=title,
        definition=bar_words.definition(bars),
        description=description,
    )


def _spec(bars: Bars, title: str, description: str) -> Spec:
    plan, facet = bars.layout, _facet(bars)
    inner: Spec = {
        "width": plan.cell_width,
        "height": plan.cell_height,
        "transform": _transform(bars),
        "layer": _layers(bars),
    }
    spacing = {"spacing": {"row": 14, "column": plan.gap}}
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": heading(title, bar_words.caption(bars), bars.options.pixels),
        "data": {"values": _values(bars)},
        **({"facet": facet, **spacing, "spec": inner} if facet else inner),
        "config": config(),
    }


def _values(bars: Bars) -> list[Row]:
    """Only the columns that are drawn; the numbers are the table's own."""
    return [
        {name: row[name] for name in COLUMNS}
        | {
            "panel": panel(row, bars.layout.split_by, bars.options, bars.label),
            "order": bars.order.index(row["class"]),
        }
        for row in bars.shown.rows
        if row["mean"] is not None  # where no prompt has the class there is nothing to draw
    ]


def _facet(bars: Bars) -> Spec:
    plan = bars.layout
    facet: Spec = {}
    if plan.along == "model":
        header = {"labelOrient": "bottom", "labelExpr": plan.layer_expression, "labelPadding": 4}
        facet["column"] = {"field": "layer", "type": "ordinal", "header": {"title": None, **header}}
    if plan.rows > 1:
        # Beside the rows if there are columns too: above, the label would stand over each cell.
        beside = {"labelOrient": "right", "labelAngle": 90, "labelPadding": 6}
        above = {"labelOrient": "top", "labelAnchor": "start", "labelPadding": 2}
        header = {"title": None, **(beside if facet else above)}
        panels = list(plan.panels)
        facet["row"] = {"field": "panel", "type": "nominal", "sort": panels, "header": header}
    return facet


def _transform(bars: Bars) -> list[Spec]:
    """Where each segment starts and ends."""
    if not bars.stacked:
        return [{"calculate": "0", "as": "from"}, {"calculate": "datum.mean", "as": "to"}]
    sort = [{"field": "order", "order": "ascending"}]
    groups = ["panel", "layer", "model"]
    return [{"stack": "mean", "groupby": groups, "sort": sort, "as": ["from", "to"]}]


def _layers(bars: Bars) -> list[Spec]:
    bar = {"type": "bar", "stroke": "white", "strokeWidth": 0.5}
    layers: list[Spec] = [{"mark": bar, "encoding": _bar(bars)}]
    if bars.whiskers:
        layers.append(_whisker(bars))
    if bars.shown.measure == "lift":
        rule = {"type": "rule", "color": INK, "strokeDash": [3, 2], "strokeWidth": 1}
        layers.append({"mark": rule, "encoding": {"y": {"datum": 1}}})
    return layers


def _bar(bars: Bars) -> Spec:
    domain = {"scale": {"domain": [0, 1]}} if bars.shown.measure == "share" else {}
    ticks = 5 if bars.layout.rows == 1 else 3
    axis = {"title": _axis_title(bars), "tickCount": ticks}
    return {
        "x": _x(bars),
        "y": {"field": "to", "type": "quantitative", "axis": axis, **domain},
        "y2": {"field": "from"},
        "color": {
            "field": "class",
            "type": "nominal",
            "scale": _colours(bars),
            "legend": _legend(bars),
        },
        "tooltip": _tooltip(bars),
    }


def _x(bars: Bars) -> Spec:
    plan = bars.layout
    sort = bars.shown.models if plan.along == "model" else "ascending"
    scale = {"paddingInner": 0.2, "paddingOuter": 0.1}
    axis = dict(plan.axis)
    return {"field": plan.along, "type": "ordinal", "sort": sort, "scale": scale, "axis": axis}


def _whisker(bars: Bars) -> Spec:
    """Each class's own interval at the end of its segment; side by side so that none overlap."""
    order = {"domain": bars.order, "paddingOuter": 0.4}
    beside = {"xOffset": {"field": "class", "type": "nominal", "scale": order}}
    several = bars.stacked and len(bars.order) > 1
    width = 1.2 if bars.layout.bar_width > 4 * len(bars.order) else 0.6
    return {
        "transform": [
            {"filter": f"isValid(datum.low){_but_the_top(bars)}"},
            {"calculate": "datum.from + datum.low", "as": "whisker_low"},
            {"calculate": _whisker_end(bars), "as": "whisker_high"},
        ],
        "mark": {"type": "rule", "color": INK, "strokeWidth": width},
        "encoding": {
            "x": _x(bars),
            **(beside if several else {}),
            "y": {"field": "whisker_low", "type": "quantitative"},
            "y2": {"field": "whisker_high"},
        },
    }


def _whisker_end(bars: Bars) -> str:
    end = "datum.from + datum.high"
    return f"min(1, {end})" if bars.shown.measure == "share" else end


def _but_the_top(bars: Bars) -> str:
    """A segment that ends at 1 by definition has no whisker: it would pass 1."""
    return f" && datum.order < {len(bars.order) - 1}" if bars.ends_at_1 else ""


def _tooltip(bars: Bars) -> list[Spec]:
    words = {"model": "model", "layer": "layer (0-based)", "class": "class"}
    numbers = {"mean": bars.shown.measure, "low": "low", "high": "high"}
    return [
        *({"field": name, "type": "nominal", "title": text} for name, text in words.items()),
        *(
            {"field": n, "type": "quantitative", "title": t, "format": ".4~g"}
            for n, t in numbers.items()
        ),
        {"field": "n_prompts", "type": "quantitative", "title": "prompts"},
    ]


def _axis_title(bars: Bars) -> str:
    """The measure, and how it was reduced if there is room; the caption says it in any case."""
    measure = bars.shown.measure.capitalize()
    heads = wording.heads_word(bars.shown, bars.options, bars.about)
    queries = f"queries: {bars.shown.queries}"
    long = (f"{measure} ({queries}; {heads})", f"{measure} ({queries})")
    return next((t for t in long if text_width(t) <= bars.layout.cell_height), measure)


def _colours(bars: Bars) -> Spec:
    style = bars.options
    colours = class_colours(bars.shown.classes, style.colours, first=style.first_colour)
    return {"domain": list(colours), "range": list(colours.values())}


def _legend(bars: Bars) -> Spec | None:
    """On top, in the order of the rules, in as many columns as fit."""
    if not bars.stacked:
        return None  # the rows are named
    names = [bars.label(name) for name in bars.shown.classes]
    widest = max(text_width(name) for name in names) + 28
    rows = math.ceil(len(names) * widest / bars.options.pixels)
    pairs = zip(bars.shown.classes, names, strict=True)
    words = "".join(f"datum.label === {quoted(a)} ? {quoted(b)} : " for a, b in pairs)
    return {
        "orient": "top",
        "title": None,
        "columns": math.ceil(len(names) / rows),
        "labelLimit": 0,
        "labelExpr": f"{words}datum.label",
        "offset": 6,
    }
