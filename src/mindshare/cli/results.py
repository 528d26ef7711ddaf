"""Folders of results: where they go, how far a run is, which there are, a report of them.

Where results go is decided and checked before a model is loaded, so that no work is lost. The
commands here (`status`, `runs`, `redraw`, `report`) need no model; the first two only read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.cli.groups import Group, argument, command, option
from mindshare.cli.options import AS_JSON, FORMATS, RESULTS, LookOptions, WriteOptions
from mindshare.cli.screen import (
    duration_text,
    left_text,
    pace_text,
    print_json,
    say_lines,
    stdout,
    warn,
)
from mindshare.cli.values import figure_formats
from mindshare.errors import OutputError, SelectionError
from mindshare.naming import layer_ranges

if TYPE_CHECKING:
    from mindshare.folders import Texts
    from mindshare.store import ListedRun, RunComparison, RunStatus, SetComparison

DEFAULT = Path("results")
_SHOWN = 5  # ids in a sentence, failures in a status
_EVERY = 2.0  # seconds between two looks at a run


def default_folder(name: str, files: Texts) -> Path:
    """`results/NAME-HASH`: the same study file with the same prompts always names the same one."""
    import hashlib

    found = hashlib.sha256()
    for text in files.values():  # only one prompt at a time in memory
        for part in [text] if isinstance(text, str) else text:
            found.update(part.encode("utf-8", "backslashreplace"))
    word = re.sub(r"[^\w.-]+", "-", Path(name).name).strip("-.") or "model"
    return DEFAULT / f"{word}-{found.hexdigest()[:8]}"


def check_folder(path: Path, *, replace: bool) -> None:
    """Refuse a folder that results can't be written to; leaves nothing behind."""
    import tempfile

    from mindshare.folders import require_replaceable

    require_replaceable(path, replace=replace)
    # Permission bits don't tell all, so it is tried in the nearest folder above that exists.
    above = next(p for p in path.absolute().parents if os.path.lexists(p))
    try:
        with tempfile.TemporaryDirectory(prefix=".mindshare-", dir=above):
            pass
    except OSError as error:
        raise OutputError(
            f"{path} can't be written: {above}: {error.strerror}",
            next_step="choose another folder with --out",
        ) from error


class StatusOptions(Group):
    as_json: bool = AS_JSON
    run: Path = argument("RUN", "The folder of a run (its --out).")
    watch: bool = option(False, "Look every 2 seconds until no process is at work.")


@command(StatusOptions)
def status(options: StatusOptions) -> None:
    """Say how far a run is: prompts done, tokens per second, time left, failures.

    Works while the run is at work, after it was killed, and when it is finished; reads only.

    \b
    Examples:
      mindshare status results/maps
      mindshare status results/maps --watch
      mindshare status results/maps --json
    """
    as_json, watch, console = options.as_json, options.watch, stdout()
    statuses = _statuses(options.run, failures=None if as_json else _SHOWN, watch=watch)
    if as_json:
        for found in statuses:
            print_json(found.to_dict(), pretty=not watch)
    elif watch and console.is_terminal:
        from rich.live import Live

        with Live(console=console, auto_refresh=False) as live:
            for found in statuses:
                live.update("\n".join(status_lines(found, now=time.time())), refresh=True)
    else:
        *_, last = statuses
        say_lines(status_lines(last, now=time.time()))


def _statuses(run: Path, *, failures: int | None, watch: bool) -> Iterator[RunStatus]:
    """The status now; with `watch`, again and again until no process is at work."""
    from mindshare.store import run_status

    yield (found := run_status(run, failures=failures))
    while watch and found.phase == "running":
        time.sleep(_EVERY)
        yield (found := run_status(run, failures=failures))


def status_lines(found: RunStatus, *, now: float) -> Iterator[str]:
    """What a person is told."""
    total, several = found.total, len(found.models) > 1
    what = "prompts × models" if several else "prompts"
    yield f"{found.folder}: {_phase(found)}"
    yield f"{total.done:,} of {total.total:,} {what} done, {_rest(total.failed, total.waiting)}"
    for model in found.models if several else ():
        rest = _rest(model.failed, model.waiting)
        yield f"  {model.label}: {model.done:,} of {model.total:,} done, {rest}"
    pace, left = pace_text(found.tokens_per_second), left_text(found.seconds_left)
    shared = f"{found.shared_tokens:,} of them shared with earlier prompts"
    parts = (f"{total.tokens:,} tokens", found.shared_tokens and shared, pace, left)
    yield ", ".join(part for part in parts if part)
    if found.session is not None:
        begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.session.started))
        ago = duration_text(max(now - found.session.updated, 0))
        yield f"Last started {begun}, last stored {ago} ago"
    yield from _failures(found)
    yield from unasked_words(found)


def _phase(found: RunStatus) -> str:
    from mindshare.store import PHASES

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


def _failures(found: RunStatus) -> Iterator[str]:
    if not found.failures:
        return
    shown, all_ = len(found.failures), found.total.failed
    yield "Failures:" if shown == all_ else f"The first {shown} of {all_} failures (all: --json):"
    for one in found.failures:
        place = f" ({one.place})" if one.place and one.place not in one.prompt else ""
        model = f"{one.label}, " if len(found.models) > 1 else ""
        yield f"  {model}{one.prompt}{place}: {' '.join(one.reason.split())}"


def unasked_words(found: RunStatus) -> Iterator[str]:
    """What the tables would hold, too, if the last command had asked for it."""
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
    from mindshare.store import run_status

    for words in unasked_words(run_status(run, failures=0)):
        warn(words)


class RunsOptions(Group):
    as_json: bool = AS_JSON
    folders: tuple[Path, ...] = argument(
        "[DIR...]", "Folders to look in, and below. (default: results)", default=()
    )
    compare: bool = option(False, "Say what differs between two runs.")


