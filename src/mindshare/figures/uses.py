"""Looked at, carried, used: mass, contribution and effect side by side, or head against head.

`use_lines` has three columns of panels by layer, one line per class; `use_dots` one dot per head,
what it looks at against what the answer loses. Both draw what is in their tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from mindshare.figures import captions
from mindshare.figures.captions import count, listed
from mindshare.figures.figure import Figure, Words, compose, redrawable
from mindshare.figures.lines import LineOptions, Panel, layer_axis, lines_by_layer, panels_view
from mindshare.figures.selection import Row, Selection, select
from mindshare.figures.theme import Grid, Spec, Style, channel, layer, legend, tooltip
from mindshare.measures import MEASURES
from mindshare.stats.uses import LOOKS, RANK_CORRELATION, USES

COLUMNS = ("Looked at", "Carried", "Used")
_HEIGHT = 250
_COLOURS = {"": "#9a9a9a", LOOKS: "#0072B2", USES: "#D55E00"}


@redrawable
def use_lines(
    mass: pa.Table,
    contribution: pa.Table,
    effect: pa.Table,
    options: LineOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Three summaries by layer, heads averaged or together; a row of panels per model."""
    options = options or LineOptions(width="page")
    tables = (mass, contribution, effect)
    data = [select(one, options, about).only("class", options.classes) for one in tables]
    models = data[0].models
    grid = Grid.of(len(tables) * len(models), options, most=len(tables))
    panels = [
        Panel(
            one,
            lines_by_layer(one, "class", model),
            _heading(title, one, model if len(models) > 1 else None, options),
            raw=one.values("class"),
        )
        for model in models
        for one, title in zip(data, COLUMNS, strict=True)
    ]
    x = layer_axis(data[0], grid, options)
    view = panels_view(grid, panels, options, x, "layer")
    return compose(view, _line_words(data, panels, options), options, table=data[2].table)


def _heading(title: str, data: Selection, model: str | None, style: Style) -> str:
    name = captions.axis_title(data.measure)
    words = f"{title}: {name[0].lower()}{name[1:]}"
    return words if model is None else f"{style.word(model)}. {words}"


def _line_words(data: list[Selection], panels: list[Panel], options: LineOptions) -> Words:
    effect, classes = data[2], data[2].values("class")
    return captions.summary_words(
        effect,
        name=["looked_at_carried_used"],
        title=f"Looked at, carried, used: {listed([options.word(m) for m in effect.models])}",
        kind="Lines",
        axes=f"Horizontal: {captions.axis_words('layer', effect.layers, options)}. Three columns: "
        f"what the queries look at, what of the heads' output that gives, and what the answer "
        f"loses without it. One line per class: {listed(classes)}",
        series={
            f"{panel.title}, {label}": rows
            for panel in panels
            for label, rows in panel.lines.items()
        },
        interval="Band" if len(classes) <= 3 and effect.has_intervals else "",
        marks=["Dashed: no change."],
        measures=[one.measure for one in data],
    )


@dataclass(frozen=True)
class DotOptions(Style):
    """What to draw and how."""

    model: str | None = None  # needed only if the table has several
    named: int = 4  # heads of each kind that are named in the picture


@redrawable
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
    named = _named(rows, options.named)
    view = _dots_view(data, rows, named, options)
    return compose(view, _dot_words(data, rows, named, token_class), options, table=data.table)


def _dot(row: Row, style: Style) -> Row:
    place = f"{style.number(row['layer'])}.{style.number(row['head'])}"
    return {**row, "place": place, "kind": row["remark"] or ""}


def _named(rows: list[Row], most: int) -> list[Row]:
    """The heads that are named: those that look most of those that do not use, and the reverse."""
    looks = sorted((r for r in rows if r["kind"] == LOOKS), key=lambda r: -r["mass"])
    uses = sorted((r for r in rows if r["kind"] == USES), key=lambda r: -abs(r["mean"]))
    return looks[:most] + uses[:most]


def _dots_view(data: Selection, rows: list[Row], named: list[Row], options: DotOptions) -> Spec:
    effect = captions.axis_title(data.measure, options)
    grid = Grid.of(1, options)
    kinds = [kind for kind in _COLOURS if any(row["kind"] == kind for row in rows)]
    labels = {kind: kind or "other heads" for kind in kinds}
    colour = channel(
        "kind",
        "nominal",
        scale={"domain": kinds, "range": [_COLOURS[kind] for kind in kinds]},
        legend=legend(labels, options.pixels, symbolType="circle") if len(kinds) > 1 else None,
    )
    x = channel("mass", scale={"nice": True}, axis={"title": "Mass: how much the head looks there"})
    y = channel("mean", scale={"nice": True}, axis={"title": effect, "tickCount": 6})
    numbers = {"mass": "mass", "contribution": "contribution", "mean": effect}
    tips = tooltip({"place": "layer.head", "kind": "remark"}, numbers)
    zero: Spec = {"x": {"value": 0}, "x2": {"value": "width"}}
    dashed: Spec = {"color": "#777777", "strokeDash": [3, 2], "strokeWidth": 0.9, "tooltip": None}
    layers = [
        layer("rule", zero, values=[{"mean": 0.0}], **dashed),
        layer("circle", {"color": colour, "tooltip": tips}, size=26, opacity=0.85),
        layer(
            "text",
            {"text": channel("place", "nominal")},
            values=[{k: row[k] for k in ("mass", "mean", "place")} for row in named],
            align="left",
            dx=5,
            dy=-4,
            tooltip=None,
        ),
    ]
    keep = ("mass", "contribution", "mean", "low", "high", "place", "kind", "n_prompts")
    panel = grid.panel(_HEIGHT, "", x, y, *layers)
    return {**panel, "data": {"values": [{name: row[name] for name in keep} for row in rows]}}


def _dot_words(data: Selection, rows: list[Row], named: list[Row], token_class: str) -> Words:
    model = data.models[0]
    rho = data.metadata.get(f"{RANK_CORRELATION} {model} {token_class}", "not known")
    found = {kind: [r["place"] for r in named if r["kind"] == kind] for kind in (LOOKS, USES)}
    remarks = [f"{kind.capitalize()}: {listed(heads)}." for kind, heads in found.items() if heads]
    short = MEASURES["mass"].short
    return captions.summary_words(
        data,
        name=["mass_against", data.measure.name, token_class, model],
        title=f"Looking and using, {token_class}, head by head: {model}",
        kind="Dots",
        axes=f"One dot for each of {count(len(rows), 'head')}. Horizontal: mass, {short}; "
        f"vertical: {data.measure.title.lower()}",
        series={"": data.drawn},
        marks=[f"Rank correlation of mass and loss over heads: {rho}.", *remarks],
        details=[f"Rank correlation of mass and loss over the heads: {rho}.", *remarks],
    )
