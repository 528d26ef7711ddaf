"""Numbers per prompt and cell → means with bootstrap intervals over prompts.

Drawing n prompts with replacement is the same as weighting each by how often it was drawn, so all
cells of all resamples are one matrix product, taken in blocks to keep the memory small. Cells that
have the same prompts share the same draws. Knows matrices, nothing about layers or classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mindshare.errors import SelectionError

INTERVAL = "percentile bootstrap"
# 256 cells × 10,000 resamples are 20 MB; 1,000 resamples × 1,000 prompts of draws are 8 MB.
_CELLS, _DRAWS = 256, 1_000
_FEWEST = 100  # resamples below this say nothing about the tails


@dataclass(frozen=True)
class Resampling:
    """How the spread over prompts is found. The same seed gives the same draws."""

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
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

    def metadata(self, measure: str) -> dict[str, str]:
        """Goes into the table that was made this way."""
        return {
            "mindshare.measure": measure,
            "mindshare.interval": INTERVAL,
            "mindshare.confidence": repr(self.confidence),
            "mindshare.resamples": str(self.resamples),
            "mindshare.seed": str(self.seed),
        }


@dataclass(frozen=True)
class Spread:
    """One entry per cell; NaN where there is no such number."""

    n_prompts: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def columns(self) -> dict[str, np.ndarray]:
        return {
            "n_prompts": self.n_prompts,
            "sd": self.sd,
            "low": self.low,
            "high": self.high,
        }


def spread(values: np.ndarray, options: Resampling) -> Spread:
    """[prompt, cell] → the mean of each cell over the prompts that have it, and how sure it is."""
    cells = values.shape[1]
    n_prompts = np.zeros(cells, np.int64)
    mean, sd, low, high = (np.full(cells, np.nan) for _ in range(4))
    for prompts, columns in groups(values):
        n = len(prompts)
        n_prompts[columns] = n
        if n == 0:
            continue
        # Measured from the first prompt, numbers that are all equal stay exactly equal.
        first = values[prompts[0], columns]
        moved = values[np.ix_(prompts, columns)] - first
        mean[columns] = first + moved.mean(0)
        if n > 1:
            sd[columns] = moved.std(0, ddof=1)
            ends = _interval(moved, options)
            low[columns], high[columns] = first + ends[0], first + ends[1]
    return Spread(n_prompts, mean, sd, low, high)


def groups(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(prompts, cells that have a number for exactly these prompts)"""
    present = ~np.isnan(values)
    patterns, which = np.unique(present, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for i in range(patterns.shape[1]):
        yield np.flatnonzero(patterns[:, i]), np.flatnonzero(which == i)


def _interval(values: np.ndarray, options: Resampling) -> np.ndarray:
    """[prompt, cell], complete → [2, cell]"""
    counts = _draws(len(values), options)
    tail = (1 - options.confidence) / 2
    ends = np.empty((2, values.shape[1]))
    for start in range(0, values.shape[1], _CELLS):
        block = np.ascontiguousarray(values[:, start : start + _CELLS].T)
        means = np.empty((len(block), options.resamples))  # [cell, resample]
        for first in range(0, options.resamples, _DRAWS):
            drawn = counts[first : first + _DRAWS].T.astype(np.float64)
            np.matmul(block, drawn, out=means[:, first : first + _DRAWS])
        means /= len(values)
        ends[:, start : start + _CELLS] = np.quantile(
            means, [tail, 1 - tail], axis=1, overwrite_input=True
        )
    return ends


def _draws(n: int, options: Resampling) -> np.ndarray:
    """[resample, prompt]: how often each prompt was drawn."""
    rng = np.random.default_rng(options.seed)
    counts = np.empty((options.resamples, n), np.uint16 if n < 2**16 else np.uint32)
    for first in range(0, options.resamples, _DRAWS):
        rows = min(_DRAWS, options.resamples - first)
        drawn = rng.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counted = np.bincount(drawn.reshape(-1), minlength=rows * n)
        counts[first : first + rows] = counted.reshape(rows, n)
    return counts
