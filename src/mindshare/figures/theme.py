"""What charts look like: style, text widths, axes, legends, panels.

A chart is laid out in units in which its text is 12 high. Drawn, it is exactly as wide as its style
says, so that a unit is 1/96 inch for text of 9 pt, and smaller for smaller text. Knows nothing
about tables or chart kinds.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from mindshare.errors import SelectionError, nearest, require_all_known, require_types
from mindshare.figures.colours import FAINT, INK, PALETTES, Palette

Spec = dict[str, Any]
T = TypeVar("T")

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; it is never fetched
# Of the same widths; the last but one is nearly as narrow, and there where none of them is.
FONT = "Liberation Sans, Arial, Arimo, Helvetica, Nimbus Sans, DejaVu Sans Condensed, sans-serif"
INCH = 96  # pixels, as in CSS and SVG
WIDTHS = {"column": 3.4, "page": 7.0}  # inches
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}  # of a length, in inches
PADDING = 6  # units around a chart
LABELS = {"zero-based": 0, "one-based": 1}  # what is added to a 0-based number
TEXT, TITLE = 12, 14  # font sizes in units
POINTS = 9.0  # the size of text where a unit is a pixel
BOLD = 1.08  # how much wider bold text is
GRID = "#e4e4e4"
_POINTS = (6, 24)  # font sizes that can be chosen
_LEAST, _MOST = 150, 4_000  # units of a chart's width: less holds no axis, more is a mistake
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(in|cm|mm|pt)", re.ASCII)
_LONGEST = 1_000  # characters of a text: to draw one takes the square of its length
_COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")
_LONGEST_NAME = 22  # characters of a name along an axis


@dataclass(frozen=True)
class Style:
    """Options that every chart has; chart kinds add their own."""

    palette: str = "seed"
    labels: str = "zero-based"  # how layers and heads are counted; the tables stay 0-based
    width: str = "column"  # in print: column, page, or a length such as 8.5cm or 3.4in
    font_size: float = POINTS  # points, in print
    title: str | None = None  # None: made from what is shown; empty: none
    subtitle: str | None = None  # None: the caption; empty: none
    y_title: str | None = None  # of what is measured: the vertical axis, or the colours of a map
    bare: bool = False  # neither title nor subtitle
    label: Mapping[str, str] = field(default_factory=dict)  # class, condition, model → words
    colour: Mapping[str, str] = field(default_factory=dict)  # the same → #rrggbb
    name: str | None = None  # of the files; None: the chart kind and the measure

    def __post_init__(self) -> None:
        require_all_known([self.palette], PALETTES, "palette")
        require_all_known([self.labels], LABELS, "way to label layers and heads")
        length = isinstance(self.width, str) and _LENGTH.fullmatch(self.width)
        if not length and self.width not in list(WIDTHS):  # a list, whatever was given
            known = [f"{name} ({inches:g} inches)" for name, inches in WIDTHS.items()]
            raise SelectionError(
                f"unknown width {self.width!r}{nearest(self.width, WIDTHS)}",
                allowed=", ".join([*known, "or a length such as 8.5cm or 3.4in"]),
            )
        require_types(self)
        least, most = _POINTS
        if not least <= self.font_size <= most:
            raise SelectionError(
                f"text of {self.font_size:g} pt", allowed=f"{least} to {most} pt for font_size"
            )
        texts = {name: getattr(self, name) for name in ("title", "subtitle", "y_title")}
        for name, text in (
            texts | {f"label of {k!r:.40}": v for k, v in self.label.items()}
        ).items():
            if text and len(text) > _LONGEST:
                raise SelectionError(
                    f"the {name} has {len(text):,} characters", allowed=f"at most {_LONGEST:,}"
                )
        for name, colour in self.colour.items():
            if not _COLOUR.fullmatch(colour):
                raise SelectionError(f"{colour!r} is no colour for {name!r}", allowed="#rrggbb")
        if not _LEAST <= self.pixels <= _MOST:
            raise SelectionError(
                f"text of {self.font_size:g} pt does not go with a width of {self.width}",
                next_step="choose another width or font size",
            )

    @property
    def colours(self) -> Palette:
        return PALETTES[self.palette]

    @property
    def inches(self) -> float:
        """The width in print."""
        match = _LENGTH.fullmatch(self.width)
        return float(match[1]) * UNITS[match[2]] if match else WIDTHS[self.width]

    @property
    def units(self) -> float:
        """The width with its padding, in units of the layout."""
        return self.inches * INCH * POINTS / self.font_size

    @property
    def pixels(self) -> float:
        """The width that a chart may fill, in units of the layout."""
        return round(self.units - 2 * PADDING, 2)

    @property
    def is_narrow(self) -> bool:
        return self.pixels < 480

    def word(self, name: str) -> str:
        """What a class, condition or model is called in the picture."""
        return self.label.get(name, name)

    def tinted(self, colours: Mapping[str, str]) -> dict[str, str]:
        """Names → these colours, or those that were chosen for the names."""
        return {name: self.colour.get(name, colour) for name, colour in colours.items()}

    def number(self, zero_based: int) -> int:
        return zero_based + LABELS[self.labels]

    def place(self, row: Mapping[str, Any]) -> Spec:
        """The layer and head of a row as they are labelled; a mean over them has none."""
        there = {name: row[name] for name in ("layer", "head") if name in row}
        return {name: None if n is None else self.number(n) for name, n in there.items()}


# ── text ─────────────────────────────────────────────────────────────────────────────────────────

# Liberation Sans, which has the widths of Arial, in thousandths of an em: ASCII from the space on.
_ASCII = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {"¶": 537, "→": 1000, "\u00a0": 278, "…": 1000, "–": 556, "—": 1000, "·": 333, "×": 584}


def text_width(text: str, size: float = TEXT) -> float:
    """How wide the text is drawn, in pixels."""
    return size * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32] / 1000
    if character in _OTHERS:
        return _OTHERS[character] / 1000
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    base = unicodedata.normalize("NFD", character)[0]
    if base != character:
        return _em(base)
    wide = unicodedata.east_asian_width(character) in "WF"
    return 1.1 if wide else 0.78 if character.isupper() else 0.66


def wrapped(text: str, width: float, size: float = TEXT) -> list[str]:
    """The text in lines that fit; a word is broken only behind a hyphen, slash or underscore."""
    lines = [""]
    for word in text.split(" "):  # not at no-break spaces
        parts = [f" {word}" if lines[-1] else word]
        if text_width(word, size) > width:
            parts = re.findall(r"[^-/_]*[-/_]|[^-/_]+", parts[0])
        for part in parts:
            if lines[-1] and text_width(lines[-1] + part, size) > width:
                lines.append("")
            lines[-1] += part if lines[-1] else part.lstrip()
    return lines


def balanced(text: str, width: float, size: float = TEXT) -> list[str]:
    """As few lines as `wrapped`, of nearly the same length: no word stands on a line alone."""
    fewest = len(wrapped(text, width, size))
    narrower = (wrapped(text, width * part / 20, size) for part in range(10, 21))
    return next(lines for lines in narrower if len(lines) == fewest)


# ── Vega-Lite ─────────────────────────────────────────────────────────────────────────────────────


def channel(name: str, kind: str = "quantitative", **more: Any) -> Spec:
    """The encoding of a channel by a field of the data."""
    return {"field": name, "type": kind, **more}


def layer(
    mark: str,
    encoding: Spec,
    *,
    values: Sequence[Spec] | None = None,
    where: str | None = None,
    **look: Any,
) -> Spec:
    """A layer of marks, with its own values or of the chart's where the expression holds."""
    spec: Spec = {"mark": {"type": mark, **look}, "encoding": encoding}
    spec |= {} if values is None else {"data": {"values": list(values)}}
    return spec if where is None else {**spec, "transform": [{"filter": where}]}


