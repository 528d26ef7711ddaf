"""Prompts and their groups → units that are drawn and flipped as one, and numbers that add exactly.

Rows that share a group (variants of one text, turns of one chat) say less than as many independent
prompts, so whole groups are resampled. Without groups every prompt is its own. Numbers are rounded
to whole multiples of a step so small that nothing is lost and every sum of a resample is exact: no
order of adding, thread or processor can change a byte. Knows matrices, nothing about layers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mindshare.errors import SelectionError

Groups = Mapping[str, Hashable]  # the prompt's id → its group
_SHOWN = 3  # ids named in a message
_BITS = 53  # a float64 holds all whole numbers below 2**53


def units_of(prompts: Sequence[str], groups: Groups | None) -> np.ndarray:
    """[prompt]: the number of its group; without groups, its own."""
    if groups is None:
        return np.arange(len(prompts))
    alone = [prompt for prompt in prompts if prompt not in groups]
    if alone:
        more = ", …" if len(alone) > _SHOWN else ""
        raise SelectionError(
            f"{len(alone)} of {len(prompts)} prompts have no group: "
            f"{', '.join(alone[:_SHOWN])}{more}",
            next_step="give every prompt a group, or none of them",
        )
    numbers = {group: i for i, group in enumerate(dict.fromkeys(groups[p] for p in prompts))}
    return np.array([numbers[groups[prompt]] for prompt in prompts], np.int64)


def alike(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """[prompt, cell] → (prompts, cells that have a number for exactly these prompts)"""
    present = ~np.isnan(values)
    if present.all():
        yield np.arange(values.shape[0]), np.arange(values.shape[1])
        return
    packed = np.ascontiguousarray(np.packbits(present, axis=0).T)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    which = which.reshape(-1)
    for i, cell in enumerate(first):
        yield np.flatnonzero(present[:, cell]), np.flatnonzero(which == i)


@dataclass(frozen=True)
class Sums:
    """What each unit adds: `sums[unit, cell]`, whole numbers of `step[cell]`; and `sizes[unit]`."""

    sums: np.ndarray
    step: np.ndarray
    sizes: np.ndarray


def summed(values: np.ndarray, units: np.ndarray) -> Sums:
    """[prompt, cell] without NaN → sums by unit. So many units, drawn anyhow, still add exactly."""
    which = np.unique(units, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(which)
    bits = _BITS - 1 - int(np.ceil(np.log2(len(sizes) * sizes.max())))
    exponent = np.frexp(np.abs(values).max(0))[1]  # below 2**exponent
    step = np.ldexp(1.0, np.maximum(exponent - bits, -1_074))
    numbers = np.rint(values / step)[np.argsort(which, kind="stable")]
    return Sums(np.add.reduceat(numbers, np.cumsum(sizes) - sizes, axis=0), step, sizes)
