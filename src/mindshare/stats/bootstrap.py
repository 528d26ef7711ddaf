"""Numbers per prompt and cell → means, their standard errors and bootstrap intervals over prompts.

Drawing n prompts (or groups of them) with replacement is the same as weighting each by how often it
was drawn, so all cells of all resamples are one matrix product, taken in blocks to keep the memory
small. Cells with equally many units share the same draws. Knows matrices, nothing about layers or
classes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields
from statistics import NormalDist

import numpy as np

from mindshare.stats.resampling import Resampling
from mindshare.stats.units import Sums, alike, summed

# 1,024 cells × 10,000 resamples are 80 MB; a block of draws is 8 MB.
_CELLS, _DRAWS = 1_024, 1_000_000


@dataclass(frozen=True)
class Spread:
    """One entry per cell; NaN where there is no such number."""

    n_prompts: np.ndarray
    n_groups: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    se: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def empty(cls, cells: int) -> Spread:
        counts = (np.zeros(cells, np.int64) for _ in range(2))
        return cls(*counts, *(np.full(cells, np.nan) for _ in fields(cls)[2:]))

    def columns(self) -> dict[str, np.ndarray]:
        """All but the mean, which has another name in a contrast."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "mean"}


@dataclass(frozen=True)
class _Part:
    """Cells that have a number for the same prompts. Measured from `first`, the first prompt's
    numbers, those that are all equal stay exactly equal."""

    columns: np.ndarray
    first: np.ndarray
    moved: Sums


def spread(values: np.ndarray, options: Resampling, units: np.ndarray | None = None) -> Spread:
    """[prompt, cell] → the mean of each cell over the prompts that have it, and how sure it is.

    `units` says which prompts are drawn together: the number of each prompt's group.
    """
    units = np.arange(len(values)) if units is None else units
    found = Spread.empty(values.shape[1])
    equally_many = defaultdict(list)
    for prompts, columns in alike(values):
        if len(prompts) == 0:
            continue
        first = values[prompts[0], columns]
        moved = values[np.ix_(prompts, columns)] - first
        part = _Part(columns, first, summed(moved, units[prompts]))
        _fill(found, part, moved)
        equally_many[len(part.moved.sizes)].append(part)
    for n, parts in equally_many.items():
        if n >= options.fewest:
            _fill_intervals(found, parts, options)
    return found


def _fill(found: Spread, part: _Part, moved: np.ndarray) -> None:
    columns, sums, sizes = part.columns, part.moved.sums, part.moved.sizes
    found.n_prompts[columns], found.n_groups[columns] = len(moved), len(sizes)
    mean = sums.sum(0) / len(moved)
    found.mean[columns] = part.first + mean * part.moved.step
    if len(moved) > 1:
        found.sd[columns] = moved.std(0, ddof=1)
    if len(sizes) > 1:
        # What each unit is off by: for single prompts this is sd / √n.
        off = (sums - sizes[:, None] * mean) * part.moved.step
        scale = np.sqrt(len(sizes) / (len(sizes) - 1)) / len(moved)
        found.se[columns] = scale * np.sqrt((off**2).sum(0))


def _fill_intervals(found: Spread, parts: list[_Part], options: Resampling) -> None:
    """Parts with equally many units: one draw serves them all."""
    columns = np.concatenate([part.columns for part in parts])
    first = np.concatenate([part.first for part in parts])
    step = np.concatenate([part.moved.step for part in parts])
    sums = np.concatenate([part.moved.sums.T for part in parts])  # [cell, unit]
    sizes = np.concatenate([np.tile(p.moved.sizes, (len(p.columns), 1)) for p in parts])
    for start in range(0, len(columns), _CELLS):
        block = slice(start, start + _CELLS)
        ends = _ends(sums[block], sizes[block], options) * step[block] + first[block]
        found.low[columns[block]], found.high[columns[block]] = ends


def _ends(sums: np.ndarray, sizes: np.ndarray, options: Resampling) -> np.ndarray:
    """[cell, unit], twice → [2, cell]"""
    means = _means(sums, sizes, options)
    means.sort(axis=1)
    tail = options.tail(sums.shape[1])
    levels = np.tile([[tail], [1 - tail]], len(sums))
    if options.interval == "bca":
        levels = _corrected(levels[:, 0], means, sums, sizes)
    place = levels * (options.resamples - 1)
    below = np.minimum(place.astype(np.int64), options.resamples - 2)
    one, other = (np.take_along_axis(means, (below + i).T, 1).T for i in (0, 1))
    ends: np.ndarray = one + (other - one) * (place - below)
    return ends


def _means(sums: np.ndarray, sizes: np.ndarray, options: Resampling) -> np.ndarray:
    """[cell, resample]"""
    even = sizes.min() == sizes.max()
    means = np.empty((len(sums), options.resamples))
    first = 0
    for drawn in _draws(sums.shape[1], options):
        out = means[:, first : first + drawn.shape[1]]
        np.matmul(sums, drawn, out=out)
        out /= sizes[0].sum() if even else sizes.astype(np.float64) @ drawn
        first += drawn.shape[1]
    return means


def _draws(n: int, options: Resampling) -> Iterator[np.ndarray]:
    """Blocks of [unit, resample]: how often each was drawn."""
    rng = np.random.default_rng(options.seed)
    at_once = max(1, _DRAWS // n)
    for first in range(0, options.resamples, at_once):
        rows = min(at_once, options.resamples - first)
        drawn = rng.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.reshape(-1), minlength=rows * n).reshape(rows, n)
        yield counts.T.astype(np.float64)


def _corrected(
    levels: np.ndarray, means: np.ndarray, sums: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """[2] → [2, cell]: the levels after BCa's correction for bias and for a spread that grows."""
    normal = NormalDist()
    observed = (sums.sum(1) / sizes.sum(1))[:, None]
    below = ((means < observed).sum(1) + (means <= observed).sum(1)) / (2 * means.shape[1])
    least = 1 / (2 * means.shape[1])
    bias = np.array([normal.inv_cdf(p) for p in below.clip(least, 1 - least)])
    acceleration = _acceleration(sums, sizes)
    found = []
    for level in levels:
        z = bias + normal.inv_cdf(level)
        # It is at most 1/6, so the bottom is 0 only 6 standard deviations out.
        bottom = np.maximum(1 - acceleration * z, 1e-6)
        found.append([normal.cdf(x) for x in bias + z / bottom])
    return np.array(found)


def _acceleration(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """From the means without each unit in turn, which a sum gives at once."""
    total, n = sums.sum(1, keepdims=True), sizes.sum(1, keepdims=True)
    without = (total - sums) / (n - sizes)
    off = without.mean(1, keepdims=True) - without
    squares = (off**2).sum(1)
    found: np.ndarray = np.zeros(len(sums))
    np.divide((off**3).sum(1), 6 * squares**1.5, out=found, where=squares > 0)
    return found
