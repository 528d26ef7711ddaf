"""Text for people: results and their tables on stdout; errors, warnings and progress on stderr.

Colours only on a terminal (and never under NO_COLOR).
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from mindshare.errors import MindshareError, harmless, require_known, screenful, some
from mindshare.naming import UNNAMED

if TYPE_CHECKING:
    from mindshare.store import Progress, ProgressNumbers

FORMS = ("auto", "json", "quiet")  # of progress
_EVERY = 5.0  # seconds between two lines of JSON
_SHOWN = 5  # warnings of one kind
_PLAIN = ("default", "underline")  # of `other`, and of what learned sinks take


class _Screen(Console):
    """A terminal that only rich itself may steer, not a name or a text that is shown on it."""

    def render(self, *given: Any, **named: Any) -> Iterator[Segment]:
        for text, style, control in super().render(*given, **named):
            yield Segment(text if control else harmless(text), style, control)


def stdout() -> Console:
    return _Screen(highlight=False, emoji=False, markup=False)


def stderr() -> Console:
    return _Screen(file=sys.stderr, highlight=False, emoji=False, markup=False)


def in_colour(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def class_shades(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Two rich styles per class, so that neighbouring tokens of one class stay apart.

    The colours are those of the charts, begun again where classes are more than a chart can show.
    """
    from mindshare.figures.colours import PALETTES, class_colours

    own = [name for name in names if name not in UNNAMED]
    most = len(PALETTES["seed"].classes) - 1
    colours = class_colours(own[:most], PALETTES["seed"])
    shades = {name: _shades(colours[own[i % most]]) for i, name in enumerate(own)}
    return {**shades, **dict.fromkeys(UNNAMED, _PLAIN)}


def _shades(colour: str) -> tuple[str, str]:
    """The colour and a lighter one, each with the ink that can be read on it."""
    first = Color.parse(colour).get_truecolor()
    both = (first, blend_rgb(first, ColorTriplet(255, 255, 255), 0.35))
    inks = ("white" if 0.3 * c.red + 0.6 * c.green + 0.1 * c.blue < 110 else "black" for c in both)
    deep, light = (f"{ink} on {c.hex}" for ink, c in zip(inks, both, strict=True))
    return deep, light


def say(console: Console, text: str | Text = "") -> None:
    """One line as it is: a path or a command that is cut in two can't be copied."""
    console.print(text, soft_wrap=True)


def say_lines(lines: Iterable[str]) -> None:
    console = stdout()
    for line in lines:
        say(console, line)


def print_json(content: object, *, pretty: bool = True) -> None:
    # A damaged store may hold bytes where a text should be.
    text = json.dumps(content, indent=2 if pretty else None, ensure_ascii=False, default=str)
    print(text.encode("utf-8", "backslashreplace").decode(), flush=True)


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
    _tell(stderr(), "mindshare: warning", screenful(text), style="bold yellow")


def warn_of_some(warnings: Sequence[str], all_of_them: str, *, most: int = _SHOWN) -> None:
    """The first few, then where or how many all of them are."""
    for text in warnings[:most]:
        warn(text)
    if len(warnings) > most:
        warn(all_of_them)


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


# ── progress ──────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def progress_bar(
    *, show: bool, doing: str = "Measuring", what: str = "prompts"
) -> Iterator[Callable[[int, int], None] | None]:
    """To be called with (done, in all), drawn on a terminal's stderr; None where there is none."""
    console = stderr()
    if not (show and console.is_terminal):
        yield None
        return
    with _bar(console, doing, what, remaining=True) as update:
        yield lambda done, total: update(completed=done, total=total)


@contextmanager
def passes_bar(
    *, show: bool, models: int = 1, doing: str = "Measuring", what: str = "prompts"
) -> Iterator[Callable[[str, int, int], None] | None]:
    """One bar for all models: to be called with (model, done, in all of each)."""
    with progress_bar(show=show, doing=doing, what=what) as bar:
        done: dict[str, int] = {}

        def report(label: str, passes: int, total: int) -> None:
            done[label] = passes
            if bar is not None:
                bar(sum(done.values()), models * total)

        yield None if bar is None else report


def check_form(form: str) -> None:
    """Refuse what is no form of progress."""
    require_known(form, FORMS, f"--progress {form!r} is unknown")


@contextmanager
def run_progress(form: str, *, quiet: bool = False) -> Iterator[Progress]:
    """The progress of a run, on stderr: a bar on a terminal ("auto"), lines of JSON, or nothing."""
    from mindshare.store import Progress

    check_form(form)
    console = stderr()
    try:
        if form == "auto" and console.is_terminal and not quiet:
            with _bar(console, "Measuring", "prompts") as update:
                yield Progress(lambda figures: update(**_drawn(figures)), every=0.1)
        elif form == "json":
            progress = Progress(
                lambda figures: print(json.dumps(figures.to_dict()), file=sys.stderr, flush=True),
                every=_EVERY,
            )
            try:
                yield progress
            finally:
                progress.finish()
        else:
            yield Progress(lambda _: None, every=_EVERY)
    except KeyboardInterrupt:
        warn("what was measured is kept; the same command goes on from there")
        raise


@contextmanager
def _bar(
    console: Console, doing: str, what: str, *, remaining: bool = False
) -> Iterator[Callable[..., None]]:
    from rich import progress as bars

    columns: tuple[Any, ...] = (
        bars.TextColumn(doing),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn(what),
        bars.TimeRemainingColumn() if remaining else bars.TextColumn("{task.description}"),
    )
    with bars.Progress(*columns, console=console, transient=True) as drawn:
        task = drawn.add_task("", total=None)
        yield lambda **values: drawn.update(task, **values)


def _drawn(figures: ProgressNumbers) -> dict[str, Any]:
    failed = f"{figures.failed:,} failed" if figures.failed else ""
    beside = (pace_text(figures.tokens_per_second), left_text(figures.seconds_left), failed)
    return {
        "completed": figures.done + figures.failed,
        "total": figures.total,
        "description": ", ".join(part for part in beside if part),
    }


# ── numbers as text: in a table, a mass takes 6 characters, a lift or a count at most 5 ───────────


def counted(number: int, noun: str) -> str:
    """`1 token`, `2 tokens`"""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shortened(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def unmatched_text(names: Sequence[str], of: str) -> str:
    """One sentence for all classes that match nothing."""
    if len(names) == 1:
        return f"class {names[0]!r} matches no token of {of}"
    return f"classes {some(map(repr, names))} match no token of {of}"


def mass_text(mass: float) -> str:
    return f"{mass:.4f}"


def lift_text(lift: float | None) -> str:
    """Three digits behind ×, or a dash where there is no such number."""
    if lift is None:
        return "–"
    for limit, digits in ((9.995, 2), (99.95, 1), (9999.5, 0)):
        if lift < limit:
            return f"×{lift:.{digits}f}"
    return f"×{lift / 1000:.0f}k"


def count_text(count: float) -> str:
    """Whole numbers whole; fractions (averages, proportional tokens) with two digits."""
    if count >= 99999.5:
        return f"{count / 1000:.0f}k"
    if abs(count - round(count)) < 1e-4:
        return f"{count:.0f}"
    return (
        f"{count:.2f}" if count < 99.995 else f"{count:.1f}" if count < 999.95 else f"{count:.0f}"
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
