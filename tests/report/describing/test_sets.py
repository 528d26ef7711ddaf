"""Several charts in one folder: each is described on its own, and nothing is added up over them."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.report.describing import check_description, describe
from mindshare.report.describing.numbers import long_table, numbers_of
from mindshare.report.describing.sets import sets_of
from mindshare.stats import averaged, contrast, summarise

from .made import QUICK, Made, class_tables

GLYPHS = Made(layers=range(5), effect={"star": 0.2})
PARTS = Made(classes=("system", "maps", "other"), layers=range(5), heads=(0, 1), seed=1)


def study() -> dict[str, pa.Table]:
    """As the study of maps saves them: classes that overlap, by layer, by head and in a window."""
    glyphs = class_tables(GLYPHS)
    masses = {name: class_tables(PARTS)[f"mass_{name}"] for name in PARTS.models}
    over = {name: averaged(mass) for name, mass in masses.items()}
    window = {name: averaged(mass, layers=(1, 2)) for name, mass in masses.items()}
    pair = {"a": "Base", "b": "Tuned", "options": QUICK}
    return {
        "by_part": summarise(over, measure="share", options=QUICK),
        "by_part_change": contrast(over, **pair),
        "in_the_middle": contrast(window, **pair),
        "by_head_change": contrast(masses, **pair),
        **{name: t for name, t in glyphs.items() if not name.startswith("mass")},
    }


def test_tables_of_one_chart_belong_together() -> None:
    first, *others = sets_of(study())
    assert set(first) == {"summary", "Tuned_minus_Base"}
    assert [set(one) for one in others] == [{"by_part"}, {"by_part_change"}, {"by_head_change"}]


def test_a_mean_of_some_layers_is_left_out_beside_the_single_ones() -> None:
    tables = study()
    assert not any("in_the_middle" in one for one in sets_of(tables))
    assert [*sets_of({"x": tables["in_the_middle"]})[0]] == ["x"]


def test_one_chart_and_an_insertion_are_one_set() -> None:
    tables = class_tables(GLYPHS)
    assert [set(one) for one in sets_of(tables)] == [set(tables)]


@pytest.mark.parametrize("saved", [False, True])
def test_every_number_of_every_chart_is_found_and_holds(saved: bool) -> None:
    tables = study()
    description = describe(tables, kind="classes")
    table = long_table(numbers_of(tables)) if saved else tables
    checked = check_description(description.text, table)
    assert len(checked) > 200
    assert [str(one) for one in checked if one.holds is not True] == []


def test_each_set_is_described_and_none_is_summed_with_another() -> None:
    text = describe(study(), kind="classes").text
    assert "can overlap: (hash, star and space) and (system and maps)." in text
    assert "Mass of 3 token classes (hash, star and space) in 5 layers" in text
    assert "Share of 2 token classes (system and maps) in 5 layers" in text
    assert "in 5 layers (0 to 4) and 2 heads (0 and 1) of 2 models (Base and Tuned)" in text
    assert "No number at all" not in text
    for line in text.splitlines():
        if "; together " in line:
            assert not (re.search("hash|star", line) and re.search("system|maps", line))
    assert "Share: layer 0, Base: system 0." in text


def test_a_total_of_overlapping_classes_is_not_guessed() -> None:
    (one,) = check_description("Layer 0, Base: total 0.5.", study())
    assert one.why == "it is not said which classes are added up"


def test_the_order_of_the_tables_does_not_matter() -> None:
    tables = study()
    assert describe(tables, kind="classes") == describe(
        dict(reversed(tables.items())), kind="classes"
    )


def test_a_table_without_rows_is_no_chart() -> None:
    tables = class_tables(GLYPHS)
    empty = tables["summary"].filter(pc.equal(tables["summary"]["model"], "nobody"))
    assert len(sets_of({**tables, "empty": empty})) == 1
