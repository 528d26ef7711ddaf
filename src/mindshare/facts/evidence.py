"""Means with their spread → what can be told: which is larger, what rises, what is the same.

One rule for every claim. Whoever picks the highest of thirty noisy means always finds one. So two
means that were picked are told apart only if their margins, which hold for all means of their table
at once, do not meet. Margins that do not meet differ whatever the correlation of the two over the
prompts. A mean without a margin supports no claim. A highest is one only if it is told from every
other. A paired difference needs a p that is corrected for all cells of its table, and an interval
without 0. A trend is a rank correlation with the layer that random orders of the layers rarely
reach, corrected for the number of series. Below six prompts no sign can be told from chance, and
nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from mindshare.facts.cells import Number
from mindshare.stats.uses import ranks

ALPHA = 0.05
FEWEST = 6  # prompts or groups: of five, all lie on one side in one case of 16
FEWEST_LAYERS = 5  # of four layers, every order is reached by chance too often
_ORDERS, _SEED = 9_999, 0

PlaceT = TypeVar("PlaceT")


def _margin(number: Number) -> float:
    """How far the true mean may lie from this one; infinite where there was no test."""
    if not number.has_interval or number.n_units < FEWEST or number.margin_family is None:
        return math.inf
    return number.margin_family


def testable(number: Number) -> bool:
    """Whether there are prompts enough to tell a mean from another: if not, no test was made."""
    return _margin(number) < math.inf


def apart(one: Number, other: Number) -> bool:
    """Whether these two means, picked from their tables, can be told apart."""
    return abs(one.value - other.value) > _margin(one) + _margin(other)


def rivals(series: Mapping[PlaceT, Number], place: PlaceT) -> list[PlaceT]:
    """The other places of a series that can't be told from this one."""
    one = series[place]
    return [p for p, other in series.items() if p != place and not apart(one, other)]


def differs(number: Number) -> bool:
    """Whether a paired difference differs from 0: its test, corrected, and its interval."""
    if number.p_family is None or number.low is None or number.high is None:
        return False
    told = number.n_units >= FEWEST and number.p_family < ALPHA
    return told and (number.low > 0 or number.high < 0)


def equivalent(number: Number, *, comparisons: int = 1) -> bool:
    """Whether two means differ by less than 10 %, by the test of the table, corrected."""
    return number.p_equivalent is not None and number.p_equivalent * comparisons < ALPHA


def beyond(number: Number, middle: float) -> int:
    """1: above the middle; −1: below; 0: can't be told."""
    if not testable(number) or abs(number.value - middle) <= _margin(number):
        return 0
    return 1 if number.value > middle else -1


def correlation(values: Sequence[float]) -> tuple[float, float] | None:
    """The rank correlation of a series with its order, and its p: how often chance reaches it.

    None for a series that is too short, or all alike.
    """
    places = ranks(np.asarray(values, float))
    if len(places) < FEWEST_LAYERS or np.ptp(places) == 0:
        return None
    centred = places - places.mean()
    order = np.arange(len(places)) - (len(places) - 1) / 2
    scale = math.sqrt(float((centred**2).sum() * (order**2).sum()))
    observed = float(order @ centred) / scale
    by_chance = _orders(len(places)) @ centred / scale
    reached = int((np.abs(by_chance) >= abs(observed) - 1e-12).sum())
    return observed, (reached + 1) / (_ORDERS + 1)


@lru_cache(maxsize=8)
def _orders(n: int) -> np.ndarray:
    """[order, place]: the places of a series in random orders, around 0."""
    rng = np.random.default_rng(_SEED)
    rows = np.tile(np.arange(n) - (n - 1) / 2, (_ORDERS, 1))
    return rng.permuted(rows, axis=1)
