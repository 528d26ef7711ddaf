"""Jobs → answers, in this process: batches that fit into memory, one model.

Where memory runs out, the batch is halved and later ones are smaller; the numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from mindshare.errors import MindshareError

if TYPE_CHECKING:
    import torch

    from mindshare.attention.batches import Answer, Asked, Job


class Answering(Protocol):
    """Whoever answers jobs: this process, several, or other machines."""

    @property
    def workers(self) -> int:
        """How many of them work at once."""
        ...

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        """Every job's answer, once, in any order and any grouping."""
        ...


class Passes:
    """A model in this process."""

    workers = 1

    def __init__(self, model: torch.nn.Module, *, tokens: int | None = None) -> None:
        from mindshare.attention.batches import TOKENS
        from mindshare.attention.invariance import may_share

        self.model = model
        self.tokens = tokens or TOKENS  # of one batch
        self._may_share = may_share(model)

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        from mindshare.attention.batches import batches

        # A prompt fed in pieces has a pass of its own.
        together = self._may_share and asked.chunk_tokens is None
        for batch in batches(jobs, together=together, tokens=lambda: self.tokens):
            yield from self._answers(batch, asked, together)

    def _answers(self, batch: list[Job], asked: Asked, padded: bool) -> Iterator[list[Answer]]:
        from mindshare.attention.batches import run_batch

        try:
            found = run_batch(self.model, batch, asked, padded=padded)
        except (MindshareError, MemoryError, RuntimeError) as error:
            if len(batch) == 1 or not _splitting_helps(error):
                raise
            if not isinstance(error, MindshareError):
                self.tokens = max(batch[0].padded, self.tokens // 2)
        else:
            yield found
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from self._answers(half, asked, padded)


def _splitting_helps(error: Exception) -> bool:
    """Too little memory, or one prompt of the batch whose numbers are refused."""
    words = str(error).lower()
    return (
        isinstance(error, (MindshareError, MemoryError))
        or "out of memory" in words
        or "can't allocate memory" in words
    )
