"""One attention call and what is found in it: the contract between the model and the kernels.

Every kernel is a function `(AttentionCall, Request, Weights, Scratch) -> (output, LayerStats)`;
kernels never import each other. Axes are always batch, head, query, key.

To add a statistic of a row of A, write its function and its line in `PER_QUERY`: `reference` and
`blockwise` call it by name on whatever rows they hold. A kernel that knows a cheaper identity may
use that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch

from mindshare.attention.jobs import Request
from mindshare.attention.masks import Visibility
from mindshare.attention.threads import pieces
from mindshare.errors import SelectionError


@dataclass(frozen=True)
class AttentionCall:
    """What the model asked of one layer, after RoPE, QK-norm and the cache update."""

    query: torch.Tensor  # [batch, head, query, dim]
    key: torch.Tensor  # [batch, kv head, key, dim]; not repeated for grouped queries
    value: torch.Tensor  # [batch, kv head, key, value dim]
    scale: float
    visible: Visibility
    softcap: float | None = None
    sinks: torch.Tensor | None = None  # [head], learned sink logits
    bias: torch.Tensor | None = None  # added to the scores, broadcasts to [batch, head, query, key]

    @property
    def group(self) -> int:
        """Query heads per key/value head."""
        return self.query.shape[1] // self.key.shape[1]

    def row(self, number: int) -> AttentionCall:
        """What was asked for one prompt of the batch."""
        if len(self.query) == 1:
            return self
        one, bias = slice(number, number + 1), self.bias
        if bias is not None and bias.dim() == 4 and len(bias) > 1:
            bias = bias[one]
        return replace(
            self,
            query=self.query[one],
            key=self.key[one],
            value=self.value[one],
            visible=self.visible.row(number),
            bias=bias,
        )

    @property
    def plain(self) -> bool:
        """Nothing but causal softmax over the whole sequence: what fused kernels can do."""
        return (
            self.visible.causal
            and self.query.shape[2] == self.key.shape[2]
            and self.softcap is None
            and self.sinks is None
            and self.bias is None
        )


@dataclass(frozen=True)
class Weights:
    """What the keys and queries of one call count for."""

    columns: torch.Tensor | None = None  # [batch, key, column]: linear in the keys → `given`
    queries: torch.Tensor | None = None  # [batch, set, query]; None: one set, all real queries
    real: tuple[int, ...] | None = None  # how many queries of each row are no padding; None: all
    ids: torch.Tensor | None = None  # [batch, token] of the whole prompt, for what compares tokens

    def of_queries(self, count: int) -> torch.Tensor:
        """`queries` written out: [batch or 1, set, query]."""
        if self.queries is not None:
            return self.queries
        if self.real is None:
            return torch.ones(1, 1, count)
        return (torch.arange(count) < torch.tensor(self.real)[:, None]).float()[:, None]


@dataclass(frozen=True)
class TokenBatch:
    """The tensors of one pass, in absolute token positions."""

    ids: torch.Tensor  # [batch, token]
    columns: torch.Tensor  # [batch, token, column]
    valid: torch.Tensor  # bool [batch, token]; padding is False
    queries: torch.Tensor | None = None  # [batch, set, token]; None: every valid token

    @classmethod
    def of(cls, ids: Sequence[int]) -> TokenBatch:
        """One prompt, whole, without columns."""
        tokens = len(ids)
        valid = torch.ones(1, tokens, dtype=torch.bool)
        return cls(torch.tensor([ids]), torch.zeros(1, tokens, 0), valid)

    @property
    def tokens(self) -> int:
        return self.ids.shape[1]

    @cached_property
    def right_padded(self) -> bool:
        """Every row is real tokens first, padding (if any) last."""
        return bool((self.valid[:, 1:] <= self.valid[:, :-1]).all())

    def query_weights(self) -> torch.Tensor:
        """[batch, set, token]; padded queries weigh nothing."""
        valid = self.valid[:, None].to(torch.float32)
        return valid if self.queries is None else self.queries * valid

    def columns_of(self, call: AttentionCall) -> torch.Tensor:
        """Those of the keys of one call."""
        first = call.visible.first_key
        return self.columns[:, first : first + call.key.shape[2]]

    def weights_of(self, call: AttentionCall) -> Weights:
        """The part of the batch that one call is about, where its layer lives."""
        first, device = call.visible.first_query, call.query.device
        rows = slice(first, first + call.query.shape[2])
        columns, queries, real = self.columns_of(call), None, None
        if self.queries is not None or not self.right_padded:
            queries = self.query_weights()[:, :, rows].to(device)
        elif not bool(self.valid[:, rows].all()):
            real = tuple(self.valid[:, rows].sum(1).tolist())
        return Weights(
            columns=columns.to(device) if columns.shape[-1] else None,
            queries=queries,
            real=real,
            ids=self.ids.to(device),
        )


@dataclass(frozen=True)
class LayerStats:
    """What was found in one layer: by a kernel in one call, or in all chunks of a prompt."""

    given: torch.Tensor | None = None  # [batch, head, query, column]: Σ_j A[i,j]·columns[j]
    received: torch.Tensor | None = None  # [batch, set, head, key] float64 sums over the queries
    per_query: Mapping[str, torch.Tensor] = field(default_factory=dict)  # [batch, head, query] each
    expected: torch.Tensor | None = None  # [batch, head or 1, query, column]: given, were A uniform
    carried: torch.Tensor | None = None  # [batch, head, query, column]: <o_C, o> / |o|²
    kernel: str = ""

    def joined(self, later: LayerStats) -> LayerStats:
        """With what a later chunk of the same prompt found: sums add, queries line up."""
        new = later.kernel not in self.kernel.split("+")  # another chunk may need another kernel
        received = self.received
        if received is not None and later.received is not None:
            received = received + later.received
        return LayerStats(
            given=_lined_up(self.given, later.given),
            received=received,
            per_query={
                name: torch.cat([one, later.per_query[name]], 2)
                for name, one in self.per_query.items()
            },
            expected=_lined_up(self.expected, later.expected),
            carried=_lined_up(self.carried, later.carried),
            kernel=f"{self.kernel}+{later.kernel}" if new else self.kernel,
        )


def _lined_up(a: torch.Tensor | None, b: torch.Tensor | None) -> torch.Tensor | None:
    return None if a is None or b is None else torch.cat([a, b], 2)


class Scratch:
    """Buffers that the layers of a pass share: fresh pages cost more than what is written there."""

    def __init__(self) -> None:
        self._buffers: dict[str, torch.Tensor] = {}

    def take(self, name: str, shape: Sequence[int], like: torch.Tensor) -> torch.Tensor:
        """Uninitialised; the same memory as the last one of this name, if that is large enough."""
        size = math.prod(shape)
        known = self._buffers.get(name)
        fits = (
            known is not None
            and known.numel() >= size
            and (known.dtype, known.device) == (like.dtype, like.device)
        )
        if known is None or not fits:
            known = self._buffers[name] = like.new_empty(size)
        return known[:size].view(tuple(shape))


Kernel = Callable[[AttentionCall, Request, Weights, Scratch], tuple[torch.Tensor, LayerStats]]
Observer = Callable[[int, AttentionCall], None]  # is shown the layer and call of all measured ones


@dataclass(frozen=True)
class AttentionRows:
    """Some rows of A, and where they stand in the prompt."""

    attention: torch.Tensor  # [..., query, key], contiguous; not to be changed
    queries: torch.Tensor  # absolute positions; broadcasts to [..., query]
    keys: torch.Tensor  # [key], absolute positions
    scratch: Scratch
    ids: torch.Tensor | None = None  # [batch, token] of the whole prompt; batch as A's first axis

    def same_token(self, shift: int = 0) -> torch.Tensor:
        """Bool [..., query, key]: the token `shift` before the key is the query's, and earlier."""
        if self.ids is None:
            raise SelectionError(
                "which tokens are the same is known of prompts only",
                next_step="leave induction and duplicate out",
            )
        before = self.keys - shift
        there = self.ids[:, before.clamp(min=0)]  # [batch, key]
        there = there.view(len(there), *[1] * (self.attention.dim() - 2), -1)
        queries = self.queries.expand(self.attention.shape[1:-1]).reshape(-1)
        here = self.ids[:, queries].view(len(self.ids), *self.attention.shape[1:-1], 1)
        earlier = (before >= 0) & (before < self.queries[..., None])
        return (here == there) & earlier


