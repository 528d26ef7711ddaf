"""A `response_summary` → a map of layers and heads: what an insertion does to each.

Colour is one response number; a small symbol is the head's label. Ratios and changes have white
where nothing changes; numbers of which 1 says so are light there; a divergence starts light at 0.
Draws what is in the table and computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mindshare.figures.figure import Figure
from mindshare.figures.insertion import response_words
from mindshare.figures.insertion.legend import Entry, legend_view, legends_left
from mindshare.figures.insertion.map_axes import AXIS_ROOM, map_axes
from mindshare.figures.insertion.response_cells import (
    SHAPES,
    ResponseCells,
    ResponseMapOptions,
    choose_cells,
)
from mindshare.figures.insertion.shades import GRADIENT, PAPER, gradient, ink_on
from mindshare.figures.insertion.version_words import named
from mindshare.figures.theme import INK, SCHEMA, config, heading
from mindshare.stats.labels import RESTING

Spec = dict[str, Any]
_SYMBOL = 7.0  # pixels at most


def response_map(
    summary: pa.Table,
    measure: str,
    options: ResponseMapOptions | None = None,
    *,
    model: str | None = None,
    condition: str | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """One response number in every head; model and condition only if the table has several."""
    options = options or ResponseMapOptions()
    cells = choose_cells(summary, measure, options, model=model, condition=condition)
    title = options.title or response_words.title(cells)
    description = response_words.description(cells)
    return Figure(
        name=options.name or response_words.name(cells),
        spec=_spec(cells, title, (response_words.caption(cells, about or {}), description)),
        table=cells.shown.table,
        title=title,
        definition=response_words.definition(cells, about or {}),
        description=description,
    )


def _spec(cells: ResponseCells, title: str, words: tuple[str, str]) -> Spec:
    caption, description = words
    wide = cells.size.width * len(cells.shown.heads) > GRADIENT
    counts = [legend_view(_entries(cells), _width(cells))] if cells.labels else []
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": heading(title, caption, cells.options.pixels),
        "vconcat": [*counts, _map(cells)],
        "resolve": {"scale": {"color": "independent"}},
        "spacing": 6,
        "config": config() if wide else legends_left(config()),
    }


def _width(cells: ResponseCells) -> float:
    """Of the legend: as wide as a map can be, however few heads there are."""
    return cells.options.pixels - AXIS_ROOM


def _entries(cells: ResponseCells) -> list[Entry]:
    kind = "symbol" if cells.has_symbols else "none"
    return [
        Entry(f"{label} {n:,}", kind if label in SHAPES else "none", INK, SHAPES.get(label, ""))
        for label, n in cells.labels.items()
    ]


def _map(cells: ResponseCells) -> Spec:
    layers = [n for n in cells.shown.layers if n is not None]
    heads = [n for n in cells.shown.heads if n is not None]
    size = cells.size
    return {
        "width": size.width * len(heads),
        "height": size.height * len(layers),
        "view": {"stroke": "#bbbbbb", "fill": "#ececec"},  # shows where there is no number
        "data": {"values": _values(cells)},
        "encoding": map_axes(layers, heads, size, cells.options),
        "layer": [_rects(cells), *(_symbols(cells) if cells.has_symbols else [])],
    }


def _values(cells: ResponseCells) -> list[Spec]:
    """The table's own numbers, the place on the scale of colours, and the ink of the symbol.

    A head that rests may have no number: it has a symbol, and no colour.
    """
    names = ("layer", "head", "mean", "low", "high", "n_prompts", "label")
    palette = cells.options.colours
    found = []
    for row in cells.shown.rows:
        value = {name: row[name] for name in names}
        if row["mean"] is not None:
            place = cells.shade.place(row["mean"])
            found.append({**value, "place": place, "ink": ink_on(place, cells.shade, palette)})
        elif row["label"] == RESTING:
            found.append({**value, "ink": INK})
    return found


def _rects(cells: ResponseCells) -> Spec:
    line = "#e2e2e2" if cells.shade.middle is not None else "white"  # white cells need an edge
    room = cells.options.pixels - 2 * AXIS_ROOM
    palette, words = cells.options.colours, named(cells.measure)
    colour = gradient(cells.shade, palette, title=words, length=room)
    return {
        "transform": [{"filter": "isValid(datum.place)"}],
        "mark": {"type": "rect", "stroke": line, "strokeWidth": 0.4},
        "encoding": {"color": colour, "tooltip": _tooltip(cells)},
    }


def _symbols(cells: ResponseCells) -> list[Spec]:
    """A layer for each ink: a second scale of colours would mix with that of the cells."""
    side = min(min(cells.size.width, cells.size.height) * 0.62, _SYMBOL)
    words = [word for word in cells.labels if word in SHAPES]
    scale = {"domain": words, "range": [SHAPES[word] for word in words]}
    return [
        {
            "transform": [{"filter": f"datum.ink === '{ink}' && isValid(datum.label)"}],
            "mark": {
                "type": "point",
                "size": round(side * side, 1),  # in square pixels
                "filled": False,
                "color": ink,
                "strokeWidth": 1.4,
                "strokeCap": "round",
                "opacity": 1,
                "tooltip": None,
            },
            "encoding": {
                "shape": {"field": "label", "type": "nominal", "scale": scale, "legend": None}
            },
        }
        for ink in (INK, PAPER)
    ]


def _tooltip(cells: ResponseCells) -> list[Spec]:
    words = {"layer": "layer (0-based)", "head": "head (0-based)", "label": "label"}
    numbers = {"mean": named(cells.measure), "low": "low", "high": "high"}
    return [
        *({"field": n, "type": "ordinal", "title": text} for n, text in words.items()),
        *(
            {"field": n, "type": "quantitative", "title": text, "format": ".4~g"}
            for n, text in numbers.items()
        ),
        {"field": "n_prompts", "type": "quantitative", "title": "prompts"},
    ]
