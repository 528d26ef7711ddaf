from __future__ import annotations

from mindshare.report.describing.implied import implied
from mindshare.report.describing.sets import metadata
from mindshare.stats import Resampling, contrast_conditions, summarise

from .made import QUICK, Made, class_tables, insertion_tables


def test_the_lift_behind_a_mass() -> None:
    tables = class_tables(Made())
    masses = {"Base": tables["mass_Base"], "Tuned": tables["mass_Tuned"]}
    (found,) = implied(tables, metadata(tables["summary"]))
    assert found.equals(summarise(masses, measure="lift", options=QUICK))


def test_nothing_behind_a_lift_or_without_single_prompts() -> None:
    tables = class_tables(Made(), "lift")
    assert list(implied(tables, metadata(tables["summary"]))) == []
    alone = {"summary": class_tables(Made())["summary"]}
    assert list(implied(alone, metadata(alone["summary"]))) == []


def test_the_first_condition_against_each_other() -> None:
    tables = insertion_tables(Made(models=("m",), heads=(0,)), ["a", "b", "c"])
    found = list(implied(tables, metadata(tables["summary"])))
    pairs = [(t["condition_b"][0].as_py(), t["condition_a"][0].as_py()) for t in found]
    assert pairs == [("a", "b"), ("a", "c")]
    expected = contrast_conditions(
        tables["response"],
        model="m",
        a="b",
        b="a",
        measures=["retained"],
        over_heads=True,
        over_layers=True,
        options=QUICK,
    ).to_pylist()[0]
    row = next(r for r in found[0].to_pylist() if r["measure"] == "retained")
    assert row["difference"] == expected["difference"]
    assert (row["low"], row["high"]) == (expected["low"], expected["high"])


def test_the_draws_are_those_of_the_saved_tables() -> None:
    assert Resampling.of(metadata(class_tables(Made())["summary"])) == QUICK


def test_prompts_that_were_resampled_in_groups_are_not_resampled_alone() -> None:
    tables = class_tables(Made())
    about = metadata(tables["summary"]) | {"mindshare.unit": "group"}
    assert list(implied(tables, about)) == []


def test_differences_alone_imply_nothing() -> None:
    tables = class_tables(Made())
    assert list(implied({"summary": tables["Tuned_minus_Base"]}, {})) == []