def entropy(rows: AttentionRows) -> torch.Tensor:
    """−Σ_j A log A, nats."""
    attention = rows.attention
    terms = rows.scratch.take("terms", attention.shape, attention)
    for part in pieces(terms.numel()):
        torch.special.entr(attention.view(-1)[part], out=terms.view(-1)[part])
    return terms.sum(-1)


def distance(rows: AttentionRows) -> torch.Tensor:
    """Σ_j A·(i − j), tokens."""
    return (rows.attention * (rows.queries[..., None] - rows.keys)).sum(-1)


def peak(rows: AttentionRows) -> torch.Tensor:
    """max_j A, 0..1."""
    return rows.attention.amax(-1)


def peak_at(rows: AttentionRows) -> torch.Tensor:
    """The key that has `peak`, as a position in the prompt; the first one at a tie."""
    return (rows.attention.argmax(-1) + rows.keys[0]).to(rows.attention.dtype)


def previous(rows: AttentionRows) -> torch.Tensor:
    """A[i, i−1], 0..1; the first token has none before it, and gets 0."""
    attention = rows.attention
    where = (rows.queries - 1 - rows.keys[0]).expand(attention.shape[:-1])  # of the tile's keys
    there = (where >= 0) & (where < attention.shape[-1])
    weight = attention.gather(-1, where.clamp(0, attention.shape[-1] - 1)[..., None])[..., 0]
    return torch.where(there, weight, 0.0)


