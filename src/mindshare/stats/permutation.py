"""Paired differences per prompt → p-values, and their correction for having looked at many cells.

If two models are alike, each prompt's difference could as well have had the other sign. The p-value
is the share of sign flips whose mean is at least as far from 0 as the observed one. Up to 12
prompts every flip is tried; above, `resamples` random ones and the observed one. Knows matrices,
nothing about layers or classes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mindshare.stats.bootstrap import Resampling, groups

EXACT = 12  # 2**12 flips are fewer than the usual 10,000 resamples
_FLIPS, _CELLS = 1_000, 2_048  # a block of 16 MB
_SAME = 1e-12  # flips that give the same mean may differ in the last bits


def sign_flip(differences: np.ndarray, options: Resampling) -> np.ndarray:
    """[prompt, cell] → two-sided p-value per cell; NaN where no prompt has the number."""
    p = np.full(differences.shape[1], np.nan)
    for prompts, columns in groups(differences):
        if len(prompts):
            p[columns] = _p_values(differences[np.ix_(prompts, columns)], options)
    return p


def _p_values(differences: np.ndarray, options: Resampling) -> np.ndarray:
    observed = np.abs(differences.sum(0)) * (1 - _SAME)
    as_far = np.zeros(differences.shape[1])
    flips = 0
    for signs in _signs(len(differences), options):
        flips += len(signs)
        for start in range(0, differences.shape[1], _CELLS):
            block = slice(start, start + _CELLS)
            sums = np.abs(signs @ differences[:, block])
            as_far[block] += (sums >= observed[block]).sum(0)
    if len(differences) <= EXACT:
        return as_far / flips
    p: np.ndarray = (as_far + 1) / (flips + 1)
    return p


def _signs(n: int, options: Resampling) -> Iterator[np.ndarray]:
    """Blocks of [flip, prompt], each entry −1 or 1."""
    if n <= EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        yield bits * 2.0 - 1.0
        return
    rng = np.random.default_rng(options.seed)
    for first in range(0, options.resamples, _FLIPS):
        rows = min(_FLIPS, options.resamples - first)
        yield rng.integers(0, 2, (rows, n)) * 2.0 - 1.0


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """p-values corrected over all that are there; NaN stays NaN."""
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    # The smallest bound of all that are at least as large: never falls where p rises.
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1.0)
    return adjusted
