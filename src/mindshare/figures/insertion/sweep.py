"""A `response_summary` over heads and layers → how responses change with what is inserted.

A panel for each measure. Where lengths differ, the number of inserted tokens lies along the axis
and every inserted text and place has a line; else what was inserted, or where, is a category. Draws
what is in the table and computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from mindshare.figures.figure import Figure
from mindshare.figures.insertion import sweep_words
from mindshare.figures.insertion.curves import CurvePanel, coloured, curve_view
from mindshare.figures.insertion.grid import Grid, row, whole_spec
from mindshare.figures.insertion.legend import Entry, legend_view
from mindshare.figures.insertion.response_measures import MIDDLE
from mindshare.figures.insertion.sweep_points import (
    MEASURES,
    Conditions,
    Sweep,
    SweepOptions,
    choose_points,
    sweep_table,
)
from mindshare.figures.insertion.version_words import named
from mindshare.figures.theme import text_width

Spec = dict[str, Any]
_HEIGHT = 120
_ALONG = {"tokens": "inserted tokens", "unit": "inserted", "place": "place"}


def sweep_curves(
    summary: pa.Table,
    conditions: Conditions,
    options: SweepOptions | None = None,
    *,
    measures: Sequence[str] = MEASURES,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Response numbers, mean over heads and layers, by length, text or place of the insertion."""
    options = options or SweepOptions()
    sweep = choose_points(summary, conditions, options, measures=measures, about=about or {})
    title = options.title or sweep_words.title(sweep)
    description = sweep_words.description(sweep)
    words = (sweep_words.caption(sweep), description)
    return Figure(
        name=options.name or "sweep",
        spec=whole_spec(list(_views(sweep)), options, title=title, words=words),
        table=sweep_table(sweep),
        title=title,
        definition=sweep_words.definition(sweep),
        description=description,
    )


def _views(sweep: Sweep) -> Iterator[Spec]:
    grid = Grid.of(len(sweep.measures), sweep.options, most=sweep.options.columns)
    curves = coloured(sweep.lines(sweep.measures[0]), sweep.options.colours)
    if len(curves) > 1:
        yield legend_view([Entry(c.words, "line", c.colour) for c in curves], grid.inner)
    for measures in grid.rows(sweep.measures):
        yield row([_panel(sweep, measure, grid) for measure in measures])


def _panel(sweep: Sweep, measure: str, grid: Grid) -> Spec:
    panel = CurvePanel(
        curves=coloured(sweep.lines(measure), sweep.options.colours),
        x=_x(sweep, grid.panel_width),
        size=(grid.panel_width, _HEIGHT),
        words=(_ALONG[sweep.along], named(measure)),
        title=(named(measure),),
        reference=MIDDLE.get(measure),
        intervals=sweep.has_intervals,
    )
    return curve_view(panel)


def _x(sweep: Sweep, width: float) -> Spec:
    if sweep.along != "tokens":
        return _categories(sweep.units if sweep.along == "unit" else sweep.places, width)
    lengths = sorted({one.tokens for one in sweep.inserted.values()})
    edge = (lengths[-1] - lengths[0]) * 0.04 or 1
    axis = {"title": "Inserted tokens", "tickCount": max(2, round(width / 40)), "grid": False}
    axis |= {"format": ",d", "tickMinStep": 1}
    scale = {"domain": [lengths[0] - edge, lengths[-1] + edge], "nice": False, "zero": False}
    return {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}


def _categories(names: Sequence[str], width: float) -> Spec:
    """Names level if they fit, else slanted."""
    level = max(text_width(name) for name in names) <= width / len(names) - 4
    slanted: Spec = {
        "labelAngle": -40,
        "labelAlign": "right",
        "labelBaseline": "top",
        "labelOffset": -3,
    }
    axis: Spec = {
        "title": None,
        "labelLimit": 0,
        "labelOverlap": False,
        "ticks": False,
        "grid": False,
    }
    axis |= {"labelAngle": 0} if level else {**slanted, "labelPadding": 5}
    scale = {"paddingInner": 0.2, "paddingOuter": 0.1}
    return {"field": "x", "type": "nominal", "sort": list(names), "scale": scale, "axis": axis}
