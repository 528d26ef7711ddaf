"""The rows of a table of single prompts → a matrix: prompt × condition × cell × measure.

    read_matrix(table, measures)    any table whose level has a `Layout`
    averaged(mass)                  a `mass` table of single heads → one of their mean, per layer

A cell is what a row is about beside its prompt: a query set, layer, head and class in a `mass`
table, the same without a class in `heads`, a layer and a head in `response`. Only some tables see a
prompt under several conditions; the others have one, None.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError, require_all_known
from mindshare.measures import MEASURES
from mindshare.naming import UNNAMED
from mindshare.stats.intervals import mean
from mindshare.tables import class_measures, metadata, table

MEAN = -1  # stands for null, the mean over the layers or the heads, where numbers are sorted
AXES = {"heads": "head", "layers": "layer"}  # what can be averaged over → its column
_KEYS = ("queries", "layer", "head", "class")

Key = tuple[Any, ...]  # the values of a layout's key columns; None: a mean over them


@dataclass(frozen=True)
class Layout:
    """The columns that tell a prompt's rows apart."""

    table: str
    keys: tuple[str, ...]  # together they name a cell
    condition: str | None = None  # the column that names the version of the prompt


# By the level of a measure.
LAYOUTS = {
    "class": Layout("mass", _KEYS),
    "head": Layout("heads", ("queries", "layer", "head")),
    "effect": Layout("effects", _KEYS),
    "response": Layout("response", ("layer", "head"), condition="condition"),
}


def layout_of(measures: Sequence[str]) -> Layout:
    """Where these measures stand; they must all be of one table."""
    known = [name for name, measure in MEASURES.items() if measure.level in LAYOUTS]
    require_all_known(measures, known, "measure")
    layouts = [LAYOUTS[MEASURES[name].level] for name in measures]
    if len(set(layouts)) != 1:
        raise SelectionError(
            f"{', '.join(measures)} are not of one table" if layouts else "no measure was named",
            allowed=", ".join(known),
        )
    return layouts[0]


@dataclass(frozen=True)
class PromptMatrix:
    """The numbers of one model's table, by prompt, condition, cell and measure."""

    prompts: tuple[str, ...]  # sorted, so that their order in the table decides nothing
    conditions: tuple[str | None, ...]  # as they were measured; only None if the table has none
    layout: Layout
    keys: tuple[Key, ...]  # [cell], by query set, layer, head and class
    measures: tuple[str, ...]
    values: np.ndarray  # [prompt, condition, cell, measure]; NaN: no such number
    measured: np.ndarray  # [prompt, condition]: whether the table has rows of it

    def key_columns(self, conditions: Sequence[str | None]) -> dict[str, list[Any]]:
        """The key columns of an output table: a row per condition, cell and measure."""
        per_cell = len(self.measures)
        rows = [key for key in self.keys for _ in range(per_cell)] * len(conditions)
        columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in _KEYS}
        for i, name in enumerate(self.layout.keys):
            columns[name] = [key[i] for key in rows]
        columns["condition"] = [c for c in conditions for _ in range(per_cell * len(self.keys))]
        columns["measure"] = [*self.measures] * (len(self.keys) * len(conditions))
        return columns

    def averaged(self, over: Collection[str]) -> PromptMatrix:
        """Means within each prompt: over the heads of a layer first, then over the layers."""
        matrix = self
        for axis, column in AXES.items():
            if axis in over:
                matrix = matrix._mean_over(self.layout.keys.index(column))
        return matrix

    def _mean_over(self, column: int) -> PromptMatrix:
        """Cells that differ in this key column only → one cell, their mean."""
        words = list(dict.fromkeys(k for key in self.keys for k in key if isinstance(k, str)))

        def order(key: Key) -> list[int]:
            numbers = (words.index(k) if isinstance(k, str) else k for k in key)
            return [MEAN if n is None else n for n in numbers]

        shortened = [(*key[:column], None, *key[column + 1 :]) for key in self.keys]
        number = {key: i for i, key in enumerate(sorted(set(shortened), key=order))}
        which = np.array([number[key] for key in shortened])
        values = [mean(self.values[:, :, which == i], 2) for i in range(len(number))]
        return replace(self, keys=tuple(number), values=np.stack(values, 2))


def read_matrix(
    content: pa.Table, measures: Sequence[str], *, model: str, absent: str = "left_out"
) -> PromptMatrix:
    """These measures of one model's table; `model` is for error messages.

    A class that a prompt has no token of has no number there, unless `absent` is "zero".
    """
    layout = layout_of(measures)
    names = ["prompt", *layout.keys, *([layout.condition] if layout.condition else [])]
    by_class = "class" in layout.keys
    tokens = ["n_tokens"] if by_class and absent == "left_out" else []
    require_columns(content, [*names, *measures, *tokens], name=layout.table, model=model)
    order = pc.sort_indices(content, sort_keys=[("prompt", "ascending")])  # stable
    content = content.select([*names, *measures, *tokens]).take(order)
    prompts, prompt = codes(content["prompt"])
    conditions: Sequence[str | None] = [None]
    condition = np.zeros_like(prompt)
    if layout.condition:
        conditions, condition = codes(content[layout.condition])
    keys, cell = _read_keys(content, layout)
    shape = (len(prompts), len(conditions), len(keys))
    row = np.ravel_multi_index((prompt, condition, cell), shape)
    filled = np.zeros(shape, bool)
    filled.reshape(-1)[row] = True
    if filled.sum() < len(row):
        raise SelectionError(
            f"the {layout.table} table of {model!r} has a cell twice for the same prompt",
            next_step="give every prompt an id of its own",
        )
    values = np.full((filled.size, len(measures)), np.nan)
    values[row] = np.stack([content[name].to_numpy(zero_copy_only=False) for name in measures], 1)
    for name in tokens:
        values[row[content[name].to_numpy(zero_copy_only=False) == 0]] = np.nan
    return PromptMatrix(
        tuple(prompts), tuple(conditions), layout, keys, tuple(measures),
        values.reshape(*shape, len(measures)), np.any(filled, axis=2),
    )  # fmt: skip


