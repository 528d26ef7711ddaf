from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from mindshare.stats import Resampling
from mindshare.stats.bootstrap import spread


def test_the_mean_the_sd_and_the_error_are_the_plain_ones() -> None:
    values = np.random.default_rng(0).normal(2, 1, (30, 5))
    found = spread(values, Resampling())
    assert found.mean == pytest.approx(values.mean(0))
    assert found.sd == pytest.approx(values.std(0, ddof=1))
    assert found.se == pytest.approx(stats.sem(values))
    assert found.n_prompts.tolist() == found.n_groups.tolist() == [30] * 5


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_scipy_finds_the_same_interval_at_the_widened_level(ours: str, theirs: str) -> None:
    values = np.random.default_rng(1).gamma(2, 1, (25, 3))
    options = Resampling(confidence=0.9, resamples=20_000, interval=ours)
    found = spread(values, options)
    expected = stats.bootstrap(
        (values,), np.mean, axis=0, confidence_level=1 - 2 * options.tail(25),
        n_resamples=20_000, method=theirs, rng=5,
    ).confidence_interval  # fmt: skip
    width = expected.high - expected.low
    assert np.abs(found.low - expected.low).max() < 0.03 * width.max()
    assert np.abs(found.high - expected.high).max() < 0.03 * width.max()


def test_the_draws_are_prompts_with_replacement() -> None:
    """Drawn one by one, without a matrix product."""
    values = np.random.default_rng(2).normal(0, 1, (7, 1))
    options = Resampling(resamples=1_500)
    draws = np.random.default_rng(0).integers(0, 7, (1_500, 7))
    means = values[:, 0][draws].mean(1)
    found = spread(values, options)
    ends = np.quantile(means, [options.tail(7), 1 - options.tail(7)])
    assert [found.low[0], found.high[0]] == pytest.approx(ends.tolist())


def test_groups_are_drawn_whole() -> None:
    """One group after another, each with all its prompts."""
    values = np.random.default_rng(2).normal(0, 1, (11, 1))
    units = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 5, 1])
    options = Resampling(resamples=500)
    draws = np.random.default_rng(0).integers(0, 6, (500, 6))
    of = [values[units == g, 0] for g in range(6)]
    means = [np.concatenate([of[g] for g in draw]).mean() for draw in draws]
    found = spread(values, options, units)
    ends = np.quantile(means, [options.tail(6), 1 - options.tail(6)])
    assert [found.low[0], found.high[0]] == pytest.approx(ends.tolist())
    assert (found.n_prompts[0], found.n_groups[0]) == (11, 6)
    assert found.mean[0] == pytest.approx(values.mean())


def test_the_error_of_equal_groups_is_that_of_their_means() -> None:
    values = np.random.default_rng(3).normal(0, 1, (40, 2))
    units = np.repeat(np.arange(10), 4)
    found = spread(values, Resampling(resamples=100), units)
    assert found.se == pytest.approx(stats.sem(values.reshape(10, 4, 2).mean(1)))


