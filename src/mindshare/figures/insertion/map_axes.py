"""How many layers and heads → the size of a map's cells and its two axes.

Layer 0 is at the bottom. Knows counts, nothing about numbers or colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.figures.theme import LABEL, LABELS, Style, every, text_width

Spec = dict[str, Any]
AXIS_ROOM = 44  # for the y axis and its title
_WIDEST, _HIGHEST, _LOWEST, _TALLEST = 30, 22, 7, 330  # of a cell; of the whole map


@dataclass(frozen=True)
class CellSize:
    """Pixels of one cell."""

    width: float
    height: float

    @classmethod
    def of(cls, layers: int, heads: int, style: Style) -> CellSize:
        room = style.pixels - AXIS_ROOM
        return cls(
            width=round(min(_WIDEST, room / heads), 2),
            height=round(max(_LOWEST, min(_HIGHEST, _TALLEST / layers)), 2),
        )


def map_axes(layers: Sequence[int], heads: Sequence[int], size: CellSize, style: Style) -> Spec:
    """Numbers at each cell, or at every 2nd, 5th, … if they would touch."""
    widest = max(text_width(str(style.number(n))) for n in heads)
    across = _axis("head", heads, every(size.width / (widest + 4)), style)
    up = _axis("layer", layers[::-1], every(size.height / LABEL), style)
    bottom = f"Layer ({style.number(layers[0])} at the bottom)"
    if text_width(bottom) <= size.height * len(layers):
        up["axis"]["title"] = bottom
    return {"x": across, "y": up}


def _axis(field: str, numbers: Sequence[int], gap: int, style: Style) -> Spec:
    return {
        "field": field,
        "type": "ordinal",
        "scale": {"domain": list(numbers), "paddingInner": 0, "paddingOuter": 0},
        "axis": {
            "title": field.capitalize(),
            "values": [n for n in numbers if style.number(n) % gap == 0],
            "labelExpr": f"datum.value + {LABELS[style.labels]}",
            "labelAngle": 0,
            "labelOverlap": False,
            "ticks": False,
            "domain": False,
        },
    }
