"""A `summary` or `contrast` table → a map of layers and heads, one token class.

A summary gives how much (one model, light to dark from 0); a contrast gives how much more or less
(blue, white at 0, red), with a dot where the difference survives the correction. Layer 0 is at the
bottom. Draws what is in the table and computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from mindshare.figures import map_words
from mindshare.figures.figure import Figure
from mindshare.figures.heads import HeadMapOptions, Heads, choose_heads
from mindshare.figures.theme import (
    INK,
    LABEL,
    LABELS,
    SCHEMA,
    Style,
    config,
    every,
    heading,
    text_width,
)

Spec = dict[str, Any]
_AXIS_ROOM = 44  # for the y axis and its title
_WIDEST, _HIGHEST, _LOWEST, _TALLEST = 30, 22, 7, 330  # of a cell; of the whole map


def head_map(
    table: pa.Table,
    token_class: str,
    options: HeadMapOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One class in every head of one model, or the difference between two models."""
    heads = choose_heads(table, token_class, options or HeadMapOptions())
    title = heads.options.title or map_words.title(heads)
    description = map_words.description(heads)
    return Figure(
        name=heads.options.name or map_words.name(heads),
        spec=_spec(heads, title, (map_words.caption(heads, about or {}), description)),
        table=heads.shown.table,
        title=title,
        definition=map_words.definition(heads, about or {}),
        description=description,
    )


def _spec(heads: Heads, title: str, words: tuple[str, str]) -> Spec:
    caption, description = words
    size = _Size.of(heads)
    view = {"stroke": "#bbbbbb", "fill": "#ececec"}  # shows where there is no number
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": heading(title, caption, heads.options.pixels),
        "data": {"values": _values(heads)},
        "width": size.cell_width * len(heads.shown.heads),
        "height": size.cell_height * len(heads.shown.layers),
        "view": view,
        "encoding": _axes(heads, size),
        "layer": _layers(heads, size),
        "config": config(),
    }


@dataclass(frozen=True)
class _Size:
    cell_width: float
    cell_height: float

    @classmethod
    def of(cls, heads: Heads) -> _Size:
        room = heads.options.pixels - _AXIS_ROOM
        high = _TALLEST / len(heads.shown.layers)
        return cls(
            cell_width=round(min(_WIDEST, room / len(heads.shown.heads)), 2),
            cell_height=round(max(_LOWEST, min(_HIGHEST, high)), 2),
        )


def _values(heads: Heads) -> list[Spec]:
    """Only the columns that are drawn; the numbers are the table's own."""
    names = ["layer", "head", heads.column, "low", "high", "n_prompts"]
    names += ["p_family"] if heads.is_difference else []
    return [
        {name: row[name] for name in names}
        for row in heads.shown.rows
        if row[heads.column] is not None
    ]


def _axes(heads: Heads, size: _Size) -> Spec:
    style = heads.options
    columns = [n for n in heads.shown.heads if n is not None]
    rows = [n for n in heads.shown.layers if n is not None]
    bottom = f"Layer ({style.number(rows[0])} at the bottom)"
    widest = max(text_width(str(style.number(n))) for n in columns)
    return {
        "x": _axis("head", columns, title="Head", step=size.cell_width / (widest + 4), style=style),
        "y": _axis("layer", rows[::-1], title=bottom, step=size.cell_height / LABEL, style=style),
    }


def _axis(field: str, numbers: list[int], *, title: str, step: float, style: Style) -> Spec:
    """An axis with a number at each cell, or at every 2nd, 5th, … if they would touch."""
    gap = every(step)
    return {
        "field": field,
        "type": "ordinal",
        "scale": {"domain": numbers, "paddingInner": 0, "paddingOuter": 0},
        "axis": {
            "title": title,
            "values": [n for n in numbers if style.number(n) % gap == 0],
            "labelExpr": f"datum.value + {LABELS[style.labels]}",
            "labelAngle": 0,
            "labelOverlap": False,
            "ticks": False,
            "domain": False,
        },
    }


def _layers(heads: Heads, size: _Size) -> list[Spec]:
    line = "#e2e2e2" if heads.is_difference else "white"  # white cells need an edge
    cells = {
        "mark": {"type": "rect", "stroke": line, "strokeWidth": 0.4},
        "encoding": {"color": _colour(heads), "tooltip": _tooltip(heads)},
    }
    if not heads.marked:
        return [cells]
    area = min(14.0, (min(size.cell_width, size.cell_height) * 0.45) ** 2)
    dot = {"type": "circle", "color": INK, "opacity": 1, "stroke": "white", "strokeWidth": 0.4}
    dots = {
        "transform": [
            {"filter": f"isValid(datum.p_family) && datum.p_family < {heads.options.alpha}"}
        ],
        "mark": {**dot, "size": area},
    }
    return [cells, dots]


def _colour(heads: Heads) -> Spec:
    low, high = heads.domain
    palette = heads.options.colours
    colours = palette.minus_to_plus if heads.is_difference else palette.low_to_high
    steps = len(colours) - 1
    stops = [low + (high - low) * i / steps for i in range(steps + 1)]
    legend = {
        "orient": "top",
        "direction": "horizontal",
        "title": map_words.legend(heads),
        "titleLimit": 0,
        "gradientLength": min(170, heads.options.pixels - 2 * _AXIS_ROOM),
        "gradientThickness": 9,
        "tickCount": 4,
        "format": "~g",
        "offset": 6,
    }
    scale = {"domain": stops, "range": list(colours), "nice": False, "interpolate": "rgb"}
    return {
        "field": heads.column,
        "type": "quantitative",
        "scale": scale,
        "legend": None if heads.all_zero else legend,
    }


def _tooltip(heads: Heads) -> list[Spec]:
    words = {"layer": "layer (0-based)", "head": "head (0-based)"}
    numbers = [heads.column, "low", "high", *(["p_family"] if heads.is_difference else [])]
    return [
        *({"field": name, "type": "ordinal", "title": text} for name, text in words.items()),
        *({"field": name, "type": "quantitative", "format": ".4~g"} for name in numbers),
        {"field": "n_prompts", "type": "quantitative", "title": "prompts"},
    ]
