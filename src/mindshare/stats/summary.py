"""`mass` tables of several models → one `summary`: mean, sd and interval over prompts.

One row per model, query set, layer, head and class. Prompts that do not have the number (the class
is absent) are left out, and `n_prompts` says how many were left. Compares nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mindshare.stats.bootstrap import spread
from mindshare.stats.cells import Cells, cells, check_measure, common_metadata, require_models
from mindshare.stats.resampling import Resampling
from mindshare.stats.units import Groups, units_of
from mindshare.table import joined, table


def summarise(
    masses: Mapping[str, pa.Table],
    *,
    measure: str = "mass",
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """Model label → `mass` table becomes one `summary` table of the chosen measure.

    Prompts that share a group are resampled as one.
    """
    options = options or Resampling()
    check_measure(measure)
    require_models(masses)
    made = options.metadata(measure, grouped=groups is not None)
    parts = [
        _of_one(name, cells(mass, measure, model=name), options, groups)
        for name, mass in masses.items()
    ]
    return joined(parts).replace_schema_metadata(common_metadata(list(masses.values())) | made)


def _of_one(model: str, found: Cells, options: Resampling, groups: Groups | None) -> pa.Table:
    over = spread(found.values, options, units_of(found.prompts, groups))
    columns: dict[str, Any] = {
        "model": [model] * len(found.keys),
        **found.columns(),
        "mean": over.mean,
        **over.columns(),
    }
    return table("summary", columns, {})
