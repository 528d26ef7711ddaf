"""Workers, however reached → an `Answering`: every job answered once, whoever dies on the way.

    jobs ─► batches ─► whoever is free ─► answers
               ▲            │ gone
               └── again ◄──┘

A worker that ends is replaced, and the batch it had is given to another. Which worker answers what
changes no number, so nothing here is remembered. Does not know what lies between it and a worker.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mindshare.errors import MindshareError
from mindshare.study.respondent import Respondent
from mindshare.workers.credentials import Credentials, require_same
from mindshare.workers.transport import (
    Finished,
    Gone,
    Ready,
    Report,
    Transport,
    Work,
    WorkerError,
)

if TYPE_CHECKING:
    from mindshare.attention.batches import Answer, Asked, Job

log = logging.getLogger("mindshare.workers")
_SHARES = 4  # batches for each worker, at least: the last ones then end at about the same time


@dataclass(frozen=True)
class Limits:
    workers: int
    tokens: int | None = None  # of one batch, padding included; None: as one process takes
    retries: int = 3  # of one batch
    patience: float = 1800.0  # seconds until some worker has loaded the model


@dataclass
class _Hand:
    """One worker as the crew sees it."""

    heir: bool  # started in place of another
    credentials: Credentials | None = None  # None: still loading
    line: list[Work] = field(default_factory=list)  # the first one is being worked on

    def __str__(self) -> str:
        return "a starting worker" if self.credentials is None else self.credentials.place


@dataclass
class _Round:
    """One call of `answers`: what waits, what is due, how often it was tried."""

    waiting: deque[Work]
    due: set[int]
    lost: Counter[int] = field(default_factory=Counter)


class Crew:
    """A context manager: workers start when it is entered and have ended when it is left."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport, self._limits = transport, limits
        self._hands: dict[int, _Hand] = {}
        self._numbers, self._serials = count(), count()
        self._first: Credentials | None = None
        self._failed_starts = 0

    def __enter__(self) -> Self:
        try:
            for _ in range(self._limits.workers):
                self._start(heir=False)
            round_ = _Round(deque(), set())
            while self._first is None:
                for report in self._heard():
                    self._take_note(report, round_)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._hands.clear()
        self._transport.close()

    @property
    def workers(self) -> int:
        return self._limits.workers

    @property
    def respondent(self) -> Respondent:
        """The one that all workers are."""
        assert self._first is not None, "known once the crew is entered"
        return self._first.respondent

    @property
    def credentials(self) -> list[Credentials]:
        """Of the workers that are ready."""
        return [hand.credentials for hand in self._hands.values() if hand.credentials is not None]

    def answers(self, jobs: Sequence[Job], asked: Asked) -> Iterator[list[Answer]]:
        waiting = deque(self._works(jobs, asked))
        round_ = _Round(waiting, {work.serial for work in waiting})
        while round_.due:
            self._hand_out(round_)
            for report in self._heard():
                if isinstance(report, Finished):
                    yield from self._finished(report, round_)
                else:
                    self._take_note(report, round_)

    def _works(self, jobs: Sequence[Job], asked: Asked) -> Iterator[Work]:
        """Longest first, so that what is left at the end is short."""
        from mindshare.attention.batches import TOKENS, batches

        share = sum(job.padded for job in jobs) // (self._limits.workers * _SHARES)
        tokens = min(self._limits.tokens or TOKENS, max(1, share))
        # Whether a batch is one pass is the worker's affair; it changes no number.
        for batch in batches(jobs, together=True, tokens=lambda: tokens):
            yield Work(next(self._serials), batch, asked)

    def _hand_out(self, round_: _Round) -> None:
        """To the shortest line; lines of more than one only while there is plenty left."""
        while round_.waiting:
            plenty = len(round_.waiting) > len(self._hands)
            room = self._transport.depth if plenty else 1
            free = {
                number: len(hand.line)
                for number, hand in self._hands.items()
                if hand.credentials is not None and len(hand.line) < room
            }
            if not free:
                return
            chosen = min(free, key=lambda number: free[number])
            work = round_.waiting.popleft()
            self._hands[chosen].line.append(work)
            self._transport.give(chosen, work)

    def _heard(self) -> list[Report]:
        """Waits. However long a batch takes; but someone has to be there."""
        found = self._transport.reports(self._limits.patience)
        if not found and not self.credentials:
            raise WorkerError(
                f"no worker has loaded the model within {self._limits.patience:.0f} s",
                next_step="see whether the machines have room for it: processors, devices, memory",
            )
        return found

    def _finished(self, report: Finished, round_: _Round) -> Iterator[list[Answer]]:
        if report.worker not in self._hands:  # given up earlier in the same breath
            return
        hand, outcome = self._hands[report.worker], report.outcome
        if outcome.failed is not None:
            why = f"it failed: {outcome.failed.strip().splitlines()[-1]}"
            log.debug("%s", outcome.failed)
            self._replace(Gone(report.worker, why), round_)
            return
        hand.line = [work for work in hand.line if work.serial != report.serial]
        if report.serial not in round_.due:
            log.info("a batch was answered again by %s; dropped", hand)
            return
        round_.due.discard(report.serial)
        if outcome.found:
            yield [answer.unpacked() for answer in outcome.found]
        if outcome.refused is not None:
            raise outcome.refused

    def _take_note(self, report: Report, round_: _Round) -> None:
        if report.worker not in self._hands:
            return
        if isinstance(report, Ready):
            self._welcome(report)
        elif isinstance(report, Gone) and report.refused is not None:
            self._turn_away(report.worker, report.refused)
        elif isinstance(report, Gone):
            self._replace(report, round_)

    def _welcome(self, report: Ready) -> None:
        self._failed_starts = 0
        try:
            require_same(self._first or report.credentials, report.credentials)
        except MindshareError as error:
            self._turn_away(report.worker, error)
            return
        self._first = self._first or report.credentials
        self._hands[report.worker].credentials = report.credentials
        log.info("worker ready: %s", report.credentials.place)

    def _turn_away(self, number: int, error: MindshareError) -> None:
        """Ends the run at its beginning; later, the others go on without."""
        hand = self._hands.pop(number)
        self._transport.end(number)
        if not hand.heir or not self._hands:
            raise error
        log.warning("a worker is not used, the others go on: %s", error.what)

    def _replace(self, report: Gone, round_: _Round) -> None:
        hand = self._hands.pop(report.worker)
        self._transport.end(report.worker)
        self._failed_starts += hand.credentials is None
        if self._hopeful(report):
            log.warning("worker lost (%s): %s; another is started in its place", hand, report.why)
            self._start(heir=True)
        else:
            log.warning("worker lost (%s): %s; the others go on", hand, report.why)
        for place, work in reversed(list(enumerate(hand.line))):
            if work.serial in round_.due:
                # Those behind the first had not been begun: they are not what ended it.
                self._again(work, report.why, round_, blamed=place == 0)

    def _hopeful(self, report: Gone) -> bool:
        """Whether to start one more: not when many in a row never came to work."""
        if self._failed_starts < self._limits.retries + self._limits.workers:
            return True
        if not self._hands:
            raise WorkerError(
                f"{self._failed_starts} workers in a row ended before they had loaded the model: "
                f"{report.why}",
                next_step="see whether there is enough memory for the model, and try one worker",
            )
        return False

    def _again(self, work: Work, why: str, round_: _Round, *, blamed: bool) -> None:
        round_.lost[work.serial] += blamed
        tried, most = round_.lost[work.serial], self._limits.retries
        if tried > most:
            raise WorkerError(
                f"{work} was lost {tried} times with the worker that had it: {why}",
                where=f"prompt hash {work.jobs[0].item}",
                next_step="see whether this batch needs more memory than a worker has; what is "
                "stored is kept, and the same command goes on from there",
            )
        round_.waiting.appendleft(work)
        if blamed:
            log.warning("%s is tried again: %s (retry %d of %d)", work, why, tried, most)
        else:
            log.info("%s had not been begun and is given to another worker", work)

    def _start(self, *, heir: bool) -> None:
        number = next(self._numbers)
        self._hands[number] = _Hand(heir)
        self._transport.start(number)
