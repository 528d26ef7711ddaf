"""Counts that come in over time → pace and time left.

pace(samples)      of the last minute
Progress(show)     counts, pace and time left, inside the process that does the work
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

WINDOW = 60.0  # seconds over which the pace is told

Sample = tuple[float, int, int]  # time, prompts that came in then, tokens that came in then


@dataclass(frozen=True)
class Pace:
    """Per second; None before anything has come in."""

    prompts: float | None = None
    tokens: float | None = None

    def seconds_left(self, prompts: int, tokens: int | None) -> float | None:
        """By tokens where their number is known, as prompts are of very different lengths."""
        if prompts == 0:
            return 0.0
        if tokens and self.tokens:
            return tokens / self.tokens
        return prompts / self.prompts if self.prompts else None


def pace(samples: Sequence[Sample]) -> Pace:
    """The pace of the last minute, or of the last batch if that took longer.

    The first sample says when counting began: what came in with it was made before. The pace is
    told up to the last sample, so that it does not fall while a batch is under way.
    """
    if len(samples) < 2:
        return Pace()
    end = samples[-1][0]
    before = [n for n, sample in enumerate(samples[:-1]) if sample[0] <= end - WINDOW]
    start = before[-1] if before else 0
    seconds = end - samples[start][0]
    if seconds <= 0:
        return Pace()
    prompts, tokens = (sum(s[which] for s in samples[start + 1 :]) for which in (1, 2))
    return Pace(prompts / seconds, tokens / seconds)


@dataclass(frozen=True)
class ProgressNumbers:
    """How far the work is. `done` counts what was measured, `failed` what can't be."""

    done: int
    total: int
    failed: int
    tokens: int
    tokens_per_second: float | None
    seconds_left: float | None
    finished: bool = False

    @property
    def waiting(self) -> int:
        return max(self.total - self.done - self.failed, 0)

    def to_dict(self) -> dict[str, int | float | bool | None]:
        return {
            name: round(value, 1) if isinstance(value, float) else value
            for name, value in vars(self).items()
        }


class Progress:
    """Is updated with counts, and calls `show` every so many seconds, and at the end.

    A run that is resumed starts with what was done before; the pace counts from the first update.
    """

    def __init__(
        self,
        show: Callable[[ProgressNumbers], None],
        *,
        every: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._every, self._clock = show, every, clock
        self._samples: list[Sample] = []
        self._counted = (0, 0)
        self._shown: float | None = None
        self._last: ProgressNumbers | None = None

    def update(self, done: int, total: int, tokens: int = 0, failed: int = 0) -> None:
        """The counts so far, all of them from the beginning of the run."""
        now, counted = self._clock(), (done + failed, tokens)
        more = (counted[0] - self._counted[0], tokens - self._counted[1])
        self._counted = counted
        if not self._samples:
            self._samples.append((now, 0, 0))
        elif more != (0, 0):
            self._samples.append((now, *more))
        # Only as many as the window needs, and the one before it.
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW:
            del self._samples[0]
        current = pace(self._samples)
        left = current.seconds_left(max(total - done - failed, 0), None)
        self._last = ProgressNumbers(done, total, failed, tokens, current.tokens, left)
        if self._shown is None or now - self._shown >= self._every:
            self._shown = now
            self._show(self._last)

    def finish(self) -> None:
        """No more will come."""
        if self._last is not None:
            done = self._last.waiting == 0
            self._show(replace(self._last, seconds_left=0.0 if done else None, finished=done))
