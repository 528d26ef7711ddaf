from __future__ import annotations

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.stats.bootstrap import Resampling, spread


def test_the_mean_and_the_sd_are_the_plain_ones() -> None:
    values = np.random.default_rng(0).normal(2, 1, (30, 5))
    found = spread(values, Resampling())
    assert found.mean == pytest.approx(values.mean(0))
    assert found.sd == pytest.approx(values.std(0, ddof=1))
    assert found.n_prompts.tolist() == [30] * 5


def test_scipy_finds_the_same_interval() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).gamma(2, 1, (25, 3))
    found = spread(values, Resampling(confidence=0.9, resamples=20_000))
    theirs = stats.bootstrap(
        (values,), np.mean, axis=0, confidence_level=0.9, n_resamples=20_000,
        method="percentile", rng=5,
    ).confidence_interval  # fmt: skip
    width = theirs.high - theirs.low
    assert np.abs(found.low - theirs.low).max() < 0.03 * width.max()
    assert np.abs(found.high - theirs.high).max() < 0.03 * width.max()


def test_the_draws_are_prompts_with_replacement() -> None:
    """Drawn one by one, without a matrix product."""
    values = np.random.default_rng(2).normal(0, 1, (7, 1))
    options = Resampling(resamples=1_500)
    rng = np.random.default_rng(0)
    draws = np.concatenate([rng.integers(0, 7, (n, 7)) for n in (1_000, 500)])
    means = values[:, 0][draws].mean(1)
    found = spread(values, options)
    ends = np.quantile(means, [0.025, 0.975])
    assert [found.low[0], found.high[0]] == pytest.approx(ends.tolist())


def test_95_of_100_intervals_hold_the_truth() -> None:
    values = np.random.default_rng(3).normal(1, 1, (60, 600))
    found = spread(values, Resampling(resamples=2_000))
    held = ((found.low <= 1) & (found.high >= 1)).mean()
    assert 0.91 < held < 0.97


def test_prompts_without_the_number_are_left_out() -> None:
    values = np.random.default_rng(4).normal(0, 1, (12, 3))
    values[8:, 1] = np.nan
    values[:, 2] = np.nan
    found = spread(values, Resampling(resamples=500))
    alone = spread(values[:8, 1:2], Resampling(resamples=500))
    assert found.n_prompts.tolist() == [12, 8, 0]
    assert [found.mean[1], found.low[1], found.high[1]] == pytest.approx(
        [alone.mean[0], alone.low[0], alone.high[0]]
    )
    assert np.isnan([found.mean[2], found.sd[2], found.low[2], found.high[2]]).all()


def test_one_prompt_has_a_mean_and_no_interval() -> None:
    found = spread(np.array([[0.25]]), Resampling())
    assert found.mean[0] == 0.25
    assert np.isnan([found.sd[0], found.low[0], found.high[0]]).all()


def test_equal_numbers_have_no_spread_at_all() -> None:
    found = spread(np.full((9, 1), 0.1), Resampling(resamples=200))
    assert (found.mean[0], found.sd[0], found.low[0], found.high[0]) == (0.1, 0.0, 0.1, 0.1)


def test_the_seed_decides_the_draws() -> None:
    values = np.random.default_rng(5).normal(0, 1, (20, 300))
    one, same, other = (spread(values, Resampling(resamples=300, seed=s)) for s in (0, 0, 1))
    assert np.array_equal(one.low, same.low)
    assert not np.array_equal(one.low, other.low)


@pytest.mark.parametrize(
    "wrong", [{"confidence": 95}, {"confidence": 0}, {"resamples": 10}, {"seed": -1}]
)
def test_options_that_make_no_sense_are_refused(wrong: dict) -> None:
    with pytest.raises(SelectionError, match=next(iter(wrong))):
        Resampling(**wrong)
