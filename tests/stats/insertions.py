"""`sequence`, `places`, `rescaling` and `response` tables with known numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.stats import RESPONSE
from mindshare.tables import joined, table

ABOUT = {"mindshare.study": "abc"}
RUN = "/ ×3"
RESCALING = ("retained", "factor", "affine_r2", "affine_r2_after", "value_evenness")


@dataclass(frozen=True)
class MadeVersion:
    """One condition of a prompt, as a model would have seen it."""

    received: np.ndarray  # [layer, head, token]; NaN where no query counts
    parts: Sequence[str]
    partners: Sequence[int | None]

    def cells(self) -> list[tuple[int, int]]:
        layers, heads, _ = self.received.shape
        return list(itertools.product(range(layers), range(heads)))


Prompts = Mapping[str, Mapping[str, MadeVersion]]


def as_it_is(received: Any) -> MadeVersion:
    """From [token], [head, token] or [layer, head, token]."""
    found = np.asarray(received, float)
    found = found.reshape((1,) * (3 - found.ndim) + found.shape)
    tokens = found.shape[2]
    return MadeVersion(found, ["original"] * tokens, list(range(tokens)))


def with_run(original: Any, run: Any, at: int) -> MadeVersion:
    """The same tokens, and a run before token `at` that is alike in all heads."""
    old = as_it_is(original).received
    tokens, length = old.shape[2], len(run)
    new = np.broadcast_to(np.asarray(run, float), (*old.shape[:2], length))
    return MadeVersion(
        np.concatenate([old[:, :, :at], new, old[:, :, at:]], 2),
        ["original"] * at + ["inserted"] * length + ["original"] * (tokens - at),
        [*range(at), *[None] * length, *range(at, tokens)],
    )


def one_prompt(without: Any, with_: Any, *, run: Any = (0.1, 0.1, 0.1), at: int = 1) -> Prompts:
    return {"p": {"without": as_it_is(without), RUN: with_run(with_, run, at)}}


def tables(prompts: Prompts) -> tuple[pa.Table, pa.Table, pa.Table]:
    """(sequence, places, rescaling), in the order in which they are measured."""
    named = [(p, c, version) for p, of in prompts.items() for c, version in of.items()]
    return (
        joined([_sequence(*one) for one in named]),
        joined([_places(*one) for one in named]),
        joined([_rescaling(*one) for one in named]),
    )


def _sequence(prompt: str, condition: str, version: MadeVersion) -> pa.Table:
    tokens = version.received.shape[2]
    cells = version.cells()
    rows = len(cells) * tokens
    queries = np.arange(tokens)[::-1]
    columns = {
        "prompt": [prompt] * rows,
        "condition": [condition] * rows,
        "layer": np.repeat([layer for layer, _ in cells], tokens),
        "head": np.repeat([head for _, head in cells], tokens),
        "position": np.tile(np.arange(tokens), len(cells)),
        "received": version.received.reshape(-1),
        "n_queries": np.tile(queries, len(cells)),
    }
    return table("sequence", columns, ABOUT)


def _places(prompt: str, condition: str, version: MadeVersion) -> pa.Table:
    tokens = len(version.parts)
    columns = {
        "prompt": [prompt] * tokens,
        "condition": [condition] * tokens,
        "position": np.arange(tokens),
        "token_id": np.arange(tokens),
        "token": [f"t{i}" if i is not None else "/" for i in version.partners],
        "start": np.arange(tokens),
        "stop": np.arange(tokens) + 1,
        "special": [False] * tokens,
        "part": list(version.parts),
        "position_without": list(version.partners),
    }
    return table("places", columns, ABOUT)


def _rescaling(prompt: str, condition: str, version: MadeVersion) -> pa.Table:
    """Numbers that say which head they are of: `retained` is layer + head / 10."""
    cells = version.cells() if condition != "without" else []
    numbers = np.array([layer + head / 10 for layer, head in cells])
    columns = {
        "prompt": [prompt] * len(cells),
        "condition": [condition] * len(cells),
        "layer": [layer for layer, _ in cells],
        "head": [head for _, head in cells],
        **{name: numbers + i * 100 for i, name in enumerate(RESCALING)},
        "n_queries": [1] * len(cells),
    }
    return table("rescaling", columns, ABOUT)


def response_table(
    values: np.ndarray,
    *,
    conditions: Sequence[str] = ("run", "sentence"),
    about: Mapping[str, str] = ABOUT,
    **numbers: np.ndarray,
) -> pa.Table:
    """values[prompt, condition, layer, head] of every measure that is not given for itself."""
    prompts, _, layers, heads = values.shape
    ids = [f"p{i:04}" for i in range(prompts)]
    rows = list(itertools.product(ids, conditions, range(layers), range(heads)))
    key = ("prompt", "condition", "layer", "head")
    columns: dict[str, Any] = dict(zip(key, map(list, zip(*rows, strict=True)), strict=True))
    for name in RESPONSE:
        columns[name] = np.asarray(numbers.get(name, values), float).reshape(-1)
    return table("response", columns | {"label": [None] * len(rows)}, about)


def shuffled(content: pa.Table, seed: int = 0) -> pa.Table:
    """The same rows in any order."""
    return content.take(np.random.default_rng(seed).permutation(content.num_rows))


def random_prompts(
    prompts: int, *, seed: int = 0, size: tuple[int, int, int] = (2, 3, 12)
) -> Prompts:
    """Profiles drawn at random; the last token has no query."""
    rng = np.random.default_rng(seed)
    found = {}
    for i in range(prompts):
        a, b = rng.gamma(1, 0.05, (2, *size))
        a[:, :, -1] = b[:, :, -1] = np.nan
        found[f"p{i}"] = {
            "without": as_it_is(a),
            RUN: with_run(b, [0.02, 0.03, 0.01], 4),
            "sentence": with_run(a * 0.5, [0.2, 0.01], 4),
        }
    return found
