"""A `mass` table → one number per prompt and cell, as a matrix.

A cell is (queries, layer, head, class). Prompts are sorted by id and cells by query set, layer,
head and class, so the order of the prompts in a table decides nothing. A number that a prompt does
not have (the class is absent) is NaN. Knows the columns of the table, nothing about statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError, nearest

MEASURES = ("mass", "share", "density", "expected", "lift")

# query set, layer, head, class; None: mean over the layers or the heads
Key = tuple[str, int | None, int | None, str]
_KEY = ("queries", "layer", "head", "class")
_MEAN = -1  # stands for None where numbers are sorted


@dataclass(frozen=True)
class Cells:
    """The numbers of one model. Axes of `values`: prompt, cell."""

    prompts: tuple[str, ...]
    keys: tuple[Key, ...]
    values: np.ndarray

    def columns(self) -> dict[str, list[Any]]:
        """The key columns of a table with one row a cell."""
        return {name: [key[i] for key in self.keys] for i, name in enumerate(_KEY)}


def check_measure(measure: str) -> None:
    if measure not in MEASURES:
        raise SelectionError(
            f"unknown measure {measure!r}{nearest(measure, MEASURES)}", allowed=", ".join(MEASURES)
        )


def cells(mass: pa.Table, measure: str, *, model: str) -> Cells:
    """The chosen measure of one model's table."""
    check_measure(measure)
    _check_columns(mass, measure, model)
    if mass.num_rows == 0:
        raise SelectionError(f"the mass table of {model!r} has no rows")
    order = pc.sort_indices(mass, sort_keys=[("prompt", "ascending")])  # stable
    mass = mass.take(order)
    prompts, row = _codes(mass["prompt"])
    numbers = mass[measure].to_numpy(zero_copy_only=False).astype(np.float64)
    keys, column = _keys(mass)
    if len(np.unique(row * len(keys) + column)) < len(row):
        raise SelectionError(
            f"the mass table of {model!r} has a cell twice for the same prompt",
            next_step="give every prompt an id of its own",
        )
    values = np.full((len(prompts), len(keys)), np.nan)
    values[row, column] = numbers
    return Cells(tuple(prompts), keys, values)


def _check_columns(mass: pa.Table, measure: str, model: str) -> None:
    missing = [name for name in ("prompt", *_KEY, measure) if name not in mass.column_names]
    if missing:
        raise SelectionError(
            f"the table of {model!r} has no column {missing[0]!r}",
            next_step="give the `mass` table of a measurement, e.g. found.mass",
        )


def _keys(mass: pa.Table) -> tuple[tuple[Key, ...], np.ndarray]:
    """(the distinct cells in order, which of them each row is)"""
    queries, query = _codes(mass["queries"])
    classes, kind = _codes(mass["class"])
    layer, head = _numbers(mass["layer"]) - _MEAN, _numbers(mass["head"]) - _MEAN
    # Query sets and classes keep the order in which the study named them.
    shape = (len(queries), int(layer.max()) + 1, int(head.max()) + 1, len(classes))
    code = np.ravel_multi_index((query, layer, head, kind), shape)
    distinct, column = np.unique(code, return_inverse=True)
    parts = np.stack(np.unravel_index(distinct, shape), 1).tolist()
    keys = tuple((queries[q], _or_mean(n), _or_mean(h), classes[c]) for q, n, h, c in parts)
    return keys, column


def _codes(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """(the words in order of appearance, which of them each row is)"""
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), codes


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    filled = pc.fill_null(column, _MEAN)
    return cast(np.ndarray, filled.to_numpy(zero_copy_only=False).astype(np.int64))


def _or_mean(shifted: int) -> int | None:
    return shifted + _MEAN if shifted else None


def common_metadata(tables: Sequence[pa.Table]) -> dict[str, str]:
    """What the metadata of all the tables agree on: the study, its definition."""
    found = [{k.decode(): v.decode() for k, v in (t.schema.metadata or {}).items()} for t in tables]
    return {k: v for k, v in found[0].items() if all(other.get(k) == v for other in found)}


def require_models(masses: Mapping[str, pa.Table]) -> None:
    if not masses:
        raise SelectionError(
            "there is no mass table to work on", next_step="give at least one model's mass table"
        )
