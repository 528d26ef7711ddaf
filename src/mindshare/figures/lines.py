"""A measure by layer, or by what was inserted → lines with bands, one line per model or condition.

Takes any table over prompts: a `summary` (one line per class or model) or a `response_summary` (one
line per condition or model). A band, or a whisker over a category, is the interval; a dashed line
marks the number that says that nothing changed. Draws what is in the table and computes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.facts.words import count, listed
from mindshare.figures.captions import (
    Encoding,
    axis_title,
    axis_words,
    condition_label,
    summary_figure,
)
from mindshare.figures.colours import series_colours, version_colours
from mindshare.figures.figure import Figure, redrawable
from mindshare.figures.selection import Row, Selection, only, pick, select, significant
from mindshare.figures.theme import (
    PanelGrid,
    Spec,
    Style,
    channel,
    coloured,
    dashed_line,
    layer,
    legend,
    name_axis,
    number_axis,
    tooltip,
)
from mindshare.figures.titles import summary_title
from mindshare.tables import DEFINITIONS

RESPONSES = ("amplitude", "shape", "entropy_change", "retained")
# The `conditions` of all models alike, or of each by its label: tokenizers count differently.
Conditions: TypeAlias = pa.Table | Mapping[str, pa.Table]
Lines = dict[str, list[Row]]  # label of a line → its rows, with their place along the axis as `x`
_HEIGHT = 140
_MOST_BANDS = 3  # lines of a panel: more bands hide one another
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]
_TIMES = re.compile(r" ×\d[\d,]*")


@dataclass(frozen=True)
class LineOptions(Style):
    """What to draw and how."""

    conditions: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    bands: bool = True


@dataclass(frozen=True)
class LinePanel:
    """One panel of lines."""

    data: Selection
    lines: Lines
    colours: Mapping[str, str]  # by the label of a line
    title: str = ""
    y_title: str | None = None
    wrap: bool = True  # the title, into the panel's width
    domain: tuple[float, float] | None = None  # None: as far as its own lines and bands reach


# ── by layer ──────────────────────────────────────────────────────────────────────────────────────


@redrawable(LineOptions)
def layer_lines(
    summary: pa.Table,
    measure: str | None = None,
    options: LineOptions | None = None,
    *,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One number, mean over the heads, by layer; `measure` only if the table has several."""
    options = options or LineOptions()
    data = select(summary, options, about, measure=measure)
    data = data.only("condition", options.conditions).only("class", options.classes)
    if data.heads != [None] or None in data.layers:
        raise SelectionError(
            "lines by layer need the mean over the heads of each layer, and this table has "
            + ("the mean over the layers" if None in data.layers else "single heads"),
            next_step="average first: heads='mean', or stats.estimate(…, over=['heads'])",
        )
    # One line per class or condition, and a panel per model if there are several of both.
    by = next((n for n in ("condition", "class") if len(data.values(n)) > 1), "model")
    if data.is_difference:  # of two models: a line for each class, or one
        by = "class" if len(data.values("class")) > 1 else "difference"
    several = by != "model" and len(data.models) > 1 and not data.is_difference
    models = data.models if several else [None]
    grid = PanelGrid.of(len(models), options)
    panels = []
    for i, model in enumerate(models):
        y_title = None if i % grid.columns else axis_title(data)
        title = options.word(model) if model else ""
        panels.append(layer_panel(data, by, model, title=title, y_title=y_title))
    view = panels_view(grid, panels, options, layer_axis(data, grid), "layer")
    return summary_figure(view, data, layer_encoding(data, options, by, panels))


def share_lines(
    data: Selection, options: LineOptions, rest: str, differences: pa.Table | None = None
) -> Figure:
    """One of two classes whose shares sum to 1, one line per model: what it lacks, `rest` has."""
    data = replace(data, style=options)
    grid = PanelGrid.of(1, options)
    (name,) = data.values("class")
    y_title = axis_title(data, f"Share of {options.word(name)}")
    panel = layer_panel(data, "model", y_title=y_title, domain=(0.0, 1.0))
    view = panels_view(grid, [panel], options, layer_axis(data, grid), "layer")
    marks = [f"The rest: {rest}."]
    chart = layer_encoding(data, options, "model", [panel], marks, differences)
    return summary_figure(view, data, chart)


