"""Which keys a query may see, evaluated a block of rows at a time and never as T×T.

transformers describes a mask by a function of (batch, head, query, key) indices. `LazyMask` carries
that function from the mask interface to the attention function; `Visibility` answers what a kernel
asks about a block of query rows. A model that reads its mask as a tensor gets the dense one.
`uniform_share` is what follows from a mask alone. Knows nothing about scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

MaskFunction = Callable[[Any, Any, Any, Any], torch.Tensor]

# Hidden tiles kept between layers; beyond this they are evaluated again for each layer.
_TILE_CACHE_BYTES = 64 * 2**20
_UNIFORM_ROWS = 256  # of a block in `uniform_share`


def _least(hidden: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """The least finite value where it is True, so that rows without any key stay finite."""
    added = torch.zeros(hidden.shape, dtype=kind, device=hidden.device)
    return added.masked_fill_(hidden, torch.finfo(kind).min)


class Visibility:
    """The keys each query of one call may see."""

    def __init__(
        self, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0
    ) -> None:
        self.queries, self.keys = queries, keys
        self.first_query, self.first_key = first_query, first_key  # absolute positions

    causal = False  # key j is seen by query i iff j ≤ i, in absolute positions

    def bounds(self, start: int, stop: int) -> tuple[int, int]:
        """The smallest key range that holds every key seen by the query rows start..stop."""
        raise NotImplementedError

    def hidden(self, start: int, stop: int) -> tuple[int, torch.Tensor] | None:
        """(first key, bool [batch or 1, head or 1, rows, keys]) up to `bounds`' end: True = unseen.

        Keys between the bounds' start and that first key are seen by every row.
        """
        raise NotImplementedError

    def added(
        self, start: int, stop: int, kind: torch.dtype, device: torch.device
    ) -> tuple[int, torch.Tensor] | None:
        """`hidden` as numbers to add to scores, which is several times faster than masking."""
        hidden = self.hidden(start, stop)
        return None if hidden is None else (hidden[0], _least(hidden[1], kind).to(device))

    def row(self, _number: int) -> Visibility:
        """That of one prompt of the batch; the same one each time it is asked for."""
        return self


class Causal(Visibility):
    """Each query sees itself and everything before it; also decoding and chunked prefill."""

    causal = True

    def __init__(
        self, queries: int, keys: int, *, first_query: int = 0, first_key: int = 0
    ) -> None:
        super().__init__(queries, keys, first_query=first_query, first_key=first_key)
        self._shift = first_query - first_key
        self._triangles: dict[tuple[int, int], torch.Tensor] = {}
        # By the triangle's size, dtype and device: few, and every layer asks for the same ones.
        self._added: dict[tuple[torch.Size, torch.dtype, torch.device], torch.Tensor] = {}

    def bounds(self, _start: int, stop: int) -> tuple[int, int]:
        return 0, min(stop + self._shift, self.keys)

    def hidden(self, start: int, stop: int) -> tuple[int, torch.Tensor] | None:
        first = start + self._shift + 1  # the row `start` sees every key before this one
        width = self.bounds(start, stop)[1] - first
        if width <= 0:
            return None
        size = (stop - start, width)
        if size not in self._triangles:
            self._triangles[size] = torch.ones(size, dtype=torch.bool).triu()[None, None]
        return first, self._triangles[size]

    def added(
        self, start: int, stop: int, kind: torch.dtype, device: torch.device
    ) -> tuple[int, torch.Tensor] | None:
        hidden = self.hidden(start, stop)
        if hidden is None:
            return None
        which = (hidden[1].shape, kind, device)
        if which not in self._added:
            self._added[which] = _least(hidden[1], kind).to(device)
        return hidden[0], self._added[which]


class Everything(Visibility):
    """No mask: a single decoding step, or bidirectional attention."""

    def bounds(self, _start: int, _stop: int) -> tuple[int, int]:
        return 0, self.keys

    def hidden(self, _start: int, _stop: int) -> tuple[int, torch.Tensor] | None:
        return None


class MaskRule(Visibility):
    """Any mask, as a function of rows start..stop → bool [batch, head, rows, keys], True = seen."""

    def __init__(
        self,
        queries: int,
        keys: int,
        *,
        rows: Callable[[int, int], torch.Tensor],
        first_query: int = 0,
        first_key: int = 0,
    ) -> None:
        super().__init__(queries, keys, first_query=first_query, first_key=first_key)
        self._rows = rows
        self._bounds: dict[tuple[int, int], tuple[int, int]] = {}
        self._tiles: dict[tuple[int, int], torch.Tensor | None] = {}
        self._cached_bytes = 0
        self._by_row: dict[int, MaskRule] = {}

    def bounds(self, start: int, stop: int) -> tuple[int, int]:
        if (start, stop) not in self._bounds:
            seen = self._rows(start, stop)
            keys = seen.flatten(0, -2).any(0).nonzero()
            low, high = (int(keys[0]), int(keys[-1]) + 1) if len(keys) else (0, 1)
            self._bounds[start, stop] = (low, high)
            tile = ~seen[..., low:high]
            if not tile.any():
                self._tiles[start, stop] = None
            elif self._cached_bytes + tile.numel() <= _TILE_CACHE_BYTES:
                self._tiles[start, stop] = tile
                self._cached_bytes += tile.numel()
        return self._bounds[start, stop]

    def hidden(self, start: int, stop: int) -> tuple[int, torch.Tensor] | None:
        low, high = self.bounds(start, stop)
        if (start, stop) in self._tiles:
            tile = self._tiles[start, stop]
            return None if tile is None else (low, tile)
        return low, ~self._rows(start, stop)[..., low:high]

    def row(self, number: int) -> Visibility:
        if len(self._rows(0, 1)) == 1:  # all prompts see alike
            return self
        if number not in self._by_row:
            self._by_row[number] = MaskRule(
                self.queries,
                self.keys,
                rows=lambda start, stop: self._rows(start, stop)[number : number + 1],
                first_query=self.first_query,
                first_key=self.first_key,
            )
        return self._by_row[number]


class LazyMask:
    """Travels through the model in place of a mask tensor; becomes one only if it is touched."""

    def __init__(
        self,
        visible: Visibility,
        rows: Callable[[int, int], torch.Tensor],
        *,
        batch: int,
    ) -> None:
        self.visible = visible
        self._rows, self._batch = rows, batch
        self._dense: torch.Tensor | None = None

    def dense(self) -> torch.Tensor:
        """Bool [batch, 1, query, key], True = seen: what the sdpa path would have been given."""
        if self._dense is None:
            seen = self._rows(0, self.visible.queries)
            shape = (self._batch, seen.shape[1], self.visible.queries, self.visible.keys)
            self._dense = seen.expand(shape)
        return self._dense

    def to(self, *_args: Any, **_kwargs: Any) -> LazyMask:
        return self

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self.dense()[index]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dense(), name)

    @classmethod
    def __torch_function__(
        cls, func: Any, _types: Any, args: Any = (), kwargs: Any = None
    ) -> torch.Tensor:
        def solid(x: Any) -> Any:
            if isinstance(x, LazyMask):
                return x.dense()
            return type(x)(solid(y) for y in x) if isinstance(x, (list, tuple)) else x

        result: torch.Tensor = func(
            *(solid(a) for a in args), **{k: solid(v) for k, v in (kwargs or {}).items()}
        )
        return result


def lazy_mask(
    *,
    batch_size: int,
    q_length: int,
    kv_length: int,
    mask_function: MaskFunction,
    q_offset: int = 0,
    kv_offset: int = 0,
    attention_mask: torch.Tensor | None = None,
    **how: Any,
) -> LazyMask:
    """The mask function mindshare registers with transformers' mask interface.

    `how` the function is evaluated is for `_row_evaluator`.
    """
    from transformers.masking_utils import (
        and_masks,
        causal_mask_function,
        padding_mask_function,
        prepare_padding_mask,
    )

    q_offset, kv_offset = int(q_offset), int(kv_offset)
    padding = prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if padding is not None and bool(padding.all()):
        padding = None
    whole = (
        and_masks(mask_function, padding_mask_function(padding))
        if padding is not None
        else mask_function
    )
    keys = range(kv_offset, kv_offset + kv_length)
    rows = _row_evaluator(whole, batch_size, q_offset, keys, **how)
    size = {"first_query": q_offset, "first_key": kv_offset}
    visible: Visibility
    if mask_function is causal_mask_function and padding is None:
        visible = Causal(q_length, kv_length, **size)
    else:
        visible = MaskRule(q_length, kv_length, rows=rows, **size)
    return LazyMask(visible, rows, batch=batch_size)


def _row_evaluator(
    function: MaskFunction,
    batch: int,
    first_query: int,
    keys: range,
    *,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **_unused: Any,
) -> Callable[[int, int], torch.Tensor]:
    from transformers.masking_utils import TransformGetItemToIndex, _vmap_expansion_sdpa

    batches = torch.arange(batch, device=device)
    heads = torch.zeros(1, dtype=torch.long, device=device)
    key_positions = torch.arange(keys.start, keys.stop, device=device)

    def rows(start: int, stop: int) -> torch.Tensor:
        positions = torch.arange(start, stop, device=device) + first_query
        if use_vmap:  # functions that index tensors by position cannot be broadcast
            with TransformGetItemToIndex():
                seen: torch.Tensor = _vmap_expansion_sdpa(function)(
                    batches, heads, positions, key_positions
                )
            return seen
        seen = function(
            batches[:, None, None, None],
            heads[None, :, None, None],
            positions[None, None, :, None],
            key_positions,
        )
        while seen.dim() < 4:
            seen = seen[None]
        return seen.expand(-1, -1, stop - start, len(keys))

    return rows


def visibility_of(
    mask: Any, queries: int, keys: int, *, causal: bool, made: Sequence[Visibility] = ()
) -> Visibility | None:
    """The visibility meant by whatever the model passed on as its attention mask.

    `made` are those of the masks made earlier in this pass: a model that turned one into a tensor
    of its own kept its shape, and with it its positions. None: the positions can't be known.
    """
    if isinstance(mask, LazyMask):
        visible = mask.visible
        if (visible.queries, visible.keys) == (queries, keys):
            return visible
        mask = mask.dense()
    if mask is None:
        if causal and queries > 1:
            return Causal(queries, keys)
        return Everything(queries, keys, first_query=keys - queries)
    seen = (mask if mask.dtype == torch.bool else _unhidden(mask))[..., :queries, :keys]
    origins = {(v.first_query, v.first_key) for v in made if (v.queries, v.keys) == (queries, keys)}
    if queries == keys and not origins:
        origins = {(0, 0)}
    if len(origins) != 1:
        return None
    first_query, first_key = origins.pop()
    return MaskRule(
        queries,
        keys,
        rows=lambda a, b: seen[..., a:b, :],
        first_query=first_query,
        first_key=first_key,
    )


def additive_part(mask: Any) -> torch.Tensor | None:
    """What a float mask adds to the scores of seen keys (ALiBi and the like), if anything."""
    if not isinstance(mask, torch.Tensor) or mask.dtype == torch.bool:
        return None
    added = mask.masked_fill(~_unhidden(mask), 0.0)
    return added if bool(added.any()) else None


def _unhidden(mask: torch.Tensor) -> torch.Tensor:
    return mask > torch.finfo(mask.dtype).min / 2


def uniform_share(visible: Visibility, columns: torch.Tensor) -> torch.Tensor:
    """The share of each column under uniform attention: the mean over a query's visible keys.

    What a class would get from a head with no preference. `columns` is [batch, key, column]; gives
    [batch, head or 1, query, column] float64 on the CPU. Exact for any mask.
    """
    columns = columns.double().cpu()
    running = columns.cumsum(1)
    parts = [
        _uniform_rows(visible, columns, running, start, min(start + _UNIFORM_ROWS, visible.queries))
        for start in range(0, visible.queries, _UNIFORM_ROWS)
    ]
    return torch.cat(parts, 2)


def _uniform_rows(
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
