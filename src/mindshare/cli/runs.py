"""`mindshare runs`: the runs in a folder as a list, or what differs between two of them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mindshare.runs import Comparison, Listed, RunStatus
    from mindshare.runs.listing import Sets

_SHOWN = 5  # ids in a sentence


def runs(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR...]",
            help="Folders to look in, and below. (default: results)",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Say what differs between two runs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """List runs: models, prompts done, failed and waiting; or compare two.

    \b
    Examples:
      mindshare runs
      mindshare runs results /data/runs --json
      mindshare runs results/a results/b --compare
    """
    from mindshare.cli.destination import RESULTS
    from mindshare.runs import compare_runs, find_runs

    if compare:
        found = compare_runs(*_two(folders or []))
        _print_json(found.to_dict()) if as_json else _say(comparison_lines(found))
        return
    listed = find_runs(folders or [RESULTS] * RESULTS.is_dir())
    if as_json:
        _print_json([one.to_dict() for one in listed])
    elif listed:
        _say(listing_lines(listed))
    else:
        places = ", ".join(str(folder) for folder in folders or [RESULTS])
        _say([f"No runs in {places}. A command with --data and --out makes one."])


def comparison_lines(found: Comparison) -> Iterator[str]:
    """What differs, one thing a line."""
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


def _sets(sets: Sets) -> str:
    parts = [f"{len(sets.both):,} in both"]
    parts += [f"{_named(sets.only_a)} only in a"] if sets.only_a else []
    parts += [f"{_named(sets.only_b)} only in b"] if sets.only_b else []
    return "; ".join(parts)


def _named(names: tuple[str, ...]) -> str:
    """`3 (x, y, z)`, `200 (a, b, c, d, e, …)`"""
    more = ", …" if len(names) > _SHOWN else ""
    return f"{len(names):,} ({', '.join(names[:_SHOWN])}{more})"


def _two(folders: list[Path]) -> tuple[Path, Path]:
    from mindshare.errors import SelectionError

    if len(folders) != 2:
        raise SelectionError(
            f"--compare with {len(folders)} folders", allowed="two: mindshare runs A B --compare"
        )
    return folders[0], folders[1]


def listing_lines(listed: Iterable[Listed]) -> Iterator[str]:
    """Two lines a run: how far it is, and what it is."""
    for one in listed:
        if one.status is None:
            yield f"{one.folder}  can't be read: {one.trouble}"
            continue
        total = one.status.total
        counts = f"{total.done:,} of {total.total:,} done, {total.failed:,} failed"
        yield f"{one.folder}  {one.status.phase}: {counts}, {total.waiting:,} waiting"
        yield "    " + " · ".join(_facts(one, one.status))


def _facts(one: Listed, status: RunStatus) -> Iterator[str]:
    yield ", ".join(model.label for model in status.models) or "no models yet"
    yield f"definition {status.definition[:8]}"
    yield f"{one.size / 1e6:,.1f} MB"
    if status.session is not None:
        when = time.localtime(status.session.updated)
        yield time.strftime("updated %Y-%m-%d %H:%M", when)


def _say(lines: Iterable[str]) -> None:
    from mindshare.cli.screen import say, stdout

    for line in lines:
        say(stdout(), line)


def _print_json(content: object) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))
