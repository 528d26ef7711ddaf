from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindshare.report.describing import telling
from mindshare.report.describing.cells import Number


def number(value: float, sd: float = 0.1, n: int = 12, **more: float) -> Number:
    half = 2 * sd / n**0.5
    return Number(value, value - half, value + half, n, sd, **more)


@pytest.mark.parametrize("freedom", [1, 2, 5, 11, 99, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.001, 1e-5])
def test_students_t_is_that_of_scipy(alpha: float, freedom: int) -> None:
    assert telling.student(alpha, freedom) == pytest.approx(
        stats.t.isf(alpha / 2, freedom), rel=2e-3
    )


def test_two_means_are_told_apart_only_with_prompts_enough() -> None:
    assert telling.apart(number(0.1), number(0.9))
    assert not telling.apart(number(0.1), number(0.15))
    assert not telling.apart(number(0.1, n=5), number(0.9, n=5))
    assert not telling.apart(Number(0.1), Number(0.9))  # one prompt


def test_whoever_picks_from_many_needs_more() -> None:
    one, other = number(0.1), number(0.26)
    assert telling.apart(one, other)
    assert not telling.apart(one, other, comparisons=1000)


def test_the_highest_of_many_noisy_means_is_hardly_ever_told() -> None:
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(200):
        drawn = rng.normal(size=(12, 30))
        means = [number(x, s) for x, s in zip(drawn.mean(0), drawn.std(0, ddof=1), strict=True)]
        order = sorted(means, key=lambda one: one.value)
        told += telling.apart(order[0], order[-1], comparisons=telling.pairs(30))
    assert told <= 10  # 5 % of 200


def test_a_difference_needs_its_test_and_its_interval() -> None:
    assert telling.differs(number(0.5, p_adjusted=0.01))
    assert not telling.differs(number(0.5, p_adjusted=0.2))
    assert not telling.differs(number(0.01, p_adjusted=0.01))
    assert not telling.differs(Number(0.5))
    assert not telling.differs(number(0.5, p_adjusted=0.01, p_family=0.2))  # of all cells at once
    assert telling.differs(number(0.5, p_adjusted=0.2, p_family=0.01))
    assert not telling.differs(number(0.5, n=5, p_family=0.01))


def test_a_highest_has_to_be_told_from_every_other() -> None:
    series = {"a": number(0.9), "b": number(0.88), "c": number(0.1)}
    assert telling.beside(series, "a") == ["b"]
    assert telling.beside(series, "c") == []


def test_small_is_told_only_where_the_whole_interval_is_small() -> None:
    assert telling.within(number(0.01, 0.01), 0.05)
    assert not telling.within(number(0.01, 0.2), 0.05)
    assert not telling.within(number(0.01, 0.01, n=5), 0.05)
    assert not telling.within(number(0.01, 0.04), 0.05, comparisons=100)
    assert telling.within(number(0.0, 0.0), 0.0)  # a model compared with itself


def test_sides_of_a_middle() -> None:
    assert telling.beyond(number(1.5), 1.0) == 1
    assert telling.beyond(number(0.5), 1.0) == -1
    assert telling.beyond(number(1.01), 1.0) == 0


def test_a_trend_is_spearmans_with_its_permutation() -> None:
    rng = np.random.default_rng(1)
    values = (np.arange(20) + rng.normal(0, 5, 20)).round().tolist()  # with ties
    found = telling.trend(values)
    assert found is not None
    expected = stats.spearmanr(np.arange(20), values)
    assert found.correlation == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.01)


def test_short_and_flat_series_have_no_trend() -> None:
    assert telling.trend([1, 2, 3, 4]) is None
    assert telling.trend([1.0] * 10) is None


def test_random_series_hardly_ever_have_one() -> None:
    rng = np.random.default_rng(2)
    found = [telling.trend(rng.normal(size=12).tolist()) for _ in range(200)]
    assert sum(one is not None and one.p_value < 0.05 for one in found) <= 20
