from __future__ import annotations

import numpy as np
import pytest

from mindshare.stats.bootstrap import Resampling
from mindshare.stats.permutation import benjamini_hochberg, sign_flip

FEW = Resampling(resamples=4_000)


def test_scipy_finds_the_same_p_value_for_few_prompts() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(0).normal(0.4, 1, (9, 4))
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis), permutation_type="samples",
        n_resamples=np.inf, vectorized=True, axis=0,
    ).pvalue  # fmt: skip
    assert sign_flip(differences, FEW) == pytest.approx(theirs)


def test_scipy_finds_about_the_same_for_many() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(1).normal(0.2, 1, (40, 3))
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis), permutation_type="samples",
        n_resamples=4_000, vectorized=True, axis=0, rng=3,
    ).pvalue  # fmt: skip
    assert np.abs(sign_flip(differences, FEW) - theirs).max() < 0.03


def test_all_flips_of_three_prompts_by_hand() -> None:
    # |±1 ±2 ±3| ≥ 6 only for the two flips with all signs alike.
    assert sign_flip(np.array([[1.0], [2.0], [3.0]]), FEW)[0] == 2 / 8


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip(np.zeros((30, 2)), FEW).tolist() == [1.0, 1.0]
    assert sign_flip(np.zeros((5, 1)), FEW).tolist() == [1.0]


def test_a_cell_without_numbers_has_no_p_value() -> None:
    differences = np.full((5, 2), np.nan)
    differences[:, 0] = 1
    assert np.isnan(sign_flip(differences, FEW)).tolist() == [False, True]


@pytest.mark.parametrize("prompts", [10, 30])
def test_alike_models_are_rejected_at_the_stated_rate(prompts: int) -> None:
    differences = np.random.default_rng(2).standard_t(4, (prompts, 1_500))
    p = sign_flip(differences, Resampling(resamples=1_000))
    assert 0.03 < (p < 0.05).mean() < 0.07


def test_scipy_corrects_alike() -> None:
    stats = pytest.importorskip("scipy.stats")
    p = np.random.default_rng(3).random(200) ** 2
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_the_correction_skips_what_is_not_there() -> None:
    adjusted = benjamini_hochberg(np.array([0.01, np.nan, 0.04]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
    assert benjamini_hochberg(np.array([])).tolist() == []