def layer_axis(data: Selection, grid: PanelGrid) -> Spec:
    """Numbers that lines lead along; where layers between were not measured, one place for each."""
    layers = [n for n in data.layers if n is not None]
    low, high = layers[0], layers[-1]
    if _with_gaps(data):
        names = [data.style.number(n) for n in layers]
        axis = {"title": "Layer", "labelAngle": 0, "ticks": False, "domain": True}
        return channel("x", "ordinal", sort=names, scale={"domain": names}, axis=axis)
    labels = number_axis(range(low, high + 1), grid.panel_width / (high - low + 1), data.style)
    low, high = data.style.number(low), data.style.number(high)
    scale = {"domain": [low - 0.5, high + 0.5], "nice": False, "zero": False}
    return channel("x", scale=scale, axis={"title": "Layer", **labels})


def _with_gaps(data: Selection) -> bool:
    """Whether layers between those of the data were not measured."""
    layers = [n for n in data.layers if n is not None]
    return len(layers) < layers[-1] - layers[0] + 1


def layer_panel(data: Selection, by: str, model: str | None = None, **look: Any) -> LinePanel:
    """A line for each value of a column, of one model or of all; `look`: fields of the panel."""
    if by == "class":
        colours = data.class_colours()  # the same as in all other charts
    else:
        names = ["{} minus {}".format(*data.models)] if by == "difference" else data.values(by)
        choose = version_colours if by == "condition" else series_colours
        colours = data.style.tinted(choose(names, data.style.colours))

    def label(name: str) -> str:
        return condition_label(name, data.style) if by == "condition" else data.style.word(name)

    lines: Lines = {label(name): [] for name in colours}
    for row in sorted(data.drawn, key=lambda row: int(row["layer"])):
        if model in (None, row.get("model")):
            name = next(iter(lines)) if by == "difference" else label(row[by])
            place = data.style.number(row["layer"])
            tested = {"significant": significant(data, row)} if data.is_difference else {}
            lines[name].append({**row, **tested, "x": place, "mean": row[data.value]})
    by_label = {label(name): colour for name, colour in colours.items()}
    return LinePanel(data, lines, by_label, **look)


def layer_encoding(
    data: Selection,
    options: LineOptions,
    by: str,
    panels: Sequence[LinePanel],
    marks: Sequence[str] = (),
    differences: pa.Table | None = None,
) -> Encoding:
    tested = data.is_difference and data.has_intervals
    per = "pair of models" if by == "difference" else by
    by_model = f". A panel per model: {listed(data.models)}" if len(panels) > 1 else ""
    kind, one, interval = "Lines", "line", "Band"
    if _with_gaps(data):
        kind, one, interval = "Points", "colour", "Whisker"
    return Encoding(
        name=[f"{'difference_in_' * data.is_difference}{data.measure.name}_by_layer"],
        title=summary_title(data, data.drawn, by="layer", differences=differences),
        kind=kind,
        axes=f"Horizontal: {axis_words('layer', data.layers, options)}. "
        f"One {one} per {per}: {listed(list(panels[0].lines))}{by_model}",
        series={
            f"{panel.title}, {label}" if panel.title else label: rows
            for panel in panels
            for label, rows in panel.lines.items()
        },
        interval=interval if _has_bands(panels[0], options) else "",
        marks=[
            *marks,
            "Large dots: significant after correction." if tested else None,
            None if data.neutral is None else f"Dashed: {data.neutral:g}, no change.",
        ],
    )


# ── sweeps ────────────────────────────────────────────────────────────────────────────────────────

# What can lie along the axis: a column of the table, in a sentence and in a tooltip.
_ALONG = {
    "n_inserted": ("the number of inserted tokens", "inserted tokens"),
    "insertion": ("what is inserted", "inserted"),
    "place": ("the place of the insertion", "place"),
}


