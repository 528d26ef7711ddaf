"""Means of cells, and what chance brings: paired tests, families of cells, power.

    paired_contrast(a, b, options, units)    b − a: means as in `intervals`, p-values, effect, power
    family_margins(values, found, …)         how far all means of a table may be off at once

[prompt, cell] as in `intervals`: another interval goes there, another test here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindshare.stats.intervals import BITS, RELIABLE, MeanIntervals, mean, mean_intervals
from mindshare.stats.resampling import ALPHA, LEAST_P, Resampling, detectable_effect, student_t

TELLING = 12  # units: with 6 to 10 skewed ones, 8 to 35 of 100 tables have a wrong margin
SMALL = 0.1  # a mean that is so much larger or smaller, or less, is called equivalent
_DRAWN, _CELLS = 1_000, 1_024  # a block: 1,000 resamples × 1,024 cells are 8 MB
# Units from which `detectable` has the power that is said; `TELLING` of them with a difference. Of
# fewer, most kinds of skewed numbers are found in 55 to 75 of 100 studies, normal ones in 79.
_FEWEST_DETECTABLE = 30
# A resample that drew hardly anything but one number (or zeros) has no spread to divide by.
_LEAST_SPREAD = 1e-3


def paired_contrast(
    a: np.ndarray, b: np.ndarray, options: Resampling, units: np.ndarray
) -> dict[str, np.ndarray]:
    """[prompt, cell] of a and of b → the columns of a contrast, [cell] each.

    A pair needs both its numbers; the means are over the pairs only.
    """
    differences = b - a  # NaN where either has no number
    alone = np.isnan(differences)
    found = mean_intervals(differences, options, units)
    family = max_t(differences, found, options, units)
    effect = np.full(len(found.mean), np.nan)
    np.divide(found.mean, found.sd, out=effect, where=found.sd > 0)  # NaN > 0 is false
    p_value = found.p_values()
    return {
        "mean_a": mean(np.where(alone, np.nan, a), 0),
        "mean_b": mean(np.where(alone, np.nan, b), 0),
        "difference": found.mean,
        **found.columns,
        "n_same_sign": (np.sign(differences) == np.sign(found.mean)).sum(0),
        "effect": effect,
        "detectable": _detectable(found, None),
        "detectable_family": _detectable(found, family.threshold),
        "p_value": p_value,
        "p_adjusted": benjamini_hochberg(p_value),
        "p_family": family.p_family,
        "p_equivalent": _p_equivalent(a, b, found, options, units),
    }


def _p_equivalent(
    a: np.ndarray, b: np.ndarray, found: MeanIntervals, options: Resampling, units: np.ndarray
) -> np.ndarray:
    """[cell]: where enough prompts differ, by test; where none of them does, b is a."""
    p = np.where(found.reliable, equivalence(a, b, options, units), np.nan)
    same = (found.n_effective >= RELIABLE) & (found.mean == 0) & (found.sd == 0)
    equivalent: np.ndarray = np.where(same, LEAST_P, p)
    return equivalent


def equivalence(a: np.ndarray, b: np.ndarray, options: Resampling, units: np.ndarray) -> np.ndarray:
    """[cell]: the larger p of two one-sided tests, that mean b is below 1.1 and above 0.9 mean a.

    Only where that is a band: mean a is above 0.
    """
    ends = []
    for factor, side in ((1 + SMALL, -1), (1 - SMALL, 1)):
        found = mean_intervals(b - factor * a, options, units)
        p, right = found.p_values() / 2, np.sign(found.t_values()) == side
        ends.append(np.where(right, p, 1 - p))
    band = mean(np.where(np.isnan(b), np.nan, a), 0) > 0
    larger: np.ndarray = np.where(band, np.maximum(*ends), np.nan)
    return larger


# The family: what chance brings when so many cells are looked at. Units are drawn with replacement
# around their own mean, so that no cell differs from 0 there, and each cell's t is made anew from
# what was drawn; the largest of a draw is what a cell's own t has to beat. Drawing is weighting, so
# all cells of all draws are matrix products: of what a unit is off by, of its square, of its size.


@dataclass(frozen=True)
class Family:
    p_family: np.ndarray  # [cell]; NaN where a cell has no interval
    threshold: float  # |t| from which p_family is 0.05 or less


def family_margins(
    values: np.ndarray,
    found: MeanIntervals,
    options: Resampling,
    units: np.ndarray,
    *,
    families: np.ndarray,
    alpha: float,
) -> np.ndarray:
    """[cell]: how far the true means may lie from those found, for all cells of a family at once.

    `families` numbers the family of each cell; each is wrong somewhere with probability `alpha`.
    Whoever picks two of many means and finds that their margins do not meet picks no chance, and
    skewed numbers lean no claim: Student's t, corrected for 90 picks, is wrong in 9 of 10 tables of
    30 skewed prompts. NaN where fewer than `TELLING` units have a number other than 0.
    """
    margins = np.full(values.shape[1], np.nan)
    enough = np.isfinite(found.low) & (np.minimum(found.n_other, found.n_effective) >= TELLING)
    for family in np.unique(families):
        cells = np.flatnonzero(enough & (families == family))
        largest = _largest_t(values, found, cells, options, units)
        if len(cells):
            margins[cells] = _exceeded(largest, alpha) * found.se[cells]
    return margins


def max_t(
    differences: np.ndarray, found: MeanIntervals, options: Resampling, units: np.ndarray
) -> Family:
    """[prompt, cell] and their means → p-values corrected for all cells (max-T, studentised)."""
    p_family = np.full(differences.shape[1], np.nan)
    cells = np.flatnonzero(np.isfinite(found.low))
    if not len(cells):
        return Family(p_family, math.inf)
    largest = _largest_t(differences, found, cells, options, units)
    observed = np.abs(found.mean[cells]) / found.se[cells]
    beyond = len(largest) - np.searchsorted(largest, observed, side="left")
    # The observed one counts too, so that none is ever impossible.
    p_family[cells] = (beyond + 1) / (len(largest) + 1)
    return Family(p_family, _exceeded(largest, ALPHA))


def _largest_t(
    values: np.ndarray,
    found: MeanIntervals,
    cells: np.ndarray,
    options: Resampling,
    units: np.ndarray,
) -> np.ndarray:
    """[resample], in order: the largest |t| of any of these cells."""
    if not len(cells):
        return np.empty(0)
    blocks = [
        _Centred.of(values[:, part], found.mean[part], units)
        for part in np.split(cells, range(_CELLS, len(cells), _CELLS))
    ]
    largest = np.concatenate(
        [
            np.max([block.largest(drawn) for block in blocks], axis=0)
            for drawn in _draws(len(blocks[0].off), options)
        ]
    )
    largest.sort()
    return largest


def _exceeded(largest: np.ndarray, alpha: float) -> float:
    """The |t| that chance exceeds with this probability."""
    may_be_larger = max(int(alpha * (len(largest) + 1)) - 1, 0)
    return float(largest[::-1][may_be_larger])


@dataclass(frozen=True)
class _Centred:
    """[unit, cell] each, in whole numbers small enough that products and squares add exactly."""

    off: np.ndarray  # the unit's sum − its size × the mean
    sizes: np.ndarray  # prompts that have the number
    least: np.ndarray  # [cell]: below this there is no spread
    alike: bool  # every unit has one prompt, and every cell has it

    @classmethod
    def of(cls, differences: np.ndarray, means: np.ndarray, units: np.ndarray) -> _Centred:
        present = ~np.isnan(differences)
        which = np.unique(units, return_inverse=True)[1].reshape(-1)
        off, sizes = (np.zeros((which.max() + 1, len(means))) for _ in range(2))
        np.add.at(off, which, np.where(present, differences - means, 0.0))
        np.add.at(sizes, which, present)
        most = 2 * math.ceil(math.log2(sizes.max() + 1))
        bits = (BITS - 1 - math.ceil(math.log2(len(off))) - most) // 2
        off = np.rint(off * np.ldexp(1.0, bits - np.frexp(np.abs(off).max(0))[1]))
        least = _LEAST_SPREAD * (off * off).sum(0)
        return cls(off, sizes, least, bool((sizes == 1).all()))

    def largest(self, drawn: np.ndarray) -> np.ndarray:
        """[resample, unit]: how often each was drawn → [resample]: the largest |t| of any cell."""
        total, squares = drawn @ self.off, drawn @ (self.off * self.off)
        if self.alike:
            n: Any = float(len(self.off))
            spread = squares - total * total / n
        else:
            prompts, n = drawn @ self.sizes, drawn @ np.sign(self.sizes)
            mean = total / np.maximum(prompts, 1)
            spread = squares - 2 * mean * (drawn @ (self.off * self.sizes))
            spread += mean * mean * (drawn @ (self.sizes * self.sizes))
            n = np.maximum(n, 2)
        t2 = np.where(spread > self.least, total * total / np.maximum(spread, 1), 0.0)
        most: np.ndarray = np.sqrt((t2 * (n - 1) / n).max(1))
        return most


def _draws(n: int, options: Resampling) -> Iterator[np.ndarray]:
    """Blocks of [resample, unit]: how often each was drawn."""
    rng = np.random.default_rng(options.seed)
    for first in range(0, options.resamples, _DRAWN):
        rows = min(_DRAWN, options.resamples - first)
        drawn = rng.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.reshape(-1), minlength=rows * n).reshape(rows, n)
        yield counts.astype(np.float64)


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """p-values corrected over all that are there; NaN stays NaN.

    SciPy's false_discovery_control refuses NaN, and one p in fifty differs in its last bit.
    """
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    # The smallest bound of all that are at least as large: never falls where p rises.
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1.0)
    return adjusted


# Power: which differences could have been found. The spread of long-tailed numbers is known less
# well than their number says: its variance is 2 / (n − 1) + kurtosis / n of its square, which is
# that of normal numbers with fewer degrees of freedom. Skewed ones must pass what the correction
# for skewness asks for on the side of their mean. Few units show too little of a long tail, so what
# they show of it counts for more: `_TAIL` / units − 1 standard errors for each kurtosis / n. By
# simulation, that brings the shapes in docs/promises.md from 74 to 79 up to 77 to 83 of 100.

_FREEDOM = (3, 4, 5, 6, 8, 10, 12, 16, 20, 28, 40, 60, 100, 200, 400)  # a root for each is enough
_T_STEP = 0.2  # likewise, of thresholds
_TAIL = 160


def _single_threshold(found: MeanIntervals, cells: np.ndarray, n: int) -> np.ndarray:
    """[cell]: the |t| that a cell looked at alone must pass; `n` units each."""
    reach = np.where(found.mean > 0, found.mean - found.low, found.high - found.mean)
    t: np.ndarray = np.minimum(reach[cells] / found.se[cells], 10 * student_t(ALPHA, n - 1))
    return np.round(t / _T_STEP) * _T_STEP


def _detectable(found: MeanIntervals, threshold: float | None) -> np.ndarray:
    """[cell]: the smallest true difference whose |t| passes the threshold with 80 % power.

    None: what a cell must pass that is looked at alone.
    """
    effects = np.full(len(found.mean), np.nan)  # in standard errors
    tail = np.maximum(found.kurtosis, 0) / np.maximum(found.n_effective, 1)
    enough = np.isfinite(found.low) & (found.n_other >= TELLING)
    enough &= found.n_effective >= _FEWEST_DETECTABLE
    for n in np.unique(found.n_effective[enough]).tolist():
        cells = np.flatnonzero(enough & (found.n_effective == n))
        if threshold is None:
            t = _single_threshold(found, cells, n)
        else:
            t = np.full(len(cells), threshold)
        freedom = _nearest(2 / (2 / (n - 1) + tail[cells]), n)
        for pair in set(zip(t.tolist(), freedom.tolist(), strict=True)):
            if math.isfinite(pair[0]):
                here = cells[(t == pair[0]) & (freedom == pair[1])]
                effects[here] = detectable_effect(pair[0], int(pair[1]))
    # Units that are 0 show less of a tail than others, and more than none.
    shown = np.cbrt(found.n_effective**2 * np.maximum(found.n_other, 1.0)).clip(min=1)
    detectable: np.ndarray = found.se * (effects + tail * np.maximum(_TAIL / shown - 1, 0))
    return detectable


def _nearest(freedom: np.ndarray, n: int) -> np.ndarray:
    """Of a few degrees of freedom, the nearest by their ratio; of normal numbers n − 1."""
    known = np.array([*(f for f in _FREEDOM if f < n - 1), n - 1], np.int64)
    distance = np.abs(np.log(freedom)[:, None] - np.log(known))
    chosen: np.ndarray = known[np.argmin(distance, axis=1)]
    return chosen
