"""Paired differences per prompt → p-values, and their correction for having looked at many cells.

If two models are alike, each prompt's difference could as well have had the other sign. The p-value
is the share of sign flips whose mean is at least as far from 0 as the observed one. Up to 12
prompts every flip is tried; above, `resamples` random ones and the observed one. Groups of prompts
are flipped as one.

All cells see the same flips, so the largest cell of each flip is what chance brings when so many
are looked at: max-T. Cells are compared on one scale, their sum over the root of their sum of
squares: it has variance 1 under flips, and for so many prompts it rises and falls with Student's t.
A prompt without the number adds 0 to the cell, whichever way it is flipped. Knows matrices, nothing
about layers or classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mindshare.stats.resampling import Resampling
from mindshare.stats.student import ALPHA
from mindshare.stats.units import summed

EXACT = 12  # 2**12 flips are fewer than the usual 10,000 resamples
_FLIPS, _CELLS = 1_000, 2_048  # a block of 16 MB


@dataclass(frozen=True)
class Flips:
    """One entry per cell; NaN where no prompt has the number."""

    p_value: np.ndarray
    p_family: np.ndarray
    threshold: float  # a cell above it, on the common scale, has p_family of at most 0.05


def sign_flip(
    differences: np.ndarray, options: Resampling, units: np.ndarray | None = None
) -> Flips:
    """[prompt, cell] → two-sided p-values. `units` are the prompts' groups, flipped as one."""
    there = ~np.isnan(differences)
    known = there.any(0)
    units = np.arange(len(differences)) if units is None else units
    p_value, p_family = (np.full(differences.shape[1], np.nan) for _ in range(2))
    if not known.any():
        return Flips(p_value, p_family, np.inf)
    filled = np.where(there, differences, 0.0)[:, known]
    kept = there.any(1)
    sums = summed(filled[kept], units[kept]).sums
    # Sums that are equal but for the rounding to whole numbers differ by less than one a prompt.
    observed = np.abs(sums.sum(0)) - kept.sum()
    scale = _scale(sums)
    as_far, most = _flipped(sums, observed, scale, options)
    exact = len(sums) <= EXACT
    p_value[known] = _share(as_far, len(most), exact)
    p_family[known] = _share(_at_least(most, observed * scale), len(most), exact)
    return Flips(p_value, p_family, _threshold(most, exact))


def _scale(sums: np.ndarray) -> np.ndarray:
    """1 / √(sum of squares); a cell that is 0 everywhere stays 0."""
    size = np.sqrt((sums**2).sum(0))
    found = np.zeros(len(size))
    np.divide(1.0, size, out=found, where=size > 0)
    return found


def _flipped(
    sums: np.ndarray, observed: np.ndarray, scale: np.ndarray, options: Resampling
) -> tuple[np.ndarray, np.ndarray]:
    """([cell]: flips that are as far from 0 as the observed sum, [flip]: the largest cell)"""
    as_far = np.zeros(sums.shape[1])
    most = []
    for signs in _signs(len(sums), options):
        largest = np.zeros(len(signs))
        for start in range(0, sums.shape[1], _CELLS):
            block = slice(start, start + _CELLS)
            found = np.abs(signs @ sums[:, block])
            as_far[block] += (found >= observed[block]).sum(0)
            np.maximum(largest, (found * scale[block]).max(1), out=largest)
        most.append(largest)
    return as_far, np.concatenate(most)


def _signs(n: int, options: Resampling) -> Iterator[np.ndarray]:
    """Blocks of [flip, unit], each entry −1 or 1."""
    if n <= EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        yield bits * 2.0 - 1.0
        return
    rng = np.random.default_rng(options.seed)
    words = -(-n // 64)
    for first in range(0, options.resamples, _FLIPS):
        rows = min(_FLIPS, options.resamples - first)
        drawn = rng.integers(0, 2**64, (rows, words), np.uint64).astype("<u8")
        yield np.unpackbits(drawn.view(np.uint8), axis=1)[:, :n] * 2.0 - 1.0


def _at_least(most: np.ndarray, observed: np.ndarray) -> np.ndarray:
    return len(most) - np.searchsorted(np.sort(most), observed, side="left")


def _share(as_far: np.ndarray, flips: int, exact: bool) -> np.ndarray:
    """Random flips count the observed one too, so that none is ever impossible."""
    return as_far / flips if exact else (as_far + 1) / (flips + 1)


def _threshold(most: np.ndarray, exact: bool) -> float:
    """The largest cell that chance still brings more often than in 1 of 20 flips."""
    may_be_larger = int(ALPHA * len(most)) if exact else int(ALPHA * (len(most) + 1)) - 1
    return float(np.sort(most)[::-1][may_be_larger])


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """p-values corrected over all that are there; NaN stays NaN."""
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    # The smallest bound of all that are at least as large: never falls where p rises.
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1.0)
    return adjusted
