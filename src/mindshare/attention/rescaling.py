"""Two passes over one prompt, without and with an insertion → how much of A' is A, rescaled.

The theory of inserted tokens says that they scale the original weights of a later query alike:
A'[i,j] = c[i]·A[i,j]. That takes both matrices at once. The first pass leaves its queries and keys
behind (`keep_calls`, linear in the tokens); while the second one runs, `Rescaling` makes the rows
of both that it needs, a block at a time, and keeps sums only. Either pass is whole or in chunks;
what both begin with may come from elsewhere. Knows positions, nothing about texts.
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
_MASK = 2**24  # the largest mask of a call that is kept between layers: one of 4,096 tokens


Calls = dict[int, list[AttentionCall]]  # of one prompt, by layer: one for each chunk


def keep_calls(calls: Calls) -> Observer:
    """An observer that keeps each layer's queries and keys."""
    calls.clear()  # of a pass that failed

    def keep(layer: int, call: AttentionCall) -> None:
        chunks = calls.setdefault(layer, [])
        for number, one in enumerate(chunks):
            if one.visible.first_key == call.visible.first_key:
                # A cache that grows has copied them: one copy of all is enough.
                keys = call.key[:, :, : one.key.shape[2]]
                chunks[number] = replace(one, key=keys)
        chunks.append(replace(call, value=call.value[..., :0].clone()))

    return keep


class Rescaling:
    """An observer of the pass with the insertion; compares each layer with what was kept."""

    def __init__(self, kept: Calls, positions: Positions) -> None:
        self.kept, self.positions = kept, positions
        self.places = [torch.from_numpy(positions.pairs[:, side].copy()) for side in (0, 1)]
        self._sums: dict[int, _Sums] = {}
        self._hidden: dict[tuple[int, int, int], tuple[Visibility, torch.Tensor]] = {}
        self._chunk = 0  # its first token

    def __call__(self, layer: int, call: AttentionCall) -> None:
        if call.visible.first_query != self._chunk:
            self._chunk = call.visible.first_query
            self._hidden.clear()
        sums = self._sums.setdefault(layer, _Sums(call.query.shape[1], call.group))
        sums.values.append(self._inserted_values(call))
        for before, rows in self._blocks(layer, call):
            keys = self._keys(before, call)
            a, b = (self._rows(one, rows, keys, side) for side, one in enumerate((before, call)))
            sums.add(a, b, first_after=max(0, self.positions.later - keys.start))

    def numbers(self, layer: int) -> dict[str, np.ndarray]:
        """[head] arrays by name, NaN where no original token stands after the insertion."""
        sums = self._sums[layer]
        assert sums.queries == len(self.positions.pairs[self.positions.later :]), "all are compared"
        return {
            "factor": sums.factor(),
            "affine_r2": sums.everywhere.r2(),
            "affine_r2_after": sums.after.r2(),
            "value_evenness": sums.value_evenness(),
        }

    def _blocks(self, layer: int, call: AttentionCall) -> Iterator[tuple[AttentionCall, slice]]:
        """The pairs whose queries are compared in this call, as many as a tile holds.

        Each time with the call without the insertion that has their partners.
        """
        size = max(1, _TILE // (call.query.shape[1] * call.key.shape[2]))
        for before in self.kept[layer]:
            spans = [
                self._span(side, one.visible.first_query, one.query.shape[2])
                for side, one in enumerate((before, call))
            ]
            last = min(span.stop for span in spans)
            first = max(self.positions.later, *(span.start for span in spans))
            for start in range(first, last, size):
                yield before, slice(start, min(start + size, last))

    def _keys(self, before: AttentionCall, call: AttentionCall) -> slice:
        """The pairs that either call has among its keys: a window drops some of them."""
        spans = [
            self._span(side, one.visible.first_key, one.key.shape[2])
            for side, one in enumerate((before, call))
        ]
        return slice(min(span.start for span in spans), max(span.stop for span in spans))

    def _span(self, side: int, first: int, tokens: int) -> slice:
        """The pairs that stand among these tokens of one version."""
        ends = np.searchsorted(self.positions.pairs[:, side], [first, first + tokens])
        return slice(int(ends[0]), int(ends[1]))

    def _rows(self, call: AttentionCall, rows: slice, keys: slice, side: int) -> torch.Tensor:
        """[head, query, matched key] of one version, float64; 0 where a key is not there."""
        places, visible = self.places[side], call.visible
        queries, at = places[rows] - visible.first_query, places[keys] - visible.first_key
        first, stop = int(queries[0]), int(queries[-1]) + 1
        kind = torch.promote_types(call.query.dtype, torch.float32)
        hidden = self._hidden_of(call, first, stop)
        whole = probabilities(call, slice(first, stop), kind=kind, hidden=hidden)[0]
        if stop - first > len(queries):  # unmatched queries stand between
            whole = whole.index_select(1, (queries - first).to(whole.device))
        there = at.clamp(0, call.key.shape[2] - 1)
        found = whole.index_select(2, there.to(whole.device)).double()
        if not torch.equal(there, at):
            found[:, :, (there != at).to(found.device)] = 0.0
        return found

    def _hidden_of(self, call: AttentionCall, start: int, stop: int) -> torch.Tensor | None:
        """Layers share their masks: those that are not large are worked out once."""
        if call.key.shape[2] * call.query.shape[2] > _MASK:
            return None
        key = (id(call.visible), start, stop)
        if key not in self._hidden:  # the mask is kept too, or its id might be given again
            self._hidden[key] = (call.visible, hidden_keys(call, start, stop))
        return self._hidden[key][1].to(call.query.device)

    def _inserted_values(self, call: AttentionCall) -> torch.Tensor:
        """[kv head, token, dim] of those inserted tokens that are this call's own, float64."""
        first, inserted = call.visible.first_query, self.positions.inserted
        own = inserted[(inserted >= first) & (inserted < first + call.query.shape[2])]
        places = torch.from_numpy(own - call.visible.first_key).to(call.value.device)
        return call.value[0].index_select(1, places).double()


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
    """Of one layer, over the queries that were compared so far."""

    def __init__(self, heads: int, group: int) -> None:
        self.everywhere, self.after = _Explained(heads), _Explained(heads)
        self.factors = torch.zeros(heads, dtype=torch.float64)
        self.queries = 0
        self.values: list[torch.Tensor] = []  # of the inserted tokens, [kv head, token, dim] each
        self.group = group  # query heads per kv head

    def add(self, a: torch.Tensor, b: torch.Tensor, *, first_after: int) -> None:
        products = (a * a, a * b, b * b)
        self.factors += self.everywhere.add(*products).sum(-1).cpu()
        self.after.add(*(x[..., first_after:] for x in products))
        self.queries += a.shape[1]

    def factor(self) -> np.ndarray:
        if not self.queries:
            return np.full(len(self.factors), np.nan)
        return (self.factors / self.queries).numpy()

    def value_evenness(self) -> np.ndarray:
        """|mean v|² / mean |v|² over the inserted tokens, for each query head."""
        values = torch.cat(self.values, 1)
        squares = values.square().sum((1, 2)) * values.shape[1]
        even = torch.where(squares > 0, values.sum(1).square().sum(-1) / squares, torch.nan)
        found: np.ndarray = even.repeat_interleave(self.group).cpu().numpy()
        return found
