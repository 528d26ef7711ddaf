"""How many bars of what → where they go: groups or rows, widths, label angles.

A group a layer needs room for the models' names under the bars; where there is none, the layers go
along the axis and each model gets a row. Knows counts and words, nothing about numbers or marks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mindshare.errors import SelectionError
from mindshare.figures.selection import Row, Shown
from mindshare.figures.theme import LABEL, LABELS, Style, every, text_width
from mindshare.figures.wording import head_word

_AXIS_ROOM = 52  # for the y axis and its title
_NARROWEST = 14  # a bar with a name under it
_BESIDE = 18  # for the names of rows
_GAP = 6  # between the groups
_MOST_ROWS = 24
_LONGEST = 22  # characters of a model's name under a bar
_HEIGHTS = {1: 190, 2: 110, 3: 90}  # of a row, by the number of rows


@dataclass(frozen=True)
class Layout:
    """Widths are in pixels of the spec."""

    along: str  # "model": a group a layer; "layer": a row a model
    cell_width: float
    cell_height: float
    split_by: tuple[str, ...]  # what makes a row: head, class, model
    panels: tuple[str, ...]  # the rows, from the top
    bar_width: float
    axis: Mapping[str, Any]  # of x
    layer_expression: str  # Vega: a layer's number → its label

    gap: int = _GAP

    @property
    def rows(self) -> int:
        return len(self.panels)


def layout(shown: Shown, style: Style, *, stacked: bool, label: Callable[[str], str]) -> Layout:
    """One way to draw these rows that fits the width."""
    layers, models = len(shown.layers), len(shown.models)
    beside = _BESIDE if len(shown.heads) > 1 or not stacked else 0
    room = style.pixels - _AXIS_ROOM
    narrower = room - beside - _overhang(shown.models)
    step = (narrower - _GAP * (layers - 1)) / (layers * models)
    grouped = models > 1 and step >= _NARROWEST
    split = [name for name, wanted in _splits(shown, stacked, grouped) if wanted]
    panels = _panels(shown, split, style, label)
    if len(panels) > _MOST_ROWS:
        raise SelectionError(
            f"{len(panels)} rows ({' × '.join(split)}) are too many for one chart of bars",
            allowed=f"up to {_MOST_ROWS}",
            next_step="choose fewer heads, classes or models, or draw a head map",
        )
    return Layout(
        along="model" if grouped else "layer",
        cell_width=round(step * models if grouped else room, 1),
        cell_height=_HEIGHTS.get(len(panels), 70),
        split_by=tuple(split),
        panels=panels,
        bar_width=step if grouped else room / layers,
        axis=_model_axis(shown.models, step) if grouped else _layer_axis(shown, style, room),
        layer_expression=_layer_expression(style),
    )


def panel(row: Row, split: tuple[str, ...], style: Style, label: Callable[[str], str]) -> str:
    """The name of the row of the chart that this row of the table is drawn in."""
    words = {
        "head": lambda: head_word(row["head"], style).capitalize(),
        "class": lambda: label(row["class"]),
        "model": lambda: str(row["model"]),
    }
    return " · ".join(words[name]() for name in split)


def _splits(shown: Shown, stacked: bool, grouped: bool) -> list[tuple[str, bool]]:
    return [
        ("head", len(shown.heads) > 1),
        ("class", not stacked),
        ("model", not grouped and len(shown.models) > 1),
    ]


def _panels(
    shown: Shown, split: list[str], style: Style, label: Callable[[str], str]
) -> tuple[str, ...]:
    order: dict[str, list[Any]] = {
        "head": shown.heads,
        "class": shown.classes,
        "model": shown.models,
    }
    rows = sorted(shown.rows, key=lambda row: [order[name].index(row[name]) for name in split])
    return tuple(dict.fromkeys(panel(row, tuple(split), style, label) for row in rows))


def _model_axis(models: list[str], step: float) -> dict[str, Any]:
    """Names level if they fit, else slanted, else upright."""
    short = _shortened(models)
    widest = max(text_width(name) for name in short)
    angle = 0 if widest <= step - 4 else -45 if step >= 1.6 * LABEL else -90
    axis: dict[str, Any] = {"title": None, "ticks": False, "labelAngle": angle, "labelLimit": 0}
    axis |= {"labelPadding": 4, "labelOverlap": False, "domain": True}
    if angle == -45:
        axis |= {"labelAlign": "right", "labelBaseline": "top", "labelOffset": -3}
    if short != models:
        cases = "".join(
            f"datum.label === {quoted(name)} ? {quoted(less)} : "
            for name, less in zip(models, short, strict=True)
        )
        axis["labelExpr"] = f"{cases}datum.label"
    return axis


def _overhang(models: list[str]) -> float:
    """How far the first slanted name reaches out to the left of the y axis."""
    widest = max(text_width(name) for name in _shortened(models))
    return max(0.0, widest * 0.71 - _AXIS_ROOM)


def _shortened(names: list[str]) -> list[str]:
    """Long names without their middle, as long as they stay different."""
    half = _LONGEST // 2
    short = [n if len(n) <= _LONGEST else f"{n[: half - 1]}…{n[-half:]}" for n in names]
    return short if len(set(short)) == len(set(names)) else names


def _layer_axis(shown: Shown, style: Style, room: float) -> dict[str, Any]:
    """As many layer numbers as fit without touching."""
    layers = [n for n in shown.layers if n is not None]
    if not layers:
        return {"title": None, "labelExpr": "'mean of the layers'", "labelAngle": 0}
    widest = max(text_width(str(style.number(n))) for n in layers)
    gap = every(room / len(layers) / (widest + 4))
    values = [n for n in layers if style.number(n) % gap == 0]
    return {
        "title": "Layer",
        "values": values,
        "labelExpr": f"datum.value + {LABELS[style.labels]}",
        "labelAngle": 0,
        "ticks": False,
        "labelOverlap": False,
    }


def _layer_expression(style: Style) -> str:
    shift = LABELS[style.labels]
    return f"isValid(datum.value) ? 'Layer ' + (datum.value + {shift}) : 'Mean of the layers'"


def quoted(text: str) -> str:
    """Text inside a Vega expression."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
