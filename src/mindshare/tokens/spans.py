"""Character ranges become the tokens that overlap them. Knows nothing of classes or queries."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mindshare.prompts import CharRange
from mindshare.tokens.encoded import Encoded


def token_mask(encoded: Encoded, ranges: Iterable[CharRange]) -> NDArray[np.bool_]:
    """Which tokens [T] share a character with any of the ranges; empty tokens share none."""
    starts, ends = bounds(encoded)
    mask = np.zeros(len(encoded), dtype=bool)
    for start, end in ranges:
        mask |= (starts < end) & (ends > start) & (starts < ends)
    return mask


def char_mask(length: int, ranges: Iterable[CharRange]) -> NDArray[np.bool_]:
    """Which characters of a text of that length lie in any of the ranges."""
    mask = np.zeros(length, dtype=bool)
    for start, end in ranges:
        mask[start:end] = True
    return mask


def bounds(encoded: Encoded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First character and one past the last character of every token, [T] each."""
    pairs = np.asarray(encoded.offsets, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
