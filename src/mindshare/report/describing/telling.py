"""Means with their spread → what can be told: which is larger, what rises, what is the same.

One rule for every sentence that claims anything. Whoever picks the highest of thirty noisy means
always finds one. So two means that were picked are told apart only if their intervals, widened for
every pair that could have been picked, do not meet: Student's t at 0.05 over the number of pairs.
Intervals that do not meet differ whatever the correlation of the two over the prompts. A highest
is one only if it is told from every other. A paired difference needs a p that is corrected for all
cells of its table, and an interval without 0. A trend is a rank correlation with the layer that
random orders of the layers rarely reach, corrected for the number of series. Below six prompts no
sign can be told from chance, and nothing is. Knows numbers, not what they are about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from mindshare.report.describing.cells import Number

ALPHA = 0.05
FEWEST = 6  # prompts or groups: of five, all lie on one side in one case of 16
FEWEST_LAYERS = 5  # of four layers, every order is reached by chance too often
_ORDERS, _SEED = 9_999, 0
_STEPS = 20_001

Place = TypeVar("Place")


@lru_cache(maxsize=256)
def student(alpha: float, freedom: int) -> float:
    """The t that |T| exceeds with probability alpha.

    With T = √n tan(u) the density is cos(u)^(n−1), which a sum over a fine grid integrates.
    """
    angle = np.linspace(0, math.pi / 2, _STEPS)
    density = np.cos(angle) ** (freedom - 1)
    middle = (density[1:] + density[:-1]) / 2
    beyond = np.append(np.cumsum(middle[::-1])[::-1], 0.0) / middle.sum()
    place = float(np.interp(-alpha, -beyond, angle))
    return math.sqrt(freedom) * math.tan(place)


def pairs(n: int) -> int:
    return max(n * (n - 1) // 2, 1)


def apart(one: Number, other: Number, *, comparisons: int = 1) -> bool:
    """Whether these two means, picked out of so many comparisons, can be told apart."""
    if min(one.n_units, other.n_units) < FEWEST or one.error is None or other.error is None:
        return False
    freedom = min(one.n_units, other.n_units) - 1
    errors = one.error + other.error
    return abs(one.value - other.value) > student(ALPHA / comparisons, freedom) * errors


def beside(series: Mapping[Place, Number], place: Place, *, comparisons: int = 1) -> list[Place]:
    """The other places of a series that can't be told from this one."""
    return [
        other
        for other, number in series.items()
        if other != place and not apart(series[place], number, comparisons=comparisons)
    ]


def differs(number: Number) -> bool:
    """Whether a paired difference differs from 0: its test, corrected, and its interval."""
    if number.p is None or number.low is None or number.high is None:
        return False
    return number.n_units >= FEWEST and number.p < ALPHA and (number.low > 0 or number.high < 0)


def within(number: Number, margin: float, *, comparisons: int = 1) -> bool:
    """Whether the whole interval of a difference lies within the margin, widened or not."""
    if number.low is None or number.high is None or number.error is None:
        return False
    if number.n_units < FEWEST or not -margin <= number.low <= number.high <= margin:
        return False
    widened = student(ALPHA / comparisons, number.n_units - 1) * number.error
    return abs(number.value) + widened <= margin


def beyond(number: Number, middle: float, *, comparisons: int = 1) -> int:
    """1: above the middle; −1: below; 0: can't be told."""
    known = Number(middle, n_prompts=number.n_units, sd=0.0)
    if not apart(number, known, comparisons=comparisons):
        return 0
    return 1 if number.value > middle else -1


@dataclass(frozen=True)
class Trend:
    """Rank correlation of a series with its order, and how often chance reaches it."""

    correlation: float
    p_value: float


def trend(values: Sequence[float]) -> Trend | None:
    """None for a series that is too short, or all alike."""
    ranks = _ranks(np.asarray(values, float))
    if len(ranks) < FEWEST_LAYERS or np.ptp(ranks) == 0:
        return None
    centred = ranks - ranks.mean()
    order = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    scale = math.sqrt(float((centred**2).sum() * (order**2).sum()))
    observed = float(order @ centred) / scale
    found = _orders(len(ranks)) @ centred / scale
    reached = int((np.abs(found) >= abs(observed) - 1e-12).sum())
    return Trend(observed, (reached + 1) / (_ORDERS + 1))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: np.ndarray = (last - (counts - 1) / 2)[where.reshape(-1)]
    return ranks


@lru_cache(maxsize=8)
def _orders(n: int) -> np.ndarray:
    """[order, place]: the places of a series in random orders, around 0."""
    rng = np.random.default_rng(_SEED)
    rows = np.tile(np.arange(n) - (n - 1) / 2, (_ORDERS, 1))
    return rng.permuted(rows, axis=1)
