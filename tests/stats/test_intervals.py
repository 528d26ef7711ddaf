"""Means of numbers per prompt and cell, and their intervals, against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindshare.errors import SelectionError
from mindshare.stats import Resampling
from mindshare.stats.intervals import cells_by_prompts, mean_intervals, unit_sums, units_of

QUICK = Resampling(resamples=500)

# Units.


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
    found = {tuple(cells): prompts.tolist() for prompts, cells in cells_by_prompts(values)}
    without = [i for i in range(20) if i != 3]
    assert found == {(0, 3): list(range(20)), (1, 4): without, (2,): []}
    assert [c.tolist() for _, c in cells_by_prompts(np.ones((2, 3)))] == [[0, 1, 2]]


def test_nothing_is_lost_in_whole_numbers() -> None:
    values = np.random.default_rng(0).normal(0, 1, (1_000, 3)) * [1e-9, 1.0, 1e12]
    found = unit_sums(values, np.arange(1_000))
    assert np.array_equal(found.sums, np.rint(found.sums))
    assert np.abs(found.sums * found.step - values).max(0) == pytest.approx(
        0, abs=1e-12 * np.abs(values).max(0).max()
    )
    assert (np.abs(found.sums).max(0) * 1_000 < 2**53).all()


def test_groups_add_up_and_say_their_sizes() -> None:
    values = np.array([[1.0], [2.0], [4.0], [8.0]])
    found = unit_sums(values, np.array([7, 3, 7, 5]))
    assert (found.sums * found.step)[:, 0].tolist() == [2.0, 8.0, 5.0]  # groups 3, 5, 7
    assert found.sizes.tolist() == [1, 1, 2]


def test_nought_and_the_smallest_numbers_stay_what_they_are() -> None:
    values = np.array([[0.0, 5e-324, 1e-310], [0.0, 0.0, -1e-310]])
    found = unit_sums(values, np.arange(2))
    assert np.array_equal(found.sums * found.step, values)


# Means and intervals.


def test_the_mean_the_sd_and_the_error_are_the_plain_ones() -> None:
    values = np.random.default_rng(0).normal(2, 1, (30, 5))
    found = mean_intervals(values, Resampling())
    assert found.mean == pytest.approx(values.mean(0))
    assert found.sd == pytest.approx(values.std(0, ddof=1))
    assert found.se == pytest.approx(stats.sem(values))
    assert found.n_prompts.tolist() == found.n_groups.tolist() == [30] * 5


def test_the_error_of_equal_groups_is_that_of_their_means() -> None:
    values = np.random.default_rng(3).normal(0, 1, (40, 2))
    units = np.repeat(np.arange(10), 4)
    found = mean_intervals(values, Resampling(resamples=100), units)
    assert found.se == pytest.approx(stats.sem(values.reshape(10, 4, 2).mean(1)))


def test_prompts_without_the_number_are_left_out() -> None:
    values = np.random.default_rng(4).normal(0, 1, (12, 3))
    values[8:, 1] = np.nan
    values[:, 2] = np.nan
    found = mean_intervals(values, Resampling(resamples=500))
    alone = mean_intervals(values[:8, 1:2], Resampling(resamples=500))
    assert found.n_prompts.tolist() == found.n_groups.tolist() == [12, 8, 0]
    assert [found.mean[1], found.low[1], found.high[1]] == [
        alone.mean[0],
        alone.low[0],
        alone.high[0],
    ]
    assert np.isnan([found.mean[2], found.sd[2], found.se[2], found.low[2], found.high[2]]).all()


def test_cells_of_other_prompts_stay_apart() -> None:
    values = np.random.default_rng(5).normal(0, 1, (20, 40))
    values[np.random.default_rng(6).random(values.shape) < 0.2] = np.nan
    options = Resampling(resamples=300)
    found = mean_intervals(values, options)
    for i in range(40):
        own = values[~np.isnan(values[:, i]), i]
        alone = mean_intervals(own[:, None], options)
        assert (found.low[i], found.high[i]) == (alone.low[0], alone.high[0])


def test_one_prompt_has_a_mean_and_no_spread() -> None:
    found = mean_intervals(np.array([[0.25]]), Resampling())
    assert found.mean[0] == 0.25
    assert np.isnan([found.sd[0], found.se[0], found.low[0], found.high[0]]).all()


@pytest.mark.parametrize(("prompts", "there"), [(2, False), (5, False), (6, True)])
def test_too_few_prompts_have_no_interval(prompts: int, there: bool) -> None:
    values = np.random.default_rng(7).normal(0, 1, (prompts, 1))
    found = mean_intervals(values, Resampling(resamples=200))
    assert np.isfinite([found.sd[0], found.se[0]]).all()
    assert np.isfinite([found.low[0], found.high[0]]).tolist() == [there, there]
    together = mean_intervals(
        np.tile(values, (10, 1)), Resampling(), np.tile(np.arange(prompts), 10)
    )
    assert np.isfinite(together.low[0]) == there


def test_equal_numbers_have_no_interval() -> None:
    """Eight copies of one text are one text."""
    found = mean_intervals(np.full((9, 1), 0.1), Resampling())
    assert (found.mean[0], found.sd[0], found.se[0]) == (0.1, 0.0, 0.0)
    assert np.isnan([found.low[0], found.high[0]]).all()


def test_few_prompts_and_few_that_are_not_0_are_marked() -> None:
    values = np.random.default_rng(9).gamma(2, 1, (60, 3))
    values[19:, 1] = np.nan
    values[19:, 2] = 0.0
    assert mean_intervals(values, Resampling()).reliable.tolist() == [True, False, False]


def test_one_text_that_many_prompts_repeat_is_no_crowd() -> None:
    """29 copies of one text and 29 others are worth 3 units, not 30; 5 copies and 29, 21."""
    values = np.random.default_rng(5).normal(0, 1, (58, 1))
    copies = np.concatenate([np.zeros(29, int), np.arange(1, 30)])
    values[:29] = values[0]
    found = mean_intervals(values, QUICK, copies)
    assert (found.n_groups[0], found.n_effective[0], found.reliable[0]) == (30, 3, False)
    assert np.isnan(found.low[0])
    few = mean_intervals(values[24:], QUICK, copies[24:])
    assert (few.n_groups[0], few.n_effective[0]) == (30, 21)
    assert np.isfinite(few.low[0])


def test_groups_of_unequal_size_are_covered() -> None:
    """The error leaves out what a large group draws the mean to itself by."""
    sizes = np.repeat([1, 10], [60, 12])
    units = np.repeat(np.arange(len(sizes)), sizes)
    drawn = np.random.default_rng(6).normal(0, 1, (len(sizes), 3_000))
    found = mean_intervals(drawn[units], QUICK, units)
    assert 0.93 <= ((found.low <= 0) & (found.high >= 0)).mean() <= 0.97


# Hall's correction.


def test_scipy_finds_the_same_interval_of_symmetric_numbers() -> None:
    half = np.random.default_rng(1).normal(0, 1, (10, 3))
    values = np.concatenate([half, -half]) + 0.3  # no skewness at all
    found = mean_intervals(values, Resampling())
    low, high = stats.t.interval(0.95, 19, values.mean(0), stats.sem(values))
    assert found.low == pytest.approx(low, abs=1e-6)
    assert found.high == pytest.approx(high, abs=1e-6)
    assert found.p_values() == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=1e-6)


def test_the_interval_of_skewed_numbers_leans_to_their_tail_and_is_never_narrower() -> None:
    values = np.random.default_rng(2).exponential(1, (30, 200))
    found = mean_intervals(values, Resampling())
    low, high = stats.t.interval(0.95, 29, values.mean(0), stats.sem(values))
    assert (found.low <= low + 1e-6).all()
    assert (found.high >= high - 1e-6).all()
    assert (found.high - high > found.low - low).all()


def test_a_p_value_is_below_the_level_where_the_interval_excludes_0() -> None:
    values = np.random.default_rng(3).exponential(1, (15, 500)) - 0.6
    found = mean_intervals(values, Resampling())
    outside = (found.low > 0) | (found.high < 0)
    assert (found.p_values() < 0.05).tolist() == outside.tolist()
    assert 50 < outside.sum() < 450