def _read_keys(content: pa.Table, layout: Layout) -> tuple[tuple[Key, ...], np.ndarray]:
    """(the distinct cells in order, the number of the cell of each row)"""
    code = np.zeros(content.num_rows, np.int64)  # all key columns as one number
    known: list[list[Any]] = []
    for name in layout.keys:
        if name in AXES.values():
            numbers, which = np.unique(integers(content[name]), return_inverse=True)
            values: list[Any] = [None if n == MEAN else n for n in numbers.tolist()]
        else:  # query sets and classes keep the order in which the study named them
            values, which = codes(content[name])
        known.append(values)
        code = code * len(values) + which.reshape(-1)
    distinct, cell = np.unique(code, return_inverse=True)
    parts = np.unravel_index(distinct, [len(values) for values in known]) if known else ()
    columns = [[values[i] for i in part] for values, part in zip(known, parts, strict=True)]
    return tuple(zip(*columns, strict=True)) or ((),), cell.reshape(-1)


# Columns of a table.


def codes(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """(the distinct words in order of appearance, the number of the word of each row)"""
    encoded = column.combine_chunks().dictionary_encode()
    indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), indices


def integers(column: pa.ChunkedArray) -> np.ndarray:
    """Null becomes −1: MEAN, or a token that has no partner."""
    filled = pc.fill_null(column, MEAN).to_numpy(zero_copy_only=False)
    numbers: np.ndarray = filled.astype(np.int64)
    return numbers


def require_columns(
    content: pa.Table, names: Iterable[str], *, name: str, model: str | None = None
) -> None:
    """Refuse what is not the table of this name, or has no rows."""
    of_model = "" if model is None else f" of {model!r}"
    missing = [column for column in names if column not in content.column_names]
    if missing:
        raise SelectionError(
            f"the table{of_model} has no column {missing[0]!r}",
            next_step=f"give the `{name}` table of a measurement",
        )
    if content.num_rows == 0:
        raise SelectionError(f"the {name} table{of_model} has no rows")


def common_metadata(tables: Sequence[pa.Table]) -> dict[str, str]:
    """What the metadata of all the tables agree on: the study, its definition."""
    texts = [metadata(one) for one in tables]
    return {k: v for k, v in texts[0].items() if all(other.get(k) == v for other in texts)}


# A `mass` table of single heads → one averaged over heads, and over some layers if asked. Ratios
# (share, density, lift) are made again from the averaged masses, so they mean the same as if the
# study itself had averaged.


def averaged(mass: pa.Table, *, layers: Iterable[int] | None = None) -> pa.Table:
    """The mean over the heads of each layer; with `layers`, also over these layers."""
    if 0 < mass["head"].null_count < mass.num_rows:
        raise SelectionError(
            "the table has single heads and their mean, so it can't be averaged",
            next_step="keep only the rows of single heads",
        )
    rows = mass if layers is None else _as_one_layer(mass, list(layers))
    rows = rows.set_column(rows.column_names.index("mass"), "mass", rows["mass"].cast(pa.float64()))
    how = {"mass": "mean", "expected": "mean", "n_tokens": "max", "n_queries": "max"}
    grouped = rows.group_by(["prompt", "queries", "layer", "class"], use_threads=False)
    means = grouped.aggregate(list(how.items()))  # in the order of the rows
    names = {f"{name}_{function}": name for name, function in how.items()}
    means = means.rename_columns([names.get(name, name) for name in means.column_names])
    return table("mass", _with_ratios(means), common_metadata([mass]))


def _as_one_layer(mass: pa.Table, layers: list[int]) -> pa.Table:
    """The rows of these layers, their layer null: a mean over them."""
    known = pc.unique(mass["layer"]).to_pylist()
    missing = [n for n in layers if n not in known]
    if missing or not layers:
        raise SelectionError(
            f"there is no layer {missing[0]} in the table" if missing else "no layer was named",
            allowed=", ".join(map(str, known)),
        )
    rows = mass.filter(pc.is_in(mass["layer"], value_set=pa.array(layers, pa.int32())))
    column = pa.nulls(rows.num_rows, pa.int32())
    return rows.set_column(rows.column_names.index("layer"), "layer", column)


def _with_ratios(means: pa.Table) -> dict[str, Any]:
    """The columns of a `mass` table; a share is of the mass of all classes that a rule names."""
    mass, expected, tokens = (
        means[name].to_numpy(zero_copy_only=False).astype(np.float64)
        for name in ("mass", "expected", "n_tokens")
    )
    named = ~pc.is_in(means["class"], value_set=pa.array(UNNAMED)).to_numpy(zero_copy_only=False)
    rows = list(zip(*(means[n].to_pylist() for n in ("prompt", "queries", "layer")), strict=True))
    number = {key: i for i, key in enumerate(dict.fromkeys(rows))}
    cell = np.array([number[key] for key in rows])
    total = np.bincount(cell, weights=np.where(named, mass, 0.0))[cell]
    measures = class_measures(mass, expected, tokens, total)
    measures["share"][~named] = np.nan
    return {
        **{name: means[name].combine_chunks() for name in means.column_names},
        "head": [None] * means.num_rows,
        **measures,
        "n_tokens": tokens,
    }
