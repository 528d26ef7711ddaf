"""Text for people: stdout for results, stderr for errors, warnings and progress.

Colours only on a terminal (and never under NO_COLOR). Knows no tables and no models.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from mindshare.errors import MindshareError


def stdout() -> Console:
    return Console(highlight=False, emoji=False, markup=False)


def stderr() -> Console:
    return Console(file=sys.stderr, highlight=False, emoji=False, markup=False)


def in_colour(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def say(console: Console, text: str | Text = "") -> None:
    """One line as it is: a path or a command that is cut in two can't be copied."""
    console.print(text, soft_wrap=True)


def tell_error(error: MindshareError) -> None:
    """What happened, what is allowed, what to do next."""
    console = stderr()
    first, *rest = str(error).splitlines() or [type(error).__name__]
    _tell(console, "mindshare", first, style="bold red")
    for line in rest:
        label, colon, text = line.partition(": ")
        if colon and label in ("Allowed", "Next"):
            _tell(console, f"  {label}", text, style="bold")
        else:
            say(console, f"  {line}")


def warn(text: str) -> None:
    _tell(stderr(), "mindshare: warning", text, style="bold yellow")


@contextmanager
def progress_bar(
    *, show: bool, doing: str = "Measuring", what: str = "prompts"
) -> Iterator[Callable[[int, int], None] | None]:
    """To be called with (done, in all), drawn on a terminal's stderr; None where there is none."""
    console = stderr()
    if not (show and console.is_terminal):
        yield None
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn(doing),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(what),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as drawn:
        task = drawn.add_task("", total=None)
        yield lambda done, total: drawn.update(task, completed=done, total=total)


def _tell(console: Console, label: str, text: str, *, style: str) -> None:
    """`label: text`; wrapped between words on a terminal, one line everywhere else."""
    lines = [f"{label}: {text}"]
    if console.is_terminal:
        lines = textwrap.wrap(
            lines[0],
            console.width,
            subsequent_indent="  " if label.startswith("mindshare") else "    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    shown = Text("\n".join(lines))
    shown.stylize(style, 0, len(label) + 1)
    say(console, shown)
