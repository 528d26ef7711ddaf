from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindshare.facts import evidence
from mindshare.facts.cells import Number


def number(value: float, n: int = 12, **more: float) -> Number:
    return Number(value, value - 0.06, value + 0.06, n, **{"margin_family": 0.1, **more})


def test_two_means_are_told_apart_only_with_prompts_enough() -> None:
    assert evidence.apart(number(0.1), number(0.9))
    assert not evidence.apart(number(0.1), number(0.15))
    assert not evidence.apart(number(0.1, n=5), number(0.9, n=5))
    assert not evidence.apart(Number(0.1), Number(0.9))  # one prompt


def test_margins_that_meet_tell_nothing() -> None:
    one = number(0.1)
    assert not evidence.apart(one, number(0.26))
    assert evidence.apart(one, number(0.4))
    assert evidence.beyond(one, 0.0) == 0


def test_a_mean_without_a_margin_supports_no_claim() -> None:
    """Null: of too few prompts; not there: a table that others made."""
    row = {"mean": 0.9, "low": 0.8, "high": 1.0, "sd": 0.1, "n_prompts": 30}
    for lacking in (row, row | {"margin_family": None}):
        found = Number.from_row(lacking, "mean")
        assert not evidence.testable(found)
        assert not evidence.apart(number(0.1), found)
        assert evidence.beyond(found, 0.0) == 0


def test_a_difference_needs_its_test_and_its_interval() -> None:
    assert evidence.differs(number(0.5, p_family=0.01))
    assert not evidence.differs(number(0.5, p_family=0.2))
    assert not evidence.differs(number(0.01, p_family=0.01))
    assert not evidence.differs(Number(0.5))
    assert not evidence.differs(number(0.5, n=5, p_family=0.01))


def test_a_highest_has_to_be_told_from_every_other() -> None:
    series = {"a": number(0.9), "b": number(0.88), "c": number(0.1)}
    assert evidence.rivals(series, "a") == ["b"]
    assert evidence.rivals(series, "c") == []


def test_small_is_told_only_by_its_own_test() -> None:
    assert evidence.equivalent(Number(0.0, p_equivalent=0.01), comparisons=4)
    assert not evidence.equivalent(Number(0.0, p_equivalent=0.01), comparisons=5)
    assert not evidence.equivalent(Number(0.0, -1e-9, 1e-9, n_prompts=30))


def test_sides_of_a_middle() -> None:
    assert evidence.beyond(number(1.5), 1.0) == 1
    assert evidence.beyond(number(0.5), 1.0) == -1
    assert evidence.beyond(number(1.01), 1.0) == 0


def test_a_trend_is_spearmans_with_its_permutation() -> None:
    rng = np.random.default_rng(1)
    values = (np.arange(20) + rng.normal(0, 5, 20)).round().tolist()  # with ties
    found = evidence.correlation(values)
    assert found is not None
    expected = stats.spearmanr(np.arange(20), values)
    assert found[0] == pytest.approx(expected.statistic)
    assert found[1] == pytest.approx(expected.pvalue, abs=0.01)


def test_short_and_flat_series_have_no_trend() -> None:
    assert evidence.correlation([1, 2, 3, 4]) is None
    assert evidence.correlation([1.0] * 10) is None


def test_random_series_hardly_ever_have_one() -> None:
    rng = np.random.default_rng(2)
    found = [evidence.correlation(rng.normal(size=12).tolist()) for _ in range(200)]
    assert sum(one is not None and one[1] < 0.05 for one in found) <= 20
