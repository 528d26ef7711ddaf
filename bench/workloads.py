"""What is timed: one forward pass of the base model, and what each way of measuring adds to it.

A workload is a function without arguments that runs one pass and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch

from mindshare.attention.call import TokenBatch
from mindshare.attention.forward import run_pass, without_head
from mindshare.attention.jobs import Request
from mindshare.attention.recorder import implementation

CLASSES = 4  # three classes and `other`, as in the chart the project started from


def inputs(tokens: int, *, batch: int = 1, vocabulary: int = 49000) -> torch.Tensor:
    generator = torch.Generator().manual_seed(tokens)
    return torch.randint(3, vocabulary, (batch, tokens), generator=generator)


def classes(tokens: int, *, batch: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(tokens)
    labels = torch.randint(0, CLASSES, (batch, tokens), generator=generator)
    return torch.nn.functional.one_hot(labels, CLASSES).float()


def text(tokens: int) -> str:
    """Words and glyphs that SmolLM2 reads as this many tokens."""
    return " # a * b" * (tokens // 4) + " #" * (tokens % 4)


def plain(model: Any, ids: torch.Tensor) -> Callable[[], None]:
    decoder = without_head(model)

    def run() -> None:
        with torch.inference_mode(), implementation(model, "sdpa"):
            decoder(input_ids=ids, use_cache=False)

    return run


def measured(
    model: Any,
    ids: torch.Tensor,
    statistics: Collection[str] = ("given", "received"),
    *,
    valid: torch.Tensor | None = None,
    layers: Collection[int] | None = None,
) -> Callable[[], None]:
    valid = torch.ones(ids.shape, dtype=torch.bool) if valid is None else valid
    batch = TokenBatch(ids, classes(ids.shape[1], batch=len(ids)), valid)
    request = Request(frozenset(statistics), layers=None if layers is None else frozenset(layers))

    def run() -> None:
        run_pass(model, batch, request)

    return run


def eager(model: Any, ids: torch.Tensor) -> Callable[[], None]:
    """What people write today: all matrices at once, then the same masses and column means."""
    decoder = without_head(model)
    columns = classes(ids.shape[1], batch=len(ids))

    def run() -> None:
        with torch.inference_mode(), implementation(model, "eager"):
            attentions = decoder(input_ids=ids, use_cache=False, output_attentions=True).attentions
            for a in attentions:
                _ = a @ columns[:, None]
                _ = a.tril(-1).sum(2)

    return run


WAYS: dict[str, tuple[str, ...]] = {
    "mass": ("given",),
    "mass + received": ("given", "received"),
    "mass + entropy": ("given", "entropy"),
    "mass + distance": ("given", "distance"),
}
# The first layers alone, mass + received: a pass ends after the last of them.
FIRST_LAYERS = {"layer 0": 1, "layers 0 to 9": 10}


def named(way: str, model: Any, ids: torch.Tensor) -> Callable[[], None]:
    if way == "plain":
        return plain(model, ids)
    if way == "eager":
        return eager(model, ids)
    if way in FIRST_LAYERS:
        return measured(model, ids, layers=range(FIRST_LAYERS[way]))
    return measured(model, ids, WAYS[way])
