"""Every number is found in the cell it names; each chart keeps to its own tables."""

from __future__ import annotations

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.facts.cells import Key, charts_of, derived_tables, group_tables
from mindshare.stats import Resampling, averaged, contrast, estimate
from mindshare.tables import metadata

from .made import QUICK, Made, awkward, class_tables, insertion_tables
from .reading import looked_up

GLYPHS = Made(layers=range(5), effect={"star": 0.2})
PARTS = Made(classes=("system", "maps", "other"), layers=range(5), heads=(0, 1), seed=1)


def study() -> dict[str, pa.Table]:
    """As the study of maps saves them: classes that overlap, by layer, by head and in a window."""
    masses = {name: class_tables(PARTS)[f"mass_{name}"] for name in PARTS.models}
    over = {name: averaged(mass) for name, mass in masses.items()}
    window = {name: averaged(mass, layers=(1, 2)) for name, mass in masses.items()}
    pair = {"a": "Base", "b": "Tuned", "options": QUICK}
    return {
        "by_part": estimate(over, "share", options=QUICK),
        "by_part_change": contrast(over, **pair),
        "in_the_middle": contrast(window, **pair),
        "by_head_change": contrast(masses, **pair),
        **{name: t for name, t in class_tables(GLYPHS).items() if not name.startswith("mass")},
    }


@cache
def every_case() -> list[dict[str, pa.Table]]:
    heads = Made(models=("m",), layers=range(3), heads=(0, 1))
    some = [class_tables(awkward(seed)) for seed in range(8)]
    return [*some, insertion_tables(heads, ("/ ×55", "random sentence", "“q”")), study()]


@pytest.mark.parametrize("case", range(10))
def test_each_number_stands_in_its_cell(case: int) -> None:
    tables = every_case()[case]
    for group, numbers in zip(group_tables(tables), charts_of(tables), strict=True):
        there = dict(tables) | dict(derived_tables(group, numbers.about))
        assert numbers.cells
        for number in list(numbers.cells.values())[:: max(len(numbers.cells) // 40, 1)]:
            assert looked_up(number, there) == number.value


def test_what_a_row_says_of_a_number_is_kept() -> None:
    tables = class_tables(Made())
    (numbers,) = charts_of(tables)
    row = tables["Tuned_minus_Base"].to_pylist()[5]
    key = Key("mass", "Tuned", row["layer"], None, row["class"], against="Base")
    found = numbers.cells[key]
    known = ("low", "high", "p_family", "effect", "detectable_family", "n_prompts")
    assert [getattr(found, name) for name in known] == [row[name] for name in known]
    few = charts_of(class_tables(Made(prompts=5)))[0]
    assert not few.has_intervals
    assert not any(number.has_interval for number in few.cells.values())


def test_a_series_is_in_order_with_its_means_last() -> None:
    (numbers,) = charts_of(insertion_tables(Made(models=("m",), layers=(4, 1), heads=(1, 0)), "a"))
    key = Key("retained", "m", condition="a")
    assert list(numbers.series(key)) == [
        *((1, 0), (1, 1), (1, None), (4, 0), (4, 1), (4, None), (None, None))
    ]
    assert list(numbers.series(key, heads=False)) == [(1, None), (4, None)]
    assert list(numbers.series(key, heads=True)) == [(1, 0), (1, 1), (4, 0), (4, 1)]
    assert numbers.series(Key("retained", "nobody")) == {}


def test_tables_of_one_chart_belong_together() -> None:
    first, *others = group_tables(study())
    assert set(first) == {"summary", "Tuned_minus_Base"}
    assert [set(one) for one in others] == [{"by_part"}, {"by_part_change"}, {"by_head_change"}]
    alone = class_tables(GLYPHS)
    assert [set(one) for one in group_tables(alone)] == [set(alone)]


def test_a_mean_of_some_layers_is_left_out_beside_the_single_ones() -> None:
    tables = study()
    assert not any("in_the_middle" in one for one in group_tables(tables))
    assert [*group_tables({"x": tables["in_the_middle"]})[0]] == ["x"]


def test_a_table_without_rows_is_no_chart_and_none_at_all_is_refused() -> None:
    tables = class_tables(GLYPHS)
    empty = tables["summary"].filter(pc.equal(tables["summary"]["model"], "nobody"))
    assert len(group_tables({**tables, "empty": empty})) == 1
    with pytest.raises(SelectionError, match="no table of means or differences"):
        charts_of({"mass_Base": tables["mass_Base"]})


def test_the_lift_behind_a_mass() -> None:
    tables = class_tables(Made())
    masses = {"Base": tables["mass_Base"], "Tuned": tables["mass_Tuned"]}
    about = metadata(tables["summary"])
    assert Resampling.of(about) == QUICK  # the same draws
    (found,) = derived_tables(tables, about)
    assert found[1].equals(estimate(masses, "lift", options=QUICK))


def test_nothing_behind_a_lift_a_difference_or_without_single_prompts() -> None:
    lift, mass = class_tables(Made(), "lift"), class_tables(Made())
    assert list(derived_tables(lift, metadata(lift["summary"]))) == []
    assert list(derived_tables({"summary": mass["summary"]}, metadata(mass["summary"]))) == []
    assert list(derived_tables({"summary": mass["Tuned_minus_Base"]}, {})) == []


def test_the_first_condition_against_each_other() -> None:
    tables = insertion_tables(Made(models=("m",), heads=(0,)), ["a", "b", "c"])
    found = [table for _, table in derived_tables(tables, metadata(tables["summary"]))]
    pairs = [(t["condition_b"][0].as_py(), t["condition_a"][0].as_py()) for t in found]
    assert pairs == [("a", "b"), ("a", "c")]
    how = {"measure": "retained", "over": ("heads", "layers"), "options": QUICK}
    alone = contrast({"m": tables["response"]}, a="b", b="a", **how).to_pylist()[0]
    row = next(r for r in found[0].to_pylist() if r["measure"] == "retained")
    ends = ("difference", "low", "high")
    assert [row[name] for name in ends] == [alone[name] for name in ends]


def test_prompts_that_were_resampled_in_groups_are_not_resampled_alone() -> None:
    tables = insertion_tables(Made(models=("m",), heads=(0,)), ["a", "b"])
    about = metadata(tables["summary"]) | {"mindshare.unit": "group"}
    assert list(derived_tables(tables, about)) == []
    groups = {f"p{i}": f"g{i // 2}" for i in range(12)}
    ((_, found),) = derived_tables(tables, about, groups)
    assert set(found["n_groups"].to_pylist()) == {6}
