"""Looked at, carried, used: mass, contribution and effect side by side, or head against head.

`use_lines` has panels by layer, one line per class; `use_dots` one dot per head, what it looks at
against what the answer loses. Both draw what is in their tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
import pyarrow as pa

from mindshare.facts.words import count, listed, written
from mindshare.figures.captions import Encoding, axis_title, summary_figure
from mindshare.figures.colours import INK, series_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.lines import (
    LineOptions,
    LinePanel,
    Lines,
    from_zero,
    layer_axis,
    layer_encoding,
    layer_panel,
    panels_view,
)
from mindshare.figures.selection import Row, Selection, joined, select
from mindshare.figures.theme import (
    TEXT,
    PanelGrid,
    Spec,
    Style,
    channel,
    coloured,
    dashed_line,
    layer,
    legend,
    text_width,
    tooltip,
)
from mindshare.figures.titles import effect_title
from mindshare.measures import MEASURES
from mindshare.stats.uses import LOOKS, RANK_CORRELATION, USES

SHOWN = ("Looked at", "Carried", "Used")
LOOKED = MEASURES["mass"]
_HEIGHT = 250
_NAMED = 4  # heads of each kind that are named in the picture
# Where a name may stand around its dot, the best place first; pixels between both.
_AROUND = np.array([(1, 0.6), (-1, 0.6), (1, -0.6), (-1, -0.6), (0, 1), (0, -1), (1, 0), (-1, 0)])
_GAPS = (4, 12, 20, 30, 42, 56)


@redrawable(LineOptions)
def use_lines(
    mass: pa.Table,
    contribution: pa.Table,
    effect: pa.Table,
    options: LineOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Looked at, carried, used: three summaries by layer, heads averaged or together.

    Of one model, the three stand side by side where they fit. Of several, each model is a column
    and each summary a row, whose panels share their scale.
    """
    options = options or LineOptions(width="page")
    tables = (mass, contribution, effect)
    data = [select(one, options, about).only("class", options.classes) for one in tables]
    models = data[0].models
    called = [options.word(model) for model in models]
    several = len(models) > 1
    most = len(models) if several else 1 if options.is_narrow else len(data)
    grid = PanelGrid.of(len(data) * len(models), options, most=most)
    panels: list[LinePanel] = []
    series: Lines = {}
    for row, (one, word) in enumerate(zip(data, SHOWN, strict=True)):
        title = f"{word}: {axis_title(one, own=False).lower()}"
        for column, model in enumerate(models):
            panel = layer_panel(
                one,
                "class",
                model,
                title=title if not several else "" if row else options.word(model),
                y_title=title if several and not column else None,
                domain=_reach(one) if several else None,
            )
            panels.append(panel)
            series |= {f"{word}, {model}, {label}": rows for label, rows in panel.lines.items()}
    view = panels_view(grid, panels, options, layer_axis(data[0], grid), "layer")
    chart = replace(
        layer_encoding(data[2], options, "class", panels[:1]),
        name=["looked_at_carried_used", data[2].measure.name],
        title=effect_title(data[2]) or f"Looked at, carried, used: {listed(called)}",
        series=series,
        details=[
            "Panels: what the queries look at, what of the heads' output that gives, and what the "
            "answer loses without it, each on one scale for all models."
        ],
        measures=[one.measure for one in data],
    )
    return summary_figure(view, data[2], chart, table=joined(data))


def _reach(data: Selection) -> tuple[float, float]:
    """From the lowest to the highest of lines and bands of all models, and 0."""
    numbers = [row[n] for row in data.drawn for n in (data.value, "low", "high")]
    known = [0.0, *(x for x in numbers if x is not None)]
    return 0.0 if from_zero(data) else min(known), max(known)


@dataclass(frozen=True)
class DotOptions(Style):
    """What to draw and how."""

    model: str | None = None  # needed only if the table has several


