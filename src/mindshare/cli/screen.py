"""Text for people: results and their tables on stdout; errors, warnings and progress on stderr.

Colours only on a terminal (and never under NO_COLOR).
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mindshare.errors import MindshareError, SelectionError, nearest, screenful, some

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from mindshare.store import Progress, ProgressNumbers
    from mindshare.study import Measurement

Layer = int | None  # None: averaged over the layers
FORMS = ("auto", "json", "quiet")  # of progress
_EVERY = 5.0  # seconds between two lines of JSON
_SHOWN = 5  # warnings of one kind
LAYERS, CLASSES = 6, 10  # of a mass table, unless all are asked for
_LAYER, _CLASS, _BETWEEN = 5, 12, 3  # characters: column of layers, of a class, between them
_PLAIN = ("default", "underline")  # of `other`, and of what learned sinks take


def stdout() -> Console:
    return Console(highlight=False, emoji=False, markup=False)


def stderr() -> Console:
    return Console(file=sys.stderr, highlight=False, emoji=False, markup=False)


def in_colour(console: Console) -> bool:
    return console.color_system is not None and not console.no_color


def class_shades(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Two rich styles per class, so that neighbouring tokens of one class stay apart.

    The colours are those of the charts, begun again where classes are more than a chart can show.
    """
    from mindshare.figures.colours import PALETTES, class_colours

    own = [name for name in names if name not in ("other", "sink_slot")]
    most = len(PALETTES["seed"].classes) - 1
    colours = class_colours(own[:most], PALETTES["seed"])
    shades = {name: _shades(colours[own[i % most]]) for i, name in enumerate(own)}
    return {**shades, "other": _PLAIN, "sink_slot": _PLAIN}


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


def check_form(form: str) -> None:
    """Refuse what is no form of progress."""
    if form not in FORMS:
        raise SelectionError(
            f"--progress {form!r} is unknown{nearest(form, FORMS)}", allowed=", ".join(FORMS)
        )


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
            progress = Progress(_json_line, every=_EVERY)
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


def _json_line(figures: ProgressNumbers) -> None:
    print(json.dumps(figures.to_dict()), file=sys.stderr, flush=True)


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


# ── the table of `measure`: layers down, classes across, one per query set ────────────────────────


def show_measurement(result: Measurement, folder: Path, *, quiet: bool, full: bool) -> None:
    """What was measured, its tables, and where the results are."""
    console = stdout()
    if quiet:
        say(console, str(folder))
        return
    model = result.provenance["model"]
    sizes = [prompt["tokens"] for prompt in result.provenance["prompts"]]
    listed = {"count": len(sizes), "tokens": [min(sizes), max(sizes)]}
    # Of more than 10,000 prompts the provenance lists the first ones, and counts all.
    every = result.provenance.get("all_prompts", listed)
    size = f"{every['count']} prompts of {every['tokens'][0]} to {every['tokens'][1]} tokens"
    if len(sizes) == 1:
        size = f"1 prompt of {counted(sizes[0], 'token')}"
    say(console, f"{model['name']} ({model['dtype']}), {size}")
    say(console)
    shown = show_tables(console, result, full=full)[0]
    more = [("layer", len(shown.layers) > LAYERS), ("class", len(shown.classes) > CLASSES)]
    if not full and any(is_more for _, is_more in more):
        say(console, f"Every {' and '.join(what for what, is_more in more if is_more)}: add --full")
    say(console, f"Results: {folder}")
    say(console, f'Load them with: mindshare.read("{folder}").to_pandas()')


def show_tables(console: Console, result: Measurement, *, full: bool = False) -> list[Summary]:
    """Mass and lift per layer and class, one table per query set."""
    shown = summaries(result)
    for summary in shown:
        layers = summary.layers if full else summary.chosen_layers()
        chosen = summary if full else replace(summary, classes=summary.chosen_classes())
        say(console, caption(chosen, layers, classes=len(summary.classes)))
        say(console)
        for table in mass_tables(chosen, layers, console.width, colour=in_colour(console)):
            console.print(table)
            say(console)
        say(console, f"Sink rate {summary.sink_rate:.2f}: that share of the heads gives the first "
                     "token more than 0.3")  # fmt: skip
        say(console)
    return shown


