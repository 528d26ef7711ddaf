"""Row blocks: scores, softmax, output, masses and received sums of a few query rows at a time.

Any mask, soft-capping, learned sinks, any device, plain torch; the fast path on CPUs. Nothing is
computed twice and memory grows linearly: one tile of `rows × keys` is all that exists of A.

How a tile is shaped (measured, 2 cores, AVX2, 9 heads of 64 over 3 KV heads, ratios to the vendor's
fused kernel at 4,096 tokens): heads that share keys are stacked into the rows of one product of
about 192 rows, and two such products go into a batched call, because the library spreads a batch
evenly over threads and a single product badly (1.22 against 1.36 for all heads at once). Short
prompts are all overhead: there, as many products as fit share one call.

Classes are summed apart: appended to the values they make that product 20 % slower, since its width
is no longer a multiple of the vector unit's. They are the rows of the product, not its columns, and
go lane by lane as all else does, so that each thread reads what it wrote. At 8,192 keys (AVX-512,
MKL's strict mode) four classes take 0.27 ms of a tile's 4.4 that way, 0.43 as the columns of one
product. A product with a vector is worst: 0.15 ms on one thread, and what follows is slower too,
0.27 ms a tile in all at 4,096 tokens.

What is not arithmetic costs as much as the classes do: fresh pages for every tile, so the layers of
a pass share their buffers; keys copied for every band, so that is done once a call; masking by
truth values, so hidden scores get a number added instead. At 1,024 tokens this took a call from 27
to 17 ms, where the fused kernel takes 14 without any statistics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from mindshare.attention.call import (
    PER_QUERY,
    AttentionCall,
    AttentionRows,
    LayerStats,
    Scratch,
    Weights,
    per_query,
)
from mindshare.attention.jobs import Request
from mindshare.attention.threads import pieces

_ROWS = 192  # rows of one matrix product
_TILE_BYTES = 64 * 2**20  # the largest tile; long sequences get fewer rows
_BATCHED_ELEMENTS = 2**21  # short sequences: products go together up to this size
_FEW = 16  # this many diagonals are zeroed one by one
_LANES = 2  # products of one batched call; never the number of threads, which must decide nothing


@dataclass(frozen=True)
class _Band:
    """Some query rows of every head: `blocks` blocks of equally many tokens, and their keys."""

    start: int
    stop: int
    blocks: int
    low: int
    high: int
    query: torch.Tensor  # [pair, block, group × token, dim]
    hidden: tuple[int, torch.Tensor] | None  # first key; [batch or 1, head or 1, row, key] to add

    @property
    def tokens(self) -> int:
        """Query tokens of one block."""
        return (self.stop - self.start) // self.blocks


@dataclass(frozen=True)
class _Tile:
    """All that exists of A at a time: [pair, block, group, token, key] for some of the pairs."""

    band: _Band
    first_pair: int
    attention: torch.Tensor  # scores before the softmax, A after it

    @property
    def pairs(self) -> int:
        return len(self.attention)

    @property
    def chosen(self) -> slice:
        return slice(self.first_pair, self.first_pair + self.pairs)

    @property
    def products(self) -> torch.Tensor:
        """As the matrices of a batched product."""
        return self.attention.flatten(2, 3).flatten(0, 1)

    def of_products(self, x: torch.Tensor) -> torch.Tensor:
        """[pair, lane, …] → one for each product."""
        return x[self.chosen, : self.band.blocks].flatten(0, 1)


def run(
    call: AttentionCall, request: Request, weights: Weights, scratch: Scratch | None = None
) -> tuple[torch.Tensor, LayerStats]:
    return _Blockwise(call, request, weights, scratch or Scratch()).run()


class _Blockwise:
    """Everything is by pair, [batch × KV head, …]."""

    def __init__(
        self, call: AttentionCall, request: Request, weights: Weights, scratch: Scratch
    ) -> None:
        self.call, self.request, self.weights, self.scratch = call, request, weights, scratch
        self.batch, self.heads, self.queries, self.dim = call.query.shape
        self.kv_heads, self.group, self.keys = call.key.shape[1], call.group, call.key.shape[2]
        self.pairs = self.batch * self.kv_heads
        # Half precision is widened: the model's own softmax is float32 too.
        self.kind = torch.promote_types(call.query.dtype, torch.float32)
        self.query = call.query.reshape(self.pairs, self.group, self.queries, self.dim)
        self._shape_tiles()
        self.key = self._by_lane(call.key.reshape(self.pairs, self.keys, self.dim).to(self.kind))
        self.value = self._by_lane(call.value.reshape(self.pairs, self.keys, -1).to(self.kind))
        self.columns: torch.Tensor | None = None  # [pair, lane, column, key]: rows of a product
        if weights.columns is not None:
            columns = weights.columns.transpose(1, 2).to(self.kind).contiguous()
            self.columns = self._by_lane(self._by_pair(columns))
        self.query_weights: torch.Tensor | None = None  # [pair, set, query]
        if weights.queries is not None:
            self.query_weights = self._by_pair(weights.queries)
        self._allocate()

    def _shape_tiles(self) -> None:
        self.lanes = _LANES if self.query.device.type == "cpu" else 1
        room = max(1, _TILE_BYTES // (4 * self.keys * self.group * self.lanes))
        self.tokens = min(self.queries, max(1, min(_ROWS // self.group, room)))  # of one product
        size = self.tokens * self.group * self.keys * self.lanes
        self.together = max(1, min(self.pairs, _BATCHED_ELEMENTS // size))  # pairs of one tile
        if self.together > self.kv_heads:  # whole prompts
            self.together -= self.together % self.kv_heads

    def _by_lane(self, x: torch.Tensor) -> torch.Tensor:
        """[pair, …] → [pair, lane, …]; copied where lanes of several pairs are one batch."""
        lanes = x[:, None].expand(-1, self.lanes, -1, -1)
        copied = self.together > 1 and self.queries >= self.tokens * self.lanes
        return lanes.contiguous() if copied else lanes

    def _by_pair(self, x: torch.Tensor) -> torch.Tensor:
        """[batch or 1, …] → [pair, …], without a copy for a batch of one."""
        if len(x) == 1:
            return x.expand(self.pairs, -1, -1)
        return x.repeat_interleave(self.kv_heads, 0)

    def _allocate(self) -> None:
        statistics, new = self.request.statistics, self.call.query.new_empty
        cells = (self.pairs, self.group, self.queries)
        shape = (self.batch, self.queries, self.kv_heads, self.group, self.value.shape[-1])
        self.output = new(shape, dtype=self.kind)
        columns = self.columns
        self.given = None if columns is None else new((*cells, columns.shape[2]), dtype=self.kind)
        wanted = "contribution" in statistics and columns is not None
        self.carried = None if self.given is None or not wanted else torch.empty_like(self.given)
        self.per_query = {name: new(cells, dtype=self.kind) for name in per_query(statistics)}
        sets = 1 if self.weights.queries is None else self.weights.queries.shape[1]
        sums = (self.pairs, self.group, sets, self.keys)
        self.received = (
            torch.zeros(sums, dtype=torch.float64, device=self.query.device)
            if "received" in statistics
            else None
        )

    def run(self) -> tuple[torch.Tensor, LayerStats]:
        for band in self._bands():
            for first in range(0, self.pairs, self.together):
                self._measure(self._scores(band, first))

        def by_head(x: torch.Tensor | None) -> torch.Tensor | None:
            return None if x is None else x.reshape(self.batch, self.heads, *x.shape[2:])

        received = by_head(self.received)
        stats = LayerStats(
            given=by_head(self.given),
            received=None if received is None else received.transpose(1, 2),
            carried=by_head(self.carried),
            per_query={
                name: x.reshape(self.batch, self.heads, -1) for name, x in self.per_query.items()
            },
            kernel="blockwise",
        )
        return self.output.flatten(2, 3).to(self.call.value.dtype), stats

    def _bands(self) -> Iterator[_Band]:
        stride = self.tokens * self.lanes
        for start in range(0, self.queries, stride):
            stop = min(start + stride, self.queries)
            blocks = self.lanes if stop - start == stride else 1
            low, high = self.call.visible.bounds(start, stop)
            query = self.query[:, :, start:stop].to(self.kind).unflatten(2, (blocks, -1))
            query = query.transpose(1, 2).reshape(self.pairs, blocks, -1, self.dim)
            hidden = self.call.visible.added(start, stop, self.kind, query.device)
            yield _Band(start, stop, blocks, low, high, query, hidden)

    def _measure(self, tile: _Tile) -> None:
        scores = tile.attention
        if "entropy" in self.per_query:  # needs both: A goes into a tile of its own
            attention = self.scratch.take("attention", scores.shape, scores)
            tile = replace(tile, attention=attention)
        if self.call.sinks is None:
            torch.softmax(scores, -1, out=tile.attention)
        else:
            self._softmax_with_sinks(scores, tile)
        outputs = self._values(tile)
        if self.carried is not None:
            self._put(self.carried, tile, self._carried(tile, outputs))
        if self.given is not None:
            self._put(self.given, tile, self._over_keys(tile, tile.products))
        for name, where in self.per_query.items():
            if name == "entropy":
                found = _entropy(scores, tile.attention)
            elif name == "distance":
                found = self._distance(tile)
            else:
                found = PER_QUERY[name](self._rows(tile))
            self._put(where, tile, found)
        if self.received is not None:
            self._received(tile)

    def _scores(self, band: _Band, first_pair: int) -> _Tile:
        pairs = min(self.together, self.pairs - first_pair)
        shape = (pairs, band.blocks, self.group, band.tokens, band.high - band.low)
        tile = _Tile(band, first_pair, self.scratch.take("tile", shape, self.output))
        keys = tile.of_products(self.key[:, :, band.low : band.high]).transpose(1, 2)
        query, rows, scores = band.query[tile.chosen].flatten(0, 1), tile.products, tile.attention
        torch.baddbmm(rows, query, keys, beta=0, alpha=self.call.scale, out=rows)
        if self.call.softcap is not None:
            scores.div_(self.call.softcap)
            for part in pieces(scores.numel()):
                scores.view(-1)[part].tanh_()
            scores.mul_(self.call.softcap)
        if self.call.bias is not None:
            scores.add_(self._bias(tile))
        if band.hidden is not None:
            first, least = band.hidden
            scores[..., first - band.low :].add_(self._spread(least, tile))
        return tile

    def _softmax_with_sinks(self, scores: torch.Tensor, tile: _Tile) -> None:
        assert self.call.sinks is not None
        sinks = self.call.sinks.to(self.kind).view(self.kv_heads, self.group)
        logits = sinks.repeat(self.batch, 1)[tile.chosen, None, :, None, None]
        top = torch.maximum(scores.amax(-1, keepdim=True), logits)
        attention = torch.sub(scores, top, out=tile.attention)
        for part in pieces(attention.numel()):
            attention.view(-1)[part].exp_()
        attention.div_(attention.sum(-1, keepdim=True) + (logits - top).exp())

    def _values(self, tile: _Tile) -> torch.Tensor:
        """The tile's outputs, put into place: [product, row, value dim]."""
        band = tile.band
        outputs = torch.bmm(tile.products, tile.of_products(self.value[:, :, band.low : band.high]))
        rows = outputs.view(*tile.attention.shape[:4], -1).permute(1, 3, 0, 2, 4)
        # rows: [block, token, pair, group, value dim], as in the output of each prompt
        for prompt, heads, some in self._prompts(tile):
            where = self.output[prompt, band.start : band.stop, heads]
            where.unflatten(0, (band.blocks, -1)).copy_(rows[:, :, some])
        return outputs

    def _carried(self, tile: _Tile, outputs: torch.Tensor) -> torch.Tensor:
        """[product, row, column]: Σ_j A[i,j]·<v_j, o_i>·columns[j] / |o_i|²"""
        assert self.columns is not None
        low, high = tile.band.low, tile.band.high
        values = tile.of_products(self.value[:, :, low:high]).transpose(1, 2)
        along = self.scratch.take("along", tile.products.shape, self.output)
        torch.bmm(outputs, values, out=along)
        along *= tile.products
        return self._over_keys(tile, along) / (outputs * outputs).sum(-1, keepdim=True)

    def _prompts(self, tile: _Tile) -> Iterator[tuple[int, slice, slice]]:
        """Each prompt of a tile: its row in the batch, its KV heads here, and their pairs."""
        first, last = tile.first_pair, tile.first_pair + tile.pairs
        while first < last:
            prompt, head = divmod(first, self.kv_heads)
            count = min(self.kv_heads - head, last - first)
            done = first - tile.first_pair
            yield prompt, slice(head, head + count), slice(done, done + count)
            first += count

    def _over_keys(self, tile: _Tile, rows: torch.Tensor) -> torch.Tensor:
        """[product, row, column]: Σ_j rows[i,j]·columns[j]"""
        assert self.columns is not None
        return _sums(tile.of_products(self.columns[..., tile.band.low : tile.band.high]), rows)

    def _rows(self, tile: _Tile) -> AttentionRows:
        """A tile with its positions: queries [block, 1, token], as its axes are."""
        band, visible, device = tile.band, self.call.visible, self.query.device
        queries = torch.arange(band.start, band.stop, device=device) + visible.first_query
        keys = torch.arange(band.low, band.high, device=device) + visible.first_key
        ids = self.weights.ids
        if ids is not None:  # one for each pair of the tile
            ids = ids.repeat_interleave(self.kv_heads, 0)[tile.chosen]
        queries = queries.view(band.blocks, 1, -1)
        return AttentionRows(tile.attention, queries, keys, self.scratch, ids)

    def _distance(self, tile: _Tile) -> torch.Tensor:
        """Σ_j A·(i − j), counted from the band's first query f, so that float32 keeps its digits.

        That is Σ_j A·(f − j) + (i − f)·Σ_j A, and Σ_j A is 1 unless learned sinks take a part. One
        more class would be a little cheaper, and change the bits of the masses.
        """
        band = tile.band
        first = self.queries - band.start + band.low  # where `back` holds f − low
        back = self._back[first : first + band.high - band.low]
        ahead = torch.arange(band.stop - band.start, device=back.device).view(band.blocks, 1, -1)
        mean = _sums(back.expand(len(tile.products), 1, -1), tile.products)
        mean = mean.view(tile.attention.shape[:-1])
        return mean + (ahead if self.call.sinks is None else ahead * tile.attention.sum(-1))

    @cached_property
    def _back(self) -> torch.Tensor:
        """Every i − j there can be, falling by 1."""
        most = self.call.visible.first_query - self.call.visible.first_key + self.queries
        return torch.arange(most, -self.keys, -1, dtype=self.kind, device=self.query.device)

    def _received(self, tile: _Tile) -> None:
        """Column sums of the tile; last, because it zeroes what does not count."""
        assert self.received is not None
        band = tile.band
        self._drop_near(tile)
        if self.query_weights is None:
            self._drop_padding(tile)
            sums = tile.attention.sum(3)[:, :, :, None]
        else:
            weights = self.query_weights[tile.chosen, :, band.start : band.stop].to(self.kind)
            weights = weights.unflatten(2, (band.blocks, -1)).transpose(1, 2)
            sums = weights[:, :, None] @ tile.attention  # [pair, block, group, set, key]
        where = self.received[tile.chosen, ..., band.low : band.high]
        where += sums.sum(1) if band.blocks > 1 else sums[:, 0]

    def _drop_padding(self, tile: _Tile) -> None:
        """Zero the rows of padding, so that the same sum serves a prompt with and without any."""
        band, real = tile.band, self.weights.real
        if real is None or min(real) >= band.stop:
            return
        for prompt, _, some in self._prompts(tile):
            for block in range(band.blocks):
                first = real[prompt] - band.start - block * band.tokens
                if first < band.tokens:
                    tile.attention[some, block, :, max(0, first) :].zero_()

    def _drop_near(self, tile: _Tile) -> None:
        """Zero A[i,j] unless i > j + near, in the only columns where that can fail."""
        band, near, visible = tile.band, self.request.near, self.call.visible
        before = visible.first_query - visible.first_key
        if visible.causal and near < _FEW:
            for block in range(band.blocks):
                own = band.start + block * band.tokens + before - band.low
                for back in range(near + 1):
                    _zero_diagonal(tile.attention[:, block], own - back)
            return
        first = max(band.low, band.start + before - near)
        if first < band.high:
            device = self.query.device
            queries = torch.arange(band.start, band.stop, device=device) + before
            keys = torch.arange(first, band.high, device=device)
            near_by = self._spread((queries[:, None] - keys <= near)[None, None], tile)
            tile.attention[..., first - band.low :].masked_fill_(near_by, 0.0)

    def _spread(self, x: torch.Tensor, tile: _Tile) -> torch.Tensor:
        """[batch or 1, head or 1, row, key] → broadcasts to a tile."""
        x = x.unflatten(2, (tile.band.blocks, -1))
        if x.shape[:2] == (1, 1):
            return x[:, 0, :, None]
        lead = (self.batch, self.kv_heads, self.group if x.shape[1] > 1 else 1)
        x = x.unflatten(1, (self.kv_heads, self.group)) if x.shape[1] > 1 else x[:, None]
        whole = x.expand(*lead, -1, -1, -1).flatten(0, 1)[tile.chosen]
        return whole.transpose(1, 2)

    def _bias(self, tile: _Tile) -> torch.Tensor:
        assert self.call.bias is not None
        band, bias = tile.band, self.call.bias.to(self.kind)
        while bias.dim() < 4:
            bias = bias[None]
        rows = bias.expand(-1, -1, self.queries, self.keys)
        return self._spread(rows[:, :, band.start : band.stop, band.low : band.high], tile)

    def _put(self, where: torch.Tensor, tile: _Tile, rows: torch.Tensor) -> None:
        """[pair, block, group, token, …], flat or not, into [pair, group, query, …]."""
        band, tail = tile.band, where.shape[3:]
        rows = rows.view(tile.pairs, band.blocks, self.group, band.tokens, *tail).transpose(1, 2)
        where = where[tile.chosen, :, band.start : band.stop]
        where.unflatten(2, (band.blocks, -1)).copy_(rows)


