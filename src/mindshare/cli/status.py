"""`mindshare status`: how far a run is, from another shell, as text or JSON. Never disturbs it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mindshare.runs import RunStatus

_EVERY = 2.0  # seconds between two looks


def status(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run (its --out).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Look every 2 seconds until no process is at work.")
    ] = False,
) -> None:
    """Say how far a run is: prompts done, tokens per second, time left, failures.

    Works while the run is at work, after it was killed, and when it is finished; reads only.

    \b
    Examples:
      mindshare status results/maps
      mindshare status results/maps --watch
      mindshare status results/maps --json
    """
    from mindshare.runs import run_status

    found = run_status(run, failures=None if as_json else 5)
    if as_json:
        _print_json(found, pretty=not watch)
        while watch and found.phase == "running":
            time.sleep(_EVERY)
            found = run_status(run, failures=None)
            _print_json(found, pretty=False)
    elif watch and found.phase == "running":
        _watch(run)
    else:
        _print(found)


def status_lines(found: RunStatus, *, now: float) -> Iterator[str]:
    """What a person is told."""
    from mindshare.cli.progress import left_text, pace_text

    total, several = found.total, len(found.models) > 1
    what = "prompts × models" if several else "prompts"
    yield f"{found.folder}: {_phase(found)}"
    yield f"{total.done:,} of {total.total:,} {what} done, {_rest(total.failed, total.waiting)}"
    if several:
        for model in found.models:
            rest = _rest(model.failed, model.waiting)
            yield f"  {model.label}: {model.done:,} of {model.total:,} done, {rest}"
    pace, left = pace_text(found.tokens_per_second), left_text(found.seconds_left)
    yield ", ".join(part for part in (f"{total.tokens:,} tokens", pace, left) if part)
    yield from _times(found, now)
    yield from _failures(found)
    yield from unasked_words(found)


def unasked_words(found: RunStatus) -> Iterator[str]:
    """What the tables would hold, too, if the last command had asked for it."""
    from mindshare.naming import layer_ranges

    kept = [f"results of earlier commands ({found.unasked:,})"] if found.unasked else []
    if found.unasked_layers:
        kept.append(f"layers {layer_ranges(sorted(found.unasked_layers))}")
    if kept:
        yield (
            f"Kept in the store, but not in the tables, which hold what the last command asked "
            f"for: {' and '.join(kept)}. A command that asks for them measures nothing again"
        )


def warn_of_unasked(run: Path) -> None:
    """A command that asks for less than an earlier one makes smaller tables."""
    from mindshare.cli.screen import warn
    from mindshare.runs import run_status

    for words in unasked_words(run_status(run, failures=0)):
        warn(words)


def _phase(found: RunStatus) -> str:
    from mindshare.runs.status import PHASES

    session, words = found.session, PHASES[found.phase]
    if session is None or session.ended is not None:
        return f"{found.phase}: {words}"
    who = f"process {session.writer.pid} on {session.writer.host}"
    if found.phase == "killed":
        return f"killed: {who} is gone without a word; the same command goes on from here"
    at_work = f", model {session.doing}" if session.doing else ""
    return f"{found.phase}: {words} ({who}{at_work})"


def _rest(failed: int, waiting: int) -> str:
    return f"{failed:,} failed, {waiting:,} waiting"


def _times(found: RunStatus, now: float) -> Iterator[str]:
    from mindshare.cli.progress import duration_text

    if found.session is None:
        return
    started, updated = found.session.started, found.session.updated
    begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(started))
    ago = duration_text(max(now - updated, 0))
    yield f"Last started {begun}, last stored {ago} ago"


def _failures(found: RunStatus) -> Iterator[str]:
    if not found.failures:
        return
    shown, all_ = len(found.failures), found.total.failed
    yield "Failures:" if shown == all_ else f"The first {shown} of {all_} failures (all: --json):"
    for one in found.failures:
        place = f" ({one.place})" if one.place and one.place not in one.prompt else ""
        model = f"{one.label}, " if len(found.models) > 1 else ""
        yield f"  {model}{one.prompt}{place}: {' '.join(one.reason.split())}"


def _print(found: RunStatus) -> None:
    from mindshare.cli.screen import say, stdout

    console = stdout()
    for line in status_lines(found, now=time.time()):
        say(console, line)


def _print_json(found: RunStatus, *, pretty: bool) -> None:
    text = json.dumps(found.to_dict(), indent=2 if pretty else None, ensure_ascii=False)
    print(text, flush=True)


def _watch(run: Path) -> None:
    from rich.live import Live

    from mindshare.cli.screen import stdout
    from mindshare.runs import run_status

    console = stdout()
    if not console.is_terminal:
        while (found := run_status(run)).phase == "running":
            time.sleep(_EVERY)
        _print(found)
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            found = run_status(run)
            live.update("\n".join(status_lines(found, now=time.time())), refresh=True)
            if found.phase != "running":
                return
            time.sleep(_EVERY)