def induction(rows: AttentionRows) -> torch.Tensor:
    """Σ_j A[i, j+1] over earlier tokens j that are the same as i: what followed it before, 0..1."""
    return (rows.attention * rows.same_token(shift=1)).sum(-1)


def duplicate(rows: AttentionRows) -> torch.Tensor:
    """Σ_j A[i, j] over earlier tokens j that are the same as i, 0..1."""
    return (rows.attention * rows.same_token()).sum(-1)


PER_QUERY: dict[str, Callable[[AttentionRows], torch.Tensor]] = {
    "entropy": entropy,
    "distance": distance,
    "peak": peak,
    "peak_at": peak_at,
    "previous": previous,
    "induction": induction,
    "duplicate": duplicate,
}


def per_query(statistics: Iterable[str]) -> list[str]:
    """Those that are made from rows of A, in the registry's order."""
    wanted = frozenset(statistics)
    return [name for name in PER_QUERY if name in wanted]


def query_counts(weights: torch.Tensor, near: int) -> torch.Tensor:
    """[batch, set, token] query weights → for each key j the sum of those with i > j + near."""
    from_here = weights.double().flip(-1).cumsum(-1).flip(-1)  # Σ over i ≥ j
    skip = near + 1
    if skip <= 0:
        return from_here
    counts = torch.zeros_like(from_here)
    if skip < from_here.shape[-1]:
        counts[..., :-skip] = from_here[..., skip:]
    return counts


def received_means(sums: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """[batch, set, head, key] sums over [batch, set, key] counts; NaN where no query counts."""
    counts = counts[:, :, None].to(sums.device)
    return torch.where(counts > 0, sums / counts, torch.nan)
