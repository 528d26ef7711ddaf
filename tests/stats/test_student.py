from __future__ import annotations

import pytest
from scipy import stats

from mindshare.stats.student import beyond, critical, shift


@pytest.mark.parametrize("freedom", [2, 5, 19, 999, 100_000])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.01])
def test_scipy_finds_the_same_t(alpha: float, freedom: int) -> None:
    assert critical(alpha, freedom) == pytest.approx(stats.t.isf(alpha / 2, freedom), rel=1e-5)


@pytest.mark.parametrize("freedom", [5, 19, 999])
@pytest.mark.parametrize("threshold", [2.1, 4.0, 9.0])
@pytest.mark.parametrize("power", [0.8, 0.95])
def test_scipy_finds_the_same_power(threshold: float, freedom: int, power: float) -> None:
    effect = shift(threshold, freedom, power)
    theirs = stats.nct.sf(threshold, freedom, effect)  # beyond −t there is next to nothing
    assert beyond(threshold, freedom, effect) == pytest.approx(power, abs=1e-6)
    assert theirs == pytest.approx(power, abs=2e-5)


def test_without_an_effect_it_is_the_level() -> None:
    assert beyond(critical(0.05, 12), 12) == pytest.approx(0.05, abs=1e-7)
