"""Prompts → the answers a model gives, greedily: in its own words, and only among allowed ones.

Both come from one pass over the prompts. Does not know what a right answer is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindshare.models import LoadedModel
from mindshare.recipes.finetune.batches import Batch, Example, batch
from mindshare.recipes.finetune.forward import forward

if TYPE_CHECKING:
    import torch

BATCH = 32

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """What a model says to one prompt, in tokens, the end of the turn included if it came."""

    free: Tokens
    chosen: Tokens  # the only tokens allowed are those that continue an allowed answer


def answers(
    loaded: LoadedModel,
    prompts: Sequence[Tokens],
    allowed: Sequence[Tokens],
    *,
    report: Callable[[int, int], None] | None = None,
) -> list[Answer]:
    """One answer a prompt, as long as the longest allowed one at most, in the prompts' order."""
    import torch

    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))  # like lengths together
    found: dict[int, Answer] = {}
    for first in range(0, len(order), BATCH):
        some = order[first : first + BATCH]
        asked = batch([Example(prompts[i], (0,)) for i in some])
        with torch.no_grad():
            found.update(zip(some, _answer(loaded.model, asked, allowed), strict=True))
        if report is not None:
            report(len(found), len(prompts))
    return [found[i] for i in range(len(prompts))]


def _answer(model: Any, asked: Batch, allowed: Sequence[Tokens]) -> list[Answer]:
    logits, cache = forward(model, asked)
    start = _State(model, asked, logits[:, -1], cache)
    steps = max(map(len, allowed))
    chosen = deepcopy(cache)  # two ways to go on from the same prompts
    free = start.decode(steps, None)
    limited = _State(model, asked, logits[:, -1], chosen).decode(steps, allowed)
    return [Answer(*pair) for pair in zip(free, limited, strict=True)]


@dataclass
class _State:
    """A batch of prompts that has been read."""

    model: Any
    asked: Batch
    logits: torch.Tensor  # [sequence, vocabulary]: the next token
    cache: Any

    def decode(self, steps: int, allowed: Sequence[Tokens] | None) -> list[Tokens]:
        import torch

        said: list[Tokens] = [()] * len(self.logits)
        for step in range(steps):
            tokens = [
                _next(row, so_far, allowed) for row, so_far in zip(self.logits, said, strict=True)
            ]
            said = [(*so_far, token) for so_far, token in zip(said, tokens, strict=True)]
            if step < steps - 1:
                self._feed(torch.tensor(tokens)[:, None], step)
        return said

    def _feed(self, tokens: torch.Tensor, step: int) -> None:
        from torch.nn.functional import pad

        found = self.model(
            input_ids=tokens,
            attention_mask=pad(self.asked.mask, (0, step + 1), value=1),
            position_ids=self.asked.positions[:, -1:] + step + 1,
            past_key_values=self.cache,
            use_cache=True,
        )
        self.logits = found.logits[:, -1]


def _next(logits: torch.Tensor, said: Tokens, allowed: Sequence[Tokens] | None) -> int:
    """The likeliest token; with `allowed`, of those that continue one of these answers."""
    if allowed is None:
        return int(logits.argmax())
    depth = len(said)
    following = sorted({a[depth] for a in allowed if len(a) > depth and a[:depth] == said})
    if not following:  # the answer is complete: what comes after does not matter
        return 0
    return following[int(logits[following].argmax())]
