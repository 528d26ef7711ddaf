"""A contrast → its cells in the order of their effects, the largest first, whichever its sign.

Works on `contrast` and `condition_contrast` alike. Whoever picks the first of many cells picks
chance too, so every row keeps p_family, which is corrected for all cells of the contrast, also for
those that are not kept. Makes no numbers of its own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError, nearest
from mindshare.table import DEFINITIONS

BY = ("effect", "difference")


def ranked(
    contrast: pa.Table, *, by: str = "effect", alpha: float | None = None, most: int | None = None
) -> pa.Table:
    """The rows by |effect| or |difference|, with a `rank`; cells without the number come last.

    With `alpha` only those with p_family below it, with `most` at most so many.
    """
    _check(contrast, by)
    size = np.abs(contrast[by].to_numpy(zero_copy_only=False).astype(np.float64))
    order = np.argsort(-size, kind="stable")  # NaN last, equals as they stood
    rank = pa.array(range(1, len(order) + 1), pa.int64(), mask=np.isnan(size[order]))
    field = pa.field("rank", pa.int64(), metadata={"definition": DEFINITIONS["rank"]})
    found = contrast.take(order).add_column(0, field, rank)
    if alpha is not None:
        below = found["p_family"].to_numpy(zero_copy_only=False).astype(np.float64) < alpha
        found = found.filter(pa.array(below))
    about = {
        **(contrast.schema.metadata or {}),
        "mindshare.ranked_by": by,
        "mindshare.correction": f"p_family over {contrast.num_rows:,} cells",
    }
    return (found if most is None else found.slice(0, most)).replace_schema_metadata(about)


def _check(contrast: pa.Table, by: str) -> None:
    if by not in BY:
        raise SelectionError(f"can't rank by {by!r}{nearest(by, BY)}", allowed=", ".join(BY))
    missing = [name for name in (by, "p_family") if name not in contrast.column_names]
    if missing:
        raise SelectionError(
            f"the table has no column {missing[0]!r}",
            next_step="make it with mindshare.stats.contrast or contrast_conditions",
        )
