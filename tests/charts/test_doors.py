from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mindshare.charts import head_map, shares
from mindshare.charts.candidates import Loading
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.stats import Resampling

from .conftest import CLASSES

QUICK = {"loading": Loading(progress=False), "resampling": Resampling(resamples=200)}


def test_shares_draws_what_its_summary_says(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    chart = shares([folders["base"], folders["tuned"]], prompts, classes=CLASSES, **QUICK)
    (figure,) = chart.figures
    drawn = {(r["model"], r["layer"], r["class"]): r["mean"] for r in figure.spec["data"]["values"]}
    told = {
        (r["model"], r["layer"], r["class"]): r["mean"] for r in chart.tables["summary"].to_pylist()
    }
    assert drawn == {key: mean for key, mean in told.items() if key[2] != "other"}
    assert len(drawn) == 2 * 2 * 3
    orders = {r["class"]: r["order"] for r in figure.spec["data"]["values"]}
    assert orders == {"hash": 0, "star": 1, "space": 2}  # bottom to top as they were given


def test_everything_is_written_together(
    folders: dict[str, Path], prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(
        {"Before": folders["base"], "After": folders["tuned"]}, prompts, classes=CLASSES, **QUICK
    )
    place = chart.save(tmp_path / "chart")
    files = {file.name for file in place.iterdir()}
    name = chart.figures[0].name
    assert {
        f"{name}.{end}" for end in ("png", "svg", "pdf", "html", "csv", "parquet", "json")
    } < files
    assert {"summary.parquet", "After_minus_Before.parquet", "mass_Before.parquet"} < files
    assert pq.read_table(place / "mass_After.parquet").equals(chart.measurements["After"].mass)
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["models"]["After"]["model"]["adapter"] == str(folders["tuned"])
    assert manifest["notes"] == []


def test_measures_have_their_own_numbers(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    chart = shares(folders["base"], prompts, classes=CLASSES, measure="share", **QUICK)
    totals: dict[int, float] = {}
    for row in chart.figures[0].spec["data"]["values"]:
        totals[row["layer"]] = totals.get(row["layer"], 0.0) + row["mean"]
    assert totals == pytest.approx({0: 1.0, 1: 1.0}, abs=1e-6)


def test_single_heads_can_be_asked_for(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    chart = shares(folders["base"], prompts, classes=CLASSES, heads=[0, 3], **QUICK)
    assert {row["head"] for row in chart.figures[0].spec["data"]["values"]} == {0, 3}


def test_a_head_map_of_two_models_begins_with_the_difference(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    pair = [folders["base"], folders["tuned"]]
    chart = head_map(pair, prompts, cls="star", classes=CLASSES, **QUICK)
    assert len(chart.figures) == 3
    cells = {
        (r["layer"], r["head"]): r["difference"]
        for r in chart.tables["tuned_minus_base"].to_pylist()
        if r["class"] == "star"
    }
    drawn = chart.figures[0].spec["data"]["values"]
    assert len(drawn) == 2 * 4
    assert {(r["layer"], r["head"]): r["difference"] for r in drawn} == cells


def test_wrong_words_are_refused_before_any_work(prompts: list[Prompt]) -> None:
    wrong = [
        ({"measure": "weight", "classes": CLASSES}, "'weight' can't be drawn by class"),
        ({"classes": CLASSES, "palette": "pastel"}, "unknown palette 'pastel'"),
        ({"classes": CLASSES, "labels": "two-based"}, "two-based"),
        ({}, "no token class to draw"),
        ({"classes": CLASSES, "colour": "red"}, "colour"),
    ]
    for parts, message in wrong:
        with pytest.raises(SelectionError, match=message):
            shares("no-such-model", prompts, **parts)
    with pytest.raises(SelectionError, match="no class 'stars'"):
        head_map("no-such-model", prompts, cls="stars", classes=CLASSES)
