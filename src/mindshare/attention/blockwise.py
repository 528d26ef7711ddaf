"""Row blocks: scores, softmax, output, masses and received sums of a few query rows at a time.

Any mask, soft-capping, learned sinks, any device, plain torch; the fast path on CPUs. Nothing is
computed twice and memory grows linearly: one tile of `rows × keys` is all that exists of A.

How a tile is shaped (measured, 2 cores, AVX2, 9 heads of 64 over 3 KV heads, ratios to the vendor's
fused kernel at 4,096 tokens): heads that share keys are stacked into the rows of one product of
about 192 rows, and one product per thread goes into a batched call, because the library spreads a
batch evenly over threads and a single product badly (1.22 against 1.36 for all heads at once).
The class product is separate, with its small matrix transposed: appended to the values it makes
their product 20 % slower, since its width is no longer a multiple of the vector unit's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mindshare.attention.call import AttentionCall, Found, Wanted

_ROWS = 192  # rows of one matrix product
_TILE_BYTES = 64 * 2**20  # the largest tile; long sequences get fewer rows
_BATCHED_ELEMENTS = 2**20  # short sequences: products go together up to this size


@dataclass(frozen=True)
class _Step:
    """One tile: `pairs` (batch, KV head) pairs × `blocks` consecutive blocks of query tokens."""

    first_pair: int
    pairs: int
    start: int
    stop: int
    blocks: int


def run(call: AttentionCall, wanted: Wanted) -> Found:
    return _Blockwise(call, wanted).run()


class _Blockwise:
    def __init__(self, call: AttentionCall, wanted: Wanted) -> None:
        self.call, self.wanted = call, wanted
        self.batch, self.heads, self.queries, self.dim = call.query.shape
        self.kv_heads, self.group = call.key.shape[1], call.group
        # Half precision is widened: the model's own softmax is float32 too.
        self.kind = torch.promote_types(call.query.dtype, torch.float32)
        pairs = self.batch * self.kv_heads
        self.query = call.query.reshape(pairs, self.group, self.queries, self.dim)
        self.key = call.key.reshape(pairs, -1, self.dim).to(self.kind)
        self.value = call.value.reshape(pairs, -1, call.value.shape[-1]).to(self.kind)
        self.columns = None
        if wanted.columns is not None:  # [batch, column, key]: transposed, see above
            self.columns = wanted.columns.transpose(1, 2).to(self.kind).contiguous()
        self._allocate(call.value.shape[-1])

    def _allocate(self, value_dim: int) -> None:
        wanted, new = self.wanted, self.call.query.new_empty
        shape = (self.batch, self.kv_heads, self.group, self.queries)
        self.output = new(
            (self.batch, self.queries, self.kv_heads, self.group, value_dim), dtype=self.kind
        )
        count = 0 if wanted.columns is None else wanted.columns.shape[-1]
        self.given = new((*shape, count), dtype=self.kind) if count else None
        self.entropy = new(shape, dtype=self.kind) if wanted.entropy else None
        self.distance = new(shape, dtype=self.kind) if wanted.distance else None
        sets = 1 if wanted.query_weights is None else wanted.query_weights.shape[1]
        self.received = (
            torch.zeros(
                (self.batch, sets, self.kv_heads, self.group, self.call.key.shape[2]),
                dtype=torch.float64,
                device=self.call.query.device,
            )
            if wanted.received
            else None
        )
        self.scratch = self.call.query.new_empty(0, dtype=self.kind)

    def run(self) -> Found:
        for step in self._steps():
            self._tile(step)
        by_head = (self.batch, self.heads)

        def merged(x: torch.Tensor | None) -> torch.Tensor | None:
            return None if x is None else x.reshape(*by_head, *x.shape[3:])

        received = self.received
        return Found(
            output=self.output.flatten(2, 3).to(self.call.value.dtype),
            given=merged(self.given),
            received=None if received is None else received.flatten(2, 3),
            entropy=merged(self.entropy),
            distance=merged(self.distance),
        )

    def _steps(self) -> Iterator[_Step]:
        keys, pairs = self.call.key.shape[2], self.batch * self.kv_heads
        lanes = min(torch.get_num_threads(), 4) if self.query.device.type == "cpu" else 1
        room = max(1, _TILE_BYTES // (4 * keys * self.group * lanes))  # query tokens per product
        tokens = min(self.queries, max(1, min(_ROWS // self.group or 1, room)))
        together = min(pairs, _BATCHED_ELEMENTS // (tokens * self.group * keys))
        if together >= max(2, lanes):
            lanes = 1
        else:
            together = 1
        stride = tokens * lanes
        for start in range(0, self.queries, stride):
            stop = min(start + stride, self.queries)
            blocks = lanes if stop - start == stride else 1
            for first in range(0, pairs, together):
                yield _Step(first, min(together, pairs - first), start, stop, blocks)

    def _tile(self, step: _Step) -> None:
        low, high = self.call.visible.bounds(step.start, step.stop)
        rows = self._scores(step, low, high)
        if self.call.sinks is None:
            weights = torch.softmax(rows, -1, out=rows)
        else:
            weights = self._softmax_with_sinks(step, rows)
        self._values(step, weights, low, high)
        if self.columns is not None:
            self._given(step, weights, low, high)
        if self.entropy is not None:
            self._put(self.entropy, step, torch.special.entr(weights).sum(-1))
        if self.distance is not None:
            self._distance(step, weights, low, high)
        if self.received is not None:
            self._received(step, weights, low, high)

    # Tiles are [pair or block, group × token, key]; one of the two leading counts is 1.

    def _scores(self, step: _Step, low: int, high: int) -> torch.Tensor:
        tokens = (step.stop - step.start) // step.blocks
        shape = (step.pairs * step.blocks, self.group * tokens, high - low)
        size = shape[0] * shape[1] * shape[2]
        if self.scratch.numel() < size:  # one buffer, reused: fresh pages cost more than the sums
            self.scratch = self.scratch.new_empty(size)
        rows = self.scratch[:size].view(shape)
        query = self.query[
            step.first_pair : step.first_pair + step.pairs, :, step.start : step.stop
        ]
        query = query.unflatten(2, (step.blocks, tokens)).transpose(1, 2).to(self.kind)
        query = (query * self.call.scale).reshape(*shape[:2], self.dim)
        keys = self._of_pairs(self.key, step, low, high)
        torch.bmm(query, keys.transpose(1, 2), out=rows)
        if self.call.softcap is not None:
            rows.div_(self.call.softcap).tanh_().mul_(self.call.softcap)
        if self.call.bias is not None:
            self._by_token(rows).add_(self._bias(step, low, high))
        self._hide(step, rows, low)
        return rows

    def _hide(self, step: _Step, rows: torch.Tensor, low: int) -> None:
        hidden = self.call.visible.hidden(step.start, step.stop)
        if hidden is None:
            return
        first, tile = hidden
        region = self._by_token(rows)[..., first - low :]
        # The least finite value, so that rows without any key stay finite.
        region.masked_fill_(self._for_pairs(tile, step), torch.finfo(self.kind).min)

    def _softmax_with_sinks(self, step: _Step, rows: torch.Tensor) -> torch.Tensor:
        assert self.call.sinks is not None
        sinks = self.call.sinks.to(self.kind).view(self.kv_heads, self.group)
        pair = torch.arange(step.first_pair, step.first_pair + step.pairs) % self.kv_heads
        logits = sinks[pair].view(step.pairs, 1, self.group, 1, 1)
        by_token = rows.view(step.pairs, step.blocks, self.group, -1, rows.shape[-1])
        top = torch.maximum(by_token.amax(-1, keepdim=True), logits)
        by_token.sub_(top).exp_()
        by_token.div_(by_token.sum(-1, keepdim=True) + (logits - top).exp())
        return rows

    def _values(self, step: _Step, weights: torch.Tensor, low: int, high: int) -> None:
        rows = torch.bmm(weights, self._of_pairs(self.value, step, low, high))
        tokens = rows.shape[1] // self.group
        rows = rows.view(step.pairs, step.blocks, self.group, tokens, -1)
        rows = rows.permute(0, 1, 3, 2, 4).flatten(1, 2)  # [pair, query, group, value dim]
        for offset in range(step.pairs):
            b, h = divmod(step.first_pair + offset, self.kv_heads)
            self.output[b, step.start : step.stop, h] = rows[offset]

    def _given(self, step: _Step, weights: torch.Tensor, low: int, high: int) -> None:
        assert self.columns is not None
        assert self.given is not None
        if step.pairs == 1:
            b = step.first_pair // self.kv_heads % len(self.columns)
            rows = weights.flatten(0, 1) @ self.columns[b, :, low:high].T
        else:
            pair = torch.arange(step.first_pair, step.first_pair + step.pairs) // self.kv_heads
            columns = self.columns.expand(self.batch, -1, -1)[pair, :, low:high]
            rows = torch.bmm(weights, columns.transpose(1, 2))
        self._put(self.given, step, rows.view(*weights.shape[:2], -1))

    def _distance(self, step: _Step, weights: torch.Tensor, low: int, high: int) -> None:
        """Σ_j A·(i − j), with i − j taken from the tile's own first query to keep it small."""
        assert self.distance is not None
        visible = self.call.visible
        keys = torch.arange(low, high, device=weights.device) + visible.first_key
        back = (visible.first_query + step.start - keys).to(self.kind)
        ahead = torch.arange(step.stop - step.start, device=weights.device, dtype=self.kind)
        ahead = ahead.view(1, step.blocks, 1, -1)
        by_token = weights.view(step.pairs, step.blocks, self.group, -1, high - low)
        rows = by_token @ back + ahead * by_token.sum(-1)
        self._put(self.distance, step, rows.view(weights.shape[:2]))

    def _received(self, step: _Step, weights: torch.Tensor, low: int, high: int) -> None:
        """Column sums of the tile; last, because it zeroes the pairs that do not count."""
        assert self.received is not None
        by_token = self._by_token(weights)
        self._drop_near(step, by_token, low, high)
        if self.wanted.query_weights is None:
            sums = by_token.sum(-2)[..., None, :]
        else:
            chosen = self.wanted.query_weights[:, :, step.start : step.stop].to(self.kind)
            chosen = chosen.expand(self.batch, -1, -1).unflatten(2, (step.blocks, -1))
            pair = torch.arange(step.first_pair, step.first_pair + step.pairs) // self.kv_heads
            chosen = chosen[pair].transpose(1, 2).flatten(0, 1)  # [pair or block, set, token]
            sums = chosen[:, None] @ by_token
        sums = sums.view(step.pairs, step.blocks, self.group, -1, high - low).sum(1)
        for offset in range(step.pairs):
            b, h = divmod(step.first_pair + offset, self.kv_heads)
            self.received[b, :, h, :, low:high] += sums[offset].transpose(0, 1)

    def _drop_near(self, step: _Step, by_token: torch.Tensor, low: int, high: int) -> None:
        """Zero A[i,j] unless i > j + near, in the only columns where that can fail."""
        near, visible = self.wanted.near, self.call.visible
        if near < 0 and visible.causal:
            return
        queries = torch.arange(step.start, step.stop, device=by_token.device) + visible.first_query
        first = max(low, step.start + visible.first_query - visible.first_key - near)
        if first >= high:
            return
        keys = torch.arange(first, high, device=by_token.device) + visible.first_key
        near_by = queries[:, None] - keys <= near
        region = by_token[..., first - low :]
        region.masked_fill_(self._for_pairs(near_by[None, None], step), 0.0)

    # The same thing seen from a tile.

    def _by_token(self, rows: torch.Tensor) -> torch.Tensor:
        """[pair or block, group, token, key]"""
        return rows.view(rows.shape[0], self.group, -1, rows.shape[-1])

    def _of_pairs(self, x: torch.Tensor, step: _Step, low: int, high: int) -> torch.Tensor:
        chosen = x[step.first_pair : step.first_pair + step.pairs, low:high]
        return chosen.expand(step.blocks, -1, -1) if step.blocks > 1 else chosen

    def _for_pairs(self, tile: torch.Tensor, step: _Step) -> torch.Tensor:
        """[batch or 1, head or 1, rows, keys] broadcast to [pair or block, group, token, key]."""
        tile = tile.to(self.query.device)
        if step.blocks > 1:  # one pair: rows are split into blocks
            b, h = divmod(step.first_pair, self.kv_heads)
            mine = self._pick(tile, torch.tensor([b]), torch.tensor([h]))[0]
            rows: torch.Tensor = mine.unflatten(1, (step.blocks, -1)).transpose(0, 1)
            return rows
        if tile.shape[:2] == (1, 1):
            return tile
        pair = torch.arange(step.first_pair, step.first_pair + step.pairs)
        return self._pick(tile, pair // self.kv_heads, pair % self.kv_heads)

    def _pick(self, tile: torch.Tensor, b: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        """[pair, group or 1, rows, keys] out of [batch or 1, head or 1, rows, keys]."""
        tile = tile[b % tile.shape[0]]
        if tile.shape[1] == 1:
            return tile
        grouped: torch.Tensor = tile.unflatten(1, (self.kv_heads, self.group))
        return grouped[torch.arange(len(b)), h]

    def _bias(self, step: _Step, low: int, high: int) -> torch.Tensor:
        assert self.call.bias is not None
        bias = self.call.bias.to(self.kind)
        while bias.dim() < 4:
            bias = bias[None]
        rows = bias.expand(-1, -1, self.queries, self.call.key.shape[2])
        return self._for_pairs(rows[:, :, step.start : step.stop, low:high], step)

    def _put(self, where: torch.Tensor, step: _Step, rows: torch.Tensor) -> None:
        """[pair or block, group × token, …] into [batch, kv head, group, query, …]."""
        tail = rows.shape[2:]
        rows = rows.view(step.pairs, step.blocks, self.group, -1, *tail).transpose(1, 2)
        rows = rows.flatten(2, 3)  # [pair, group, query, …]
        flat = where.view(-1, *where.shape[2:])
        flat[step.first_pair : step.first_pair + step.pairs, :, step.start : step.stop] = rows