@dataclass(frozen=True)
class ClassNumber:
    """`expected` is None where there is no such number (learned sinks)."""

    mass: float
    expected: float | None

    @property
    def lift(self) -> float | None:
        return self.mass / self.expected if self.expected else None

    def __str__(self) -> str:
        """`0.1234 ×1.23`"""
        return f"{mass_text(self.mass)} {lift_text(self.lift):>5}"


@dataclass(frozen=True)
class Summary:
    """One query set. `tokens` is the mean number of tokens of a class in a prompt.

    Means are over the measured heads, then over the prompts that have the class (`present`). Lift
    is the mean mass over the mean expected mass: it means what it does in the Parquet table.
    """

    queries: str
    classes: tuple[str, ...]
    layers: tuple[Layer, ...]
    tokens: Mapping[str, float | None]
    present: Mapping[str, int]  # prompts that have a token of the class
    cells: Mapping[tuple[Layer, str], ClassNumber]
    prompts: int
    sink_rate: float

    def mean(self, name: str) -> ClassNumber:
        """Over the layers."""
        cells = [self.cells[layer, name] for layer in self.layers]
        expected = [cell.expected for cell in cells if cell.expected is not None]
        return ClassNumber(
            fsum(cell.mass for cell in cells) / len(cells),
            fsum(expected) / len(expected) if expected else None,
        )

    def peak(self, name: str) -> Layer:
        """The layer that gives the class most."""
        return max(self.layers, key=lambda layer: self.cells[layer, name].mass)

    def chosen_classes(self) -> tuple[str, ...]:
        """A few classes: those with most mass, in their order."""
        most = sorted(self.classes, key=lambda name: -self.mean(name).mass)[:CLASSES]
        return tuple(name for name in self.classes if name in most)

    def chosen_layers(self) -> tuple[Layer, ...]:
        """A few layers: where the classes have their peaks, then those farthest from these."""
        if len(self.layers) <= LAYERS:
            return self.layers
        chosen = list(dict.fromkeys(map(self.peak, self.chosen_classes())))[:LAYERS]
        while len(chosen) < LAYERS:
            chosen.append(max(self.layers, key=lambda one: min(abs(one - c) for c in chosen)))  # type: ignore[operator]
        return tuple(layer for layer in self.layers if layer in chosen)


def summaries(result: Measurement) -> list[Summary]:
    """One summary per query set, in the order they were asked for; the tables are streamed."""
    numbers = ["mass", "expected", "n_tokens"]
    masses = map(_without_absent, result.batches("mass", [*_KEYS, *numbers]))
    cells = _means(masses, _KEYS, numbers)
    rates = _means(result.batches("prompts", ["queries", "sink_rate"]), ["queries"], ["sink_rate"])
    present: Counter[str] = Counter()
    for rows in result.batches("classes", ["class", "n_tokens"]):
        present.update(rows.filter(rows["n_tokens"].to_numpy() > 0)["class"].to_pylist())
    return [_summary(queries, cells, present, *rate) for (queries,), (rate,) in rates.items()]


