from __future__ import annotations

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.stats.units import alike, summed, units_of


def test_prompts_that_share_a_group_are_one_unit() -> None:
    groups = {"a": "x", "b": "y", "c": "x", "d": None}
    assert units_of(["a", "b", "c", "d"], groups).tolist() == [0, 1, 0, 2]
    assert units_of(["a", "b", "c"], None).tolist() == [0, 1, 2]


def test_prompts_without_a_group_are_named() -> None:
    with pytest.raises(SelectionError, match="4 of 5 prompts have no group: b, c, d, …"):
        units_of(list("abcde"), {"a": 1})


def test_cells_with_the_same_prompts_are_found_together() -> None:
    values = np.ones((20, 5))
    values[3, 1] = values[3, 4] = values[:, 2] = np.nan
    found = {tuple(cells): prompts.tolist() for prompts, cells in alike(values)}
    without = [i for i in range(20) if i != 3]
    assert found == {(0, 3): list(range(20)), (1, 4): without, (2,): []}
    assert [c.tolist() for _, c in alike(np.ones((2, 3)))] == [[0, 1, 2]]


def test_nothing_is_lost_in_whole_numbers() -> None:
    values = np.random.default_rng(0).normal(0, 1, (1_000, 3)) * [1e-9, 1.0, 1e12]
    found = summed(values, np.arange(1_000))
    assert np.array_equal(found.sums, np.rint(found.sums))
    assert np.abs(found.sums * found.step - values).max(0) == pytest.approx(
        0, abs=1e-12 * np.abs(values).max(0).max()
    )
    assert (np.abs(found.sums).max(0) * 1_000 < 2**53).all()


def test_groups_add_up_and_say_their_sizes() -> None:
    values = np.array([[1.0], [2.0], [4.0], [8.0]])
    found = summed(values, np.array([7, 3, 7, 5]))
    assert (found.sums * found.step)[:, 0].tolist() == [2.0, 8.0, 5.0]  # groups 3, 5, 7
    assert found.sizes.tolist() == [1, 1, 2]


def test_nought_and_the_smallest_numbers_stay_what_they_are() -> None:
    values = np.array([[0.0, 5e-324, 1e-310], [0.0, 0.0, -1e-310]])
    found = summed(values, np.arange(2))
    assert np.array_equal(found.sums * found.step, values)
