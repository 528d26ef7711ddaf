"""`mass` tables of two models → their paired difference per prompt, b − a, with p-values.

Both models have seen the same prompts; each prompt is its own control. The cells must be the same
too: a layer or head that only one model has cannot be compared. Says nothing about single models.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError, nearest
from mindshare.stats.cells import Cells, Key, cells, check_measure, common_metadata, require_models
from mindshare.stats.paired import paired
from mindshare.stats.resampling import Resampling
from mindshare.stats.units import Groups, units_of
from mindshare.table import table

_SHOWN = 3  # ids named in a message


def contrast(
    masses: Mapping[str, pa.Table],
    *,
    a: str,
    b: str,
    measure: str = "mass",
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """The chosen measure in model b minus model a, paired by prompt, as a `contrast` table.

    Prompts that share a group are resampled and flipped as one.
    """
    options = options or Resampling()
    check_measure(measure)
    require_models(masses)
    found = {name: cells(_mass(masses, name), measure, model=name) for name in (a, b)}
    _check_prompts(found, a, b)
    _check_cells(found, a, b)
    made = options.metadata(measure, grouped=groups is not None)
    keys, units = found[a].keys, units_of(found[a].prompts, groups)
    columns = {
        "model_a": [a] * len(keys),
        "model_b": [b] * len(keys),
        **found[a].columns(),
        **paired(found[a].values, _in_order(found[b], keys), options, units),
    }
    return table("contrast", columns, common_metadata([masses[a], masses[b]]) | made)


def _in_order(found: Cells, keys: tuple[Key, ...]) -> np.ndarray:
    """The columns of one model in the other's order of cells."""
    if found.keys == keys:
        return found.values
    place = {key: i for i, key in enumerate(found.keys)}
    return found.values[:, [place[key] for key in keys]]


def _mass(masses: Mapping[str, pa.Table], name: str) -> pa.Table:
    if name not in masses:
        raise SelectionError(
            f"there is no model {name!r}{nearest(name, masses)}", allowed=", ".join(masses)
        )
    return masses[name]


def _check_prompts(found: Mapping[str, Cells], a: str, b: str) -> None:
    ids = {name: set(cells_of.prompts) for name, cells_of in found.items()}
    for one, other in ((a, b), (b, a)):
        alone = sorted(ids[one] - ids[other])
        if alone:
            raise SelectionError(
                f"{len(alone)} of {len(ids[one])} prompts of {one!r} have no partner in "
                f"{other!r}: {_some(alone)}",
                next_step="measure both models on the same prompts, with the same ids",
            )


def _check_cells(found: Mapping[str, Cells], a: str, b: str) -> None:
    for one, other in ((a, b), (b, a)):
        there = set(found[other].keys)
        alone = [_words(key) for key in found[one].keys if key not in there]
        if alone:
            raise SelectionError(
                f"{len(alone)} cells of {one!r} are not in {other!r}: {_some(alone, '; ')}",
                next_step="measure both models with the same study, or keep only the rows "
                "(layers, heads, classes) that both have",
            )


def _words(key: Key) -> str:
    queries, layer, head, kind = key
    return (
        f"class {kind!r}, layer {'mean' if layer is None else layer}, "
        f"head {'mean' if head is None else head}, queries {queries!r}"
    )


def _some(names: Iterable[str], between: str = ", ") -> str:
    listed = list(names)
    more = f"{between}…" if len(listed) > _SHOWN else ""
    return between.join(listed[:_SHOWN]) + more
