"""`mass` and `heads` tables with known numbers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.tables import table

_KEY = ("prompt", "queries", "layer", "head", "class")


def mass_table(
    values: np.ndarray, *, classes: Sequence[str] = ("hash", "star"), heads: Any = (None,)
) -> pa.Table:
    """values[prompt, layer, head, class]; NaN where the prompt has no such class."""
    prompts, layers, _, _ = values.shape
    ids = [f"p{i:04}" for i in range(prompts)]
    rows = list(itertools.product(ids, ["all"], range(layers), heads, classes))
    columns: dict[str, Any] = dict(zip(_KEY, map(list, zip(*rows, strict=True)), strict=True))
    flat = values.reshape(-1)
    columns |= dict.fromkeys(("mass", "share", "density", "expected", "lift"), flat)
    columns |= {"n_tokens": np.ones(len(rows)), "n_queries": np.ones(len(rows), int)}
    return table("mass", columns, {"mindshare.study": "abc"})


def heads_table(values: np.ndarray) -> pa.Table:
    """values[prompt, layer, head] of every measure."""
    prompts, layers, heads = values.shape
    ids = [f"p{i:04}" for i in range(prompts)]
    rows = list(itertools.product(ids, ["all"], range(layers), range(heads)))
    columns: dict[str, Any] = dict(zip(_KEY, map(list, zip(*rows, strict=True)), strict=False))
    names = ("entropy", "perplexity", "distance", "first_token")
    columns |= dict.fromkeys(names, values.reshape(-1)) | {"n_queries": np.ones(len(rows), int)}
    return table("heads", columns, {"mindshare.study": "abc"})


def random_table(prompts: int, layers: int, *, seed: int, shift: float = 0.0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return mass_table(rng.gamma(4, 0.01, (prompts, layers, 1, 2)) + shift)


def shuffled(content: pa.Table, seed: int = 0) -> pa.Table:
    """The same rows, the prompts in another order, each prompt's rows together."""
    ids = content["prompt"].unique().to_pylist()
    order = np.random.default_rng(seed).permutation(len(ids))
    parts = [content.filter(pc.equal(content["prompt"], ids[i])) for i in order]
    return pa.concat_tables(parts)
