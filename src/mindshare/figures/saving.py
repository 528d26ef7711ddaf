"""Figures, the tables they come from and a manifest → one folder: complete, or not there at all.

    manifest.json  figures ─► NAME ─► drawn ─► {"chart": "class_bars", "arguments": …}

The call that drew a figure is kept as JSON, its tables by their names in the folder.

    with drawing_in_background() as process:
        save_figures(…)           returns at once; a second process draws and writes
        process.submit(f, …)      runs after that
    here everything is written, or the first error is raised
"""

from __future__ import annotations

import itertools
import json
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from dataclasses import replace as replaced
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pyarrow as pa

from mindshare.errors import OutputError
from mindshare.figures.figure import FORMATS, Figure, Source, check_formats, labels_of
from mindshare.figures.render import script
from mindshare.folders import (
    FIGURE_TABLES,
    inside,
    read_folder,
    reading,
    whole_folder,
    write_manifest,
    write_parquet,
    write_texts,
)
from mindshare.tables import metadata

if TYPE_CHECKING:
    from mindshare.folders import Texts

P = ParamSpec("P")
T = TypeVar("T")


def save_figures(
    figures: Sequence[Figure],
    folder: str | Path,
    *,
    tables: Mapping[str, pa.Table] | None = None,
    manifest: Mapping[str, Any] | None = None,
    replace: bool = False,
    progress: Callable[[int, int], None] | None = None,
    beside: Texts | None = None,
    formats: Sequence[str] = FORMATS,
) -> Path:
    """Several figures, the tables they come from and a manifest in one folder, or nothing.

    `progress` gets the number of figures drawn, and of all; `beside` are further text files.
    Within `drawing_in_background` the folder is written by the other process, a little later.
    """
    tables = dict(tables or {})
    names = [figure.name for figure in figures]
    twice = [name for name, times in Counter([*names, *tables]).items() if times > 1]
    if twice or "manifest" in names:
        raise OutputError(
            f"two files can't both be called {twice[0] if twice else 'manifest'!r}",
            next_step="give the figures names of their own, e.g. options with name='…'",
        )
    check_formats(formats)
    entries = {figure.name: figure.entry(formats) for figure in figures}
    of_figures: dict[str, pa.Table] = {}
    for figure in figures:
        if figure.source is not None:
            known = tables | of_figures
            entries[figure.name]["drawn"], more = encoded(figure.source, figure.name, known)
            of_figures |= more
        # With these it is told what the figure says; they stay as long as it does.
        over_prompts = (n for n, content in tables.items() if "n_prompts" in content.column_names)
        entries[figure.name]["tables"] = sorted(over_prompts)
    manifest = {
        **(manifest or {}),
        "labels": labels_of(figures),
        "tables": sorted(tables),
        FIGURE_TABLES: sorted(of_figures),
        "figures": entries,
        "figure_order": list(entries),  # the manifest itself is sorted by name
    }
    drawn = tuple(replaced(figure, source=None) for figure in figures)
    contents = (drawn, tuple(formats), tables | of_figures, manifest, beside or {})
    process = _background.get()
    if process is None:
        return _write_folder(Path(folder), *contents, replace=replace, progress=progress)
    process.submit(_write_folder, Path(folder).absolute(), *contents, replace=replace)
    return Path(folder)


def _write_folder(
    folder: Path,
    figures: Sequence[Figure],
    formats: Sequence[str],
    tables: dict[str, pa.Table],
    manifest: dict[str, Any],
    texts: Texts,
    *,
    replace: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    from mindshare.store import into_run, is_run

    def fill(building: Path) -> dict[str, Any]:
        for done, figure in enumerate(figures):
            if progress is not None:
                progress(done, len(figures))
            figure.write(building, formats)
        write_texts(building, texts)
        write_parquet(building, tables)
        # Beside the results it was made from there may be figures of earlier commands.
        whole = keep_figures(folder, building, manifest, tables) if in_run else manifest
        write_manifest(building, whole)
        return whole

    in_run = is_run(folder)
    if in_run:
        return into_run(folder, fill)
    return whole_folder(folder, fill, replace=replace)


# ── arguments → JSON ──────────────────────────────────────────────────────────────────────────────


def encoded(
    source: Source, figure: str, tables: Mapping[str, pa.Table]
) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """The call as JSON, and the tables it needs that are not among those that are saved."""
    names = {id(content): name for name, content in tables.items()}
    more: dict[str, pa.Table] = {}

    def plain(value: Any, argument: str) -> Any:
        if isinstance(value, pa.Table):
            name = names.setdefault(id(value), f"{figure}_{argument}")
            if name not in tables:
                more[name] = value
            return {"table": name}
        if is_dataclass(value):
            return {"map": [[k, plain(v, k)] for k, v in _chosen(value).items()]}
        if isinstance(value, Mapping):
            pairs = enumerate(value.items())
            return {"map": [[k, plain(v, f"{argument}_{i}")] for i, (k, v) in pairs]}
        if isinstance(value, list | tuple):
            return [plain(part, f"{argument}_{i}") for i, part in enumerate(value)]
        return value

    arguments = {n: plain(v, n) for n, v in source.arguments.items() if v is not None}
    return {"chart": source.chart, "arguments": arguments}, more


def _chosen(options: Any) -> dict[str, Any]:
    """The fields that are not what they are by themselves."""
    usual = type(options)()
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: value for name, value in values.items() if value != getattr(usual, name)}


