"""The table of `measure`: layers down, classes across, one per query set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mindshare.cli.screen import (
    class_shades,
    count_text,
    counted,
    in_colour,
    lift_text,
    mass_text,
    say,
    shortened,
    stdout,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.study import Measurement

Layer = int | None  # None: averaged over the layers
LAYERS, CLASSES = 6, 10  # of a table, unless all are asked for
_LAYER, _CLASS, _BETWEEN = 5, 12, 3  # characters: column of layers, of a class, between them
_KEYS = ["queries", "layer", "class"]
_COMMON, _CHUNK = 256, 128  # tokens: a beginning that is worth chunks, and chunks that suit it


def tell_of_common_start(results: Iterable[Measurement]) -> None:
    """Once, where most of each prompt is what all of them begin with: chunks compute that once."""
    for result in results:
        common = result.provenance["run"].get("common_tokens", 0)
        if common >= _COMMON and 2 * common >= max(
            x["tokens"] for x in result.provenance["prompts"]
        ):
            say(
                stdout(),
                f"All prompts begin with the same {common:,} tokens: --chunk-tokens {_CHUNK} "
                "computes them once",
            )
            return


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
    tell_of_common_start([result])
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
    means = _means(masses, _KEYS, numbers)
    rates = _means(result.batches("prompts", ["queries", "sink_rate"]), ["queries"], ["sink_rate"])
    present: Counter[str] = Counter()
    for rows in result.batches("classes", ["class", "n_tokens"]):
        present.update(rows.filter(rows["n_tokens"].to_numpy() > 0)["class"].to_pylist())
    found = []
    for (queries,), rate in rates.items():
        rows = {key[1:]: row for key, row in means.items() if key[0] == queries}
        found.append(
            Summary(
                queries=queries,
                classes=tuple(dict.fromkeys(name for _, name in rows)),
                layers=tuple(dict.fromkeys(layer for layer, _ in rows)),
                tokens={name: row["n_tokens"] for (_, name), row in rows.items()},
                present=present,
                cells={
                    k: ClassNumber(row["mass"] or 0.0, row["expected"]) for k, row in rows.items()
                },
                prompts=rate["count"],
                sink_rate=rate["sink_rate"],
            )
        )
    return found


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


def _means(
    batches: Iterable[pa.RecordBatch], keys: list[str], columns: list[str]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The mean of each column for each key, in the order in which the keys appear.

    Nulls are not in it; `count` says how many numbers of the first column are.
    """
    import pyarrow as pa

    parts = [(name, how) for name in columns for how in ("sum", "count")]
    sums = [pa.table(one).group_by(keys, use_threads=False).aggregate(parts) for one in batches]
    total = (
        pa.concat_tables(sums)
        .group_by(keys, use_threads=False)
        .aggregate([(f"{name}_{how}", "sum") for name, how in parts])
    )
    found = {}
    for row in total.to_pylist():
        counts = {name: row[f"{name}_count_sum"] for name in columns}
        means = {n: row[f"{n}_sum_sum"] / counts[n] if counts[n] else None for n in columns}
        found[tuple(row[key] for key in keys)] = means | {"count": counts[columns[0]]}
    return found


def caption(summary: Summary, layers: Sequence[Layer], *, classes: int = 0) -> str:
    """What the numbers are, in the words of the definitions; `classes`: of how many these are."""
    from mindshare.facts.words import asked

    over = "mean over heads" + (" and prompts" if summary.prompts > 1 else "")
    lines = [
        f"Attention share (mass) of each class by layer, from {asked(summary.queries)}; {over}",
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