def coloured(name: str, colours: Mapping[str, str], legend: Spec | None) -> Spec:
    """Each value of a field in its own colour."""
    scale = {"domain": list(colours), "range": list(colours.values())}
    return channel(name, "nominal", scale=scale, legend=legend)


def dashed_line(value: float) -> Spec:
    """Across a panel, at the number that says that nothing changed."""
    look: Spec = {"color": "#777777", "strokeDash": [3, 2], "strokeWidth": 0.9, "tooltip": None}
    ends: Spec = {"x": {"value": 0}, "x2": {"value": "width"}}
    return layer("rule", ends, values=[{"mean": value}], **look)


def every(share: float) -> int:
    """Which labels to write (each, every 2nd, 5th, …) if `share` of a label fits into a step."""
    return next((n for n in (1, 2, 5, 10, 20, 50) if n * share >= 1), 100)


def number_axis(
    numbers: Sequence[int], step: float, style: Style, *, upright: bool = False
) -> Spec:
    """Layers or heads along an axis, `step` pixels each: as many numbers as fit."""
    shown = [style.number(n) for n in numbers]
    widest = max(text_width(str(n)) for n in shown)
    gap = every(step / (TEXT + 1 if upright else widest + 5))
    without_gaps = shown == list(range(shown[0], shown[0] + len(shown)))
    whole = [n for n in shown if n % gap == 0] if without_gaps else []
    return {
        "values": whole or shown[::gap],
        "labelAngle": 0,
        "labelOverlap": False,
        "ticks": False,
    }


def name_axis(names: Sequence[str], step: float, style: Style) -> Spec:
    """Names along an axis, `step` pixels each: level if they fit, else slanted, else upright."""
    short = shortened([style.word(name) for name in names])
    widest = max(text_width(name) for name in short)
    angle = 0 if widest <= step - 4 else -45 if step >= 1.5 * TEXT else -90
    axis: Spec = {"title": None, "ticks": False, "labelAngle": angle, "labelLimit": 0}
    axis |= {"labelPadding": 4, "labelOverlap": False, "domain": True}
    if angle == -45:
        axis |= {"labelAlign": "right", "labelBaseline": "top", "labelOffset": -3}
    if short != list(names):
        axis["labelExpr"] = _relabelled(dict(zip(names, short, strict=True)))
    return axis