@redrawable(DotOptions)
def use_dots(
    uses: pa.Table,
    token_class: str,
    options: DotOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One class of one model in a table `uses`: a dot per head."""
    options = options or DotOptions()
    data = select(uses, options, about).only("class", [token_class])
    data = data.single("model", options.model, "a chart of dots")
    rows = [_dot(row, options) for row in data.drawn if row["head"] is not None]
    named = _named(rows)
    view = _dots_view(data, rows, named, options)
    return summary_figure(view, data, _dot_encoding(data, rows, named, token_class))


def _dot(row: Row, style: Style) -> Row:
    place = f"{style.number(row['layer'])}.{style.number(row['head'])}"
    return {**row, "place": place, "kind": row["remark"] or ""}


def _named(rows: list[Row]) -> list[Row]:
    """The heads that are named: those that look most without using, those that use without
    looking, and those whose effect is at least half of the largest.
    """
    large = max((abs(row["mean"]) for row in rows), default=0.0) / 2
    looks = sorted((r for r in rows if r["kind"] == LOOKS), key=lambda r: -r["mass"])
    uses = sorted(
        (r for r in rows if r["kind"] == USES or abs(r["mean"]) >= large > 0),
        key=lambda r: -abs(r["mean"]),
    )
    return looks[:_NAMED] + uses[:_NAMED]


def _dots_view(data: Selection, rows: list[Row], named: list[Row], options: DotOptions) -> Spec:
    effect = axis_title(data)
    grid = PanelGrid.of(1, options)
    palette = {"": "#9a9a9a", **series_colours([LOOKS, USES], options.colours)}
    colours = {k: c for k, c in palette.items() if any(row["kind"] == k for row in rows)}
    labels = {kind: kind or "other heads" for kind in colours}
    shown = legend(labels, options.pixels, symbolType="circle") if len(colours) > 1 else None
    ends = np.array([_ends([row[n] for row in rows]) for n in ("mass", "mean")])
    x_scale, y_scale = ({"domain": end, "nice": False} for end in ends.tolist())
    x = channel(
        "mass", scale=x_scale, axis={"title": f"{LOOKED.title}: how much the head looks there"}
    )
    y = channel("mean", scale=y_scale, axis={"title": effect, "tickCount": 6})
    numbers = {"mass": LOOKED.word, "contribution": "contribution", "mean": effect}
    tips = tooltip({"place": "layer.head", "kind": "remark"}, numbers)
    names = _placed(rows, named, ends, (grid.panel_width, _HEIGHT))
    line = {"x": channel("x"), "y": channel("y"), "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    far = [name for name in names if name["far"]]
    look: Spec = {"fontSize": TEXT, "color": INK, "tooltip": None}
    dots = {"color": coloured("kind", colours, shown), "tooltip": tips}
    layers = [
        dashed_line(0.0),
        layer("circle", dots, size=26, opacity=0.85),
        layer("rule", line, values=far, color="#777777", strokeWidth=0.7, tooltip=None),
        layer("text", {"text": channel("place", "nominal")}, values=names, **look),
    ]
    keep = ("mass", "contribution", "mean", "low", "high", "place", "kind", "n_prompts")
    panel = grid.panel(_HEIGHT, "", x, y, *layers)
    return {**panel, "data": {"values": [{name: row[name] for name in keep} for row in rows]}}


def _ends(numbers: list[float]) -> tuple[float, float]:
    """From the lowest to the highest number, and 0; with room, so that no dot is cut."""
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    room = 0.05 * (high - low) or 1.0
    return low - room * (low < 0), high + room * (high > 0)


def _placed(
    rows: list[Row], named: list[Row], ends: np.ndarray, pixels: tuple[float, float]
) -> list[Row]:
    """Where each name stands, on the axes: beside its dot, or further off with a line to it.

    Of all places the nearest that covers the fewest dots and names; none leaves the panel.
    """
    unit = (ends[:, 1] - ends[:, 0]) / pixels
    dots = (np.array([[row["mass"], row["mean"]] for row in rows]) - ends[:, 0]) / unit
    taken = np.hstack([dots, np.full_like(dots, 3)])  # centres, and half of their sizes
    names = []
    for row in named:
        dot = (np.array([row["mass"], row["mean"]]) - ends[:, 0]) / unit
        half = np.array([text_width(row["place"]) / 2, TEXT / 2])
        steps = np.concatenate([_AROUND * (half + gap) for gap in _GAPS])
        centres = dot + steps
        covers = np.abs(centres[:, None] - taken[:, :2]) < half + taken[:, 2:]  # [place, taken, 2]
        leaves = ((centres < half) | (centres > pixels - half)).any(1)
        best = int(np.argmin(covers.all(2).sum(1) + len(taken) * leaves))
        taken = np.vstack([taken, [*centres[best], *half]])
        edge = centres[best] - _AROUND[best % len(_AROUND)] * half  # where a line to it ends
        (x, y), (x2, y2) = ((ends[:, 0] + at * unit).tolist() for at in (centres[best], edge))
        name = {"place": row["place"], "mass": x, "mean": y, "far": best >= len(_AROUND)}
        names.append(name | {"x": row["mass"], "y": row["mean"], "x2": x2, "y2": y2})
    return names


def _dot_encoding(data: Selection, rows: list[Row], named: list[Row], token_class: str) -> Encoding:
    model = data.models[0]
    rho = float(data.metadata.get(f"{RANK_CORRELATION} {model} {token_class}", "nan"))
    correlation = written(rho, 2) if isfinite(rho) else "not known"
    found = {kind: [r["place"] for r in named if r["kind"] == kind] for kind in (LOOKS, USES)}
    found["largest effect"] = [r["place"] for r in named if not r["kind"]]
    remarks = [f"{kind.capitalize()}: {listed(heads)}." for kind, heads in found.items() if heads]
    return Encoding(
        name=["mass_against", data.measure.name, token_class, model],
        title=f"Looking and using, {token_class}, head by head: {model}",
        kind="Dots",
        axes=f"One dot for each of {count(len(rows), 'head')}. "
        f"Horizontal: {LOOKED.word}, {LOOKED.short}; vertical: {data.measure.title.lower()}",
        series={"": data.drawn},
        marks=[f"Rank correlation of {LOOKED.word} and loss over heads: {correlation}.", *remarks],
    )
