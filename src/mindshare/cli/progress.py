"""What a long run shows while it works: a bar on a terminal, JSON lines for logs, or nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from mindshare.errors import SelectionError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from mindshare.runs import Figures, Progress

Form = Literal["auto", "json", "quiet"]
FORMS: tuple[Form, ...] = ("auto", "json", "quiet")
_EVERY = 5.0  # seconds between two lines of JSON


@contextmanager
def run_progress(form: Form, *, doing: str = "Measuring") -> Iterator[Progress]:
    """To be told `.update(done, total, tokens, failed)`; everything goes to stderr.

    "auto" is a bar on a terminal and nothing elsewhere.
    """
    try:
        with _shown(form, doing) as progress:
            yield progress
    except KeyboardInterrupt:
        from mindshare.cli.screen import warn

        warn("what was measured is kept; the same command goes on from there")
        raise


@contextmanager
def _shown(form: Form, doing: str) -> Iterator[Progress]:
    from mindshare.cli.screen import stderr
    from mindshare.runs import Progress

    console = stderr()
    if form == "json":
        progress = Progress(_json_line, every=_EVERY)
        try:
            yield progress
        finally:
            progress.finish()
    elif form == "auto" and console.is_terminal:
        with _bar(console, doing) as show:
            yield Progress(show, every=0.1)
    else:
        yield Progress(lambda _: None, every=_EVERY)


def progress_form(word: str, quiet: bool) -> Form:
    """What --progress and --quiet say together."""
    for form in FORMS:
        if word == form:
            return "quiet" if quiet and form == "auto" else form
    raise SelectionError(
        f"--progress {word!r} is unknown{nearest(word, FORMS)}", allowed=", ".join(FORMS)
    )


def pace_text(tokens_per_second: float | None) -> str:
    """`812 tokens/s`; nothing where nothing is known"""
    return "" if tokens_per_second is None else f"{tokens_per_second:,.0f} tokens/s"


def left_text(seconds: float | None) -> str:
    """`about 4 min left`"""
    return "" if seconds is None else f"about {duration_text(seconds)} left"


def duration_text(seconds: float) -> str:
    """`40 s`, `4 min`, `2 h 10 min`, `3 d 4 h`"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"


def _json_line(figures: Figures) -> None:
    print(json.dumps(figures.to_dict()), file=sys.stderr, flush=True)


@contextmanager
def _bar(console: Console, doing: str) -> Iterator[Callable[[Figures], None]]:
    from rich import progress as bars

    columns = (
        bars.TextColumn(doing),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("prompts"),
        bars.TextColumn("{task.description}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as drawn:
        task = drawn.add_task("", total=None)

        def show(figures: Figures) -> None:
            drawn.update(
                task,
                completed=figures.done + figures.failed,
                total=figures.total,
                description=_beside(figures),
            )

        yield show


def _beside(figures: Figures) -> str:
    failed = f"{figures.failed:,} failed" if figures.failed else ""
    pace, left = pace_text(figures.tokens_per_second), left_text(figures.seconds_left)
    return ", ".join(part for part in (pace, left, failed) if part)
