"""A process of its own that draws while this one goes on measuring.

    with drawing_meanwhile() as helper:
        save_figures(…)           comes back at once; the helper draws and writes
        helper.ask(f, …)          anything else that is to be done after that
    here everything is written, or the first thing that went wrong is raised

Threads would not do: vl-convert keeps Python's lock while it draws. For commands only: the helper
starts by importing the main module again, which a script of someone else's may not expect.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Helper:
    """Does what it is asked in that order, one thing at a time."""

    def __init__(self) -> None:
        self._pool = _executor()
        self._asked: list[Future[object]] = []

    def ask(self, what: Callable[P, T], *args: P.args, **words: P.kwargs) -> Future[T]:
        promised = self._pool.submit(what, *args, **words)
        self._asked.append(promised)  # type: ignore[arg-type]  # nobody puts results into it
        return promised

    def finish(self) -> None:
        """Wait for everything that was asked; the first error is raised."""
        while self._asked:
            self._asked.pop(0).result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


_helper: ContextVar[Helper | None] = ContextVar("helper", default=None)


def helper_at_hand() -> Helper | None:
    """The helper of the block around this call; None: there is none, draw here."""
    return _helper.get()


@contextmanager
def drawing_meanwhile() -> Iterator[Helper]:
    helper = Helper()
    token = _helper.set(helper)
    try:
        helper.ask(_warm)
        yield helper
        helper.finish()
    finally:
        _helper.reset(token)
        helper.close()


def _warm() -> None:
    """What takes seconds and needs nothing measured; the helper remembers it."""
    from mindshare.figures.render import script

    script()


def _executor() -> Executor:
    try:
        return ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=_leave_interrupts_to_the_parent
        )
    except (ImportError, NotImplementedError, OSError):  # no semaphores, as in some containers
        return ThreadPoolExecutor(1)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