# ── figures of earlier commands ───────────────────────────────────────────────────────────────────


def keep_figures(
    folder: Path, building: Path, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> dict[str, Any]:
    """Put the figures that are in the folder beside new ones, with the tables they came with.

    A table whose name a new one has taken gets its measure behind its name. Returns the manifest
    of both.
    """
    whole = dict(manifest)
    try:
        there, old = read_folder(folder, of_figures=True)
    except OutputError:
        return whole  # no results yet, or not whole
    with reading(folder):
        return _with_kept(folder, building, whole, (there, old), tables)


def _with_kept(
    folder: Path,
    building: Path,
    manifest: dict[str, Any],
    earlier: tuple[Mapping[str, pa.Table], Mapping[str, Any]],
    tables: Mapping[str, pa.Table],
) -> dict[str, Any]:
    there, old = earlier
    kept = {n: e for n, e in (old.get("figures") or {}).items() if n not in manifest["figures"]}
    named: list[str] = []
    for entry in kept.values():
        named += entry.get("tables", ())
        _each_table(entry.get("drawn"), named.append)
    names = _names_beside(dict.fromkeys(named), there, tables)
    write_parquet(building, {new: there[n] for n, new in names.items() if new not in tables})
    beside = {}
    for key in ("tables", FIGURE_TABLES):
        more = (new for n, new in names.items() if n in old.get(key, ()) and new not in tables)
        beside[key] = sorted([*manifest[key], *more])
    for entry in kept.values():
        entry["tables"] = sorted(names[n] for n in entry.get("tables", ()))
        entry |= (
            {"drawn": _each_table(entry["drawn"], names.__getitem__)} if "drawn" in entry else {}
        )
        for file in entry["files"]:
            shutil.copyfile(inside(folder, file), building / file)
    order = [*manifest["figure_order"], *(n for n in old.get("figure_order", ()) if n in kept)]
    return manifest | beside | {"figures": manifest["figures"] | kept, "figure_order": order}


def _names_beside(
    names: Iterable[str], there: Mapping[str, pa.Table], tables: Mapping[str, pa.Table]
) -> dict[str, str]:
    """Earlier table → its name beside the new tables: its own, if it is free or means the same."""
    chosen: dict[str, str] = {}
    for name in names:
        taken = name in tables and not there[name].equals(tables[name], check_metadata=True)
        measure = metadata(there[name]).get("mindshare.measure", "")
        new = f"{name}_{measure if measure.isidentifier() else 'earlier'}" if taken else name
        ways = itertools.chain([new], (f"{new}_{n}" for n in itertools.count(2)))
        used = {*tables, *there, *chosen.values()}
        chosen[name] = next(way for way in ways if way not in used) if taken else name
    return chosen


def _each_table(drawn: Any, change: Callable[[str], Any]) -> Any:
    """An encoded call with other names of tables."""

    def renamed(part: dict[str, Any]) -> dict[str, Any]:
        return {"table": change(part["table"])} if isinstance(part.get("table"), str) else part

    return json.loads(json.dumps(drawn), object_hook=renamed)


# ── a second process ──────────────────────────────────────────────────────────────────────────────


class BackgroundProcess:
    """Runs functions in the order they were submitted, one at a time."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.futures: list[Future[Any]] = []

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future = self._executor.submit(function, *args, **kwargs)
        self.futures.append(future)
        return future


_background: ContextVar[BackgroundProcess | None] = ContextVar("background", default=None)


@contextmanager
def drawing_in_background() -> Iterator[BackgroundProcess]:
    """`save_figures` within this block draws in a process of its own.

    Threads would not do: vl-convert holds Python's lock while it draws. For commands only: the
    process starts by importing the main module again, which a user's script may not expect.
    """
    executor = _executor()
    process = BackgroundProcess(executor)
    token = _background.set(process)
    try:
        # It takes seconds and is cached: made while the caller is still measuring.
        process.submit(script)
        yield process
        for future in process.futures:
            future.result()  # the first error is raised
    finally:
        _background.reset(token)
        executor.shutdown(cancel_futures=True)


def _executor() -> Executor:
    try:
        return ProcessPoolExecutor(
            1,
            mp_context=get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # interrupts are the parent's
        )
    except (ImportError, NotImplementedError, OSError):  # no semaphores, as in some containers
        return ThreadPoolExecutor(1)