def _without_absent(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The masses of classes that a prompt has no token of are no 0, but not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    absent = pc.fill_null(pc.equal(batch["n_tokens"], 0), False)
    for name in ("mass", "expected"):
        column = batch[name]
        there = pc.if_else(absent, pa.scalar(None, column.type), column)
        batch = batch.set_column(batch.schema.get_field_index(name), name, there)
    return batch


_KEYS = ["queries", "layer", "class"]
_Means = dict[tuple[Any, ...], list[tuple[float | None, int]]]  # key → (mean, count) by column


def _means(batches: Iterable[pa.RecordBatch], keys: list[str], columns: list[str]) -> _Means:
    """The mean of each column for each key, in the order in which the keys appear."""
    import numpy as np
    import pyarrow as pa

    sums: dict[tuple[Any, ...], np.ndarray] = {}  # [column, (sum, count)]; nulls are not counted
    wanted = [(name, how) for name in columns for how in ("sum", "count")]
    for batch in batches:
        grouped = pa.table(batch).group_by(keys, use_threads=False).aggregate(wanted)
        for row in grouped.to_pylist():
            key = tuple(row[name] for name in keys)
            add = np.array([[row[f"{n}_sum"] or 0.0, row[f"{n}_count"]] for n in columns])
            sums[key] = sums[key] + add if key in sums else add
    return {
        key: [(total / count if count else None, int(count)) for total, count in pairs]
        for key, pairs in sums.items()
    }


def _summary(
    queries: str,
    means: _Means,
    present: Mapping[str, int],
    sink_rate: float | None,
    prompts: int,
) -> Summary:
    rows = {key[1:]: values for key, values in means.items() if key[0] == queries}
    assert sink_rate is not None
    return Summary(
        queries=queries,
        classes=tuple(dict.fromkeys(name for _, _, name in means)),
        layers=tuple(dict.fromkeys(layer for _, layer, _ in means)),
        tokens={name: tokens for (_, name), (_, _, (tokens, _)) in rows.items()},
        present=present,
        cells={
            key: ClassNumber(mass or 0.0, expected)
            for key, ((mass, _), (expected, _), _) in rows.items()
        },
        prompts=prompts,
        sink_rate=sink_rate,
    )


def caption(summary: Summary, layers: Sequence[Layer], *, classes: int = 0) -> str:
    """What the numbers are, in the words of the definitions; `classes`: of how many these are."""
    over = "mean over heads" + (" and prompts" if summary.prompts > 1 else "")
    lines = [
        f"Mass per class and layer ({over}), queries: {summary.queries}",
        "×lift: mass / what uniform attention would give (×1 = no preference)",
    ]
    lacking = [
        f"{name} {summary.present[name]:,} of {summary.prompts:,}"
        for name in summary.classes
        if summary.tokens[name] is not None and 0 < summary.present[name] < summary.prompts
    ]
    if lacking:
        lines.append(f"Means over the prompts that have the class: {', '.join(lacking)}")
    if len(layers) < len(summary.layers):
        lines.append(f"{len(layers)} of {len(summary.layers)} layers; the results hold all")
    if len(summary.classes) < classes:
        lines.append(f"{len(summary.classes)} of {classes:,} classes, those with most mass")
    return "\n".join(lines)


def mass_tables(
    summary: Summary, layers: Sequence[Layer], width: int, *, colour: bool
) -> Iterator[Table]:
    """Classes that do not fit beside each other go below each other."""
    beside = max(1, (width - _LAYER) // (_CLASS + _BETWEEN))
    for start in range(0, len(summary.classes), beside):
        yield _table(summary, layers, summary.classes[start : start + beside], colour=colour)


def _table(
    summary: Summary, layers: Sequence[Layer], names: Sequence[str], *, colour: bool
) -> Table:
    shades = class_shades(summary.classes) if colour else {}
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column("layer", justify="right", no_wrap=True)
    for name in names:
        heading = _heading(name, summary.tokens[name], shades[name][0] if colour else "")
        table.add_column(heading, justify="right", no_wrap=True)
    several = len(summary.layers) > 1
    peaks = {name: summary.peak(name) for name in names if several}  # shown bold
    for layer in layers:
        styles = ("bold" if layer == peaks.get(name, -1) else "" for name in names)
        cells = (str(summary.cells[layer, name]) for name in names)
        table.add_row("mean" if layer is None else str(layer), *map(Text, cells, styles))
    if several:
        table.add_section()
        table.add_row("mean", *(str(summary.mean(name)) for name in names))
    return table


def _heading(name: str, count: float | None, style: str) -> Text:
    unit = "token" if count == 1 else "tokens"
    below = "learned" if count is None else f"{count_text(count)} {unit}"
    return Text.assemble((shortened(name, _CLASS), style), "\n", (below, "not bold"))