@redrawable(LineOptions)
def sweep_curves(
    summary: pa.Table,
    conditions: Conditions,
    options: LineOptions | None = None,
    *,
    measures: Sequence[str] = RESPONSES,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """Response numbers, mean over heads and layers, by length, text or place of the insertion.

    A panel per measure. Where lengths differ, the number of inserted tokens lies along the axis and
    every inserted text and place has a line; else what was inserted, or where, is a category.
    """
    options = options or LineOptions(width="page")
    table = pick(summary, "response_summary")
    if options.conditions is not None:
        table = only(table, "condition", options.conditions)
    if any(table[column].null_count < table.num_rows for column in ("layer", "head")):
        raise SelectionError(
            "a sweep needs the mean over heads and layers, and this table has single ones",
            next_step="mindshare.stats.estimate(…, over=['heads', 'layers'])",
        )
    table = _with_insertions(table, conditions, options)
    names = list(dict.fromkeys(measures))
    data = [select(table, options, about, measure=name) for name in names]
    along = _along(data[0])
    panels = []
    for one in data:
        lines = _swept(one, along)
        colours = options.tinted(series_colours(list(lines), options.colours))
        panels.append(LinePanel(one, lines, colours, axis_title(one, own=False), wrap=False))
    grid = PanelGrid.of(len(panels), options)
    x = _sweep_axis(data[0].values(along), grid.panel_width, numeric=along == "n_inserted")
    view = panels_view(grid, panels, options, x, _ALONG[along][1])
    shown = only(table, "measure", names)
    return summary_figure(view, data[0], _sweep_encoding(panels, options, along), table=shown)


def _with_insertions(table: pa.Table, conditions: Conditions, options: LineOptions) -> pa.Table:
    """The rows with what was inserted, where, and how many tokens (mean over the prompts)."""
    inserted: dict[tuple[str, str], tuple[str, str, float]] = {}
    rows = table.to_pylist()
    for model, name in dict.fromkeys((row["model"], row["condition"]) for row in rows):
        if isinstance(conditions, Mapping) and model not in conditions:
            raise SelectionError(
                f"there is no table of conditions for {model!r}", allowed=", ".join(conditions)
            )
        of_model = conditions[model] if isinstance(conditions, Mapping) else conditions
        prompts = pick(of_model, "conditions", condition=name).to_pylist()
        place = str(prompts[0]["place"])
        text = _TIMES.sub("", name.removesuffix(f" at {place}")).strip() or name  # `/ ×55` → `/`
        tokens = sum(row["n_inserted"] for row in prompts) / len(prompts)
        inserted[model, name] = options.label.get(name, text), place, tokens
    values = zip(*(inserted[row["model"], row["condition"]] for row in rows), strict=True)
    types = {"insertion": pa.string(), "place": pa.string(), "n_inserted": pa.float64()}
    for (name, type_), column in zip(types.items(), values, strict=True):
        field = pa.field(name, type_, metadata={"definition": DEFINITIONS[name]})
        table = table.append_column(field, pa.array(column, type=type_))
    return table


def _along(data: Selection) -> str:
    """The column that lies along the axis."""
    lengths: dict[tuple[str, ...], set[float]] = {}
    for row in data.rows:
        key = (row["model"], row["insertion"], row["place"])
        lengths.setdefault(key, set()).add(row["n_inserted"])
    if any(len(several) > 1 for several in lengths.values()):
        return "n_inserted"
    several_texts = len(data.values("insertion")) > 1
    return "insertion" if several_texts or len(data.values("place")) == 1 else "place"


def _swept(data: Selection, along: str) -> Lines:
    """A line for each combination of what does not lie along the axis."""
    columns = [n for n in ("model", "insertion", "place") if len(data.values(n)) > 1 and n != along]
    columns = columns or ["model" if along == "insertion" else "insertion"]
    numeric = along == "n_inserted"
    lines: Lines = {}
    for row in data.rows:
        label = ", ".join(row[column] for column in columns)
        where = f"{row[along]:,.4g} tokens" if numeric else row[along]
        lines.setdefault(label, []).append({**row, "x": row[along], "where": where})
    for rows in lines.values() if numeric else ():
        rows.sort(key=lambda row: float(row["x"]))
    return lines


def _sweep_axis(values: Sequence[Any], width: float, *, numeric: bool) -> Spec:
    """Lengths with ticks where the data are, or names of categories."""
    if not numeric:
        scale: Spec = {"paddingInner": 0.2, "paddingOuter": 0.1}
        axis = name_axis(values, width / len(values), Style())
        return channel("x", "nominal", sort=list(values), scale=scale, axis=axis)
    low, high = min(values), max(values)
    edge = (high - low) * 0.05 or 1
    axis = {"title": "Inserted tokens", "values": sorted(values)}
    axis |= {"format": ",.4~g", "labelOverlap": "greedy"}
    scale = {"domain": [low - edge, high + edge], "nice": False, "zero": False}
    return channel("x", scale=scale, axis=axis)


def _sweep_encoding(panels: Sequence[LinePanel], options: LineOptions, along: str) -> Encoding:
    first, what = panels[0].data, _ALONG[along][0]
    measures = [panel.data.measure for panel in panels]
    lengths = sorted(first.values("n_inserted"))
    ends = " to ".join(f"{n:,.4g}" for n in dict.fromkeys((lengths[0], lengths[-1])))
    numeric = along == "n_inserted"
    interval = "Band" if numeric else "Whisker"
    who = f": {first.models[0]}" if len(first.models) == 1 else ""
    labels = list(panels[0].lines)
    several = len(labels) > 1
    lines = f". {count(len(labels), 'line')}: {listed(labels)}" if several else ""
    return Encoding(
        name=["sweep"],
        title=f"Response by {what}{who}",
        kind="Lines" if numeric else "Points",
        axes=f"Horizontal: {what}, in {count(len(panels), 'panel')}{lines}",
        series={
            f"{panel.data.measure.title}, {label}" if several else panel.data.measure.title: rows
            for panel in panels
            for label, rows in panel.lines.items()
        },
        interval=interval if _has_bands(panels[0], options) else "",
        marks=[
            None if numeric else f"{ends} inserted tokens.",
            "Dashed: no change." if any(m.neutral is not None for m in measures) else None,
        ],
        facts=["Inserted tokens are those that hold an inserted character, mean over the prompts"],
        measures=measures,
    )


# ── marks ─────────────────────────────────────────────────────────────────────────────────────────


def _has_bands(panel: LinePanel, options: LineOptions) -> bool:
    return options.bands and panel.data.has_intervals and len(panel.lines) <= _MOST_BANDS


def panels_view(
    grid: PanelGrid, panels: Sequence[LinePanel], options: LineOptions, x: Spec, x_label: str
) -> Spec:
    columns = ("x", "mean", "low", "high", "n_prompts")
    views = []
    for panel in panels:
        values = [
            {name: row[name] for name in (*columns, "significant") if name in row}
            | {"series": label}
            for label, rows in panel.lines.items()
            for row in rows
            if row["mean"] is not None
        ]
        scale: Spec = {"zero": False, "nice": 5}
        if panel.domain:
            scale = {"domain": list(panel.domain), "nice": False}
        elif from_zero(panel.data):
            scale["domainMin"] = 0.0
        y = channel("mean", scale=scale, axis={"title": panel.y_title, "tickCount": 5})
        layers = _layers(panel, options, x_label, categories=x["type"] != "quantitative")
        view = grid.panel(_HEIGHT, panel.title, x, y, *layers, wrap=panel.wrap)
        views.append({**view, "data": {"values": values}})
    return grid.view(grid.rows(views))


def from_zero(data: Selection) -> bool:
    """Whether only intervals reach below 0, of what is a part of something: there is no room."""
    unsigned = data.neutral is None and data.measure.scale == "zero"
    lows = [row["low"] for row in data.drawn if row["low"] is not None]
    return unsigned and min(data.numbers, default=0.0) >= 0 > min(lows, default=0.0)


def _layers(
    panel: LinePanel, options: LineOptions, x_label: str, *, categories: bool
) -> list[Spec]:
    names = list(panel.lines)
    longest = max(len(rows) for rows in panel.lines.values())
    look: Spec = {"symbolType": "stroke", "symbolSize": 320, "symbolStrokeWidth": 2}
    shown = legend({n: n for n in names}, options.pixels, **look) if len(names) > 1 else None
    colour: Spec = {"color": coloured("series", panel.colours, shown)}
    dash: Spec = {}
    beside: Spec = {}
    if len(names) > 1:
        dashes = {"domain": names, "range": _DASHES[: len(names)]}
        dash = {"strokeDash": channel("series", "nominal", scale=dashes, legend=shown)}
        if categories:  # points over one category stand side by side
            offsets = {"domain": names, "paddingOuter": 1}
            beside = {"xOffset": channel("series", "nominal", scale=offsets)}
    layers = [] if panel.data.neutral is None else [dashed_line(panel.data.neutral)]
    if _has_bands(panel, options):
        rule = categories or longest == 1
        look = {"strokeWidth": 1.3} if rule else {"opacity": 0.2, "clip": True}
        ends = {"y": channel("low"), "y2": {"field": "high"}, **colour, **beside}
        there = "isValid(datum.low)"
        layers.append(layer("rule" if rule else "area", ends, where=there, tooltip=None, **look))
    if not categories:
        look = {"strokeWidth": 1.7, "strokeJoin": "round", "tooltip": None}
        layers.append(layer("line", {**colour, **dash}, **look))
    size: Spec = {"value": 34 if categories else 10 if longest > 16 else 22}
    if panel.data.is_difference:
        size["condition"] = {"test": "datum.significant", "value": 50}
    numbers = {"mean": panel.data.measure.title, "low": "low", "high": "high"}
    tips = tooltip({"series": "line", "x": x_label}, numbers | {"n_prompts": "prompts"})
    dots = {**colour, "size": size, "tooltip": tips, **beside}
    layers.append(layer("circle", dots, opacity=1))
    return layers
