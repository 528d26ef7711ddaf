"""An `aligned` table → the prompt's own text, every token coloured by what it gains or loses.

Blue loses, red gains, white stays. A line end is shown and ends the line; what the insertion cut
differently is outlined. Draws what is in the table; computes the change and where a token stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from mindshare.figures.figure import Figure
from mindshare.figures.insertion import strip_words
from mindshare.figures.insertion.legend import Entry, legend_view, legends_left
from mindshare.figures.insertion.shades import PAPER, gradient, ink_on
from mindshare.figures.insertion.strip import Strip, StripToken, TextStripOptions, choose_strip
from mindshare.figures.insertion.text_flow import Box, advance, flow
from mindshare.figures.insertion.versions import visible
from mindshare.figures.theme import FAINT, INK, LABEL, SCHEMA, config, heading

Spec = dict[str, Any]
_LINE, _BOX = 17, 15  # pixels: from line to line, height of a box
_NOTHING = "#e9e9e9"  # no number
_PALE = 0.45


def text_strip(
    aligned: pa.Table,
    options: TextStripOptions | None = None,
    *,
    model: str,
    prompt: str,
    condition: str,
    layer: int | None = None,
    head: int | None = None,
    places: pa.Table | None = None,
    about: Mapping[str, str] | None = None,
) -> Figure:
    """What each token of a prompt gains or loses by the insertion, in the text itself.

    `places` gives the text of tokens that the insertion cut differently; without it they are `…`.
    """
    strip = choose_strip(
        aligned,
        places,
        options or TextStripOptions(),
        names=(model, prompt, condition),
        head=(layer, head),
        about=about or {},
    )
    title = strip.options.title or strip_words.title(strip)
    description = strip_words.description(strip)
    return Figure(
        name=strip.options.name or strip_words.name(strip),
        spec=_spec(strip, title, (strip_words.caption(strip), description)),
        table=strip.table,
        title=title,
        definition=strip_words.definition(strip),
        description=description,
    )


def _spec(strip: Strip, title: str, words: tuple[str, str]) -> Spec:
    caption, description = words
    entries = list(_entries(strip))
    above = [legend_view(entries, strip.options.pixels)] if entries else []
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": heading(title, caption, strip.options.pixels),
        "vconcat": [*above, _text(strip)],
        "resolve": {"scale": {"color": "independent"}},
        "spacing": 6,
        "config": legends_left(config()),  # where the text begins
    }


def _entries(strip: Strip) -> Iterator[Entry]:
    """What is neither white nor coloured."""
    if not all(token.matched for token in strip.tokens):
        yield Entry("cut differently beside the insertion", "box", INK)
    if any(token.matched and strip.change(token) is None for token in strip.tokens):
        yield Entry("no number", "area", _NOTHING)


def _text(strip: Strip) -> Spec:
    boxes = flow([t.piece for t in strip.tokens], strip.options.pixels, LABEL)
    rows = [_row(strip, box) for box in boxes]
    lines = 1 + max((box.line for box in boxes), default=0)
    return {
        "width": strip.options.pixels,
        "height": lines * _LINE,
        "view": {"stroke": None},
        "data": {"values": rows},
        "layer": [
            _rects(strip),
            *(_plain(kind) for kind in ("nothing", "unmatched")),
            *(_words(ink) for ink in (INK, FAINT, PAPER)),
        ],
    }


def _row(strip: Strip, box: Box) -> Spec:
    token = strip.tokens[box.token]
    change = strip.change(token)
    # Leading spaces are not drawn but stepped over: Vega trims what it draws.
    ahead = box.text[: len(box.text) - len(box.text.lstrip())]
    row: Spec = {
        "x": box.x,
        "at": round(box.x + advance(ahead, LABEL), 2),
        "x2": round(box.x + box.width, 2),
        "y": box.line * _LINE,
        "y2": box.line * _LINE + _BOX,
        "middle": box.line * _LINE + _BOX / 2 + 0.5,
        "text": box.text.strip(),
        "room": round(advance(box.text.strip(), LABEL), 2),  # where a font is wider, it is squeezed
        "kind": "change" if change is not None else "nothing" if token.matched else "unmatched",
        "ink": _ink(strip, token),
        "opacity": _PALE if strip.is_pale(token) else 1,
        **_told(strip, token),
    }
    return row if change is None else {**row, "place": strip.shade.place(change)}


def _ink(strip: Strip, token: StripToken) -> str:
    change = strip.change(token)
    if strip.is_pale(token):
        return FAINT
    if change is None:
        return INK
    return ink_on(strip.shade.place(change), strip.shade, strip.options.colours)


def _told(strip: Strip, token: StripToken) -> Spec:
    """What is said to whoever points at the token."""

    def word(value: float | None) -> str:
        return "–" if value is None else f"{value:.4g}"

    return {
        "token": visible(token.text),
        "position": token.position,
        "without": word(token.without),
        "with": word(token.with_),
        "change": word(token.change(strip.options.change)),
        "queries": f"{token.n_queries:,}" if token.matched else "–",
    }


def _pixel(field: str) -> Spec:
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def _area() -> Spec:
    return {
        "x": _pixel("x"),
        "x2": {"field": "x2"},
        "y": _pixel("y"),
        "y2": {"field": "y2"},
    }


def _rects(strip: Strip) -> Spec:
    title = strip_words.legend(strip)
    palette = strip.options.colours
    return {
        "transform": [{"filter": "datum.kind === 'change'"}],
        "mark": {"type": "rect", "stroke": "#dddddd", "strokeWidth": 0.4},
        "encoding": {
            **_area(),
            "color": gradient(strip.shade, palette, title=title, length=170),
            "opacity": {"field": "opacity", "type": "quantitative", "scale": None},
            "tooltip": _tooltip(strip),
        },
    }


def _plain(kind: str) -> Spec:
    """Boxes that say nothing about a change."""
    fill = {"color": _NOTHING} if kind == "nothing" else {"color": PAPER, "stroke": INK}
    named = {"token": "token", "position": "position without"}
    return {
        "transform": [{"filter": f"datum.kind === '{kind}'"}],
        "mark": {"type": "rect", "strokeWidth": 0.9, **fill},
        "encoding": {
            **_area(),
            "tooltip": [{"field": n, "type": "nominal", "title": t} for n, t in named.items()],
        },
    }


def _words(ink: str) -> Spec:
    """A layer for each ink: a second scale of colours would mix with that of the boxes."""
    mark = {"type": "text", "align": "left", "baseline": "middle", "fontSize": LABEL}
    return {
        "transform": [{"filter": f"datum.ink === '{ink}'"}],
        "mark": {**mark, "color": ink, "tooltip": None},
        "encoding": {
            "x": _pixel("at"),
            "y": _pixel("middle"),
            "text": {"field": "text", "type": "nominal"},
        },
    }


def _tooltip(strip: Strip) -> list[Spec]:
    fields = {
        "token": "token",
        "position": "position without",
        "without": "received without",
        "with": f"received with {strip.words}",
        "change": strip_words.legend(strip),
        "queries": "mean of queries (the fewer)",
    }
    return [{"field": n, "type": "nominal", "title": t} for n, t in fields.items()]
