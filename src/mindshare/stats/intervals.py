"""Matrices of numbers, [prompt, cell] → means with intervals.

    mean_intervals(values, options, units)   mean, sd, se and interval of each cell

All tables over prompts are made from this, and tested by `inference`. NaN is a number that is not
there. `units` numbers the group of each prompt: rows that share one (variants of one text, turns of
one chat) say less than as many independent prompts, so they count as one. Nothing here knows layers
or classes.

Masses are skewed and full of zeros. So an end of an interval is that of Student's t or that of t
corrected for skewness (Hall 1992, "On the removal of skewness by transformation"), whichever is
farther out: Student's alone holds the mean of skewed numbers in 88 of 100 cases at 20 prompts,
Hall's alone that of long-tailed differences in 86, the wider of both in 93 to 97. Closed form, no
draws, no seed. A p-value of one cell is its dual: it is below 0.05 where the interval of 95 % does
not hold 0. Both are about the mean, and nothing else: cells with equal means and unequal spreads
have no difference.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce

import numpy as np

from mindshare.errors import SelectionError
from mindshare.stats.resampling import Resampling, student_t, student_tail

Groups = Mapping[str, Hashable]  # the prompt's id → its group
RELIABLE = 20  # units, with a number other than 0, from which coverage is 93 to 97 %
BITS = 53  # a float64 holds all whole numbers below 2**53
_NAMED = 3  # ids named in a message


@dataclass(frozen=True)
class MeanIntervals:
    """[cell] each; NaN where there is no such number."""

    n_prompts: np.ndarray
    n_groups: np.ndarray
    n_effective: np.ndarray  # units of equal size that would say as much
    n_other: np.ndarray  # units with a number other than 0
    reliable: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    se: np.ndarray
    skewness: np.ndarray
    kurtosis: np.ndarray  # excess, of what each unit is off by
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def empty(cls, cells: int) -> MeanIntervals:
        counts = (np.zeros(cells, kind) for kind in (*[np.int64] * 4, bool))
        return cls(*counts, *(np.full(cells, np.nan) for _ in fields(cls)[5:]))

    @property
    def columns(self) -> dict[str, np.ndarray]:
        inner = ("skewness", "kurtosis", "n_other", "n_effective")
        return {name: column for name, column in vars(self).items() if name not in inner}

    def t_values(self) -> np.ndarray:
        """[cell]: t of the mean against 0, or t corrected for skewness, whichever is nearer to 0.

        NaN where there is no interval, 0 where the two do not agree on the sign.
        """
        t = np.full(len(self.mean), np.nan)
        np.divide(self.mean, self.se, out=t, where=np.isfinite(self.low))
        corrected = _hall(t, self.skewness / np.sqrt(np.maximum(self.n_effective, 1)))
        nearer = np.sign(t) * np.minimum(np.abs(t), np.abs(corrected))
        return np.where(t * corrected < 0, 0.0, nearer)

    def p_values(self) -> np.ndarray:
        """[cell], two-sided, that the mean is 0; NaN where there is no interval."""
        return student_tail(self.t_values(), self.n_effective - 1)


def mean_intervals(
    values: np.ndarray, options: Resampling, units: np.ndarray | None = None
) -> MeanIntervals:
    """The mean of each cell over the prompts that have it, and how sure it is.

    values: [prompt, cell]. units: [prompt], what counts as one; None: every prompt by itself.
    Below `options.fewest` units there is no interval, nor where all of them are equal. Units of
    unequal size say less than as many equal ones: one text that 29 of 58 prompts repeat weighs as
    much as all others together, and the 30 units are worth 4.
    """
    units = np.arange(len(values)) if units is None else units
    result = MeanIntervals.empty(values.shape[1])
    for prompts, cells in cells_by_prompts(values):
        if len(prompts):
            _fill_means(result, cells, values[np.ix_(prompts, cells)], units[prompts])
    for n in np.unique(result.n_effective).tolist():
        if n >= options.fewest:
            cells = np.flatnonzero((result.n_effective == n) & (result.se > 0))
            _fill_intervals(result, cells, student_t(1 - options.confidence, n - 1))
    return result


# Units: what counts as one.


def units_of(prompts: Sequence[str], groups: Groups | None) -> np.ndarray:
    """[prompt]: the number of its group; without groups, its own."""
    if groups is None:
        return np.arange(len(prompts))
    missing = [prompt for prompt in prompts if prompt not in groups]
    if missing:
        raise SelectionError(
            f"{len(missing)} of {len(prompts)} prompts have no group: {first_few(missing)}",
            next_step="give every prompt a group, or none of them",
        )
    numbers = {group: i for i, group in enumerate(dict.fromkeys(groups[p] for p in prompts))}
    return np.array([numbers[groups[prompt]] for prompt in prompts], np.int64)


def first_few(names: Sequence[str], separator: str = ", ") -> str:
    """The first few names, for a message."""
    return separator.join([*names[:_NAMED], *(["…"] if len(names) > _NAMED else [])])


@dataclass(frozen=True)
class UnitSums:
    """What each unit adds up to, in whole multiples of a step."""

    sums: np.ndarray  # [unit, cell], whole numbers
    step: np.ndarray  # [cell]
    sizes: np.ndarray  # [unit]: prompts


def unit_sums(values: np.ndarray, units: np.ndarray) -> UnitSums:
    """[prompt, cell] without NaN → sums by unit, rounded to whole multiples of a tiny step.

    The step is so small that nothing is lost, and such that so many units still add exactly: no
    order of adding, thread or processor can change a byte.
    """
    which = np.unique(units, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(which)
    bits = BITS - 1 - int(np.ceil(np.log2(len(sizes) * sizes.max())))
    exponent = np.frexp(np.abs(values).max(0))[1]  # below 2**exponent
    step = np.ldexp(1.0, np.maximum(exponent - bits, -1_074))
    numbers = np.rint(values / step)[np.argsort(which, kind="stable")]
    return UnitSums(np.add.reduceat(numbers, np.cumsum(sizes) - sizes, axis=0), step, sizes)


def cells_by_prompts(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """[prompt, cell] → (prompts, the cells that have a number for exactly these prompts)"""
    present = ~np.isnan(values)
    if present.all():
        yield np.arange(values.shape[0]), np.arange(values.shape[1])
        return
    packed = np.ascontiguousarray(np.packbits(present, axis=0).T)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for i, cell in enumerate(first):
        yield np.flatnonzero(present[:, cell]), np.flatnonzero(which == i)


def mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Over the numbers that are there; NaN where there are none (np.nanmean warns of those)."""
    present = ~np.isnan(values)
    n = present.sum(axis)
    total = np.where(present, values, 0.0).sum(axis)
    means: np.ndarray = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return means


