"""A `response` table → numbers by prompt, condition, head and measure, and their means over heads.

Prompts are sorted by id, so their order in a table decides nothing; conditions stay in the order
in which they were measured. A number that is not there is NaN. Knows the columns of the table,
nothing about statistics over prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError
from mindshare.stats.profiles import MEAN, codes, integers, nullable, require_columns

_KEY = ("prompt", "condition", "layer", "head")


@dataclass(frozen=True)
class Responses:
    """The numbers of one model. A cell is a layer and a head, or a mean over them."""

    prompts: tuple[str, ...]
    conditions: tuple[str, ...]
    measures: tuple[str, ...]
    layers: np.ndarray  # [cell], 0-based or MEAN
    heads: np.ndarray
    values: np.ndarray  # [prompt, condition, cell, measure]
    measured: np.ndarray  # [prompt, condition]: whether the table has rows of it

    def columns(self, conditions: int) -> dict[str, Any]:
        """The key columns of so many conditions, a row per cell and measure."""
        each = len(self.measures)
        return {
            "layer": nullable(np.tile(np.repeat(self.layers, each), conditions)),
            "head": nullable(np.tile(np.repeat(self.heads, each), conditions)),
            "measure": list(self.measures) * (len(self.layers) * conditions),
        }

    def merged(self, *, over_heads: bool, over_layers: bool) -> Responses:
        """Means within each prompt: over the heads of a layer first, then over the layers."""
        found = self
        if over_heads:
            found = _merged(replace(found, heads=np.full_like(found.heads, MEAN)))
        if over_layers:
            found = _merged(replace(found, layers=np.full_like(found.layers, MEAN)))
        return found


def read(response: pa.Table, measures: Sequence[str], *, model: str) -> Responses:
    """The chosen measures of one model's table."""
    require_columns(response, (*_KEY, *measures), name="response")
    response = response.take(pc.sort_indices(response, sort_keys=[("prompt", "ascending")]))
    prompts, prompt = codes(response["prompt"])
    conditions, condition = codes(response["condition"])
    keys = np.stack([integers(response["layer"]), integers(response["head"])], 1)
    cells, cell = np.unique(keys, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    filled = np.zeros((len(prompts), len(conditions), len(cells)), np.int64)
    np.add.at(filled, (prompt, condition, cell), 1)
    if filled.max() > 1:
        raise SelectionError(
            f"the response table of {model!r} has a head twice for the same prompt",
            next_step="give every prompt an id of its own",
        )
    values = np.full((*filled.shape, len(measures)), np.nan)
    columns = [response[name].to_numpy(zero_copy_only=False) for name in measures]
    values[prompt, condition, cell] = np.stack(columns, 1)
    return Responses(
        tuple(prompts),
        tuple(conditions),
        tuple(measures),
        cells[:, 0],
        cells[:, 1],
        values,
        filled.max(2) > 0,
    )


def mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Over the numbers that are there; NaN where there are none."""
    there = ~np.isnan(values)
    n = there.sum(axis)
    total = np.where(there, values, 0.0).sum(axis)
    found: np.ndarray = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return found


def _merged(found: Responses) -> Responses:
    """Cells that have become alike → one cell, their mean."""
    keys = np.stack([found.layers, found.heads], 1)
    cells, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    values = [mean(found.values[:, :, which == i], 2) for i in range(len(cells))]
    return replace(found, layers=cells[:, 0], heads=cells[:, 1], values=np.stack(values, 2))
