"""A summary becomes a table for the terminal: mass and lift per layer and class.

Fits the width it is given: classes that do not fit beside each other go below each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from mindshare.cli.numbers import count_text, lift_text, mass_text
from mindshare.cli.palette import class_shades
from mindshare.cli.summary import Cell, Summary

_LAYER, _CLASS, _BETWEEN = 5, 12, 3  # characters


def mass_tables(summary: Summary, *, width: int, colour: bool) -> Iterator[Table]:
    """As many tables as the width asks for."""
    beside = max(1, (width - _LAYER) // (_CLASS + _BETWEEN))
    for start in range(0, len(summary.classes), beside):
        yield _table(summary, summary.classes[start : start + beside], colour=colour)


def caption(summary: Summary) -> str:
    """What the numbers are, in the words of the definitions."""
    over = "mean over heads" + (" and prompts" if summary.prompts > 1 else "")
    return (
        f"Mass per class and layer ({over}), queries: {summary.queries}\n"
        "×lift: mass / what uniform attention would give (×1 = no preference)"
    )


def number(cell: Cell) -> str:
    """`0.1234 ×1.23`"""
    return f"{mass_text(cell.mass)} {lift_text(cell.lift):>5}"


def _table(summary: Summary, names: Sequence[str], *, colour: bool) -> Table:
    shades = class_shades(summary.classes)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    table.add_column("layer", justify="right", no_wrap=True)
    for name in names:
        style = shades[name][0] if colour else ""
        table.add_column(_heading(summary, name, style), justify="right", no_wrap=True)
    for layer in summary.layers:
        label = "mean" if layer is None else str(layer)
        table.add_row(label, *(_shown(summary, layer, name) for name in names))
    if len(summary.layers) > 1:
        table.add_section()
        table.add_row("mean", *(number(summary.mean(name)) for name in names))
    return table


def _heading(summary: Summary, name: str, style: str) -> Text:
    count = summary.tokens[name]
    shown = name if len(name) <= _CLASS else name[: _CLASS - 1] + "…"
    unit = "" if count is None else "token" if count == 1 else "tokens"
    below = "learned" if count is None else f"{count_text(count)} {unit}"
    return Text.assemble((shown, style), "\n", (below, "not bold"))


def _shown(summary: Summary, layer: int | None, name: str) -> Text:
    """The layer where the class gets most is bold."""
    top = len(summary.layers) > 1 and layer == summary.peak(name)
    return Text(number(summary.cells[layer, name]), "bold" if top else "")
