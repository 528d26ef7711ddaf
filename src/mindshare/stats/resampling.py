"""The options of statistics over prompts, and Student's t, on which intervals and power rest.

What the intervals and p-values promise, and where they do not keep it, is measured in
`bench/promises.py` and told in docs/promises.md. Below `fewest` prompts no interval can reach its
level, and there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mindshare.errors import SelectionError, require_known, require_types

ALPHA, POWER = 0.05, 0.8
INTERVAL = "skewness-widened t interval"
ABSENT = ("left_out", "zero")
UNITS = ("prompt", "group")
_FEWEST = 100  # resamples below this say nothing about the tails
# Of Student's t: even, for Simpson's rule; and standard deviations of s looked at on each side.
_STEPS, _REACH = 500, 12.0
_COARSE = 80  # steps, where two spreads are looked at
LEAST_P = 1e-15  # of a p-value: what 1 − p can hold


@dataclass(frozen=True)
class Resampling:
    """How intervals and p-values over prompts are found. The same seed gives the same draws.

    `absent` says what a class is worth in a prompt that has no token of it: it is left out of the
    mean, or its mass and share are 0 there. Only p_family is found by drawing.
    """

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    absent: str = "left_out"

    def __post_init__(self) -> None:
        require_types(self)
        if not 0 < self.confidence < 1:
            raise SelectionError(
                f"confidence={self.confidence} is no level", allowed="between 0 and 1, e.g. 0.95"
            )
        if self.resamples < _FEWEST:
            raise SelectionError(
                f"resamples={self.resamples} are too few", allowed=f"{_FEWEST} or more"
            )
        if self.seed < 0:
            raise SelectionError(f"seed={self.seed} can't be used", allowed="0, 1, 2, …")
        require_known(self.absent, ABSENT, f"unknown absent={self.absent!r}")

    @property
    def fewest(self) -> int:
        """Units (prompts or groups) below which there is no interval: 6 for 95 %.

        All n of them lie on one side of a middle with probability 2^(1 − n), whatever is drawn.
        """
        return max(2, 1 + math.ceil(-math.log2(1 - self.confidence)))

    def metadata(self, measure: str, *, grouped: bool = False) -> dict[str, str]:
        """Goes into the table that was made this way."""
        return {
            "mindshare.measure": measure,
            "mindshare.interval": INTERVAL,
            "mindshare.unit": UNITS[grouped],
            "mindshare.confidence": repr(self.confidence),
            "mindshare.resamples": str(self.resamples),
            "mindshare.seed": str(self.seed),
            "mindshare.absent": self.absent,
        }

    @classmethod
    def of(cls, about: Mapping[str, str]) -> Resampling:
        """The options with which the table with this metadata was made."""
        default = cls()
        return cls(
            float(about.get("mindshare.confidence", default.confidence)),
            int(about.get("mindshare.resamples", default.resamples)),
            int(about.get("mindshare.seed", default.seed)),
            about.get("mindshare.absent", default.absent),
        )


# Student's t, central and shifted. T is a normal number, shifted by the true effect in standard
# errors, over an estimated spread s. For a given s it is normal, so P(|T| > t) is a mean over the
# distribution of s, which Simpson's rule takes on a fine grid. SciPy's t and nct agree to 1e-8 (to
# 2e-5 for one degree of freedom), but not in the last bits of `low`, `high` and `detectable`, which
# are float64 columns: the same tables have to keep their bytes. SciPy also takes seconds to import.


@lru_cache(maxsize=1_024)
def student_t(alpha: float, freedom: int) -> float:
    """The t that |T| exceeds with probability alpha if there is no effect."""
    return _root(lambda t: alpha - probability_beyond(t, freedom))


@lru_cache(maxsize=4_096)
def detectable_effect(threshold: float, freedom: int) -> float:
    """The effect, in *estimated* standard errors, with which |T| exceeds the threshold so often.

    The spread is estimated twice: where the effect is read off, and in the study that is to find
    it. So the power is a mean over both, and not that of a spread that is known.
    """
    spread, weight = _spread_grid(freedom, _COARSE)
    found = np.array(spread)

    def reached(effect: float) -> float:
        beyond = (np.outer(threshold * found, np.ones_like(found)) - effect * found) / math.sqrt(2)
        chance = np.array([math.erfc(x) for x in beyond.reshape(-1).tolist()]) / 2
        return float(weight @ chance.reshape(beyond.shape) @ weight)

    return _root(lambda effect: reached(effect) - POWER, start=threshold, close=1e-6)


def student_tail(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """P(|T| > |t|), elementwise, for whole degrees of freedom; NaN stays NaN.

    The finite series of Abramowitz and Stegun 26.7.3 and 26.7.4, right to about 1e-15.
    """
    p = np.full(len(t), np.nan)
    for n in np.unique(freedom[~np.isnan(t)]).tolist():
        cells = ~np.isnan(t) & (freedom == n)
        angle = np.arctan(np.abs(t[cells]) / math.sqrt(n))
        term = np.cos(angle) if n % 2 else np.ones_like(angle)
        total = term if n > 1 else np.zeros_like(angle)
        for k in range(2 + n % 2, n - 1, 2):
            term = term * np.cos(angle) ** 2 * (k - 1) / k
            total = total + term
        within = np.sin(angle) * total
        p[cells] = 1 - (2 / math.pi * (angle + within) if n % 2 else within)
    tail: np.ndarray = np.maximum(p, LEAST_P)  # np.maximum keeps NaN
    return tail


def probability_beyond(threshold: float, freedom: int) -> float:
    """P(|T| > threshold) if there is no effect."""
    spread, weight = _spread_grid(freedom)
    chance = [math.erfc(threshold * s / math.sqrt(2)) for s in spread]
    return float(weight @ np.array(chance))


@lru_cache(maxsize=256)
def _spread_grid(freedom: int, steps: int = _STEPS) -> tuple[list[float], np.ndarray]:
    """(s, its weights): s² times the degrees of freedom is chi-squared."""
    width = _REACH / math.sqrt(2 * freedom)
    s = np.linspace(max(0.0, 1 - width), 1 + width, steps + 1)
    with np.errstate(divide="ignore"):
        height = -freedom * (s**2 - 1) / 2
        if freedom > 1:  # log s at 0 is −∞: no weight
            height = height + (freedom - 1) * np.log(s)
    simpson = np.ones(steps + 1)
    simpson[1:-1:2], simpson[2:-1:2] = 4, 2
    weight = np.exp(height) * simpson
    return s.tolist(), weight / weight.sum()


def _root(rising: Callable[[float], float], *, start: float = 1.0, close: float = 1e-8) -> float:
    """Where a rising function of a positive number passes 0, by bisection."""
    low, high = 0.0, start
    while rising(high) < 0:
        low, high = high, 2 * high
    while (high - low) > close * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
