"""Means with their spread → what can be told: which is larger, what rises, what is the same.

One rule for every claim. Whoever picks the highest of thirty noisy means always finds one. So two
means that were picked are told apart only if their margins, which hold for all means of their table
at once, do not meet. Margins that do not meet differ whatever the correlation of the two over the
prompts. (Tables of earlier versions have no margins: there it is Student's t at 0.05 over the
number of pairs, which skewed numbers can mislead.) A highest is one only if it is
told from every other. A paired difference needs a p that is corrected for all cells of its table,
and an interval without 0. A trend is a rank correlation with the layer that random orders of the
layers rarely reach, corrected for the number of series. Below six prompts no sign can be told from
chance, and nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from mindshare.facts.cells import Number
from mindshare.stats import student_t
from mindshare.stats.uses import ranks

ALPHA = 0.05
FEWEST = 6  # prompts or groups: of five, all lie on one side in one case of 16
FEWEST_LAYERS = 5  # of four layers, every order is reached by chance too often
_ORDERS, _SEED = 9_999, 0

PlaceT = TypeVar("PlaceT")


def pairs(n: int) -> int:
    return max(n * (n - 1) // 2, 1)


def testable(number: Number) -> bool:
    """Whether there are prompts enough to tell a mean from another: if not, no test was made."""
    margin = number.margin_family != math.inf
    return number.has_interval and number.n_units >= FEWEST and margin


def apart(one: Number, other: Number, *, comparisons: int = 1) -> bool:
    """Whether these two means, picked out of so many comparisons, can be told apart."""
    if not (testable(one) and testable(other)) or one.error is None or other.error is None:
        return False
    distance = abs(one.value - other.value)
    if one.margin_family is not None and other.margin_family is not None:
        return distance > one.margin_family + other.margin_family
    freedom = min(one.n_units, other.n_units) - 1
    return distance > student_t(ALPHA / comparisons, freedom) * (one.error + other.error)


def rivals(series: Mapping[PlaceT, Number], place: PlaceT, *, comparisons: int = 1) -> list[PlaceT]:
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


def equivalent(number: Number, *, comparisons: int = 1) -> bool:
    """Whether two means differ by less than 10 %, by the test of the table, corrected."""
    return number.p_equivalent is not None and number.p_equivalent * comparisons < ALPHA


def beyond(number: Number, middle: float, *, comparisons: int = 1) -> int:
    """1: above the middle; −1: below; 0: can't be told."""
    known = Number(middle, middle, middle, n_prompts=number.n_units, sd=0.0, margin_family=0.0)
    if not apart(number, known, comparisons=comparisons):
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
