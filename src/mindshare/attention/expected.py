"""Visibility + key columns → the share of each column under uniform attention.

`expected` of a class is the mean over a query's visible keys of the class's weight: what the class
would get from a head with no preference. Exact for any mask, a block of rows at a time.
"""

from __future__ import annotations

import torch

from mindshare.attention.masks import Visibility

_ROWS = 256


def uniform_share(visible: Visibility, columns: torch.Tensor) -> torch.Tensor:
    """[batch, head or 1, query, column] float64 on the CPU; `columns` is [batch, key, column]."""
    columns = columns.double().cpu()
    running = columns.cumsum(1)
    parts = [
        _rows(visible, columns, running, start, min(start + _ROWS, visible.queries))
        for start in range(0, visible.queries, _ROWS)
    ]
    return torch.cat(parts, 2)


def _rows(
    visible: Visibility, columns: torch.Tensor, running: torch.Tensor, start: int, stop: int
) -> torch.Tensor:
    low, high = visible.bounds(start, stop)
    hidden = visible.hidden(start, stop)
    # Keys before the hidden tile are seen by every row: their sums are known already.
    first = high if hidden is None else hidden[0]
    total = running[:, first - 1] if first > 0 else torch.zeros_like(running[:, 0])
    if low > 0:
        total = total - running[:, low - 1]
    sums = total[:, None, None].expand(-1, 1, stop - start, -1)
    count = torch.full((1, 1, stop - start, 1), float(first - low), dtype=torch.float64)
    if hidden is not None:
        seen = (~hidden[1]).double().cpu()
        # Row by row of the batch, so that no prompt's sums depend on its neighbours.
        rows = zip(seen.expand(len(columns), -1, -1, -1), columns[:, first:high], strict=True)
        sums = sums + torch.stack([one @ other for one, other in rows])
        count = count + seen.sum(-1, keepdim=True)
    return sums / count.clamp(min=1.0)
