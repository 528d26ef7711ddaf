"""What every key of a prompt received → masses of any classes of its tokens, without a new pass.

The mass of a class is linear in the keys: mass(C) = Σ_j weight[j, C] · received[j], where
received[j] is the mean over all queries of A[i, j]. `expected` is linear in the same way. Needs
numpy, not torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

# Measures of a head that a name goes with, and from which value on. Names are those of the field;
# the usual statistic of a sink is 0.3. Only measures that were made are looked at.
NAMED = {
    "previous": ("previous token", 0.5),
    "first_token": ("sink", 0.3),
    "induction": ("induction", 0.3),
}


@dataclass(frozen=True)
class KeySums:
    """What one pass found, by layer and head; the query set is every token."""

    layers: tuple[int, ...]
    received: np.ndarray  # [layer, head, key] float32: mean over all queries of A[i, j]
    expected: np.ndarray  # [layer, head or 1, key] float32: the same, were A uniform
    heads: Mapping[str, np.ndarray]  # measure → [layer, head]
    has_sinks: bool = False  # learned ones, which take what the classes lack of 1

    @property
    def tokens(self) -> int:
        return int(self.received.shape[2])

    def by_class(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """[key, class] weights, `other` last → measure → [layer, head, class]."""
        return class_measures(
            self.received.astype(np.float64) @ weights,
            np.broadcast_to(
                self.expected.astype(np.float64) @ weights,
                (*self.received.shape[:2], weights.shape[1]),
            ),
            weights.sum(0),
        )

    def profile(self, layer: int, head: int | None) -> np.ndarray:
        """[key]: `received` with the diagonal, the mean over the queries from the key on."""
        place = self.layers.index(layer)
        sums = self.received[place].astype(np.float64)
        one = sums.mean(0) if head is None else sums[head]
        return np.asarray(one * self.tokens / (self.tokens - np.arange(self.tokens)))


def class_measures(
    mass: np.ndarray, expected: np.ndarray, tokens: np.ndarray
) -> dict[str, np.ndarray]:
    """All measures of a class from masses [..., class] and the classes' sizes [class]."""
    named = mass[..., :-1].sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = mass / named
        share[..., -1] = np.nan  # `other` is no class that was named
        return {
            "mass": mass,
            "share": share,
            "density": mass / np.where(tokens > 0, tokens, np.nan),
            "expected": expected,
            "lift": mass / np.where(expected > 0, expected, np.nan),
        }


def known_heads(heads: Mapping[str, np.ndarray]) -> list[tuple[int, int, str, float]]:
    """(place of the layer, head, name, value) of heads that the field has a name for."""
    found = []
    for measure, (name, least) in NAMED.items():
        if measure in heads:
            for layer, head in np.argwhere(heads[measure] >= least):
                value = float(heads[measure][layer, head])
                found.append((int(layer), int(head), name, value))
    return found
