"""The contract between the model and the kernels: one attention call in, its statistics out.

Every kernel is a function `(AttentionCall, Wanted, Scratch) -> Found`; kernels never import each
other. Axes are always batch, head, query, key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from mindshare.attention.masks import Visibility


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
class Wanted:
    """What to find out about one call."""

    columns: torch.Tensor | None = None  # [batch, key, column]: linear in the keys → `given`
    received: bool = False
    query_weights: torch.Tensor | None = None  # [batch, set, query]; None: one set, all queries
    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    entropy: bool = False
    distance: bool = False
    real: tuple[int, ...] | None = None  # of all queries, how many of each row are no padding

    @property
    def nothing(self) -> bool:
        return self.columns is None and not (self.received or self.entropy or self.distance)

    def weights(self, queries: int) -> torch.Tensor:
        """`query_weights` written out: [batch or 1, set, query]."""
        if self.query_weights is not None:
            return self.query_weights
        if self.real is None:
            return torch.ones(1, 1, queries)
        return (torch.arange(queries) < torch.tensor(self.real)[:, None]).float()[:, None]


@dataclass(frozen=True)
class Found:
    """The layer's output for the model, and the statistics for us."""

    output: torch.Tensor  # [batch, query, head, value dim]
    given: torch.Tensor | None = None  # [batch, head, query, column]: Σ_j A[i,j]·columns[j]
    received: torch.Tensor | None = None  # [batch, set, head, key] float64 sums over the queries
    entropy: torch.Tensor | None = None  # [batch, head, query], nats
    distance: torch.Tensor | None = None  # [batch, head, query], tokens


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


Kernel = Callable[[AttentionCall, Wanted, Scratch], Found]
