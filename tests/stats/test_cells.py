from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.errors import SelectionError
from mindshare.stats.cells import cells, common_metadata

from .masses import mass_table, random_table, shuffled


def test_every_number_finds_its_prompt_and_cell() -> None:
    values = np.arange(2 * 3 * 2 * 2, dtype=float).reshape(2, 3, 2, 2)
    found = cells(mass_table(values, heads=(0, 5)), "mass", model="m")
    assert found.prompts == ("p0000", "p0001")
    assert found.values.tolist() == values.reshape(2, -1).tolist()
    assert found.keys[0] == ("all", 0, 0, "hash")
    assert found.keys[-1] == ("all", 2, 5, "star")


def test_a_mean_over_heads_stays_a_mean() -> None:
    found = cells(mass_table(np.ones((2, 2, 1, 2))), "mass", model="m")
    assert [key[1:3] for key in found.keys] == [(0, None), (0, None), (1, None), (1, None)]
    assert found.columns()["head"] == [None] * 4


def test_the_order_of_the_prompts_decides_nothing() -> None:
    content = random_table(20, 3, seed=0)
    one, other = (cells(t, "mass", model="m") for t in (content, shuffled(content)))
    assert one.keys == other.keys
    assert one.prompts == other.prompts
    assert np.array_equal(one.values, other.values)


def test_a_class_that_is_absent_is_nan() -> None:
    values = np.ones((2, 1, 1, 2))
    values[1, 0, 0, 1] = np.nan
    assert np.isnan(cells(mass_table(values), "lift", model="m").values).tolist() == [
        [False, False],
        [False, True],
    ]


def test_an_unknown_measure_is_named_with_its_neighbour() -> None:
    with pytest.raises(SelectionError, match="did you mean 'share'"):
        cells(random_table(2, 1, seed=0), "shares", model="m")


def test_a_prompt_that_is_there_twice_is_refused() -> None:
    content = random_table(2, 1, seed=0)
    with pytest.raises(SelectionError, match="a cell twice for the same prompt"):
        cells(pa.concat_tables([content, content]), "mass", model="m")


def test_what_is_no_mass_table_is_refused() -> None:
    with pytest.raises(SelectionError, match="has no column 'class'"):
        cells(random_table(2, 1, seed=0).drop_columns(["class"]), "mass", model="m")
    empty = random_table(2, 1, seed=0)
    with pytest.raises(SelectionError, match="has no rows"):
        cells(empty.filter(pc.equal(empty["prompt"], "nobody")), "mass", model="m")


def test_only_what_all_tables_say_is_carried_on() -> None:
    one = random_table(2, 1, seed=0).replace_schema_metadata({"a": "1", "b": "2"})
    other = one.replace_schema_metadata({"a": "1", "b": "3"})
    assert common_metadata([one, other]) == {"a": "1"}
