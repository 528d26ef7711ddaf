"""A `mass` table of single heads → one averaged over heads, and over some layers if asked.

Averages are taken on the masses; ratios (share, density, lift) are made again from the averaged
masses, so they mean the same as if the study itself had averaged. Knows one table, no statistics.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError
from mindshare.table import table

_UNNAMED = ("other", "sink_slot")  # classes that no rule names
_CELL = ("prompt", "queries", "layer")


def averaged(mass: pa.Table, *, layers: Iterable[int] | None = None) -> pa.Table:
    """The mean over the heads of each layer; with `layers`, also over these layers."""
    if 0 < mass["head"].null_count < mass.num_rows:
        raise SelectionError(
            "the table has single heads and their mean, so it can't be averaged",
            next_step="keep only the rows of single heads",
        )
    if layers is not None:
        mass = _one_layer(mass, list(layers))
    return _with_ratios(_means(mass), mass)


def _one_layer(mass: pa.Table, layers: list[int]) -> pa.Table:
    """The rows of these layers, without their numbers."""
    there = pc.unique(mass["layer"]).to_pylist()
    missing = [n for n in layers if n not in there]
    if missing or not layers:
        raise SelectionError(
            f"there is no layer {missing[0]} in the table" if missing else "no layer was named",
            allowed=", ".join(str(n) for n in there),
        )
    kept = mass.filter(pc.is_in(mass["layer"], value_set=pa.array(layers, pa.int32())))
    column = pa.nulls(kept.num_rows, pa.int32())
    return kept.set_column(kept.column_names.index("layer"), "layer", column)


def _means(mass: pa.Table) -> pa.Table:
    numbers = mass.set_column(
        mass.column_names.index("mass"), "mass", mass["mass"].cast(pa.float64())
    )
    grouped = numbers.group_by([*_CELL, "class"], use_threads=False)  # keeps the order of the rows
    wanted = {"mass": "mean", "expected": "mean", "n_tokens": "max", "n_queries": "max"}
    found = grouped.aggregate(list(wanted.items()))
    names = {f"{name}_{how}": name for name, how in wanted.items()}
    return found.rename_columns([names.get(name, name) for name in found.column_names])


def _with_ratios(found: pa.Table, source: pa.Table) -> pa.Table:
    mass, expected, tokens = (_numbers(found[n]) for n in ("mass", "expected", "n_tokens"))
    named = ~pc.is_in(found["class"], value_set=pa.array(_UNNAMED)).to_numpy(zero_copy_only=False)
    cell = _cells(found)
    total = np.bincount(cell, weights=np.where(named, mass, 0.0))[cell]
    columns = {
        **{name: found[name].combine_chunks() for name in (*_CELL, "class", "n_queries")},
        "head": [None] * found.num_rows,
        "mass": mass,
        "share": np.where(named, _ratio(mass, total), np.nan),
        "density": _ratio(mass, tokens),
        "expected": expected,
        "lift": _ratio(mass, expected),
        "n_tokens": tokens,
    }
    about = {k.decode(): v.decode() for k, v in (source.schema.metadata or {}).items()}
    return table("mass", columns, about)


def _cells(found: pa.Table) -> np.ndarray:
    """Which rows share prompt, query set and layer."""
    keys = list(zip(*(found[name].to_pylist() for name in _CELL), strict=True))
    place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([place[key] for key in keys])


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    numbers: np.ndarray = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return numbers


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to divide by: there is no such number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: np.ndarray = np.where(bottom > 0, top / bottom, np.nan)
    return ratio