def _sums(columns: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """[product, row, column]: Σ_j rows[i,j]·columns[j], of [product, column or row, key].

    Never one product alone: then MKL takes other code, whose bits depend on the threads.
    """
    count = len(rows)
    if count == 1 and rows.device.type == "cpu":
        columns, rows = columns.expand(2, -1, -1), rows.expand(2, -1, -1)
    return torch.bmm(columns, rows.transpose(1, 2))[:count].transpose(1, 2)


def _zero_diagonal(tile: torch.Tensor, first: int) -> None:
    """Zero tile[…, row, first + row] wherever that column exists."""
    row = max(0, -first)
    if row < tile.shape[-2] and first + row < tile.shape[-1]:
        tile[..., row:, first + row :].diagonal(dim1=-2, dim2=-1).zero_()


def _entropy(scores: torch.Tensor, attention: torch.Tensor) -> torch.Tensor:
    """−Σ_j A log A without a logarithm per weight, which would cost two thirds of the call.

    log A = s − max s + log max A, so the entropy is Σ_j A·(max s − s) − log max A · Σ_j A: terms of
    one sign, so nothing cancels. `scores` are used up.
    """
    below = torch.sub(scores.amax(-1, keepdim=True), scores, out=scores)  # max s − s ≥ 0
    # A hidden key has the least finite score and A = 0: the product is 0. A bias may hold -inf.
    below.clamp_(max=torch.finfo(scores.dtype).max)
    spread = below.mul_(attention).sum(-1)
    return spread - attention.amax(-1).log() * attention.sum(-1)
