"""Numbers → places on a scale of colours, its colours, and the ink that can be read on them.

The same colours as Vega makes, so that text can be chosen before anything is drawn. Knows colours
and numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.errors import SelectionError
from mindshare.figures.theme import INK, Palette

Colour = tuple[float, float, float]
PAPER = "#ffffff"
GRADIENT = 170  # pixels of a scale of colours
_TICKS = (  # doublings that the ends are away from 1, and the numbers then written
    (6.0, (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 0.25, 1, 4, 16, 64, 256, 1024)),
    (2.0, (1 / 32, 1 / 16, 0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)),
    (0.7, (0.33, 0.5, 0.7, 1, 1.4, 2, 3)),
    (0.3, (0.67, 0.8, 1, 1.25, 1.5)),
    (0.12, (0.8, 0.9, 1, 1.1, 1.25)),
    (0.0, (0.95, 0.98, 1, 1.02, 1.05)),
)
_DARK = 0.3  # luminance below which white is read better


@dataclass(frozen=True)
class Shade:
    """Where colours begin and end. By doublings, ½ and 2 are as far from 1."""

    low: float
    high: float
    middle: float | None = None  # what is white; None: light to dark, or back
    doublings: bool = False
    falling: bool = False  # dark to light

    @classmethod
    def around(
        cls, values: Iterable[float], middle: float, *, doublings: bool, share: float = 1.0
    ) -> Shade:
        """The middle in the middle; as far to both sides as that share of the numbers goes."""
        if doublings:
            far = _reach((abs(math.log2(v)) for v in values if v > 0), share)
            return cls(2.0**-far, 2.0**far, middle, doublings)
        far = _reach((abs(v - middle) for v in values), share)
        return cls(middle - far, middle + far, middle)

    def check(self, what: str) -> None:
        middle = (self.low + self.high) / 2 if self.middle is None else self.middle
        if not self.low < middle < self.high or (self.doublings and self.low <= 0):
            around = "" if self.middle is None else f" around {self.middle:g}"
            raise SelectionError(
                f"colours of {what} can't reach from {self.low:g} to {self.high:g}",
                allowed=f"a lower and a higher number{around}",
            )

    def place(self, value: float) -> float:
        """A number → where it is on the scale; beyond the ends, at the end."""
        value = min(max(value, self.low), self.high)
        return math.log2(value) if self.doublings else value

    def outside(self, values: Iterable[float]) -> int:
        """How many numbers lie beyond the ends."""
        slack = 1e-9 * (abs(self.low) + abs(self.high))
        return sum(not self.low - slack <= value <= self.high + slack for value in values)

    @property
    def stops(self) -> tuple[float, ...]:
        """The places of the ends, and of the middle if there is one."""
        middle = [] if self.middle is None else [self.place(self.middle)]
        return (self.place(self.low), *middle, self.place(self.high))

    @property
    def label(self) -> str:
        """Vega: a place → the number to write."""
        return f"format({'pow(2, datum.value)' if self.doublings else 'datum.value'}, '.3~g')"

    @property
    def ticks(self) -> list[float] | None:
        """Places of round numbers between the ends; None: as Vega finds them."""
        if not self.doublings:
            return None
        far = min(math.log2(self.high), -math.log2(self.low))
        numbers = next((found for least, found in _TICKS if far >= least), (1.0,))
        return [math.log2(n) for n in numbers if self.low <= n <= self.high]


def _reach(distances: Iterable[float], share: float) -> float:
    """What that share of the distances does not exceed; never nothing."""
    found = sorted(distances)
    last = min(math.ceil(share * len(found)), len(found)) - 1
    return (found[last] if found else 0.0) or (found[-1] if found else 0.0) or 1.0


def gradient(shade: Shade, palette: Palette, *, title: str, length: float) -> dict[str, Any]:
    """The encoding of a colour by its place, with a legend on top."""
    legend = {
        "orient": "top",
        "direction": "horizontal",
        "title": title,
        "titleLimit": 0,
        "gradientLength": min(GRADIENT, length),
        "gradientThickness": 9,
        "tickCount": 4,
        "offset": 6,
        "labelExpr": shade.label,
    } | ({"values": shade.ticks} if shade.ticks else {})
    scale = {**ramp(shade, palette), "nice": False, "interpolate": "rgb"}
    return {"field": "place", "type": "quantitative", "scale": scale, "legend": legend}


def ramp(shade: Shade, palette: Palette) -> dict[str, list[float] | list[str]]:
    """A scale of Vega-Lite: two ends light to dark or back, or three with white in the middle."""
    stops = shade.stops
    if len(stops) == 3:
        return {"domain": list(stops), "range": list(palette.minus_to_plus)}
    colours = palette.low_to_high[:: -1 if shade.falling else 1]
    low, high = stops
    places = [low + (high - low) * i / (len(colours) - 1) for i in range(len(colours))]
    return {"domain": places, "range": list(colours)}


def ink_on(place: float, shade: Shade, palette: Palette) -> str:
    """Dark on light, white on dark."""
    scale = ramp(shade, palette)
    places = [float(x) for x in scale["domain"]]
    colours = [_rgb(str(x)) for x in scale["range"]]
    return PAPER if _luminance(_between(place, places, colours)) < _DARK else INK


def _between(place: float, places: Sequence[float], colours: Sequence[Colour]) -> Colour:
    place = min(max(place, places[0]), places[-1])
    upper = next((i for i, end in enumerate(places) if i and place <= end), len(places) - 1)
    low, high = places[upper - 1], places[upper]
    share = (place - low) / (high - low) if high > low else 0.0
    first, last = colours[upper - 1], colours[upper]
    red, green, blue = (a + (b - a) * share for a, b in zip(first, last, strict=True))
    return red, green, blue


def _rgb(colour: str) -> Colour:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    """Of the WCAG: 0 is black, 1 is white."""
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
