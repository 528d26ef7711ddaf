"""Which colour means what: palettes, a colour per class or line, scales of numbers.

One class has one colour in every chart, in the explorer and in the terminal. Knows nothing about
tables or chart kinds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindshare.errors import SelectionError
from mindshare.measures import Measure
from mindshare.naming import UNNAMED, WITHOUT

INK, FAINT, PAPER = "#222222", "#555555", "#ffffff"
NOTHING = "#ececec"  # a cell or token without a number
OTHER, SINK = "#e6dcc6", "#cbb994"  # beige: none of the greys of the palettes
_BLANK = ("space", "spaces", "whitespace", "blank", "blanks", "newline")


@dataclass(frozen=True)
class Palette:
    """Neighbours differ in lightness, so that they can be told apart in grey print."""

    classes: tuple[str, ...]  # in the order of the rules; whitespace is grey wherever it stands
    blank: str
    series: tuple[
        str, ...
    ]  # for lines that stand beside one another; the first three differ in grey
    low_to_high: tuple[str, ...]  # for one amount
    minus_to_plus: tuple[str, str, str]  # for differences, white in the middle


PALETTES = {
    "seed": Palette(  # hash red, star blue, whitespace grey, as in the published chart
        ("#d63333", "#5b93dd", "#b8b8b8", "#2f7d3f", "#ee9a3a", "#6a43a8", "#7a4a35", "#4cc3ca"),
        blank="#b8b8b8",
        series=("#1c4f9c", "#e8663c", INK, "#3a9a4b", "#8a5cc4", "#8c1d3f", "#caa21b", "#7a4a35"),
        low_to_high=("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b"),
        minus_to_plus=("#1c4f9c", PAPER, "#e8663c"),
    ),
    "safe": Palette(  # Okabe and Ito
        ("#d55e00", "#56b4e9", "#b3b3b3", "#009e73", "#e69f00", "#cc79a7", "#0072b2", "#f0e442"),
        blank="#b3b3b3",
        series=("#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", FAINT),
        low_to_high=("#fde725", "#5ec962", "#21918c", "#3b528b", "#440154"),  # viridis
        minus_to_plus=("#004c80", PAPER, "#e8802a"),
    ),
}


def class_colours(
    names: Sequence[str],
    palette: Palette,
    *,
    first: int = 0,
    among: Sequence[str] = (),
) -> dict[str, str]:
    """A colour for each class, in the order of the rules: the same class, the same colour.

    `first` is how many colours are taken already, by other classes of the same study; `among` are
    all classes of the study, of which some are drawn.
    """
    colours = dict(zip(UNNAMED, (OTHER, SINK), strict=True))
    known = among or names
    colours |= {name: palette.blank for name in known if name.lower() in _BLANK}
    left = [name for name in known if name not in colours]
    free = [colour for colour in palette.classes[first:] if colour not in colours.values()]
    if len(left) > len(free):  # then those that are drawn share the colours
        left = [name for name in names if name not in colours]
    if len(left) > len(free):
        raise SelectionError(
            f"{len(left)} classes are more than can be told apart", allowed=f"up to {len(free)}"
        )
    colours |= dict(zip(left, free, strict=False))
    return {name: colours[name] for name in names}


def series_colours(names: Sequence[str], palette: Palette) -> dict[str, str]:
    """A colour for each line, in order."""
    if len(names) > len(palette.series):
        raise SelectionError(
            f"{len(names)} lines are more than can be told apart",
            allowed=f"up to {len(palette.series)}",
        )
    return dict(zip(names, palette.series, strict=False))


def version_colours(names: Sequence[str], palette: Palette) -> dict[str, str]:
    """A colour for each version of a prompt: the first is that of the one without an insertion,
    whether it is drawn or not, so that an insertion has one colour in all charts.
    """
    every = list(dict.fromkeys((WITHOUT, *names)))
    colours = series_colours(every if len(every) <= len(palette.series) else names, palette)
    return {name: colours[name] for name in names}


def rgb(colour: str) -> list[float]:
    """`#rrggbb` → 0..1 each."""
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def ink_on(colour: Sequence[float]) -> str:
    """The colour of text that can be read on it: dark on light, white on dark."""
    # Relative luminance of the WCAG: 0 is black, 1 is white.
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    luminance = sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return PAPER if luminance < _DARK else INK


# ── colour scales ────────────────────────────────────────────────────────────────────────────────

GRADIENT = 170  # pixels: length of a colour scale's legend
_DARK = 0.25  # luminance below which white text is read better
_RATIO_TICKS = (  # least log2 of the upper end, and the ratios then written in the legend
    (6.0, (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 0.25, 1, 4, 16, 64, 256, 1024)),
    (2.0, (1 / 32, 1 / 16, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)),
    (0.7, (0.33, 0.5, 0.7, 1, 1.4, 2, 3)),
    (0.3, (0.67, 0.8, 1, 1.25, 1.5)),
    (0.12, (0.8, 0.9, 1, 1.1, 1.25)),
    (0.0, (0.95, 0.98, 1, 1.02, 1.05)),
)


@dataclass(frozen=True)
class ColourScale:
    """Values → colours, as Vega interpolates them, so that ink can be chosen before drawing."""

    low: float
    high: float
    middle: float | None = None  # the value that is white; None: one hue, light to dark
    log2: bool = False  # for ratios: ½ and 2 are equally far from 1
    falling: bool = False  # dark to light
    percent: bool = False  # the values are parts of one and are written as 5 %

    @classmethod
    def around(cls, values: Iterable[float], middle: float, *, share: float = 1.0) -> ColourScale:
        """Symmetric around the middle (in log2 around 1), reaching that share of the values."""
        log2 = middle == 1.0
        sizes = (
            abs(math.log2(v)) if log2 else abs(v - middle) for v in values if v > 0 or not log2
        )
        distances = sorted(sizes) or [1.0]
        last = min(math.ceil(share * len(distances)), len(distances)) - 1
        reach = distances[last] or distances[-1] or 1.0
        if log2:
            return cls(2.0**-reach, 2.0**reach, middle, log2=True)
        return cls(middle - reach, middle + reach, middle)

    @classmethod
    def of(cls, measure: Measure, values: Sequence[float]) -> ColourScale:
        """As the registry says, with ends that hold every value.

        Where 1 means that nothing is lost, 1 is light, so that what changed stands out.
        """
        if measure.scale == "diverging" and measure.neutral is not None:
            return cls.around(values, measure.neutral)
        if measure.scale != "falling":
            return cls(0.0, max(values, default=0.0) or 1.0)
        lowest = math.floor(min(values, default=0.0) * 10 + 1e-9) / 10
        return cls(min(lowest, 0.9), max([1.0, *values]), falling=True)

    def place(self, value: float) -> float:
        """Where a value is on the scale, in log2 for ratios; beyond the ends, at the end."""
        value = min(max(value, self.low), self.high)
        return math.log2(value) if self.log2 else value

    def outside(self, values: Iterable[float]) -> int:
        """How many values lie beyond the ends."""
        slack = 1e-9 * (abs(self.low) + abs(self.high))
        return sum(not self.low - slack <= value <= self.high + slack for value in values)

    def ramp(self, palette: Palette) -> dict[str, Any]:
        """Domain and range of the Vega-Lite scale."""
        low, high = self.place(self.low), self.place(self.high)
        if self.middle is not None:
            domain = [low, self.place(self.middle), high]
            return {"domain": domain, "range": list(palette.minus_to_plus)}
        colours = palette.low_to_high[:: -1 if self.falling else 1]
        steps = len(colours) - 1
        domain = [low + (high - low) * i / steps for i in range(steps + 1)]
        return {"domain": domain, "range": list(colours)}

    def encoding(self, palette: Palette, *, title: str, length: float) -> dict[str, Any]:
        """The colour of the field `place`, with a legend on top."""
        shown = "pow(2, datum.value)" if self.log2 else "datum.value"
        written = f"format(100 * {shown}, '.3~g') + ' %'" if self.percent else None
        legend: dict[str, Any] = {
            "orient": "top",
            "direction": "horizontal",
            "title": title,
            "titleLimit": 0,
            "gradientLength": min(GRADIENT, length),
            "gradientThickness": 9,
            "tickCount": 3 if self.percent else 4,  # labels with a sign are wider
            "labelSeparation": 6,
            "offset": 6,
            "labelExpr": written or f"format({shown}, '.3~g')",
        }
        if self.log2:
            reach = min(math.log2(self.high), -math.log2(self.low))
            ticks = next((ratios for least, ratios in _RATIO_TICKS if reach >= least), (1.0,))
            legend["values"] = [math.log2(n) for n in ticks if self.low <= n <= self.high]
        scale = {**self.ramp(palette), "nice": False, "interpolate": "rgb"}
        return {"field": "place", "type": "quantitative", "scale": scale, "legend": legend}

    def ink(self, place: float, palette: Palette) -> str:
        """The colour of text that can be read there."""
        ramp = self.ramp(palette)
        channels = zip(*map(rgb, ramp["range"]), strict=True)
        return ink_on([float(np.interp(place, ramp["domain"], stops)) for stops in channels])
