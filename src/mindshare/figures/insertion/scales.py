"""The range of numbers → an axis with round ticks that fit, from 0 or around the numbers.

Knows numbers and pixels, nothing about tables or marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mindshare.figures.theme import LABEL

_SMALLEST = 0.001  # below, labels are written as 2e-4


def step(width: float, count: int) -> float:
    """The smallest round number of which at most `count` fit into the width."""
    raw = width / max(count, 1)
    size = 10.0 ** math.floor(math.log10(raw))
    return next(size * n for n in (1, 2, 5, 10) if size * n >= raw * (1 - 1e-9))


def from_zero(highest: float, *, height: float, room: float) -> tuple[float, list[float], str]:
    """The end of the axis with `room` pixels free above, its ticks and how they are written."""
    top = highest * height / (height - room)
    gap = step(top, 5)
    ticks = [gap * i for i in range(math.floor(top / gap + 1e-9) + 1)]
    # A label at the very top would push the title up, and only this panel's.
    least = ticks[-1] * height / (height - LABEL / 2 - 3)
    return max(top, least), [float(f"{t:.6g}") for t in ticks], number_format(gap, top)


def around(values: Sequence[float], *, count: int = 5) -> tuple[float, float, list[float], str]:
    """Round ends that hold every number, the ticks between them and how they are written."""
    low, high = min(values), max(values)
    if high - low < 1e-12:
        low, high = low - 0.05 * max(abs(low), 1.0), high + 0.05 * max(abs(high), 1.0)
    gap = step(high - low, count)
    first, last = math.floor(low / gap + 1e-9), math.ceil(high / gap - 1e-9)
    ticks = [float(f"{gap * i:.6g}") for i in range(first, last + 1)]
    return ticks[0], ticks[-1], ticks, number_format(gap, max(abs(ticks[0]), abs(ticks[-1])))


def number_format(gap: float, top: float) -> str:
    """As many decimals as the steps need; small numbers as 2e-4."""
    if top < _SMALLEST:
        return "~e"
    if gap >= 1:
        return ",.0f" if float(gap).is_integer() else ",.1f"
    decimals = next(n for n in range(1, 12) if abs(round(gap, n) - gap) < gap * 1e-6)
    return f".{decimals}f"
