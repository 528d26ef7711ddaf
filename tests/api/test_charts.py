from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from mindshare.api.candidates import Loading
from mindshare.api.charts import head_map, shares, total_mass
from mindshare.api.insertion import insertion
from mindshare.cli.measure import largest_lines
from mindshare.errors import OutputError, PromptError, SelectionError
from mindshare.figures import Figure
from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.stats import Resampling
from mindshare.study import Measurement, measure
from mindshare.study.measurement import read

from .conftest import CLASSES

QUICK = {"loading": Loading(progress=False), "resampling": Resampling(resamples=200)}


def bars(figure: Figure) -> list[dict]:
    return [value for value in figure.spec["data"]["values"] if value["kind"] == "bar"]


def test_shares_draws_what_its_summary_says(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    chart = shares([folders["base"], folders["tuned"]], prompts, classes=CLASSES, **QUICK)
    figure, _ = chart.figures
    drawn = {(r["model"], r["layer"], r["class"]): r["mean"] for r in bars(figure)}
    told = {
        (r["model"], r["layer"], r["class"]): r["mean"] for r in chart.tables["summary"].to_pylist()
    }
    assert drawn == {key: mean for key, mean in told.items() if key[2] != "other"}
    assert len(drawn) == 2 * 2 * 3
    orders = {r["class"]: r["order"] for r in bars(figure)}
    assert orders == {"hash": 2, "star": 1, "space": 0}  # the first on top, where legends begin


def test_one_whisker_for_each_bar_that_of_the_sum_of_its_classes(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    """The mean of a sum is the sum of the means; its interval is its own."""
    eight = [
        Prompt.from_text(f"{one.text} {i}", id=f"{one.id}{i}") for i in "1234" for one in prompts
    ]
    chart = shares(folders["base"], eight, classes=CLASSES, **QUICK)
    sums: dict[int, float] = {}
    for value in bars(chart.figures[0]):
        sums[value["layer"]] = sums.get(value["layer"], 0.0) + value["mean"]
    whiskers = [v for v in chart.figures[0].spec["data"]["values"] if v["kind"] == "whisker"]
    assert {v["layer"]: v["mean"] for v in whiskers} == pytest.approx(sums, rel=1e-5)
    assert all(v["low"] < v["mean"] < v["high"] for v in whiskers)
    mass = chart.measurements["base"].mass
    total = total_mass(mass, tuple(CLASSES)).to_pylist()
    assert len(total) == mass.num_rows / 4  # three classes and other
    assert {row["class"] for row in total} == {"total"}


def test_everything_is_written_together(
    folders: dict[str, Path], prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(
        {"Before": folders["base"], "After": folders["tuned"]}, prompts, classes=CLASSES, **QUICK
    )
    place = chart.save(tmp_path / "chart")
    files = {file.name for file in place.iterdir()}
    name = chart.figures[0].name
    assert {f"{name}.{end}" for end in ("png", "svg", "pdf", "csv")} < files
    assert {"summary.parquet", "After_minus_Before.parquet", "mass_Before.parquet"} < files
    assert pq.read_table(place / "mass_After.parquet").equals(chart.measurements["After"].mass)
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["models"]["After"]["model"]["adapter"] == str(folders["tuned"])
    assert manifest["notes"] == []


def test_measures_have_their_own_numbers(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    chart = shares(folders["base"], prompts, classes=CLASSES, measure="share", **QUICK)
    totals: dict[int, float] = {}
    for row in bars(chart.figures[0]):
        totals[row["layer"]] = totals.get(row["layer"], 0.0) + row["mean"]
    assert totals == pytest.approx({0: 1.0, 1: 1.0}, abs=1e-6)


@pytest.mark.parametrize("measure", ["entropy", "distance"])
def test_measures_of_heads_need_no_class(
    measure: str, folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    pair = {"A": folders["base"], "B": folders["tuned"]}
    chart = shares(pair, prompts, measure=measure, **QUICK)
    found = {label: one.table("heads").to_pylist() for label, one in chart.measurements.items()}
    for value in bars(chart.figures[0]):
        own = [r[measure] for r in found[value["model"]] if r["layer"] == value["layer"]]
        assert value["mean"] == pytest.approx(sum(own) / len(own), rel=1e-5)
    maps = head_map(pair, prompts, measure=measure, **QUICK)
    assert [one.name for one in maps.figures][1:] == [f"head_map_{measure}_{x}" for x in "AB"]
    assert all(one.table["class"].null_count == 8 for one in maps.figures)
    assert {"heads_A", "B_minus_A", "summary"} < set(maps.tables)


def test_single_heads_can_be_asked_for(folders: dict[str, Path], prompts: list[Prompt]) -> None:
    chart = shares(folders["base"], prompts, classes=CLASSES, heads=[0, 3], **QUICK)
    assert {row["head"] for row in bars(chart.figures[0])} == {0, 3}


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
    own = [one.spec["layer"][0]["encoding"]["color"]["scale"] for one in chart.figures[1:]]
    assert own[0] == own[1]  # what is compared has one scale of colours
    assert [one.name for one in chart.figures] == [
        "head_map_mass_star_tuned_minus_base",
        "head_map_mass_star_base",
        "head_map_mass_star_tuned",
    ]


def test_wrong_words_are_refused_before_any_work(prompts: list[Prompt]) -> None:
    wrong = [
        ({"measure": "weight", "classes": CLASSES}, "'weight' can't be drawn by layer"),
        ({"classes": CLASSES, "palette": "pastel"}, "unknown palette 'pastel'"),
        ({"classes": CLASSES, "labels": "two-based"}, "two-based"),
        ({}, "no token class to draw"),
        ({"classes": CLASSES, "queries": ["last", "all"]}, "last, all are too many for a chart"),
        ({"classes": CLASSES, "colour": "red"}, "colour"),
    ]
    for parts, message in wrong:
        with pytest.raises(SelectionError, match=message):
            shares("no-such-model", prompts, **parts)
    for parts, message in (
        ({"cls": "stars", "classes": CLASSES}, "no class 'stars'"),
        ({"classes": CLASSES}, "classes are given, and a map shows one"),
        ({"cls": "star", "measure": "entropy", "classes": CLASSES}, "has no class 'star'"),
    ):
        with pytest.raises(SelectionError, match=message):
            head_map("no-such-model", prompts, **parts)


def test_a_chart_says_what_it_is_and_keeps_what_is_there(
    base: LoadedModel, prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(base, prompts, classes={"hash": "#"}, loading=Loading(progress=False))
    assert "models: base" in repr(chart)
    shown = chart._repr_mimebundle_()
    assert shown["text/html"].count("<svg") == len(chart.figures)
    assert all(sentence in shown["text/plain"] for sentence in chart.findings)
    (table,) = (one._repr_html_() for one in chart.measurements.values())
    assert "<td>hash</td>" in table
    place = chart.save(tmp_path / "chart")
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    with pytest.raises(OutputError, match="exists already") as refused:
        chart.save(place)
    assert "--replace" in str(refused.value)
    assert {file.name: file.read_bytes() for file in place.iterdir()} == before
    chart.save(place, replace=True)
    tables = [name for name in before if name.endswith((".parquet", ".csv", ".json"))]
    assert all(
        (place / name).read_bytes() == before[name] for name in tables if "manifest" not in name
    )


@pytest.mark.parametrize("several", [False, True])
def test_a_folder_of_charts_is_read_and_shown(
    base: LoadedModel, prompts: list[Prompt], tmp_path: Path, several: bool
) -> None:
    """It has no model of its own, as the folder of a measurement has, but one for each label."""
    models = {"A": base, "B": base} if several else base
    chart = shares(models, prompts, classes={"hash": "#"}, loading=Loading(progress=False))
    found = read(chart.save(tmp_path / "chart"))
    names = "A, B" if several else "base"
    assert repr(found).startswith(f"Measurement({names}; rows: ")
    assert f"summary {chart.tables['summary'].num_rows}" in repr(found)
    assert f"Measurement({names}; " in found._repr_html_()


def test_the_command_that_makes_it_again_is_kept(
    base: LoadedModel, prompts: list[Prompt], tmp_path: Path
) -> None:
    chart = shares(base, prompts, classes={"hash": "#"}, loading=Loading(progress=False))
    for command in (None, "mindshare shares base --text 'a #'"):
        place = chart.save(tmp_path / "chart", replace=True, command=command)
        study = json.loads((place / "manifest.json").read_text())["study"]
        assert study.get("command") == command
        assert study["hash"]


def test_every_door_takes_a_table_of_prompts_by_column(base: LoadedModel) -> None:
    """Iterating over a DataFrame gives the names of its columns: they were measured as texts."""
    frame = pd.DataFrame({"question": ["map: # ** #\n * end", "see ## and * here"], "kind": "x"})
    study = {"classes": CLASSES, "column": "question"}
    looked: list[Measurement] = [measure(base, frame, **study)]
    charts = [
        shares(base, frame, **study, **QUICK),
        head_map(base, frame, cls="star", **study, **QUICK),
        insertion(base, frame, insert="/ *3", column="question", **QUICK),
    ]
    looked += [one for chart in charts for one in chart.measurements.values()]
    for found in looked:
        name = "prompts" if "prompts" in found.tables else "conditions"
        texts = {row["text"] for row in found.table(name).to_pylist()}
        assert all(any(text.endswith(asked) for text in texts) for asked in frame["question"])
        assert not texts & {"question", "kind", "x"}
    for door in (measure, shares, insertion):
        parts = {} if door is insertion else {"classes": CLASSES}
        with pytest.raises(PromptError, match="no column holds the prompt"):
            door(base, frame, **parts)
        with pytest.raises(PromptError, match="None is no prompt"):
            door(base, None, **parts)


def many(prompts: list[Prompt], n: int = 8) -> list[Prompt]:
    return [Prompt.from_text(f"{prompts[i % 2].text} {i}", id=f"p{i}") for i in range(n)]


def test_two_models_have_a_chart_of_their_differences_by_layer(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    pair = {"A": folders["base"], "B": folders["tuned"]}
    chart = shares(pair, many(prompts), classes=CLASSES, **QUICK)
    lines = chart.figures[1]
    assert lines.name == "difference_in_mass_by_layer_B_minus_A"
    rows = chart.tables["B_minus_A"].to_pylist()
    expected = {(r["layer"], r["class"]): r["difference"] for r in rows if r["class"] in CLASSES}
    drawn = {(r["layer"], r["class"]): r["difference"] for r in lines.table.to_pylist()}
    assert drawn == expected
    for measure_ in ("entropy", "distance", "peak", "previous"):  # classes are not needed
        one = shares(pair, many(prompts), measure=measure_, **QUICK)
        assert [f.name for f in one.figures][1] == f"difference_in_{measure_}_by_layer_B_minus_A"
        maps = head_map(pair, many(prompts), measure=measure_, **QUICK)
        assert maps.figures[0].name == f"head_map_{measure_}_B_minus_A"


def test_the_largest_differences_are_listed_as_many_as_asked_for(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    pair = {"A": folders["base"], "B": folders["tuned"]}
    chart = head_map(pair, many(prompts), cls="star", classes=CLASSES, top=3, **QUICK)
    listed = chart.tables["largest_B_minus_A"]
    every = [r for r in chart.tables["B_minus_A"].to_pylist() if r["class"] == "star"]
    sizes = sorted((abs(r["difference"]) for r in every), reverse=True)
    assert [abs(x) for x in listed["difference"].to_pylist()] == sizes[:3]
    assert listed["effect"].null_count == 0
    lines = list(largest_lines(listed))
    assert len(lines) == 4
    assert all(line.count("effect") == 1 for line in lines[1:])
    with pytest.raises(SelectionError, match="top=0"):
        head_map(pair, prompts, cls="star", classes=CLASSES, top=0, **QUICK)


@pytest.mark.parametrize("unrelated", ["deeper", "other"])
def test_heads_of_unrelated_models_are_compared_only_if_asked_for(
    unrelated: str, folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    pair = {"A": folders[unrelated], "B": folders["base"]}
    parts = {"cls": "star", "classes": CLASSES, **QUICK}
    chart = head_map(pair, many(prompts), **parts)
    found = chart.tables["B_minus_A"]
    assert found["head"].null_count == found.num_rows  # by layer, mean over the heads
    assert chart.figures[0].name == "difference_in_mass_by_layer_B_minus_A"
    assert any("--compare-heads" in note for note in chart.notes)
    asked = head_map(pair, many(prompts), compare_heads=True, **parts)
    assert asked.tables["B_minus_A"]["head"].null_count == 0
    assert not any("--compare-heads" in note for note in asked.notes)
    related = head_map([folders["base"], folders["tuned"]], many(prompts), **parts)
    assert related.tables["tuned_minus_base"]["head"].null_count == 0
    assert related.notes == ()


def test_layers_of_unequal_models_are_compared_by_relative_depth(
    folders: dict[str, Path], prompts: list[Prompt]
) -> None:
    """Of three layers, the first and the last stand beside the two of the other model."""
    pair = {"A": folders["deeper"], "B": folders["base"]}
    chart = shares(pair, many(prompts), classes=CLASSES, **QUICK)
    means = {
        (r["model"], r["layer"], r["class"]): r["mean"] for r in chart.tables["summary"].to_pylist()
    }
    for row in chart.tables["B_minus_A"].to_pylist():
        deep = {0: 0, 1: 2}[row["layer"]]
        assert row["mean_a"] == pytest.approx(means["A", deep, row["class"]])
        assert row["mean_b"] == pytest.approx(means["B", row["layer"], row["class"]])
