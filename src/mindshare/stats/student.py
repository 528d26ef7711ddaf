"""Student's t, central and shifted: from which t on to believe, and how large an effect reaches it.

T is a normal number, shifted by the true effect in standard errors, over an estimated spread s. For
a given s it is normal, so P(|T| > t) is a mean over the distribution of s, which Simpson's rule
takes on a fine grid. Knows no data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

ALPHA, POWER = 0.05, 0.8
_STEPS = 500  # even, for Simpson's rule
_REACH = 12.0  # standard deviations of s that are looked at on each side


@lru_cache(maxsize=1_024)
def critical(alpha: float, freedom: int) -> float:
    """The t that |T| exceeds with probability alpha if there is no effect."""
    return _where(lambda t: alpha - beyond(t, freedom))


@lru_cache(maxsize=4_096)
def shift(threshold: float, freedom: int, power: float = POWER) -> float:
    """The true effect, in standard errors, with which |T| exceeds the threshold so often."""
    return _where(lambda effect: beyond(threshold, freedom, effect) - power)


def beyond(threshold: float, freedom: int, effect: float = 0.0) -> float:
    """P(|T| > threshold)"""
    spread, weight = _spread(freedom)
    chance = [
        math.erfc((threshold * s - effect) / math.sqrt(2))
        + math.erfc((threshold * s + effect) / math.sqrt(2))
        for s in spread
    ]
    return float(weight @ np.array(chance)) / 2


@lru_cache(maxsize=256)
def _spread(freedom: int) -> tuple[list[float], np.ndarray]:
    """(s, its weights): s² times the degrees of freedom is chi-squared."""
    width = _REACH / math.sqrt(2 * freedom)
    s = np.linspace(max(0.0, 1 - width), 1 + width, _STEPS + 1)
    with np.errstate(divide="ignore"):
        height = -freedom * (s**2 - 1) / 2
        if freedom > 1:  # log s at 0 is −∞: no weight
            height = height + (freedom - 1) * np.log(s)
    simpson = np.ones(_STEPS + 1)
    simpson[1:-1:2], simpson[2:-1:2] = 4, 2
    weight = np.exp(height) * simpson
    return s.tolist(), weight / weight.sum()


def _where(rising: Callable[[float], float]) -> float:
    """The number from which on a rising function is above 0."""
    low, high = 0.0, 1.0
    while rising(high) < 0:
        low, high = high, 2 * high
    while (high - low) > 1e-8 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
