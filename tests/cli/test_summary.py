"""The short table's numbers are the Parquet table's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import mindshare
from mindshare.cli.summary import Cell, summaries
from mindshare.study import Measurement

TEXTS = ["a ## b ** ##", "** he said # **"]


@pytest.fixture(scope="module")
def found(llama: Path) -> Measurement:
    return mindshare.measure(
        str(llama), TEXTS, classes={"hash": "#", "star": "*"}, queries=["all", "last"]
    )


def test_one_summary_per_query_set(found: Measurement) -> None:
    both = summaries(found)
    assert [summary.queries for summary in both] == ["all", "last"]
    for summary in both:
        assert summary.classes == ("hash", "star", "other")
        assert summary.layers == (0, 1, 2)
        assert summary.prompts == 2


def test_cells_are_means_over_heads_and_prompts(found: Measurement) -> None:
    frame = found.to_pandas()
    for summary in summaries(found):
        rows = frame[frame["queries"] == summary.queries]
        for (layer, name), cell in summary.cells.items():
            here = rows[(rows["layer"] == layer) & (rows["class"] == name)]
            assert cell.mass == pytest.approx(here["mass"].mean(), abs=1e-6)
            lift = here["mass"].mean() / here["expected"].mean()
            assert cell.lift == pytest.approx(lift, rel=1e-5)


def test_masses_sum_to_one(found: Measurement) -> None:
    for summary in summaries(found):
        for layer in summary.layers:
            total = sum(summary.cells[layer, name].mass for name in summary.classes)
            assert total == pytest.approx(1, abs=1e-5)


def test_mean_and_peak(found: Measurement) -> None:
    summary = summaries(found)[0]
    masses = [summary.cells[layer, "hash"].mass for layer in summary.layers]
    assert summary.mean("hash").mass == pytest.approx(sum(masses) / 3)
    assert summary.cells[summary.peak("hash"), "hash"].mass == max(masses)


def test_tokens_are_counted_per_prompt(found: Measurement) -> None:
    counts = found.to_pandas("classes").groupby("class")["n_tokens"].mean()
    assert summaries(found)[0].tokens == pytest.approx(counts.to_dict())


def test_averaged_layers_are_one_row(llama: Path) -> None:
    found = mindshare.measure(
        str(llama), "a ##", classes={"hash": "#"}, layers="mean", heads="mean"
    )
    assert summaries(found)[0].layers == (None,)


def test_no_lift_without_an_expectation() -> None:
    assert Cell(0.2, None).lift is None
    assert Cell(0.0, 0.0).lift is None
