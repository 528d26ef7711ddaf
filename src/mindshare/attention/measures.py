"""What a Watcher saw → each layer's numbers for each query set, as numpy arrays.

Every number is a ratio of sums over queries, so chunks merge by addition; sums are float64, what
comes of them float32, as in the tables. The last column of the request is the first token's own,
for the sink statistics; the others are classes. Knows the definitions, not the names: no classes,
prompts or tables here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from mindshare.attention.capture import query_counts, received_means
from mindshare.attention.watcher import LayerSeen, Watcher


@dataclass(frozen=True)
class LayerNumbers:
    """One layer of one prompt. Axes: query set, head, then class or key."""

    mass: np.ndarray  # [set, head, class]
    expected: np.ndarray  # [set, head, class]
    first_token: np.ndarray  # [set, head]
    attended: np.ndarray  # [set, head]: Σ_j A, 1 unless learned sinks take a part
    entropy: np.ndarray | None  # [set, head]
    distance: np.ndarray | None  # [set, head]
    received: np.ndarray | None  # [set, head, key]; NaN where no query counts


def layer_numbers(watcher: Watcher, *, row: int, tokens: int) -> dict[int, LayerNumbers]:
    """One row of the batch, whose first `tokens` are no padding."""
    weights = watcher.request.weights()[row : row + 1, :, :tokens]  # [1, set, query]
    one = _Row(row, tokens, weights, query_counts(weights, watcher.request.near))
    return {layer: one.numbers(seen) for layer, seen in sorted(watcher.layers.items())}


@dataclass(frozen=True)
class _Row:
    row: int
    tokens: int
    weights: torch.Tensor
    counts: torch.Tensor  # [1, set, key]

    def numbers(self, seen: LayerSeen) -> LayerNumbers:
        given, expected = self._mean(seen.given), self._mean(seen.expected)
        assert given is not None
        assert expected is not None
        heads = given.shape[1]
        expected = np.broadcast_to(expected, (len(expected), heads, expected.shape[2]))
        received = None
        if seen.received is not None:
            own = seen.received[self.row : self.row + 1, ..., : self.tokens]
            received = received_means(own, self.counts)[0].float().cpu().numpy()
        mass, first = given[..., :-1], given[..., -1]
        return LayerNumbers(
            mass=mass,
            expected=expected[..., :-1],
            first_token=first,
            attended=mass.sum(-1, dtype=np.float64).astype(np.float32),
            entropy=self._mean(seen.entropy),
            distance=self._mean(seen.distance),
            received=received,
        )

    def _mean(self, parts: list[torch.Tensor]) -> np.ndarray | None:
        """[batch, head, query(, column)] pieces → [set, head(, column)], the mean over a set."""
        if not parts:
            return None
        own = [part[self.row] for part in parts]
        whole = (own[0] if len(own) == 1 else torch.cat(own, 1))[:, : self.tokens].double().cpu()
        weights = self.weights[0].double()
        sums = torch.einsum("si,hi...->sh...", weights, whole)
        total = weights.sum(-1).view(-1, *[1] * (sums.dim() - 1))
        mean: np.ndarray = (sums / total).float().numpy()
        return mean