def test_the_acceleration_is_that_of_the_jackknife() -> None:
    """BCa of grouped prompts, against SciPy on numbers that are ratios."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 5, 15)
    values = rng.gamma(1, 1, sizes.sum())
    units = np.repeat(np.arange(15), sizes)
    options = Resampling(resamples=20_000, interval="bca")
    found = spread(values[:, None], options, units)
    totals = np.bincount(units, values)
    expected = stats.bootstrap(
        (totals, sizes), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True,
        confidence_level=1 - 2 * options.tail(15), n_resamples=20_000, method="BCa", rng=1,
    ).confidence_interval  # fmt: skip
    width = expected.high - expected.low
    assert abs(found.low[0] - expected.low) < 0.03 * width
    assert abs(found.high[0] - expected.high) < 0.03 * width


def test_prompts_without_the_number_are_left_out() -> None:
    values = np.random.default_rng(4).normal(0, 1, (12, 3))
    values[8:, 1] = np.nan
    values[:, 2] = np.nan
    found = spread(values, Resampling(resamples=500))
    alone = spread(values[:8, 1:2], Resampling(resamples=500))
    assert found.n_prompts.tolist() == found.n_groups.tolist() == [12, 8, 0]
    assert [found.mean[1], found.low[1], found.high[1]] == [
        alone.mean[0],
        alone.low[0],
        alone.high[0],
    ]
    assert np.isnan([found.mean[2], found.sd[2], found.se[2], found.low[2], found.high[2]]).all()


def test_cells_of_other_prompts_share_draws_and_stay_apart() -> None:
    values = np.random.default_rng(5).normal(0, 1, (20, 40))
    values[np.random.default_rng(6).random(values.shape) < 0.2] = np.nan
    options = Resampling(resamples=300, interval="bca")
    found = spread(values, options)
    for i in range(40):
        own = values[~np.isnan(values[:, i]), i]
        alone = spread(own[:, None], options)
        assert (found.low[i], found.high[i]) == (alone.low[0], alone.high[0])


def test_one_prompt_has_a_mean_and_no_spread() -> None:
    found = spread(np.array([[0.25]]), Resampling())
    assert found.mean[0] == 0.25
    assert np.isnan([found.sd[0], found.se[0], found.low[0], found.high[0]]).all()


@pytest.mark.parametrize(("prompts", "there"), [(2, False), (5, False), (6, True)])
def test_too_few_prompts_have_no_interval(prompts: int, there: bool) -> None:
    values = np.random.default_rng(7).normal(0, 1, (prompts, 1))
    found = spread(values, Resampling(resamples=200))
    assert np.isfinite([found.sd[0], found.se[0]]).all()
    assert np.isfinite([found.low[0], found.high[0]]).tolist() == [there, there]
    together = spread(np.tile(values, (10, 1)), Resampling(), np.tile(np.arange(prompts), 10))
    assert np.isfinite(together.low[0]) == there


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_equal_numbers_have_no_spread_at_all(interval: str) -> None:
    found = spread(np.full((9, 1), 0.1), Resampling(resamples=200, interval=interval))
    assert (found.mean[0], found.sd[0], found.se[0]) == (0.1, 0.0, 0.0)
    assert (found.low[0], found.high[0]) == (0.1, 0.1)


def test_the_seed_decides_the_draws() -> None:
    values = np.random.default_rng(5).normal(0, 1, (20, 300))
    one, same, other = (spread(values, Resampling(resamples=300, seed=s)) for s in (0, 0, 1))
    assert np.array_equal(one.low, same.low)
    assert not np.array_equal(one.low, other.low)


def test_the_blocks_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(8).gamma(2, 1, (30, 50))
    units = np.arange(30) // 2
    options = Resampling(resamples=700, interval="bca")
    whole = spread(values, options, units)
    monkeypatch.setattr("mindshare.stats.bootstrap._CELLS", 7)
    monkeypatch.setattr("mindshare.stats.bootstrap._DRAWS", 100)
    small = spread(values, options, units)
    assert np.array_equal(whole.low, small.low)
    assert np.array_equal(whole.high, small.high)


def test_the_number_of_threads_decides_nothing() -> None:
    """Sums of whole numbers are exact, in whichever order they are added."""
    code = """
import hashlib, numpy as np
from mindshare.stats import Resampling
from mindshare.stats.bootstrap import spread
from mindshare.stats.permutation import sign_flip
values = np.random.default_rng(0).normal(0, 1, (301, 97))
found = spread(values, Resampling(resamples=600, interval="bca"))
flips = sign_flip(values, Resampling(resamples=600))
parts = (found.low, found.high, flips.p_value, flips.p_family)
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest())
"""
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in ("1", "2", "5")
    }
    assert len(seen) == 1