@command(RunsOptions)
def runs(options: RunsOptions) -> None:
    """List runs: models, prompts done, failed and waiting; or compare two.

    \b
    Examples:
      mindshare runs
      mindshare runs results /data/runs --json
      mindshare runs results/a results/b --compare
    """
    from mindshare.store import compare_runs, find_runs

    folders = options.folders
    if options.compare:
        if len(folders) != 2:
            raise SelectionError(
                f"--compare with {len(folders)} folders",
                allowed="two: mindshare runs A B --compare",
            )
        found = compare_runs(*folders)
        print_json(found.to_dict()) if options.as_json else say_lines(comparison_lines(found))
        return
    listed = find_runs(folders or [DEFAULT] * os.path.isdir(DEFAULT))
    if options.as_json:
        print_json([one.to_dict() for one in listed])
    elif listed:
        say_lines(listing_lines(listed))
    else:
        places = ", ".join(str(folder) for folder in folders or [DEFAULT])
        say_lines([f"No runs in {places}. A command with --data and --out makes one."])


def listing_lines(listed: Iterable[ListedRun]) -> Iterator[str]:
    """Two lines per run: how far it is, and what it is."""
    for one in listed:
        if one.status is None:
            yield f"{one.folder}  can't be read: {one.trouble}"
            continue
        total = one.status.total
        counts = f"{total.done:,} of {total.total:,} done, {total.failed:,} failed"
        yield f"{one.folder}  {one.status.phase}: {counts}, {total.waiting:,} waiting"
        yield "    " + " · ".join(_facts(one, one.status))


def _facts(one: ListedRun, status: RunStatus) -> Iterator[str]:
    yield ", ".join(model.label for model in status.models) or "no models yet"
    yield f"definition {status.definition[:8]}"
    yield f"{one.size / 1e6:,.1f} MB"
    if status.session is not None:
        when = time.localtime(status.session.updated)
        yield time.strftime("updated %Y-%m-%d %H:%M", when)


def comparison_lines(found: RunComparison) -> Iterator[str]:
    """What differs, one thing per line."""
    yield f"a: {found.a}"
    yield f"b: {found.b}"
    if found.same:
        yield "The same definition, models, layers and prompts."
        return
    if not found.definition:
        yield "The same definition."
    for one in found.definition:
        yield f"definition, {one.name}: {one.a_text} in a, {one.b_text} in b"
    yield f"models: {_sets(found.models)}"
    for one in found.layers:
        yield f"layers of {one.name}: {one.a} in a, {one.b} in b"
    yield f"prompts: {_sets(found.prompts)}"
    if found.changed:
        yield f"the same id, but another content or other weights: {_named(found.changed)}"


def _sets(sets: SetComparison) -> str:
    parts = [f"{len(sets.both):,} in both"]
    parts += [f"{_named(sets.only_a)} only in a"] if sets.only_a else []
    parts += [f"{_named(sets.only_b)} only in b"] if sets.only_b else []
    return "; ".join(parts)


def _named(names: tuple[str, ...]) -> str:
    """`3 (x, y, z)`, `200 (a, b, c, d, e, …)`"""
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names):,} ({', '.join(map(str, names[:_SHOWN]))}{more})"


class RedrawOptions(LookOptions, panel=RESULTS, role="apart"):
    formats: str | None = FORMATS
    results: Path = argument("RESULTS", "A folder that mindshare wrote.")
    figure: tuple[str, ...] = option(
        (), "Only this figure, by the name of its files; repeatable.", metavar="NAME"
    )
    quiet: bool = option(False, "Print only the names of the figures.")


@command(RedrawOptions)
def redraw(options: RedrawOptions) -> None:
    """Draw saved figures again: another title, width, font size, labels or colours.

    No model is needed, and nothing is measured: the figures in the folder are replaced.

    \b
    Examples:
      mindshare redraw results/maps --width 8.5cm --font-size 8 --bare
      mindshare redraw results/maps --figure class_bars_mass \\
          --y-title 'Total Attention (Sum)' --label hash='# (Hash)' \\
          --colour hash=#d62728 --title ''
    """
    from mindshare.figures import redraw as draw

    style, formats = options.keywords(), figure_formats(options.formats)
    if not (style or formats):
        raise SelectionError(
            "nothing is to be changed", next_step="say how it is to look: --width 8.5cm, --bare, …"
        )
    drawn = draw(options.results, style, figures=options.figure, formats=formats)
    for one in drawn:
        title = one.title if "title" in one.spec else "no title in the picture"
        say_lines([one.name if options.quiet else f"{one.name}: {title}"])


class ReportOptions(WriteOptions, panel=RESULTS, role="apart"):
    results: tuple[Path, ...] = argument("RESULT...", "Folders that mindshare wrote.")
    out: Path = option(Path("report"), "The folder to write.", metavar="DIR")
    format: tuple[str, ...] = option(
        (), "html (one file), md (with PNGs) or pdf; repeatable. (default: html)", metavar="WORD"
    )
    title: str | None = option(None, "A title of your own.", metavar="TEXT")


@command(ReportOptions)
def report(options: ReportOptions) -> None:
    """Make a report of saved results: question, definitions, charts, numbers, description, origin.

    No model is needed. The HTML form is one file that loads nothing from outside.

    \b
    Examples:
      mindshare report results/maps
      mindshare report results/maps results/slashes --format html --format md
    """
    from mindshare.report import write_report

    written = write_report(
        options.results,
        options.out,
        formats=options.format or ("html",),
        title=options.title,
        replace=options.replace,
    )
    say_lines(str(path) if options.quiet else f"The report: {path}" for path in written)
