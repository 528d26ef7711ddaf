"""Prompts with answers → token ids → batches that the loss can use.

A batch keeps what all its sequences begin with apart (chats share their system message), so that
the model runs it once. The rest is padded on the left: answers end together, and logits are needed
for the last few positions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import encode_for

if TYPE_CHECKING:
    import torch

IGNORED = -100  # a label that the loss leaves out


@dataclass(frozen=True)
class Example:
    """A prompt as the model reads it, and the answer it should give, end of turn included."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.prompt + self.answer


@dataclass(frozen=True)
class Batch:
    """What the sequences share, and the rest of each: [sequence, position]."""

    prefix: torch.Tensor  # [1, shared]
    rest: torch.Tensor  # [sequence, rest], padded on the left
    real: torch.Tensor  # bool, [sequence, rest]: false for padding
    labels: torch.Tensor  # [sequence, kept]: the last positions, shifted by one

    @property
    def mask(self) -> torch.Tensor:
        """[sequence, shared + rest]"""
        from torch.nn.functional import pad

        return pad(self.real, (self.prefix.shape[1], 0), value=True).long()

    @property
    def positions(self) -> torch.Tensor:
        """[sequence, rest]: padding does not count."""
        return (self.real.cumsum(1) - 1).clamp(min=0) + self.prefix.shape[1]


def example(loaded: LoadedModel, prompt: Prompt, answer: str) -> Example:
    """Tokenised exactly as the prompt is when it is measured."""
    tokenizer: Any = loaded.tokenizer
    ids = tokenizer(answer, add_special_tokens=False)["input_ids"]
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    return Example(tuple(encode_for(loaded, prompt).ids), (*ids, *end))


def batch(examples: Sequence[Example]) -> Batch:
    import torch

    shared = _shared([one.prompt[:-1] for one in examples])
    rests = [one.tokens[shared:-1] for one in examples]  # nothing is predicted after the last
    longest = max(map(len, rests))
    kept = max(len(one.answer) for one in examples)
    padded = [[0] * (longest - len(rest)) + list(rest) for rest in rests]
    real = [[0] * (longest - len(rest)) + [1] * len(rest) for rest in rests]
    labels = [[IGNORED] * (kept - len(one.answer)) + list(one.answer) for one in examples]
    return Batch(
        prefix=torch.tensor([examples[0].prompt[:shared]], dtype=torch.long),
        rest=torch.tensor(padded),
        real=torch.tensor(real, dtype=torch.bool),
        labels=torch.tensor(labels),
    )


def _shared(sequences: Sequence[Sequence[int]]) -> int:
    """How many tokens all of them begin with."""
    shortest = min(map(len, sequences))
    first = sequences[0]
    same = (all(one[i] == first[i] for one in sequences) for i in range(shortest))
    return next((i for i, every in enumerate(same) if not every), shortest)
