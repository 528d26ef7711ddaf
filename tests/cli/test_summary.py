"""The table of `measure`: what its cells are, and that no row is wrapped."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import mindshare as package
from mindshare.cli.summary import LAYERS, ClassNumber, Summary, caption, mass_tables, summaries
from mindshare.study import Measurement

TEXTS = ["a ## b ** ##", "** he said # **"]


@pytest.fixture(scope="module")
def both_sets(llama: Path) -> Measurement:
    return package.measure(
        str(llama), TEXTS, classes={"hash": "#", "star": "*"}, queries=["all", "last"]
    )


def test_one_summary_per_query_set(both_sets: Measurement) -> None:
    both = summaries(both_sets)
    assert [summary.queries for summary in both] == ["all", "last"]
    for summary in both:
        assert summary.classes == ("hash", "star", "other")
        assert summary.layers == (0, 1, 2)
        assert summary.prompts == 2


def test_cells_are_means_over_heads_and_prompts(both_sets: Measurement) -> None:
    frame = both_sets.to_pandas()
    for summary in summaries(both_sets):
        rows = frame[frame["queries"] == summary.queries]
        for (layer, name), cell in summary.cells.items():
            here = rows[(rows["layer"] == layer) & (rows["class"] == name)]
            assert cell.mass == pytest.approx(here["mass"].mean(), abs=1e-6)
            lift = here["mass"].mean() / here["expected"].mean()
            assert cell.lift == pytest.approx(lift, rel=1e-5)


def test_masses_sum_to_one(both_sets: Measurement) -> None:
    for summary in summaries(both_sets):
        for layer in summary.layers:
            total = sum(summary.cells[layer, name].mass for name in summary.classes)
            assert total == pytest.approx(1, abs=1e-5)


def test_mean_and_peak(both_sets: Measurement) -> None:
    summary = summaries(both_sets)[0]
    masses = [summary.cells[layer, "hash"].mass for layer in summary.layers]
    assert summary.mean("hash").mass == pytest.approx(sum(masses) / 3)
    assert summary.cells[summary.peak("hash"), "hash"].mass == max(masses)


def test_tokens_are_counted_per_prompt(both_sets: Measurement) -> None:
    counts = both_sets.to_pandas("classes").groupby("class")["n_tokens"].mean()
    assert summaries(both_sets)[0].tokens == pytest.approx(counts.to_dict())


def test_averaged_layers_are_one_row(llama: Path) -> None:
    found = package.measure(str(llama), "a ##", classes={"hash": "#"}, layers="mean", heads="mean")
    assert summaries(found)[0].layers == (None,)


def test_no_lift_without_an_expectation() -> None:
    assert ClassNumber(0.2, None).lift is None
    assert ClassNumber(0.0, 0.0).lift is None


def summary_of(*names: str, layers: int = 4) -> Summary:
    cells = {
        (layer, name): ClassNumber(
            (layer * len(names) + i) / 10_000, None if name == "sink_slot" else 0.01
        )
        for layer in range(layers)
        for i, name in enumerate(names)
    }
    counts: dict[str, float | None] = dict.fromkeys(names, 12.5)
    if "sink_slot" in counts:
        counts["sink_slot"] = None
    present = dict.fromkeys(names, 1)
    return Summary(
        "all", names, tuple(range(layers)), counts, present, cells, prompts=1, sink_rate=0.5
    )


def shown(summary: Summary, *, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    for table in mass_tables(summary, summary.layers, width, colour=False):
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
        assert str(cell) in text


def test_learned_sinks_have_no_lift() -> None:
    lines = shown(summary_of("hash", "other", "sink_slot"))
    assert "learned" in lines[1]
    assert lines[3].rstrip().endswith("–")


def test_one_layer_has_no_mean_row() -> None:
    assert not any("mean" in line for line in shown(summary_of("hash", "other", layers=1)))


def test_caption_says_what_is_averaged() -> None:
    summary = summary_of("hash", "other", layers=30)
    for layers in (summary.layers, summary.chosen_layers()):
        text = caption(summary, layers)
        assert "mean over heads" in text
        assert "from all tokens" in text
        assert ("6 of 30 layers" in text) == (len(layers) < 30)
        assert max(map(len, text.splitlines())) <= 80


def test_six_layers_tell_where_the_classes_peak() -> None:
    few = summary_of("hash", "other", layers=LAYERS)
    assert few.chosen_layers() == few.layers
    summary = summary_of("hash", "other", layers=30)
    summary.cells[17, "hash"] = ClassNumber(0.9, 0.01)  # type: ignore[index]
    layers = summary.chosen_layers()
    assert len(layers) == LAYERS
    assert list(layers) == sorted(layers)  # type: ignore[type-var]
    assert {0, 17, 29} <= set(layers)  # both ends, too
