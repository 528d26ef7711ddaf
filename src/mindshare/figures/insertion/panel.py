"""Profiles of one head → one panel: lines over the position, the inserted run shaded.

Every panel has its own vertical scale, from 0. Knows profiles, nothing about which of them are
wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mindshare.figures.insertion.panel_hover import Series, hover
from mindshare.figures.insertion.panel_words import LINE, RunLabel, run_label, title_layer
from mindshare.figures.insertion.scales import from_zero
from mindshare.figures.insertion.strokes import strokes
from mindshare.figures.theme import FAINT, SMALL

Spec = dict[str, Any]
EXTENT = 34  # pixels that every vertical axis takes, so that panels stand in columns
SHADE = "#e3e3e3"


@dataclass(frozen=True)
class Run:
    """The inserted tokens, first to last position; named if there are words."""

    first: int
    last: int
    words: str = ""


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    series: tuple[Series, ...]
    x_title: str
    title: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    shared: bool = True  # the series have the same tokens at the same positions

    @property
    def positions(self) -> list[int]:
        return sorted({int(i) for one in self.series for i in one.profile.position})

    @property
    def highest(self) -> float:
        tops = [np.nanmax(s.profile.received, initial=0.0) for s in self.series]
        return float(max(tops, default=0.0)) or 1.0


@dataclass(frozen=True)
class Frame:
    """How large a panel is and what is said at its side."""

    width: float
    height: float
    few: int  # keys with fewer queries are faded
    y_title: str | None = None


def panel_view(panel: Panel, frame: Frame) -> Spec:
    axes = _Axes.of(panel, frame)
    title = [title_layer(panel.title, frame.width)] if panel.title else []
    return {
        "width": frame.width,
        "height": frame.height,
        "view": {"stroke": "#cccccc"},
        "encoding": {"x": axes.x(panel.x_title), "y": axes.y(frame.y_title)},
        "layer": [
            *_runs(axes),
            *_lines(panel, frame.few),
            *hover(panel.series, frame.width, shared=panel.shared),
            *title,
        ],
    }


@dataclass(frozen=True)
class _Axes:
    """Where numbers are in pixels; the names of runs stand above every line."""

    low: float
    high: float
    highest: float
    frame: Frame
    runs: tuple[Run, ...]  # as far as they are drawn
    labels: tuple[RunLabel, ...]

    @classmethod
    def of(cls, panel: Panel, frame: Frame) -> _Axes:
        places = panel.positions or [0]
        low, high = places[0] - 0.5, places[-1] + 0.5
        step = frame.width / (high - low)
        runs = [run for run in panel.runs if run.last > low and run.first < high]
        runs = [
            Run(max(run.first, places[0]), min(run.last, places[-1]), run.words) for run in runs
        ]
        labels = [
            run_label(
                run.words,
                frame.width,
                (run.first - 0.5 - low) * step,
                (run.last + 0.5 - low) * step,
            )
            for run in runs
            if run.words
        ]
        return cls(low, high, panel.highest, frame, tuple(runs), tuple(labels))

    def x(self, title: str) -> Spec:
        axis = {"title": title, "tickCount": max(2, round(self.frame.width / 36)), "grid": False}
        axis |= {"format": ",d", "tickMinStep": 1, "labelFlush": False}
        scale = {"domain": [self.low, self.high], "nice": False, "zero": False}
        return {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}

    def y(self, title: str | None) -> Spec:
        room = max((label.height for label in self.labels), default=6)
        top, ticks, form = from_zero(self.highest, height=self.frame.height, room=room)
        axis = {"title": title, "values": ticks, "format": form, "titlePadding": 2}
        axis |= {"minExtent": EXTENT, "maxExtent": EXTENT}
        scale = {"domain": [0, top], "nice": False}
        return {"field": "y", "type": "quantitative", "scale": scale, "axis": axis}


def _runs(axes: _Axes) -> list[Spec]:
    """Shade, dashed ends, name."""
    ends = [{"x": run.first - 0.5, "x2": run.last + 0.5} for run in axes.runs]
    if not ends:
        return []
    bottom = {"y2": {"value": axes.frame.height}}
    area = {
        "data": {"values": ends},
        "mark": {"type": "rect", "color": SHADE, "opacity": 0.75 if len(ends) == 1 else 0.45},
        "encoding": {"x2": {"field": "x2"}, "y": {"value": 0}, **bottom},
    }
    edges = sorted({edge for row in ends for edge in row.values()})
    start = max((label.height - 2 for label in axes.labels if label.across), default=0)
    dashes = {
        "data": {"values": [{"x": edge} for edge in edges]},
        "mark": {"type": "rule", "color": "#777777", "strokeDash": [3, 2], "strokeWidth": 0.8},
        "encoding": {"y": {"value": start}, **bottom},
    }
    return [area, dashes, *(_name(label) for label in axes.labels)]


def _name(label: RunLabel) -> Spec:
    mark = {"type": "text", "fontSize": SMALL, "color": FAINT, "baseline": "top"}
    mark |= {"align": label.align, "lineHeight": LINE}
    return {
        "data": {"values": [{"words": label.lines}]},
        "mark": mark,
        "encoding": {
            "x": {"value": round(label.x, 1)},
            "y": {"value": 4},
            "text": {"field": "words", "type": "nominal"},
        },
    }


def _lines(panel: Panel, few: int) -> list[Spec]:
    """Faded stretches lie below; a point without neighbours is a dot."""
    drawn = [(one, _points(one, few)) for one in panel.series]
    most = max((len(one.profile.position) for one in panel.series), default=0)
    thick = 1.3 if most <= 200 else 1.0 if most <= 800 else 0.7
    layers = []
    for is_faded, look in (
        (True, {"strokeWidth": 0.6 * thick, "opacity": 0.45}),
        (False, {"strokeWidth": thick}),
    ):
        for one, strokes_ in drawn:
            rows = [r for r in strokes_ if r["faded"] == is_faded and not r["single"]]
            mark = {"type": "line", "color": one.colour, "strokeJoin": "round", **look}
            layers += _layer(rows, mark, {"detail": {"field": "stroke", "type": "nominal"}})
    for one, strokes_ in drawn:
        dot = {"type": "circle", "color": one.colour, "size": 7, "opacity": 1}
        layers += _layer([r for r in strokes_ if r["single"]], dot, {})
    return layers


def _layer(rows: list[Spec], mark: Spec, encoding: Spec) -> list[Spec]:
    values = [{name: row[name] for name in ("x", "y", "stroke")} for row in rows]
    drawn = {"data": {"values": values}, "mark": {**mark, "tooltip": None}, "encoding": encoding}
    return [drawn] if values else []


def _points(series: Series, few: int) -> list[Spec]:
    profile = series.profile
    return [
        {
            "x": int(profile.position[i]),
            "y": short(profile.received[i]),
            "stroke": number,
            "faded": stroke.faded,
            "single": len(stroke.points) == 1,
        }
        for number, stroke in enumerate(strokes(profile, few=few))
        for i in stroke.points
    ]


def short(value: float) -> float:
    """As many digits as the tables hold."""
    return float(f"{value:.7g}")
