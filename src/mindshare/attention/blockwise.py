"""Row blocks: scores, softmax, output, masses and received sums of a few query rows at a time.

Any mask, soft-capping, learned sinks, any device, plain torch; the fast path on CPUs. Nothing is
computed twice and memory grows linearly: one tile of `rows × keys` is all that exists of A.

How a tile is shaped (measured, 2 cores, AVX2, 9 heads of 64 over 3 KV heads, ratios to the vendor's
fused kernel at 4,096 tokens): heads that share keys are stacked into the rows of one product of
about 192 rows, and two such products go into a batched call, because the library
spreads a batch evenly over threads and a single product badly (1.22 against 1.36 for all heads at
once). The class product is separate, with its small matrix transposed: appended to the values it
makes their product 20 % slower, since its width is no longer a multiple of the vector unit's. Short
prompts are all overhead: there, as many products as fit share one call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from mindshare.attention.call import AttentionCall, Found, Wanted

_ROWS = 192  # rows of one matrix product
_TILE_BYTES = 64 * 2**20  # the largest tile; long sequences get fewer rows
_BATCHED_ELEMENTS = 2**19  # short sequences: products go together up to this size
_FEW = 16  # this many diagonals are zeroed one by one
_LANES = 2  # products of one batched call; never the number of threads, which must decide nothing


@dataclass(frozen=True)
class _Step:
    """One tile: `pairs` (batch, KV head) pairs × `blocks` consecutive blocks of query tokens."""

    first_pair: int
    pairs: int
    start: int
    stop: int
    blocks: int

    @property
    def chosen(self) -> slice:
        return slice(self.first_pair, self.first_pair + self.pairs)

    @property
    def tokens(self) -> int:
        """Query tokens of one block."""
        return (self.stop - self.start) // self.blocks


def run(call: AttentionCall, wanted: Wanted) -> Found:
    return _Blockwise(call, wanted).run()


class _Blockwise:
    """Everything is by pair, [batch × KV head, …]; a tile is [pair, block, group, token, key]."""

    def __init__(self, call: AttentionCall, wanted: Wanted) -> None:
        self.call, self.wanted = call, wanted
        self.batch, self.heads, self.queries, self.dim = call.query.shape
        self.kv_heads, self.group, self.keys = call.key.shape[1], call.group, call.key.shape[2]
        self.pairs = self.batch * self.kv_heads
        # Half precision is widened: the model's own softmax is float32 too.
        self.kind = torch.promote_types(call.query.dtype, torch.float32)
        self.query = call.query.reshape(self.pairs, self.group, self.queries, self.dim)
        self.key = call.key.reshape(self.pairs, self.keys, self.dim).to(self.kind)
        self.value = call.value.reshape(self.pairs, self.keys, -1).to(self.kind)
        self.columns = self._columns()
        self.query_weights = self._by_pair(wanted.query_weights)  # [pair, set, query]
        self.scratch = self.second = call.query.new_empty(0, dtype=self.kind)
        self._allocate()

    def _columns(self) -> torch.Tensor | None:
        """[pair, column, key]: transposed, see above."""
        if self.wanted.columns is None:
            return None
        return self._by_pair(self.wanted.columns.transpose(1, 2).to(self.kind).contiguous())

    def _by_pair(self, x: torch.Tensor | None) -> torch.Tensor | None:
        """[batch or 1, …] → [pair, …], without a copy for a batch of one."""
        if x is None:
            return None
        if len(x) == 1:
            return x.expand(self.pairs, -1, -1)
        return x.repeat_interleave(self.kv_heads, 0)

    def _allocate(self) -> None:
        wanted, new = self.wanted, self.call.query.new_empty
        cells = (self.pairs, self.group, self.queries)
        shape = (self.batch, self.queries, self.kv_heads, self.group, self.value.shape[-1])
        self.output = new(shape, dtype=self.kind)
        columns = self.columns
        self.given = None if columns is None else new((*cells, columns.shape[1]), dtype=self.kind)
        self.entropy = new(cells, dtype=self.kind) if wanted.entropy else None
        self.distance = new(cells, dtype=self.kind) if wanted.distance else None
        sets = 1 if wanted.query_weights is None else wanted.query_weights.shape[1]
        sums = (self.pairs, self.group, sets, self.keys)
        self.received = (
            torch.zeros(sums, dtype=torch.float64, device=self.query.device)
            if wanted.received
            else None
        )

    def run(self) -> Found:
        for step in self._steps():
            self._tile(step)

        def by_head(x: torch.Tensor | None) -> torch.Tensor | None:
            return None if x is None else x.reshape(self.batch, self.heads, *x.shape[2:])

        received = by_head(self.received)
        return Found(
            output=self.output.flatten(2, 3).to(self.call.value.dtype),
            given=by_head(self.given),
            received=None if received is None else received.transpose(1, 2),
            entropy=by_head(self.entropy),
            distance=by_head(self.distance),
        )

    def _steps(self) -> Iterator[_Step]:
        lanes = _LANES if self.query.device.type == "cpu" else 1
        room = max(1, _TILE_BYTES // (4 * self.keys * self.group * lanes))  # tokens per product
        tokens = min(self.queries, max(1, min(_ROWS // self.group, room)))
        size = tokens * self.group * self.keys
        together = max(1, min(self.pairs, _BATCHED_ELEMENTS // (size * lanes)))
        stride = tokens * lanes
        for start in range(0, self.queries, stride):
            stop = min(start + stride, self.queries)
            blocks = lanes if stop - start == stride else 1
            for first in range(0, self.pairs, together):
                yield _Step(first, min(together, self.pairs - first), start, stop, blocks)

    def _tile(self, step: _Step) -> None:
        low, high = self.call.visible.bounds(step.start, step.stop)
        tile = self._scores(step, low, high)
        if self.call.sinks is None:
            torch.softmax(tile, -1, out=tile)
        else:
            self._softmax_with_sinks(step, tile)
        self._values(step, tile, low, high)
        if self.given is not None:
            self._put(self.given, step, self._masses(step, tile, low, high))
        if self.entropy is not None:
            self.second = _room(self.second, tile.numel())
            terms = torch.special.entr(tile, out=self.second[: tile.numel()].view(tile.shape))
            self._put(self.entropy, step, terms.sum(-1))
        if self.distance is not None:
            self._distance(step, tile, low, high)
        if self.received is not None:
            self._received(step, tile, low, high)

    def _scores(self, step: _Step, low: int, high: int) -> torch.Tensor:
        shape = (step.pairs, step.blocks, self.group, step.tokens, high - low)
        size = math.prod(shape)
        self.scratch = _room(self.scratch, size)
        tile = self.scratch[:size].view(shape)
        query = self.query[step.chosen, :, step.start : step.stop].to(self.kind)
        query = query.unflatten(2, (step.blocks, -1)).transpose(1, 2)
        query = query.reshape(-1, self.group * step.tokens, self.dim)
        keys = self._of_pairs(self.key[:, low:high], step).transpose(1, 2)
        rows = _products(tile)
        torch.baddbmm(rows, query, keys, beta=0, alpha=self.call.scale, out=rows)
        if self.call.softcap is not None:
            tile.div_(self.call.softcap).tanh_().mul_(self.call.softcap)
        if self.call.bias is not None:
            tile.add_(self._bias(step, low, high))
        hidden = self.call.visible.hidden(step.start, step.stop)
        if hidden is not None:
            first, mask = hidden
            # The least finite value, so that rows without any key stay finite.
            least = torch.finfo(self.kind).min
            tile[..., first - low :].masked_fill_(self._for_pairs(mask, step), least)
        return tile

    def _softmax_with_sinks(self, step: _Step, tile: torch.Tensor) -> None:
        assert self.call.sinks is not None
        sinks = self.call.sinks.to(self.kind).view(self.kv_heads, self.group)
        logits = sinks.repeat(self.batch, 1)[step.chosen, None, :, None, None]
        top = torch.maximum(tile.amax(-1, keepdim=True), logits)
        tile.sub_(top).exp_()
        tile.div_(tile.sum(-1, keepdim=True) + (logits - top).exp())

    def _values(self, step: _Step, tile: torch.Tensor, low: int, high: int) -> None:
        rows = torch.bmm(_products(tile), self._of_pairs(self.value[:, low:high], step))
        rows = rows.view(*tile.shape[:4], -1).transpose(2, 3).flatten(1, 2)
        # rows: [pair, query, group, value dim]; the output has the KV heads after the queries
        done = 0
        while done < step.pairs:
            b, h = divmod(step.first_pair + done, self.kv_heads)
            count = min(self.kv_heads - h, step.pairs - done)
            some = rows[done : done + count].transpose(0, 1)
            self.output[b, step.start : step.stop, h : h + count] = some
            done += count

    def _masses(self, step: _Step, tile: torch.Tensor, low: int, high: int) -> torch.Tensor:
        assert self.columns is not None
        if self.batch == 1:  # all pairs share their columns: one product instead of many
            return tile.view(-1, high - low) @ self.columns[0, :, low:high].T
        columns = self._of_pairs(self.columns[:, :, low:high], step)
        return torch.bmm(_products(tile), columns.transpose(1, 2))

    def _distance(self, step: _Step, tile: torch.Tensor, low: int, high: int) -> None:
        """Σ_j A·(i − j), with i − j taken from the tile's own first query to keep it small."""
        assert self.distance is not None
        visible = self.call.visible
        keys = torch.arange(low, high, device=tile.device) + visible.first_key
        back = (visible.first_query + step.start - keys).to(self.kind)
        ahead = torch.arange(step.stop - step.start, device=tile.device, dtype=self.kind)
        ahead = ahead.view(1, step.blocks, 1, -1)
        self._put(self.distance, step, tile @ back + ahead * tile.sum(-1))

    def _received(self, step: _Step, tile: torch.Tensor, low: int, high: int) -> None:
        """Column sums of the tile; last, because it zeroes what does not count."""
        assert self.received is not None
        self._drop_near(step, tile, low, high)
        if self.query_weights is None:
            self._drop_padding(step, tile)
            sums = tile.sum(3)[:, :, :, None]
        else:
            weights = self.query_weights[step.chosen, :, step.start : step.stop].to(self.kind)
            weights = weights.unflatten(2, (step.blocks, -1)).transpose(1, 2)
            sums = weights[:, :, None] @ tile  # [pair, block, group, set, key]
        self.received[step.chosen, ..., low:high] += sums.sum(1) if step.blocks > 1 else sums[:, 0]

    def _drop_padding(self, step: _Step, tile: torch.Tensor) -> None:
        """Zero the rows of padding, so that the same sum serves a prompt with and without any."""
        if self.wanted.real is None or min(self.wanted.real) >= step.stop:
            return
        for pair in range(step.pairs):
            real = self.wanted.real[(step.first_pair + pair) // self.kv_heads] - step.start
            for block in range(step.blocks):
                tile[pair, block, :, max(0, real - block * step.tokens) :].zero_()

    def _drop_near(self, step: _Step, tile: torch.Tensor, low: int, high: int) -> None:
        """Zero A[i,j] unless i > j + near, in the only columns where that can fail."""
        near, visible = self.wanted.near, self.call.visible
        if visible.causal and near < _FEW:
            for block in range(step.blocks):
                own = step.start + block * step.tokens + visible.first_query - visible.first_key
                for back in range(near + 1):
                    _zero_diagonal(tile[:, block], own - low - back)
            return
        queries = torch.arange(step.start, step.stop, device=tile.device) + visible.first_query
        first = max(low, step.start + visible.first_query - visible.first_key - near)
        if first < high:
            keys = torch.arange(first, high, device=tile.device) + visible.first_key
            near_by = self._for_pairs((queries[:, None] - keys <= near)[None, None], step)
            tile[..., first - low :].masked_fill_(near_by, 0.0)

    def _of_pairs(self, x: torch.Tensor, step: _Step) -> torch.Tensor:
        """[pair, …] → one for each product of the step; copies only if both counts are above 1."""
        chosen = x[step.chosen]
        if step.blocks == 1:
            return chosen
        if step.pairs == 1:
            return chosen.expand(step.blocks, -1, -1)
        return chosen[:, None].expand(-1, step.blocks, -1, -1).flatten(0, 1)

    def _for_pairs(self, mask: torch.Tensor, step: _Step) -> torch.Tensor:
        """[batch or 1, head or 1, row, key] → broadcasts to a tile."""
        mask = mask.to(self.query.device).unflatten(2, (step.blocks, -1))
        if mask.shape[:2] == (1, 1):
            return mask[:, 0, :, None]
        lead = (self.batch, self.kv_heads, self.group if mask.shape[1] > 1 else 1)
        if mask.shape[1] > 1:
            mask = mask.unflatten(1, (self.kv_heads, self.group))
        else:
            mask = mask[:, None]
        whole = mask.expand(*lead, -1, -1, -1).flatten(0, 1)[step.chosen]
        return whole.transpose(1, 2)

    def _bias(self, step: _Step, low: int, high: int) -> torch.Tensor:
        assert self.call.bias is not None
        bias = self.call.bias.to(self.kind)
        while bias.dim() < 4:
            bias = bias[None]
        rows = bias.expand(-1, -1, self.queries, self.keys)
        return self._for_pairs(rows[:, :, step.start : step.stop, low:high], step)

    def _put(self, where: torch.Tensor, step: _Step, rows: torch.Tensor) -> None:
        """[pair, block, group, token, …], flat or not, into [pair, group, query, …]."""
        tail = where.shape[3:]
        rows = rows.view(step.pairs, step.blocks, self.group, step.tokens, *tail).transpose(1, 2)
        where[step.chosen, :, step.start : step.stop] = rows.flatten(2, 3)


def _products(tile: torch.Tensor) -> torch.Tensor:
    """[pair, block, group, token, key] as the matrices of a batched product."""
    return tile.view(-1, tile.shape[2] * tile.shape[3], tile.shape[4])


def _room(buffer: torch.Tensor, size: int) -> torch.Tensor:
    """A buffer of at least this size, reused: fresh pages cost more than the sums."""
    return buffer if buffer.numel() >= size else buffer.new_empty(size)


def _zero_diagonal(tile: torch.Tensor, first: int) -> None:
    """Zero tile[…, row, first + row] wherever that column exists."""
    row = max(0, -first)
    if row < tile.shape[-2] and first + row < tile.shape[-1]:
        tile[..., row:, first + row :].diagonal(dim1=-2, dim2=-1).zero_()
