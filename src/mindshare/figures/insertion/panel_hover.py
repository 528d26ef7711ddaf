"""Series of one panel → transparent bars over its tokens, for whoever points at them.

Each tells the token, its position and its numbers. Where tokens stand closer than pixels, a bar
tells the highest of those below it. Knows profiles, nothing about lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindshare.figures.insertion.versions import Profile, visible

Spec = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """What one line of a panel shows."""

    words: str
    colour: str
    profile: Profile

    def told(self) -> dict[int, int]:
        """Position → which point of the profile has its number."""
        there = np.flatnonzero(~np.isnan(self.profile.received))
        return {int(self.profile.position[i]): int(i) for i in there}


def hover(series: Sequence[Series], width: float, *, shared: bool) -> list[Spec]:
    """One layer; `shared`: the series have the same tokens at the same positions."""
    fields = _fields(series, shared)
    told = [one.told() for one in series]
    values = [
        {"from": first - 0.5, "to": last + 0.5}
        | dict.fromkeys(fields, "–")
        | _row(series, told, at, shared)
        for first, last, at in _bars(series, told, width)
    ]
    tooltip = [{"field": n, "type": "nominal", "title": words} for n, words in fields.items()]
    encoding = {
        "x": {"field": "from", "type": "quantitative"},
        "x2": {"field": "to"},
        "y": {"value": 0},
        "y2": {"value": "height"},
        "tooltip": tooltip,
    }
    mark = {"type": "rect", "opacity": 0, "color": "white"}
    return [{"data": {"values": values}, "mark": mark, "encoding": encoding}] if values else []


def _bars(
    series: Sequence[Series], told: Sequence[dict[int, int]], width: float
) -> list[tuple[int, int, int]]:
    """First and last position below each bar, and the one that is told."""
    positions = sorted({at for points in told for at in points})
    if len(positions) <= width:
        return [(at, at, at) for at in positions]

    def highest(at: int) -> float:
        pairs = zip(series, told, strict=True)
        return max(float(one.profile.received[p[at]]) for one, p in pairs if at in p)

    stretches = np.array_split(np.array(positions), int(width))
    return [(int(s[0]), int(s[-1]), max(s.tolist(), key=highest)) for s in stretches]


def _row(series: Sequence[Series], told: Sequence[dict[int, int]], at: int, shared: bool) -> Spec:
    row: Spec = {"position": at}
    for number, (one, points) in enumerate(zip(series, told, strict=True)):
        if at in points:
            profile, i = one.profile, points[at]
            row["token" if shared else f"token{number}"] = visible(profile.tokens[i])
            row[f"received{number}"] = f"{profile.received[i]:.4g}"
            row[f"queries{number}"] = f"{profile.n_queries[i]:,}"
    return row


def _fields(series: Sequence[Series], shared: bool) -> dict[str, str]:
    """Field → what it is called."""
    fields = {"position": "position"} | ({"token": "token"} if shared else {})
    for number, one in enumerate(series):
        token = {} if shared else {f"token{number}": f"token, {one.words}"}
        fields |= token | {f"received{number}": one.words, f"queries{number}": "… mean of queries"}
    return fields
