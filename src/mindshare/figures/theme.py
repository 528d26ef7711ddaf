"""What charts look like: fonts, sizes, widths, colours. Words become colours and lines of text.

Sizes are for print: at the column width of 3.4 inches one unit is 1/96 inch, so that the smallest
text is 7 pt. Knows nothing about tables or chart kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.errors import SelectionError, nearest

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; it is never fetched
# Of the same widths; the last but one is nearly as narrow, and there where none of them is.
FONT = "Liberation Sans, Arial, Arimo, Helvetica, Nimbus Sans, DejaVu Sans Condensed, sans-serif"
WIDTHS = {"column": 326, "page": 672}  # 3.4 and 7 inches
LABELS = {"zero-based": 0, "one-based": 1}  # what is added to a 0-based number
LABEL, TITLE, SMALL = 10, 12, 9.5  # font sizes
INK, FAINT, GRID = "#222222", "#5c5c5c", "#e4e4e4"
OTHER, SINK = "#e6dcc6", "#cbb994"  # beige: none of the greys of the palettes
_BLANK = ("space", "spaces", "whitespace", "blank", "blanks", "newline")


@dataclass(frozen=True)
class Palette:
    """Colours of classes in order; whitespace is grey wherever it stands."""

    classes: tuple[str, ...]
    blank: str
    low_to_high: tuple[str, ...]  # for one amount
    minus_to_plus: tuple[str, str, str]  # for differences, white in the middle


_DEEP = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
_VIRIDIS = ("#fde725", "#5ec962", "#21918c", "#3b528b", "#440154")
PALETTES = {
    "seed": Palette(
        ("#d63333", "#2f6fc4", "#8f8f8f", "#3a9a4b", "#ee8a1d", "#7d55b8", "#7a4a35", "#21b0b8"),
        blank="#8f8f8f",
        low_to_high=_DEEP,
        minus_to_plus=("#2f6fc4", "#ffffff", "#d63333"),
    ),
    "safe": Palette(  # Okabe and Ito
        ("#d55e00", "#0072b2", "#999999", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442"),
        blank="#999999",
        low_to_high=_VIRIDIS,
        minus_to_plus=("#0072b2", "#ffffff", "#d55e00"),
    ),
}


@dataclass(frozen=True)
class Style:
    """What every chart kind can be told."""

    palette: str = "seed"
    labels: str = "zero-based"  # of layers and heads; the data stay 0-based
    width: str = "column"
    title: str | None = None  # None: made from what is shown
    name: str | None = None  # of the files; None: the chart kind and the measure
    queries: str | None = None  # needed only if the table has several query sets

    def __post_init__(self) -> None:
        check_word(self.palette, PALETTES, "palette")
        check_word(self.labels, LABELS, "way to label layers and heads")
        check_word(self.width, WIDTHS, "width")

    @property
    def colours(self) -> Palette:
        return PALETTES[self.palette]

    @property
    def pixels(self) -> int:
        return WIDTHS[self.width]

    def number(self, zero_based: int) -> int:
        return zero_based + LABELS[self.labels]


def check_word(word: str, known: Iterable[str], what: str) -> None:
    if word not in known:
        raise SelectionError(
            f"unknown {what} {word!r}{nearest(word, known)}", allowed=", ".join(known)
        )


def class_colours(names: Sequence[str], palette: Palette, *, first: int = 0) -> dict[str, str]:
    """A colour for each class, in the order of the rules: the same class, the same colour.

    `first` is how many colours are taken already, by other classes of the same study.
    """
    colours = {"other": OTHER, "sink_slot": SINK}
    colours |= {name: palette.blank for name in names if name.lower() in _BLANK}
    left = [name for name in names if name not in colours]
    free = [colour for colour in palette.classes[first:] if colour not in colours.values()]
    if len(left) > len(free):
        raise SelectionError(
            f"{len(left)} classes are more than can be told apart", allowed=f"up to {len(free)}"
        )
    colours |= dict(zip(left, free, strict=False))
    return {name: colours[name] for name in names}


def text_width(text: str, size: float = LABEL) -> float:
    """About how wide the text is; rather too wide than too narrow."""
    narrow, wide = "fijlrtI.,:;'|!()[]-/ \xa0", "mwMW%@…→"
    ems = (
        0.31 if c in narrow else 0.88 if c in wide else 0.7 if c.isupper() else 0.55 for c in text
    )
    return size * sum(ems)


def wrapped(text: str, width: float, size: float = LABEL) -> list[str]:
    """The text in lines that fit; a single word is never broken."""
    lines = [""]
    for word in text.split(" "):  # not at no-break spaces
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def every(share: float) -> int:
    """Which labels to write (each, every 2nd, 5th, …) if `share` of a label fits into a step."""
    return next((n for n in (1, 2, 5, 10, 20, 50) if n * share >= 1), 100)


def heading(title: str, subtitle: str, width: float) -> dict[str, Any]:
    """The title and, small below it, how the picture was made."""
    return {
        "text": wrapped(title, width, TITLE * 1.06),  # bold is wider
        "subtitle": wrapped(subtitle, width, SMALL),
        "anchor": "start",
        "frame": "bounds",
        "offset": 8,
    }


def config() -> dict[str, Any]:
    """Vega-Lite's config for all charts."""
    text = {"labelFontSize": LABEL, "titleFontSize": LABEL, "labelColor": INK, "titleColor": INK}
    return {
        "font": FONT,
        "background": "white",
        "padding": 6,
        "view": {"stroke": None},
        "axis": {
            **text,
            "titleFontWeight": "normal",
            "domainColor": "#888888",
            "tickColor": "#888888",
            "tickSize": 3,
            "gridColor": GRID,
        },
        "header": {**text, "labelFontWeight": "bold", "titleFontWeight": "normal"},
        "legend": {
            **text,
            "titleFontWeight": "normal",
            "symbolSize": 90,
            "symbolType": "square",
            "layout": {"expr": "{top: {anchor: 'middle'}}"},
        },
        "title": {
            "fontSize": TITLE,
            "color": INK,
            "subtitleFontSize": SMALL,
            "subtitleColor": FAINT,
            "subtitlePadding": 4,
        },
    }
