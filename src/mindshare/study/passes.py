"""Jobs → answers, in this process: batches that fit into memory, one model.

Where memory runs out, the batch is halved and later ones are smaller; the numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from mindshare.errors import MindshareError

if TYPE_CHECKING:
    import torch

    from mindshare.attention.batches import Answer, Asked, Batchable, Job

B = TypeVar("B", bound="Batchable")
R = TypeVar("R")


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
        from mindshare.attention.invariance import may_share

        self.model, self._fitting = model, Fitting(tokens)
        self._may_share = may_share(model)

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        from mindshare.attention.batches import run_batch

        # A prompt fed in pieces has a pass of its own.
        together = self._may_share and asked.chunk_tokens is None

        def answer(batch: list[Job]) -> list[Answer]:
            return run_batch(self.model, batch, asked, padded=together)

        return self._fitting.run(jobs, answer, together=together)


class Fitting:
    """Batches that fit into memory, whatever is done in a pass."""

    def __init__(self, tokens: int | None = None) -> None:
        from mindshare.attention.batches import TOKENS

        self.tokens = tokens or TOKENS  # of one batch

    def run(
        self, jobs: Iterable[B], one_pass: Callable[[list[B]], R], *, together: bool
    ) -> Iterator[R]:
        """What comes of every batch; a pass that fails is made again in halves."""
        from mindshare.attention.batches import batches

        for batch in batches(jobs, together=together, tokens=lambda: self.tokens):
            yield from self._halved(batch, one_pass)

    def _halved(self, batch: list[B], one_pass: Callable[[list[B]], R]) -> Iterator[R]:
        from mindshare.attention.batches import padded_length

        try:
            found = one_pass(batch)
        except (MindshareError, MemoryError, RuntimeError) as error:
            if len(batch) == 1 or not _splitting_helps(error):
                raise
            if not isinstance(error, MindshareError):
                self.tokens = max(padded_length(batch[0]), self.tokens // 2)
        else:
            yield found
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from self._halved(half, one_pass)


def _splitting_helps(error: Exception) -> bool:
    """Too little memory, or one prompt of the batch whose numbers are refused."""
    words = str(error).lower()
    return (
        isinstance(error, (MindshareError, MemoryError))
        or "out of memory" in words
        or "can't allocate memory" in words
    )
