"""Looked at, carried, used: mass, contribution and effect side by side, or head against head.

`use_lines` has panels by layer, one line per class; `use_dots` one dot per head, what it looks at
against what the answer loses. Both draw what is in their tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from mindshare.facts.sentences import count, listed
from mindshare.figures.captions import Encoding, axis_title, summary_figure
from mindshare.figures.colours import INK, series_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.lines import (
    LineOptions,
    LinePanel,
    Lines,
    layer_axis,
    layer_encoding,
    layer_panel,
    panels_view,
)
from mindshare.figures.selection import Row, Selection, select
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
    tooltip,
)
from mindshare.measures import MEASURES
from mindshare.stats.uses import LOOKS, RANK_CORRELATION, USES

SHOWN = ("Looked at", "Carried", "Used")
_HEIGHT = 250


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
        name=["looked_at_carried_used"],
        title=f"Looked at, carried, used: {listed([options.word(m) for m in models])}",
        series=series,
        details=[
            "Panels: what the queries look at, what of the heads' output that gives, and what the "
            "answer loses without it, each on one scale for all models."
        ],
        measures=[one.measure for one in data],
    )
    return summary_figure(view, data[2], chart)


def _reach(data: Selection) -> tuple[float, float]:
    """From the lowest to the highest of lines and bands of all models, and 0."""
    numbers = [row[n] for row in data.drawn for n in (data.value, "low", "high")]
    known = [0.0, *(x for x in numbers if x is not None)]
    return min(known), max(known)


@dataclass(frozen=True)
class DotOptions(Style):
    """What to draw and how."""

    model: str | None = None  # needed only if the table has several
    named: int = 4  # heads of each kind that are named in the picture


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
    named = _named(rows, options.named)
    view = _dots_view(data, rows, named, options)
    return summary_figure(view, data, _dot_encoding(data, rows, named, token_class))


def _dot(row: Row, style: Style) -> Row:
    place = f"{style.number(row['layer'])}.{style.number(row['head'])}"
    return {**row, "place": place, "kind": row["remark"] or ""}


def _named(rows: list[Row], most: int) -> list[Row]:
    """The heads that are named: those that look most of those that do not use, and the reverse."""
    looks = sorted((r for r in rows if r["kind"] == LOOKS), key=lambda r: -r["mass"])
    uses = sorted((r for r in rows if r["kind"] == USES), key=lambda r: -abs(r["mean"]))
    return looks[:most] + uses[:most]


def _dots_view(data: Selection, rows: list[Row], named: list[Row], options: DotOptions) -> Spec:
    effect = axis_title(data)
    grid = PanelGrid.of(1, options)
    palette = {"": "#9a9a9a", **series_colours([LOOKS, USES], options.colours)}
    colours = {k: c for k, c in palette.items() if any(row["kind"] == k for row in rows)}
    labels = {kind: kind or "other heads" for kind in colours}
    shown = legend(labels, options.pixels, symbolType="circle") if len(colours) > 1 else None
    colour = coloured("kind", colours, shown)
    x = channel("mass", scale={"nice": True}, axis={"title": "Mass: how much the head looks there"})
    y = channel("mean", scale={"nice": True}, axis={"title": effect, "tickCount": 6})
    numbers = {"mass": "mass", "contribution": "contribution", "mean": effect}
    tips = tooltip({"place": "layer.head", "kind": "remark"}, numbers)
    names = [{k: row[k] for k in ("mass", "mean", "place")} for row in named]
    look: Spec = {"fontSize": TEXT, "color": INK, "tooltip": None, "align": "left"}
    layers = [
        dashed_line(0.0),
        layer("circle", {"color": colour, "tooltip": tips}, size=26, opacity=0.85),
        layer("text", {"text": channel("place", "nominal")}, values=names, dx=5, dy=-4, **look),
    ]
    keep = ("mass", "contribution", "mean", "low", "high", "place", "kind", "n_prompts")
    panel = grid.panel(_HEIGHT, "", x, y, *layers)
    return {**panel, "data": {"values": [{name: row[name] for name in keep} for row in rows]}}


def _dot_encoding(data: Selection, rows: list[Row], named: list[Row], token_class: str) -> Encoding:
    model = data.models[0]
    rho = data.metadata.get(f"{RANK_CORRELATION} {model} {token_class}", "not known")
    found = {kind: [r["place"] for r in named if r["kind"] == kind] for kind in (LOOKS, USES)}
    remarks = [f"{kind.capitalize()}: {listed(heads)}." for kind, heads in found.items() if heads]
    short = MEASURES["mass"].short
    return Encoding(
        name=["mass_against", data.measure.name, token_class, model],
        title=f"Looking and using, {token_class}, head by head: {model}",
        kind="Dots",
        axes=f"One dot for each of {count(len(rows), 'head')}. Horizontal: mass, {short}; "
        f"vertical: {data.measure.title.lower()}",
        series={"": data.drawn},
        marks=[f"Rank correlation of mass and loss over heads: {rho}.", *remarks],
        details=[f"Rank correlation of mass and loss over the heads: {rho}.", *remarks],
    )
