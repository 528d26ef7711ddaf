"""Two passes over one prompt, without and with an insertion → how much of A' is A, rescaled.

The theory of inserted tokens says that they scale the original weights of a later query alike:
A'[i,j] = c[i]·A[i,j]. That takes both matrices at once. The first pass leaves its queries and keys
behind (`keeping`, linear in the tokens); while the second one runs, `Rescaling` makes the rows of
both that it needs, a block at a time, and keeps sums only. Knows positions, nothing about texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from mindshare.attention.call import AttentionCall, Observer
from mindshare.attention.jobs import Positions
from mindshare.attention.masks import Visibility
from mindshare.attention.reference import hidden_keys, probabilities

_TILE = 2**22  # numbers in a block of rows of all heads
_MASK = 2**20  # numbers of a mask that is kept between layers


Calls = dict[int, AttentionCall]  # of one prompt, by layer


def keeping(calls: Calls) -> Observer:
    """An observer that keeps each layer's queries and keys."""

    def keep(layer: int, call: AttentionCall) -> None:
        calls[layer] = replace(call, value=call.value[..., :0])

    return keep


class Rescaling:
    """An observer of the pass with the insertion; compares each layer with what was kept.

    `layers` has [head] arrays by name, NaN where no original token stands after the insertion.
    """

    def __init__(self, kept: Calls, positions: Positions) -> None:
        self.kept, self.positions = kept, positions
        self.keys = [torch.from_numpy(positions.pairs[:, side].copy()) for side in (0, 1)]
        self.layers: dict[int, dict[str, np.ndarray]] = {}
        self._hidden: dict[tuple[int, int, int], tuple[Visibility, torch.Tensor]] = {}

    def __call__(self, layer: int, call: AttentionCall) -> None:
        before = self.kept[layer]
        sums = _Sums(call.query.shape[1])
        for rows in self._blocks(call):
            a, b = (self._rows(one, rows, side) for side, one in enumerate((before, call)))
            sums.add(a, b, first_after=self.positions.later)
        self.layers[layer] = {
            "factor": sums.factor(),
            "affine_r2": sums.everywhere.r2(),
            "affine_r2_after": sums.after.r2(),
            "value_evenness": _value_evenness(call, self.positions.inserted),
        }

    def _blocks(self, call: AttentionCall) -> Iterator[np.ndarray]:
        """The original queries after the insertion, as many pairs at once as a tile holds."""
        queries = self.positions.pairs[self.positions.later :]
        size = max(1, _TILE // (call.query.shape[1] * call.key.shape[2]))
        for start in range(0, len(queries), size):
            yield queries[start : start + size]

    def _rows(self, call: AttentionCall, rows: np.ndarray, side: int) -> torch.Tensor:
        """[head, query, matched key] of one version, float64."""
        first, last = int(rows[0, side]), int(rows[-1, side])
        kind = torch.promote_types(call.query.dtype, torch.float32)
        hidden = self._hidden_of(call, first, last + 1)
        whole = probabilities(call, slice(first, last + 1), kind=kind, hidden=hidden)[0]
        if last + 1 - first > len(rows):  # unmatched queries stand between
            queries = torch.from_numpy(rows[:, side] - first).to(whole.device)
            whole = whole.index_select(1, queries)
        return whole.index_select(2, self.keys[side].to(whole.device)).double()

    def _hidden_of(self, call: AttentionCall, start: int, stop: int) -> torch.Tensor | None:
        """Layers share their masks: those of short prompts are worked out once."""
        if call.key.shape[2] * (stop - start) > _MASK:
            return None
        key = (id(call.visible), start, stop)
        if key not in self._hidden:  # the mask is kept too, or its id might be given again
            self._hidden[key] = (call.visible, hidden_keys(call, start, stop))
        return self._hidden[key][1].to(call.query.device)


class _Explained:
    """Sums of squares by head: of A', and of what one factor a query leaves of it."""

    def __init__(self, heads: int) -> None:
        self.total = torch.zeros(heads, dtype=torch.float64)
        self.left = torch.zeros(heads, dtype=torch.float64)

    def add(self, aa: torch.Tensor, ab: torch.Tensor, bb: torch.Tensor) -> torch.Tensor:
        """Products of A and A' [head, query, key] in, the factors [head, query] out."""
        aa, ab, bb = aa.sum(-1), ab.sum(-1), bb.sum(-1)
        factor = torch.where(aa > 0, ab / aa, 0.0)
        self.total += bb.sum(1).cpu()
        # In float64 what rounding leaves of this difference is far below the numbers' own error.
        self.left += (bb - factor * ab).sum(1).clamp(min=0.0).cpu()
        return factor

    def r2(self) -> np.ndarray:
        return torch.where(self.total > 0, 1 - self.left / self.total, torch.nan).numpy()


class _Sums:
    def __init__(self, heads: int) -> None:
        self.everywhere, self.after = _Explained(heads), _Explained(heads)
        self.factors = torch.zeros(heads, dtype=torch.float64)
        self.queries = 0

    def add(self, a: torch.Tensor, b: torch.Tensor, *, first_after: int) -> None:
        products = (a * a, a * b, b * b)
        self.factors += self.everywhere.add(*products).sum(-1).cpu()
        self.after.add(*(x[..., first_after:] for x in products))
        self.queries += a.shape[1]

    def factor(self) -> np.ndarray:
        if not self.queries:
            return np.full(len(self.factors), np.nan)
        return (self.factors / self.queries).numpy()


def _value_evenness(call: AttentionCall, inserted: np.ndarray) -> np.ndarray:
    """|mean v|² / mean |v|² over the inserted tokens, for each query head."""
    if len(inserted) == 0:
        return np.full(call.query.shape[1], np.nan)
    chosen = torch.from_numpy(inserted).to(call.value.device)
    values = call.value[0].index_select(1, chosen).double()  # [kv head, token, dim]
    squares = values.square().sum((1, 2)) * len(inserted)
    even = torch.where(squares > 0, values.sum(1).square().sum(-1) / squares, torch.nan)
    found: np.ndarray = even.repeat_interleave(call.group).cpu().numpy()
    return found
