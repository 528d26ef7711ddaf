"""What a Watcher saw → each layer's numbers for each query set, as numpy arrays.

Every number is a ratio of sums over queries, so chunks and batches merge by addition. The last
column of the request is the first token's own, for the sink statistics; the others are classes.
Knows the definitions, not the names: no classes, prompts or tables here.
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


def layer_numbers(watcher: Watcher) -> dict[int, LayerNumbers]:
    """For a batch of one."""
    weights = watcher.request.weights()[0].double().cpu()  # [set, query]
    counts = query_counts(watcher.request.weights(), watcher.request.near)
    return {
        layer: _numbers(seen, weights, counts) for layer, seen in sorted(watcher.layers.items())
    }


def _numbers(seen: LayerSeen, weights: torch.Tensor, counts: torch.Tensor) -> LayerNumbers:
    total = weights.sum(-1).view(-1, 1)

    def mean(parts: list[torch.Tensor]) -> np.ndarray | None:
        """[1, head, query(, column)] pieces → the mean over each query set."""
        if not parts:
            return None
        whole = torch.cat(parts, 2)[0].double().cpu()
        sums = torch.einsum("si,hi...->sh...", weights, whole)
        result: np.ndarray = (sums / (total if sums.dim() == 2 else total[..., None])).numpy()
        return result

    given, expected = mean(seen.given), mean(seen.expected)
    assert given is not None
    assert expected is not None
    heads = given.shape[1]
    expected = np.broadcast_to(expected, (len(expected), heads, expected.shape[2]))
    received = None
    if seen.received is not None:
        received = received_means(seen.received, counts)[0].cpu().numpy()
    mass, first = given[..., :-1], given[..., -1]
    return LayerNumbers(
        mass=mass,
        expected=expected[..., :-1],
        first_token=first,
        attended=mass.sum(-1),
        entropy=mean(seen.entropy),
        distance=mean(seen.distance),
        received=received,
    )
