"""`sequence` and `places` → `phases`: what is received before, inside and after the insertion.

Inside are the inserted tokens, and what stands between them. A condition that inserted nothing has
no phases. Keys without queries have no number and are counted nowhere. Compares nothing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mindshare.stats.cells import common_metadata
from mindshare.stats.profiles import Pair, pairs, versioned
from mindshare.table import SCHEMAS, table

PHASES = ("before", "inside", "after")


def phases(sequence: pa.Table, places: pa.Table) -> pa.Table:
    """Three rows a head for every condition that inserted something, as a `phases` table."""
    found = (pair for pair in pairs(sequence, places) if pair.with_.tokens.inserted.any())
    columns = versioned(found, _numbers)
    about = common_metadata([sequence])
    if not columns:
        return SCHEMAS["phases"].with_metadata(about).empty_table()
    return table("phases", columns, about)


def _numbers(pair: Pair) -> dict[str, np.ndarray]:
    """The rows of one pair: head after head, each with its three phases."""
    version = pair.with_
    received = version.received
    known = ~np.isnan(received)
    phase = _phase_of(version.tokens.inserted)[:, None] == np.arange(len(PHASES))
    tokens = (known @ phase.astype(np.float64)).reshape(-1)
    total = (np.where(known, received, 0.0) @ phase).reshape(-1)
    return {
        "layer": np.repeat(version.layers, len(PHASES)),
        "head": np.repeat(version.heads, len(PHASES)),
        "phase": np.tile(np.array(PHASES, object), len(version.layers)),
        "n_tokens": tokens,
        "received_sum": total,
        "received": np.where(tokens > 0, total / np.maximum(tokens, 1), np.nan),
    }


def _phase_of(inserted: np.ndarray) -> np.ndarray:
    """[token]: 0 before the first inserted token, 2 after the last, 1 between."""
    position = np.arange(len(inserted))
    first, last = np.flatnonzero(inserted)[[0, -1]]
    found: np.ndarray = 1 - (position < first) + (position > last)
    return found
