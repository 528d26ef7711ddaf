"""What marks mean → a line or two of samples with words beside them, as a view of its own.

Drawn by hand because a legend of Vega-Lite knows neither rows of panels nor how wide a page is.
Knows colours and words, nothing about tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.figures.theme import FAINT, INK, LABEL, text_width, wrapped

Spec = dict[str, Any]
_LINE, _SAMPLE, _GAP = 15, 18, 12  # pixels: height of a line, length of a sample, between entries
_SYMBOL = 7.0
_SPARE = 1.08  # a browser may have a wider font


@dataclass(frozen=True)
class Entry:
    """A sample and its words: a line, an area, a box (an outline), a symbol, or no sample.

    A symbol is an SVG path in the square from −1 to 1.
    """

    words: str
    kind: str = "none"
    colour: str = FAINT
    symbol: str = ""

    @property
    def sample(self) -> float:
        """How much room the sample takes."""
        if self.kind == "symbol":
            return _SYMBOL + 5
        return 0 if self.kind == "none" else _SAMPLE + 4

    @property
    def width(self) -> float:
        return self.sample + text_width(self.words) * _SPARE


def legend_view(entries: Sequence[Entry], width: float, *, offset: float = 0) -> Spec:
    """The entries one after the other, in as many lines as they need."""
    rows = _placed(entries, width, offset)
    lines = 1 + max((row["line"] for row in rows), default=0)
    kinds = {row["kind"] for row in rows}
    return {
        "width": width,
        "height": lines * _LINE,
        "view": {"stroke": None},
        "data": {"values": rows},
        "layer": [*(layer for kind, layer in _samples().items() if kind in kinds), _words()],
    }


def legends_left(settings: Spec) -> Spec:
    """The same config, with Vega's own legends at the left instead of in the middle."""
    layout = {"expr": "{top: {anchor: 'start'}}"}
    return {**settings, "legend": {**settings["legend"], "layout": layout}}


def _placed(entries: Sequence[Entry], width: float, offset: float) -> list[Spec]:
    rows: list[Spec] = []
    x, line = offset, 0
    for entry in entries:
        if x > offset and x + entry.width > width:
            x, line = offset, line + 1
        lines = wrapped(entry.words, width - x - entry.sample)
        for more, words in enumerate(lines):  # more than one only if an entry fills a line
            rows.append(_row(entry, words, x, line + more, first=more == 0))
        line += len(lines) - 1
        x += entry.width + _GAP
    return rows


def _row(entry: Entry, words: str, x: float, line: int, *, first: bool) -> Spec:
    y = line * _LINE + _LINE / 2
    return {
        "x": round(x, 1),
        "x2": round(x + _SAMPLE, 1),
        "y": y,
        "low": y - 4.5,
        "high": y + 4.5,
        "at": round(x + entry.sample, 1),
        "line": line,
        "kind": entry.kind if first else "none",
        "colour": entry.colour,
        "symbol": entry.symbol,
        "words": words,
    }


def _pixel(field: str) -> Spec:
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def _colour() -> Spec:
    return {"field": "colour", "type": "nominal", "scale": None}


def _samples() -> dict[str, Spec]:
    ends = {"x": _pixel("x"), "x2": {"field": "x2"}}
    box = {**ends, "y": _pixel("low"), "y2": {"field": "high"}}
    marks: dict[str, tuple[Spec, Spec]] = {
        "line": (
            {"type": "rule", "strokeWidth": 1.8},
            {**ends, "y": _pixel("y"), "color": _colour()},
        ),
        "area": ({"type": "rect"}, {**box, "color": _colour()}),
        "box": (
            {"type": "rect", "fillOpacity": 0, "strokeWidth": 1.2},
            {**box, "stroke": _colour()},
        ),
        "symbol": (
            {
                "type": "point",
                "size": _SYMBOL**2,
                "filled": False,
                "strokeWidth": 1.4,
                "strokeCap": "round",
                "opacity": 1,
                "xOffset": _SYMBOL / 2,
            },
            {
                "x": _pixel("x"),
                "y": _pixel("y"),
                "shape": {"field": "symbol", "type": "nominal", "scale": None},
                "color": _colour(),
            },
        ),
    }
    return {
        kind: {
            "transform": [{"filter": f"datum.kind === '{kind}'"}],
            "mark": {**mark, "tooltip": None},
            "encoding": encoding,
        }
        for kind, (mark, encoding) in marks.items()
    }


def _words() -> Spec:
    mark = {"type": "text", "align": "left", "baseline": "middle", "fontSize": LABEL, "color": INK}
    text = {"field": "words", "type": "nominal"}
    return {"mark": mark, "encoding": {"x": _pixel("at"), "y": _pixel("y"), "text": text}}
