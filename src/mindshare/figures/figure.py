"""A chart that can stand alone, and the files it becomes: complete, or not there at all.

A `Figure` holds the Vega-Lite spec with the data inside, the table of the same numbers, and two
texts: the definition (how it was measured) and the description (what the picture shows). Knows
nothing about chart kinds.

    with drawing_in_background() as process:
        save_figures(…)           returns at once; a second process draws and writes
        process.submit(f, …)      runs after that
    here everything is written, or the first error is raised
"""

from __future__ import annotations

import inspect
import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import wraps
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from mindshare.errors import MindshareError, OutputError
from mindshare.figures import render
from mindshare.figures.selection import metadata
from mindshare.figures.theme import (
    BOLD,
    FAINT,
    SCHEMA,
    TEXT,
    TITLE,
    Spec,
    Style,
    check_word,
    config,
    wrapped,
)
from mindshare.tables import LABELS, ONE_BASED, one_based

if TYPE_CHECKING:
    import altair
    import pyarrow as pa

    from mindshare.folders import Texts

P = ParamSpec("P")
T = TypeVar("T")
FILES = ("png", "svg", "pdf", "csv", "html", "parquet", "json")
FORMATS = FILES[:4]  # those that are saved unless others are asked for
_NAME = re.compile(r"[\w.-]*\w")


@dataclass(frozen=True, repr=False)
class Figure:
    """One chart with everything a reader needs to trust it."""

    name: str  # of its files
    spec: dict[str, Any]  # Vega-Lite, with the data inside
    table: pa.Table  # the numbers that are drawn
    title: str
    definition: str
    description: str
    source: Source | None = None  # how to draw it again

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name.startswith("."):
            raise OutputError(
                f"{self.name!r} can't be the name of files",
                allowed="letters, digits, '_', '-' and '.'",
            )

    def __repr__(self) -> str:
        return f"Figure({self.name}: {self.title}; {self.table.num_rows} numbers)"

    def save(
        self,
        folder: str | Path,
        *,
        replace: bool = False,
        manifest: Mapping[str, Any] | None = None,
        formats: Sequence[str] = FORMATS,
    ) -> Path:
        """A folder with this figure in these formats."""
        return save_figures([self], folder, replace=replace, manifest=manifest, formats=formats)

    def to_altair(self) -> altair.Chart:
        """The same chart as an Altair object, to be changed in Python."""
        try:
            import altair
        except ImportError as error:
            raise MindshareError(
                "altair is not installed", next_step="pip install 'mindshare[altair]'"
            ) from error
        chart: altair.Chart = altair.Chart.from_dict(self.spec)
        return chart

    def svg(self) -> str:
        return render.draw(self.spec).svg(title=self.title, description=self.description)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Notebooks draw the spec, or the SVG if they can't."""
        return {
            "application/vnd.vegalite.v6+json": self.spec,
            "image/svg+xml": self.svg(),
            "text/plain": f"{self!r}\n{self.description}",
        }

    def entry(self, formats: Sequence[str]) -> dict[str, Any]:
        """What a manifest says about it."""
        return {
            "title": self.title,
            "definition": self.definition,
            "description": self.description,
            "files": [f"{self.name}.{ending}" for ending in formats],
        }

    def write(self, folder: Path, formats: Sequence[str] = FORMATS) -> None:
        """NAME.png, .svg, …"""
        drawn = render.draw(self.spec)
        for ending in formats:
            (folder / f"{self.name}.{ending}").write_bytes(self._content(ending, drawn))

    def _content(self, ending: str, drawn: render.Drawn) -> bytes:
        picture = drawn.svg(title=self.title, description=self.description)
        contents: dict[str, Callable[[], bytes]] = {
            "png": drawn.png,
            "pdf": drawn.pdf,
            "svg": lambda: picture.encode(),
            "html": lambda: render.page(self, picture=picture).encode(),
            "json": lambda: f"{json.dumps(self.spec, indent=1, ensure_ascii=False)}\n".encode(),
            "csv": lambda: render.csv_bytes(self.table),
            "parquet": lambda: render.parquet_bytes(self.table),
        }
        return contents[ending]()


@dataclass(frozen=True)
class Source:
    """The call that drew a figure."""

    chart: str  # the function
    arguments: Mapping[str, Any]


def redrawable(function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Figures of this function know how they were drawn, so that they can be drawn again."""
    signature = inspect.signature(function)

    @wraps(function)
    def draw(*args: P.args, **kwargs: P.kwargs) -> Figure:
        arguments = signature.bind(*args, **kwargs).arguments
        return replaced(function(*args, **kwargs), source=Source(function.__name__, arguments))

    return draw


def labels_of(figures: Sequence[Figure]) -> str:
    """How layers and heads are counted in all of these figures; else from 0."""
    counted = {metadata(figure.table).get(LABELS, "zero-based") for figure in figures}
    return counted.pop() if len(counted) == 1 else "zero-based"


def check_formats(formats: Sequence[str]) -> None:
    for word in formats:
        check_word(word, FILES, "format of figures")


@dataclass(frozen=True)
class Words:
    """Every text of a chart, as `mindshare.figures.captions` makes them."""

    name: str  # of its files, unless the style has one
    title: str
    caption: str
    definition: str
    description: str


def compose(
    view: Spec, words: Words, style: Style, *, table: pa.Table, legends: str = "middle"
) -> Figure:
    """A view under its title and caption; the one place where both are put into a picture."""
    return Figure(
        name=style.name or words.name,
        spec={
            "$schema": SCHEMA,
            "description": words.description,
            **_heading(words, style),
            **view,
            "config": config(legends=legends),
            "usermeta": render.printed(style),
        },
        table=one_based(table) if style.labels == ONE_BASED else table,
        title=style.title or words.title,
        definition=words.definition,
        description=words.description,
    )


def _heading(words: Words, style: Style) -> Spec:
    """Title and caption, those of one's own, or none."""
    title = words.title if style.title is None else style.title
    caption = words.caption if style.subtitle is None else style.subtitle
    if style.bare or not (title or caption):
        return {}
    place: Spec = {"anchor": "start", "frame": "bounds", "offset": 8}
    lines = wrapped(caption, style.pixels) if caption else []
    if not title:  # an empty one would take a line
        look = {"fontSize": TEXT, "fontWeight": "normal", "color": FAINT}
        return {"title": {"text": lines, **look, **place}}
    below = {"subtitle": lines} if lines else {}
    return {"title": {"text": wrapped(title, style.pixels, TITLE * BOLD), **below, **place}}


# ── folders ───────────────────────────────────────────────────────────────────────────────────────


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
    from mindshare.figures.redraw import encoded
    from mindshare.folders import FIGURE_TABLES

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
    from mindshare.figures.redraw import keep_figures
    from mindshare.folders import whole_folder, write_manifest, write_parquet, write_texts
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
        process.submit(_warm)
        yield process
        for future in process.futures:
            future.result()  # the first error is raised
    finally:
        _background.reset(token)
        executor.shutdown(cancel_futures=True)


def _warm() -> None:
    """Build the cached script, which takes seconds, while the caller is still measuring."""
    render.script()


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