# Intervals: Student's t of skewed numbers leans to one side. With a = skewness / √n, Hall's cubic
# h(T) = T + aT²/3 + a²T³/27 + a/6 takes that away, and being a cube it can be turned around.


def _hall(t: np.ndarray, a: np.ndarray) -> np.ndarray:
    corrected: np.ndarray = t + a * t * t / 3 + a * a * t * t * t / 27 + a / 6
    return corrected


def _hall_inverse(x: float, a: np.ndarray) -> np.ndarray:
    """The t for which h(t) is x."""
    y = x - a / 6
    tiny = np.abs(a) < 1e-5  # where the cube root loses digits, three terms of it lose none
    divisor = np.where(tiny, 1.0, a)
    t: np.ndarray = np.where(
        tiny,
        y - a * y * y / 3 + 5 * a * a * y * y * y / 27,
        3 * (np.cbrt(1 + divisor * y) - 1) / divisor,
    )
    return t


def _fill_means(
    result: MeanIntervals, cells: np.ndarray, values: np.ndarray, units: np.ndarray
) -> None:
    """`values`: [prompt, cell of these], all there."""
    # Measured from the first prompt, numbers that are all equal stay exactly equal.
    moved = values - values[0]
    by_unit = unit_sums(moved, units)
    sums, sizes = by_unit.sums, by_unit.sizes
    result.n_prompts[cells], result.n_groups[cells] = len(values), len(sizes)
    result.n_other[cells] = len(sizes) - (unit_sums(np.abs(values), units).sums == 0).sum(0)
    # Kish's: (sum of the weights)² / sum of their squares.
    result.n_effective[cells] = len(values) ** 2 // int((sizes * sizes).sum())
    result.reliable[cells] = np.minimum(result.n_other, result.n_effective)[cells] >= RELIABLE
    middle = sums.sum(0) / len(values)
    result.mean[cells] = values[0] + middle * by_unit.step
    if len(values) > 1:
        result.sd[cells] = moved.std(0, ddof=1)
    if len(sizes) > 1:
        # What each unit is off by: for single prompts the se is sd / √n.
        off = (sums - sizes[:, None] * middle) * by_unit.step
        squares = _total(off * off)
        if np.ptp(sizes) == 0:
            spread = len(sizes) / (len(sizes) - 1) * squares
        else:  # a large unit draws the mean to itself (CR2, Bell and McCaffrey 2002)
            spread = _total(off * off / (1 - sizes[:, None] / len(values)))
        result.se[cells] = np.sqrt(spread) / len(values)
        result.skewness[cells] = _skewness(off, squares)
        result.kurtosis[cells] = _kurtosis(off, squares)


def _skewness(off: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """[unit, cell] around 0 → [cell], corrected for the bias of few units."""
    n = len(off)
    spread = np.sqrt(squares / n)
    scaled = off / np.where(spread > 0, spread, 1.0)
    correction = math.sqrt(n * (n - 1)) / (n - 2) if n > 2 else 1.0
    return _total(scaled * scaled * scaled) / n * correction


def _kurtosis(off: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """[unit, cell] around 0 → [cell]: 0 for normal numbers; corrected for the bias of few units."""
    n = len(off)
    scaled = off / np.where(squares > 0, np.sqrt(squares / n), 1.0)
    excess: np.ndarray = _total(scaled**4) / n - 3
    return ((n + 1) * excess + 6) * (n - 1) / ((n - 2) * (n - 3)) if n > 3 else excess


def _total(values: np.ndarray) -> np.ndarray:
    """[unit, cell] → [cell], row by row: np.sum adds a single cell in another order than many."""
    return reduce(np.add, values)


def _fill_intervals(result: MeanIntervals, cells: np.ndarray, t: float) -> None:
    """Cells with equally many units; `t` is Student's for so many."""
    a = result.skewness[cells] / np.sqrt(result.n_effective[cells])
    mean, se = result.mean[cells], result.se[cells]
    result.low[cells] = mean - np.maximum(_hall_inverse(t, a), t) * se
    result.high[cells] = mean - np.minimum(_hall_inverse(-t, a), -t) * se
