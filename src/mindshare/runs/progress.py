"""Counts that grow while a run is at work → figures for whoever waits: pace and time left.

Knows no terminal and no store: `show` is called with the figures, now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WINDOW = 60.0  # seconds over which the pace is told

Sample = tuple[float, int, int]
"""(time, prompts that came in then, tokens that came in then)"""


@dataclass(frozen=True)
class Figures:
    """How far a run is. `done` counts what was measured, `failed` what can't be."""

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
            "done": self.done,
            "total": self.total,
            "failed": self.failed,
            "tokens": self.tokens,
            "tokens_per_second": _rounded(self.tokens_per_second),
            "seconds_left": _rounded(self.seconds_left),
            "finished": self.finished,
        }


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


class Progress:
    """Told how far the work is, tells `show` now and then, and always at the end.

    A run that is resumed starts with what was done before; the pace counts from the first update.
    """

    def __init__(
        self,
        show: Callable[[Figures], None],
        *,
        every: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show, self._every, self._clock = show, every, clock
        self._samples: list[Sample] = []
        self._counted = (0, 0)
        self._shown: float | None = None
        self._last: Figures | None = None

    def update(
        self,
        done: int,
        total: int,
        tokens: int = 0,
        failed: int = 0,
        *,
        tokens_waiting: int | None = None,
    ) -> None:
        """The counts so far, all of them from the beginning of the run."""
        now = self._clock()
        self._add(now, done + failed, tokens)
        current = pace(self._samples)
        left = current.seconds_left(max(total - done - failed, 0), tokens_waiting)
        self._last = Figures(done, total, failed, tokens, current.tokens, left)
        if self._shown is None or now - self._shown >= self._every:
            self._shown = now
            self._show(self._last)

    def restart(self) -> None:
        """Count the pace anew, as when a model has been loaded."""
        self._samples = [(self._clock(), 0, 0)] if self._samples else []

    def finish(self) -> None:
        """No more will come."""
        if self._last is not None:
            last = self._last
            self._show(
                Figures(
                    *(last.done, last.total, last.failed, last.tokens),
                    tokens_per_second=last.tokens_per_second,
                    seconds_left=0.0 if last.waiting == 0 else None,
                    finished=last.waiting == 0,
                )
            )

    def _add(self, now: float, prompts: int, tokens: int) -> None:
        more = (prompts - self._counted[0], tokens - self._counted[1])
        self._counted = (prompts, tokens)
        if not self._samples:
            self._samples.append((now, 0, 0))
        elif more != (0, 0):
            self._samples.append((now, *more))
        # Only as many as the window needs, and the one before it.
        while len(self._samples) > 2 and self._samples[1][0] <= now - WINDOW:
            del self._samples[0]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
