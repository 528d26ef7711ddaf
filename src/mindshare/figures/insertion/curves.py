"""Means with intervals → one panel of curves, or of points over categories.

A band, or a whisker over a category, is the interval. A dashed line marks the number that says that
nothing changed. Knows numbers and words, nothing about which of them are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.errors import SelectionError
from mindshare.figures.insertion.panel import EXTENT
from mindshare.figures.insertion.panel_words import title_layer
from mindshare.figures.insertion.scales import around
from mindshare.figures.insertion.strokes import series_colours
from mindshare.figures.selection import Row
from mindshare.figures.theme import LABEL, Palette

Spec = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """Rows with x, mean, low, high and n_prompts, in order."""

    words: str
    colour: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class CurvePanel:
    """What one panel shows and how large it is."""

    curves: tuple[Curve, ...]
    x: Mapping[str, Any]  # the encoding of x
    size: tuple[float, float]
    words: tuple[str, str]  # what x and y are called in a tooltip
    y_title: str | None = None
    title: tuple[str, ...] = ()
    reference: float | None = None
    intervals: bool = True

    @property
    def categories(self) -> bool:
        return bool(self.x["type"] != "quantitative")

    @property
    def numbers(self) -> list[float]:
        names = ("mean", "low", "high") if self.intervals else ("mean",)
        found = [row[n] for c in self.curves for row in c.rows for n in names if row[n] is not None]
        return [*found, *([] if self.reference is None else [self.reference])]


def coloured(
    named: Mapping[str, Sequence[Row]], palette: Palette, *, what: str = "lines"
) -> tuple[Curve, ...]:
    """A colour for each curve, in order."""
    colours = series_colours(palette)
    if len(named) > len(colours):
        raise SelectionError(
            f"{len(named)} {what} are more than can be told apart", allowed=f"up to {len(colours)}"
        )
    pairs = zip(named.items(), colours, strict=False)
    return tuple(Curve(words, colour, tuple(rows)) for (words, rows), colour in pairs)


def curve_view(panel: CurvePanel) -> Spec:
    width, height = panel.size
    title = [title_layer(panel.title, width)] if panel.title else []
    marks = [*_reference(panel), *_intervals(panel), *_lines(panel), *_points(panel)]
    return {
        "width": width,
        "height": height,
        "view": {"stroke": "#cccccc"},
        "encoding": {"x": dict(panel.x), "y": _y(panel)},
        "layer": [*marks, *title],
    }


def _y(panel: CurvePanel) -> Spec:
    ticks: Spec = {"title": panel.y_title, "titlePadding": 2}
    ticks |= {"minExtent": EXTENT, "maxExtent": EXTENT}
    scale: Spec = {"nice": False, "zero": False}
    if panel.numbers:
        low, high, values, form = around(panel.numbers)
        space = (high - low) / panel.size[1] * (LABEL / 2 + 3)  # no label at the very top
        scale["domain"] = [low, high + space]
        ticks |= {"values": values, "format": form}
    return {"field": "mean", "type": "quantitative", "scale": scale, "axis": ticks}


def _reference(panel: CurvePanel) -> list[Spec]:
    if panel.reference is None:
        return []
    mark = {"type": "rule", "color": "#777777", "strokeDash": [3, 2], "strokeWidth": 0.8}
    ends = {"x": {"value": 0}, "x2": {"value": "width"}}
    rows = [{"mean": panel.reference}]
    return [{"data": {"values": rows}, "mark": {**mark, "tooltip": None}, "encoding": ends}]


def _intervals(panel: CurvePanel) -> list[Spec]:
    if not panel.intervals:
        return []
    whisker = {"type": "rule", "strokeWidth": 1.2}
    band = {"type": "area", "opacity": 0.18}
    found = []
    for number, curve in enumerate(panel.curves):
        rows = [row for row in _values(curve, number) if row["low"] is not None]
        single = len(rows) == 1 or panel.categories
        mark = {**(whisker if single else band), "color": curve.colour, "tooltip": None}
        ends = {"y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}}
        found.append(_layer(rows, mark, ends | _beside(panel)))
    return [layer for layer in found if layer["data"]["values"]]


def _lines(panel: CurvePanel) -> list[Spec]:
    if panel.categories:
        return []
    mark = {"type": "line", "strokeWidth": 1.5, "strokeJoin": "round", "tooltip": None}
    return [
        _layer(_values(c, i), {**mark, "color": c.colour}, {}) for i, c in enumerate(panel.curves)
    ]


def _points(panel: CurvePanel) -> list[Spec]:
    """They carry the words for whoever points at them."""
    many = max((len(c.rows) for c in panel.curves), default=0) > 16
    size = 30 if panel.categories else 8 if many else 18
    along, measure = panel.words
    words = {"words": "line", "x": along}
    numbers = {"mean": measure, "low": "low", "high": "high"}
    tooltip = [
        *({"field": n, "type": "nominal", "title": text} for n, text in words.items()),
        *(
            {"field": n, "type": "quantitative", "title": text, "format": ".4~g"}
            for n, text in numbers.items()
        ),
        {"field": "n_prompts", "type": "quantitative", "title": "prompts"},
    ]
    return [
        _layer(
            _values(curve, i),
            {"type": "circle", "color": curve.colour, "size": size, "opacity": 1},
            {"tooltip": tooltip} | _beside(panel),
        )
        for i, curve in enumerate(panel.curves)
    ]


def _beside(panel: CurvePanel) -> Spec:
    """Points of several curves over one category stand side by side."""
    if not panel.categories or len(panel.curves) == 1:
        return {}
    order = {"domain": list(range(len(panel.curves))), "paddingOuter": 1}
    return {"xOffset": {"field": "number", "type": "ordinal", "scale": order}}


def _values(curve: Curve, number: int) -> list[Row]:
    names = ("x", "mean", "low", "high", "n_prompts")
    return [
        {name: row[name] for name in names} | {"words": curve.words, "number": number}
        for row in curve.rows
        if row["mean"] is not None
    ]


def _layer(rows: list[Row], mark: Spec, encoding: Spec) -> Spec:
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}
