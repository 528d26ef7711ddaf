from __future__ import annotations

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.report.describing.cells import Key
from mindshare.report.describing.numbers import long_table, numbers_of

from .made import Made, class_tables, insertion_tables


def test_cells_of_a_class_chart_are_those_of_its_tables() -> None:
    tables = class_tables(Made())
    numbers = numbers_of(tables)
    for row in tables["summary"].to_pylist():
        found = numbers.get(Key("mass", row["model"], row["layer"], None, row["class"]))
        assert found is not None
        assert (found.value, found.low, found.sd) == (row["mean"], row["low"], row["sd"])
    row = tables["Tuned_minus_Base"].to_pylist()[5]
    key = Key("mass", "Tuned", row["layer"], None, row["class"], against="Base")
    assert numbers.cells[key].value == row["difference"]
    assert numbers.cells[key].p_adjusted == row["p_adjusted"]


def test_what_there_is() -> None:
    numbers = numbers_of(class_tables(Made(layers=(3, 0))))
    assert numbers.models == ["Base", "Tuned"]
    assert numbers.classes == ["hash", "star", "space", "other"]
    assert numbers.named == ["hash", "star", "space"]
    assert (numbers.layers, numbers.heads, numbers.pairs) == ([0, 3], [], [("Base", "Tuned")])
    assert (numbers.measure, numbers.n_prompts) == ("mass", 12)


def test_a_total_is_the_sum_of_the_named_classes() -> None:
    numbers = numbers_of(class_tables(Made()))
    key = Key("mass", "Base", 2)
    parts = [numbers.cells[Key("mass", "Base", 2, kind=k)].value for k in numbers.named]
    assert numbers.total(key) == pytest.approx(sum(parts))
    assert numbers_of(class_tables(Made(), "lift")).total(Key("lift", "Base", 2)) is None


def test_missing_numbers_are_no_cells() -> None:
    tables = class_tables(Made(absent=0.5, prompts=1))
    nulls = tables["summary"]["mean"].null_count
    cells = numbers_of({"summary": tables["summary"]}).cells
    assert nulls > 0
    assert len(cells) == tables["summary"].num_rows - nulls


def test_one_long_table_holds_them_all() -> None:
    made = Made(models=("m",), heads=(0, 1))
    for tables in (class_tables(Made()), insertion_tables(made, ["/ ×55", "random"])):
        numbers = numbers_of(tables)
        again = numbers_of(long_table(numbers))
        assert again.cells == numbers.cells
        assert again.measure == numbers.measure


def test_the_first_query_set_is_described() -> None:
    summary = class_tables(Made(layers=(0,)))["summary"]
    column = pa.array(["all"] * summary.num_rows)
    place = summary.column_names.index("queries")
    both = pa.concat_tables([summary, summary.set_column(place, "queries", column)])
    numbers = numbers_of(both)
    assert numbers.queries == ("last", "all")
    assert numbers.cells == numbers_of(summary).cells


def test_what_a_test_needs_is_kept() -> None:
    numbers = numbers_of(class_tables(Made(effect={"star": 0.2})))
    found = numbers.cells[Key("mass", "Tuned", 1, kind="star", against="Base")]
    assert found.p == found.p_family
    assert found.p is not None
    assert found.effect is not None
    assert found.detectable_family is not None


def test_intervals_of_few_prompts_are_left_out() -> None:
    """Tables of earlier versions have them."""
    summary = class_tables(Made(prompts=3))["summary"]
    ends = {name: pa.array([0.1] * summary.num_rows) for name in ("low", "high")}
    for name, column in ends.items():
        summary = summary.set_column(summary.column_names.index(name), name, column)
    assert not any(number.has_interval for number in numbers_of(summary).cells.values())


def test_differences_hold_the_means_of_both_models() -> None:
    tables = class_tables(Made())
    alone = numbers_of({"x": tables["Tuned_minus_Base"]})
    assert alone.models == ["Base", "Tuned"]
    whole = numbers_of(tables)
    key = Key("mass", "Base", 2, kind="hash")
    assert alone.cells[key].value == pytest.approx(whole.cells[key].value)
    assert not alone.cells[key].has_interval
    assert whole.cells[key].has_interval  # the summary's are better


def test_other_tables_are_refused() -> None:
    with pytest.raises(SelectionError, match="no table of means or differences"):
        numbers_of(pa.table({"x": [1]}))
