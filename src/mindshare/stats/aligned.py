"""`sequence` and `places` → `aligned`: what each original token received without and with.

One row per matched token of every head that was asked for, or of a mean over heads. Tokens that
have no partner are not in it. Nothing is compared here: the two numbers stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.stats.cells import common_metadata
from mindshare.stats.profiles import MEAN, Pair, Version, pairs, versioned
from mindshare.table import table

Cell = tuple[int | None, int | None]  # layer, head; None: the mean over all of them


def aligned(
    sequence: pa.Table, places: pa.Table, *, cells: Sequence[Cell] | None = None
) -> pa.Table:
    """The matched tokens of each condition, as an `aligned` table.

    `cells` are the (layer, head) wanted, in this order; None means every head on its own.
    (3, None) is the mean over the heads of layer 3, (None, None) that over all heads.
    """
    columns = versioned(
        pairs(sequence, places), lambda pair: _numbers(pair, _chosen(pair.without, cells))
    )
    return table("aligned", columns, common_metadata([sequence]))


def _numbers(pair: Pair, chosen: dict[tuple[int, int], np.ndarray]) -> dict[str, np.ndarray]:
    """The rows of one pair: cell after cell, each with all its tokens."""
    a, b = pair.received()
    counts = [version.n_queries[0] for version in (pair.without, pair.with_)]
    without, with_ = pair.places.T
    keys = np.repeat(np.array(list(chosen)), len(without), axis=0)
    return {
        "layer": keys[:, 0],
        "head": keys[:, 1],
        "position_without": np.tile(without, len(chosen)),
        "position": np.tile(with_, len(chosen)),
        "token": np.tile(pair.with_.tokens.words[with_], len(chosen)),
        "received_without": _means(a, chosen),
        "received_with": _means(b, chosen),
        # The queries after a key are the same for every head.
        "n_queries_without": np.tile(counts[0][without], len(chosen)),
        "n_queries_with": np.tile(counts[1][with_], len(chosen)),
    }


def _means(received: np.ndarray, chosen: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """A key without queries has none in any head, so its mean has no number either."""
    return np.concatenate([received[rows].mean(0) for rows in chosen.values()])


def _chosen(version: Version, cells: Sequence[Cell] | None) -> dict[tuple[int, int], np.ndarray]:
    """The key of each cell → the rows whose mean it is."""
    if cells is None:
        single = zip(version.layers.tolist(), version.heads.tolist(), strict=True)
        return {key: np.array([i]) for i, key in enumerate(single)}
    if not cells:
        raise SelectionError("no layer and head was named", allowed="e.g. [(0, 3), (0, None)]")
    return {_key(cell): _rows(version, cell) for cell in cells}


def _key(cell: Cell) -> tuple[int, int]:
    layer, head = cell
    return (MEAN if layer is None else layer), (MEAN if head is None else head)


def _rows(version: Version, cell: Cell) -> np.ndarray:
    layer, head = cell
    of_layer = np.ones(len(version.layers), bool) if layer is None else version.layers == layer
    rows = np.flatnonzero(of_layer if head is None else of_layer & (version.heads == head))
    if len(rows) == 0:
        raise SelectionError(
            f"there is no layer {layer}, head {head} in the table",
            allowed=f"layers {_extent(version.layers)}, heads {_extent(version.heads)}",
        )
    return rows


def _extent(numbers: np.ndarray) -> str:
    there = np.unique(numbers)
    if there[0] == MEAN:
        return "averaged (None)"
    whole = there[-1] - there[0] + 1 == len(there) > 1
    return f"{there[0]} to {there[-1]}" if whole else ", ".join(map(str, there))
