"""A long step becomes one line on an interactive stderr; other libraries' chatter becomes silence.

Nothing is printed when stderr is not a terminal. Knows nothing about what the steps do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(text: str, *, show: bool) -> Iterator[None]:
    """Show `text` with a spinner while the block runs."""
    from rich.console import Console

    console = Console(file=sys.stderr)  # bound now: the block may redirect sys.stderr
    if not (show and console.is_terminal):
        yield
        return
    with console.status(text):
        yield


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """No progress bars and no remarks from transformers inside the block; its settings afterwards
    are what they were before. Errors still raise: what it would only remark on, we check.
    """
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.set_verbosity_error()
    _switch_bars(on=False)
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            _switch_bars(on=True)


def _switch_bars(*, on: bool) -> None:
    from transformers.utils import logging

    # It warns when an environment variable has already settled the hub's own bars.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (logging.enable_progress_bar if on else logging.disable_progress_bar)()
