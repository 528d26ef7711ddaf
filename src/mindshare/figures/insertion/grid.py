"""Panels → rows of panels that fit the width, with a legend above them.

Knows sizes, nothing about what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mindshare.errors import SelectionError
from mindshare.figures.insertion.panel import EXTENT
from mindshare.figures.theme import SCHEMA, Style, config, heading

Spec = dict[str, Any]
T = TypeVar("T")
_Y_TITLE = 14  # beside the first panel of a row
_GAP = 10
_RIGHT = 8  # the last label of an axis reaches over its end


@dataclass(frozen=True)
class Grid:
    """How many panels stand in a row, and how wide each is."""

    columns: int
    panel_width: float
    pixels: int

    @classmethod
    def of(cls, panels: int, style: Style, *, most: int | None = None) -> Grid:
        """Up to 3 in a row of a page, 4 only if there are just 4; up to 2 in a column."""
        if most is not None and most < 1:
            raise SelectionError(f"{most} panels in a row", allowed="1 or more")
        widest = most or ({326: 2}.get(style.pixels) or (4 if panels in (4, 7, 8) else 3))
        rows = math.ceil(panels / widest)
        columns = math.ceil(panels / rows)
        room = style.pixels - _Y_TITLE - _RIGHT - columns * EXTENT - (columns - 1) * _GAP
        return cls(columns, math.floor(room / max(columns, 1)), style.pixels)

    @property
    def inner(self) -> float:
        """From the left edge of the first panel to the right edge of the last."""
        return self.columns * (self.panel_width + EXTENT + _GAP) - EXTENT - _GAP

    def rows(self, panels: Sequence[T]) -> list[Sequence[T]]:
        return [panels[i : i + self.columns] for i in range(0, len(panels), self.columns)]


def row(views: Sequence[Spec]) -> Spec:
    """Flush: a label that reaches over the end of an axis moves no panel out of line."""
    return {"hconcat": list(views), "spacing": _GAP + EXTENT, "bounds": "flush"}


def whole_spec(views: Sequence[Spec], style: Style, *, title: str, words: tuple[str, str]) -> Spec:
    """The rows below one another, under the title; `words` are the caption and the description."""
    caption, description = words
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": heading(title, caption, style.pixels),
        "vconcat": list(views),
        "spacing": 8,
        "config": config(),
    }
