from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mindshare.stats import Resampling
from mindshare.stats.paired import paired, student_of

QUICK = Resampling(resamples=500)


def compared(differences: np.ndarray) -> dict[str, np.ndarray]:
    of_a = np.random.default_rng(1).normal(0, 1, differences.shape)
    return paired(of_a, of_a + differences, QUICK, np.arange(len(differences)))


def test_the_effect_is_the_difference_in_its_own_standard_deviations() -> None:
    differences = np.random.default_rng(0).normal(0.3, 2, (25, 3))
    found = compared(differences)
    assert found["effect"] == pytest.approx(differences.mean(0) / differences.std(0, ddof=1))


def test_without_spread_there_is_no_effect_size() -> None:
    same = paired(np.zeros((9, 1)), np.ones((9, 1)), QUICK, np.arange(9))
    assert (same["difference"][0], same["sd"][0]) == (1.0, 0.0)
    assert np.isnan(same["effect"][0])
    one = paired(np.zeros((1, 1)), np.ones((1, 1)), QUICK, np.arange(1))
    assert np.isnan([one["effect"][0], one["detectable"][0]]).all()


@pytest.mark.parametrize("n", [8, 30, 300])
def test_scipy_gives_what_is_detectable_the_power_promised(n: int) -> None:
    differences = np.random.default_rng(2).normal(0, 1, (n, 2))
    found = compared(differences)
    threshold = stats.t.isf(0.025, n - 1)
    effect = found["detectable"] / (differences.std(0, ddof=1) / np.sqrt(n))
    power = stats.nct.sf(threshold, n - 1, effect)  # beyond −t there is next to nothing
    assert power == pytest.approx(0.8, abs=1e-4)


def test_what_is_picked_out_of_many_must_be_larger() -> None:
    found = compared(np.random.default_rng(3).normal(0, 1, (40, 200)))
    ratio = found["detectable_family"] / found["detectable"]
    assert ratio.min() == pytest.approx(ratio.max())
    assert 1.3 < ratio.min() < 2.0
    alone = compared(np.random.default_rng(3).normal(0, 1, (400, 1)))
    assert alone["detectable_family"] == pytest.approx(alone["detectable"], rel=0.05)


def test_few_prompts_detect_nothing() -> None:
    assert np.isnan(compared(np.random.default_rng(4).normal(0, 1, (7, 2)))["detectable"]).all()


def test_the_scale_of_the_family_is_student_in_disguise() -> None:
    values = np.random.default_rng(6).normal(1, 1, 12)
    scaled = abs(values.sum()) / np.sqrt((values**2).sum())
    assert student_of(scaled, 12) == pytest.approx(stats.ttest_1samp(values, 0).statistic)
    assert student_of(np.sqrt(12), 12) == np.inf