def shortened(names: Sequence[str]) -> list[str]:
    """Long names without their middle, as long as they stay different."""
    half = _LONGEST_NAME // 2
    short = [n if len(n) <= _LONGEST_NAME else f"{n[: half - 1]}…{n[-half:]}" for n in names]
    return short if len(set(short)) == len(set(names)) else list(names)


def _relabelled(labels: Mapping[str, str]) -> str:
    """The Vega expression that writes other labels than the values."""

    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    cases = "".join(f"datum.label === {quoted(a)} ? {quoted(b)} : " for a, b in labels.items())
    return f"{cases}datum.label"


def legend(labels: Mapping[str, str], pixels: float, **more: Any) -> Spec:
    """Values → labels, in as many columns as fit the width."""
    widest = max(text_width(label) for label in labels.values()) + 34
    rows = -(-len(labels) * widest // pixels)
    return {
        "orient": "top",
        "title": None,
        "columns": int(-(-len(labels) // rows)),
        "labelLimit": 0,
        "labelExpr": _relabelled(labels),
        "offset": 6,
        "symbolOpacity": 1,
        **more,
    }


def tooltip(texts: Mapping[str, str], numbers: Mapping[str, str] | None = None) -> list[Spec]:
    """Fields → what they are called in a tooltip."""
    return [
        *(channel(n, "nominal", title=title) for n, title in texts.items()),
        *(channel(n, title=title, format=".4~g") for n, title in (numbers or {}).items()),
    ]


@dataclass(frozen=True)
class PanelGrid:
    """Panels of lines: how many stand in a row, how wide each is, and their common frame."""

    columns: int
    panel_width: float
    gap: float = 10  # pixels between panels

    EXTENT: ClassVar = 40  # pixels that every vertical axis takes, so that panels stand in columns
    _GAP: ClassVar = 10

    @classmethod
    def of(
        cls, panels: int, style: Style, *, most: int | None = None, titled: bool = False
    ) -> PanelGrid:
        """Up to 3 in a row of a page, 4 only if there are just 4; up to 2 in a column.

        `titled`: every vertical axis has its title, not only the first of a row.
        """
        widest = most or (2 if style.is_narrow else 4 if panels in (4, 7, 8) else 3)
        columns = math.ceil(panels / math.ceil(panels / widest))
        gap = cls._GAP + (16 if titled else 0)
        sides = 16 + 8  # the title of the first axis; the last label reaches over the end
        room = style.pixels - sides - columns * cls.EXTENT - (columns - 1) * gap
        return cls(columns, math.floor(room / columns), gap)

    def rows(self, panels: Sequence[T]) -> list[Sequence[T]]:
        return [panels[i : i + self.columns] for i in range(0, len(panels), self.columns)]

    def panel(
        self, height: float, title: str, x: Spec, y: Spec, *layers: Spec, wrap: bool = True
    ) -> Spec:
        """One panel; `x` and `y` are encodings, whose axes it completes."""
        frame: Spec = {"width": self.panel_width, "height": height, "view": {"stroke": "#cccccc"}}
        if title:
            lines = wrapped(title, self.panel_width + 12, TEXT * BOLD) if wrap else [title]
            place = {"anchor": "middle", "frame": "group", "fontSize": TEXT, "offset": 5}
            frame["title"] = {"text": lines, **place}
        below = wrapped(x["axis"].get("title") or "", self.panel_width + 12)
        # The first and last labels stand under their ticks, not beside their neighbours.
        look = {"grid": False, "labelFlush": False, "labelOverlap": "greedy"}
        x = {**x, "axis": {**look, **x["axis"], "title": below if any(below) else None}}
        extent = {"titlePadding": 2, "minExtent": self.EXTENT, "maxExtent": self.EXTENT}
        y = {"type": "quantitative", **y, "axis": {**extent, **y["axis"]}}
        return {**frame, "encoding": {"x": x, "y": y}, "layer": list(layers)}

    def view(self, rows: Sequence[Sequence[Spec]], *, colours: str = "shared") -> Spec:
        """Rows below one another; flush, so that a label over an axis' end moves no panel."""
        shared = {"resolve": {"scale": {"color": colours, "strokeDash": "shared"}}}
        spacing = self.gap + self.EXTENT
        across = [
            {"hconcat": list(row), "spacing": spacing, "bounds": "flush", **shared} for row in rows
        ]
        return {"vconcat": across, "spacing": 14, **shared}


def config(*, legends: str = "middle") -> Spec:
    """Vega-Lite's config for all charts."""
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "labelColor": INK, "titleColor": INK}
    layout = f"{{top: {{anchor: '{legends}', direction: 'vertical', margin: 6}}}}"
    return {
        "font": FONT,
        "background": "white",
        "padding": PADDING,
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
            "symbolSize": 100,
            "symbolType": "square",
            "layout": {"expr": layout},
        },
        "title": {
            "fontSize": TITLE,
            "color": INK,
            "subtitleFontSize": TEXT,
            "subtitleColor": FAINT,
            "subtitlePadding": 4,
        },
    }
