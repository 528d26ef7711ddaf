"""Which figures an insertion is drawn as, and that they show the tables of the chart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mindshare.charts import Chart, insertion
from mindshare.charts.insertion_figures import MAPS
from mindshare.prompts import Prompt

from .insertions import QUICK, RUNS, figure, heads_drawn, means, names, two_models


@pytest.fixture(scope="module")
def two(folders: dict[str, Path]) -> Chart:
    return two_models(folders)


def test_figures_of_each_model_and_of_both(two: Chart) -> None:
    maps = {label: [f"map_{measure}_{label}" for measure in MAPS] for label in "AB"}
    assert names(two) == [
        "profiles_A",
        "profiles_top_B",
        "panel",
        *maps["A"],
        "text_A",
        *maps["B"],
        "text_B",
        "retained_by_layer",
        "sweep",
    ]


def test_one_model_and_one_run_need_neither_names_nor_a_sweep(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    chart = insertion(folders["base"], prompts, insert="/ *3", **QUICK)
    maps = [f"map_{measure}" for measure in MAPS]
    assert names(chart) == ["profiles_top", *maps, "text", "retained_by_layer"]


def test_a_map_draws_the_summary(two: Chart) -> None:
    for label in "AB":
        told = means(two, label, RUNS[0], "amplitude")
        drawn = figure(two, f"map_amplitude_{label}").table.to_pylist()
        assert {(row["layer"], row["head"]): row["mean"] for row in drawn} == told
        assert len(told) == 2 * 4


def test_profiles_draw_what_was_received(two: Chart) -> None:
    key = ("condition", "layer", "head", "position")
    measured = {
        tuple(row[name] for name in key): row["received"]
        for row in two.tables["sequence_A"].to_pylist()
        if row["prompt"] == "one"
    }
    rows = figure(two, "profiles_A").table.to_pylist()
    assert {row["condition"] for row in rows} == {"without", RUNS[0]}
    assert len(rows) == 2 * (18 + 26)  # heads, tokens
    for row in rows:
        assert row["received"] == measured[tuple(row[name] for name in key)]


def test_the_panel_shows_the_first_head_of_each_model(two: Chart) -> None:
    rows = figure(two, "panel").table.to_pylist()
    drawn = {row["model"]: (row["layer"], row["head"]) for row in rows}
    assert drawn == {"A": (0, 1), "B": heads_drawn(two, "profiles_top_B")[0]}
    conditions = {row["condition"] for row in rows}
    assert conditions == {RUNS[0], f"random sentence for {RUNS[0]}"}


def test_a_sweep_goes_by_each_models_own_tokens(two: Chart) -> None:
    for label in "AB":
        conditions = two.tables[f"conditions_{label}"].to_pylist()
        counts = {
            name: [row["n_inserted"] for row in conditions if row["condition"] == name]
            for name in RUNS
        }
        drawn = {
            row["condition"]: row["n_inserted"]
            for row in figure(two, "sweep").table.to_pylist()
            if row["model"] == label and row["condition"] in counts
        }
        assert drawn == {name: sum(each) / len(each) for name, each in counts.items()}, label


def test_figures_say_how_and_of_whom(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    asked: dict[str, Any] = {
        "queries": "original",
        "near": 2,
        "labels": "one-based",
        "palette": "safe",
    }
    chart = insertion(folders["base"], prompts, insert="/ *3", heads="0.1", **asked, **QUICK)
    fingerprint = chart.measurements["base"].provenance["model"]["fingerprint"]
    for one in chart.figures:
        assert one.title
        assert one.description
        assert fingerprint in one.definition, one.name
    profiles = figure(chart, "profiles")
    assert "tokens that were not inserted, i > j + 2" in profiles.definition
    assert "Layer 1 Head 2" in str(profiles.spec)


def test_drop_first_leaves_the_first_token_out_of_the_picture(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    found = []
    for drop in (False, True):
        chart = insertion(
            folders["base"],
            prompts,
            insert="/ *3",
            at="end",
            heads="0.1",
            drop_first=drop,
            **QUICK,
        )
        rows = figure(chart, "profiles").table.to_pylist()
        found.append({(row["condition"], row["position"]) for row in rows})
    first = {("without", 0), ("/ ×3", 0)}
    assert first < found[0]
    assert found[1] == found[0] - first
