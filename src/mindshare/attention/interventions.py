"""A knock-out request and a prompt → its interventions: which edges of A each takes away.

An intervention hides the keys of one class from the class's queries, in some heads of some layers.
One that takes nothing away, since its queries see none of these keys, is left out: its effect is
exactly 0. One that would leave a query nothing to see is refused, unless a learned sink is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from mindshare.attention.call import AttentionCall
from mindshare.attention.jobs import Knockout
from mindshare.attention.reference import hidden_keys
from mindshare.errors import SelectionError

Calls = Mapping[int, AttentionCall]  # of a whole pass over one prompt and its answer, by layer


@dataclass(frozen=True)
class Intervention:
    """One knock-out: a row of a pass."""

    layer: int  # the layer that its effect is filed under
    slot: int  # its place among those of that layer and class
    column: int  # the class
    heads: Mapping[int, tuple[int, ...] | None]  # layer → heads; None: all of them

    @property
    def start(self) -> int:
        """The first layer that it changes; before, its row is the clean one."""
        return min(self.heads)


@dataclass(frozen=True)
class Edges:
    """The edges that each class stands for: its queries, its keys, and which they see."""

    queries: torch.Tensor  # bool [class, token]: of prompt and answer, as they are fed
    keys: torch.Tensor  # bool [class, token]
    calls: Calls
    _hidden: dict[tuple[int, int], torch.Tensor] = field(default_factory=dict)
    _n_keys: dict[tuple[int, int], int] = field(default_factory=dict)

    @cached_property
    def first(self) -> int:
        """The first query that anything is hidden from: what stands before stays as it is."""
        return int(self.queries.any(0).nonzero()[0])

    def hidden(self, layer: int, first: int | None = None) -> torch.Tensor:
        """Bool [head or 1, query, key]: what the queries from `first` on do not see anyway."""
        call, first = self.calls[layer], self.first if first is None else first
        name = (id(call.visible), first)  # layers share their masks
        if name not in self._hidden:
            self._hidden[name] = hidden_keys(call, first, call.query.shape[2])[0].cpu()
        return self._hidden[name]

    def removed(self, column: int) -> torch.Tensor:
        """Bool [query from `first`, key]: the edges of a class, seen or not."""
        return self.queries[column, self.first :, None] & self.keys[column]

    def seen(self, layer: int, column: int) -> torch.Tensor:
        """Bool [head or 1, query, key]: those that the model sees."""
        return self.removed(column) & ~self.hidden(layer)

    def n_keys(self, layer: int, column: int) -> int:
        """Keys of the class that any of its queries sees."""
        name = (id(self.calls[layer].visible), column)
        if name not in self._n_keys:
            self._n_keys[name] = int(self.seen(layer, column).any(0).any(0).sum())
        return self._n_keys[name]

    def require_keys_left(self, layer: int, column: int, name: str) -> None:
        """Refuse to hide all that a query sees."""
        if self.calls[layer].sinks is not None:
            return
        left = ~self.hidden(layer) & ~self.removed(column)
        empty = ~left.any(-1) & self.queries[column, self.first :]  # [head or 1, query]
        if bool(empty.any()):
            query = self.first + int(empty.any(0).nonzero()[0])
            raise SelectionError(
                f"{name} holds every key that token {query} sees in layer {layer}, so nothing "
                "would be left of its attention",
                next_step="hide fewer tokens, choose other queries (last, later), or take "
                "--how zero",
            )


def interventions(knockout: Knockout, edges: Edges, layers: Sequence[int]) -> list[Intervention]:
    """Those that take something away, by their first layer."""
    if knockout.places and not knockout.each:
        together: dict[int, tuple[int, ...] | None] = {}
        for layer, head in knockout.places:
            together[layer] = (*(together.get(layer) or ()), head)
        places = [(min(together), 0, together)]
    else:
        n_heads = {n: call.query.shape[1] for n, call in sorted(edges.calls.items())}
        places = [
            (layer, slot, {n: which for n in around if which is None or max(which) < n_heads[n]})
            for layer in layers
            for around in [[n for n in n_heads if n in knockout.around(layer)]]
            for slot, which in enumerate(slots(knockout, edges.calls[layer], layer))
        ]
    found = []
    for column in range(len(edges.keys)):
        for layer, slot, where in places:
            changed = {n: which for n, which in where.items() if edges.n_keys(n, column)}
            if changed:
                found.append(Intervention(layer, slot, column, changed))
    if knockout.how == "mask":
        for layer, column in sorted({(n, one.column) for one in found for n in one.heads}):
            name = f"class {knockout.names[column] if knockout.names else column!r}"
            edges.require_keys_left(layer, column, name)
    return sorted(found, key=lambda one: (one.start, one.layer, one.slot, one.column))


def slots(knockout: Knockout, call: AttentionCall, layer: int) -> list[tuple[int, ...] | None]:
    """The heads of each intervention at a layer; None: all of them."""
    if not knockout.each:
        return [knockout.heads]
    if knockout.places:
        return [(head,) for at, head in knockout.places if at == layer]
    return [(head,) for head in knockout.heads or range(call.query.shape[1])]


def edges_of(columns: np.ndarray, queries: np.ndarray, fed: int, calls: Calls) -> Edges:
    """`columns` [token, class] and `queries` [class, token], of the prompt or all that is fed."""
    keys = np.zeros((columns.shape[1], fed), bool)
    keys[:, : len(columns)] = columns.T > 0
    asked = np.zeros((len(queries), fed), bool)
    asked[:, : queries.shape[1]] = queries
    return Edges(torch.from_numpy(asked), torch.from_numpy(keys), calls)
