"""The table on a screen: every number shown once, no row wrapped, at any number of classes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mindshare.cli.mass_table import caption, mass_tables, number
from mindshare.cli.summary import Cell, Summary


def summary_of(*names: str, layers: int = 4) -> Summary:
    cells = {
        (layer, name): Cell(
            (layer * len(names) + i) / 10_000, None if name == "sink_slot" else 0.01
        )
        for layer in range(layers)
        for i, name in enumerate(names)
    }
    counts: dict[str, float | None] = dict.fromkeys(names, 12.5)
    if "sink_slot" in counts:
        counts["sink_slot"] = None
    return Summary("all", names, tuple(range(layers)), counts, cells, prompts=1, sink_rate=0.5)


def shown(summary: Summary, *, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for table in mass_tables(summary, width=width, colour=False):
        console.print(table)
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return written.splitlines()


@pytest.mark.parametrize("classes", [1, 2, 5, 6, 11])
@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_row_is_wrapped(classes: int, width: int) -> None:
    names = [f"a_rather_long_class_name_{i}" for i in range(classes - 1)]
    summary = summary_of(*names, "other")
    lines = shown(summary, width=width)
    assert max(map(len, lines)) <= width
    tables = sum("layer" in line for line in lines)
    # names, counts, rule, four layers, a gap, the mean
    assert len(lines) == tables * 9
    text = "\n".join(lines)
    for cell in summary.cells.values():
        assert number(cell) in text


def test_learned_sinks_have_no_lift() -> None:
    lines = shown(summary_of("hash", "other", "sink_slot"))
    assert "learned" in lines[1]
    assert lines[3].rstrip().endswith("–")


def test_one_layer_has_no_mean_row() -> None:
    assert not any("mean" in line for line in shown(summary_of("hash", "other", layers=1)))


def test_caption_says_what_is_averaged() -> None:
    text = caption(summary_of("hash", "other"))
    assert "mean over heads)" in text
    assert "queries: all" in text
    assert max(map(len, text.splitlines())) <= 80
