from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from mindshare.stats import Resampling
from mindshare.stats.permutation import benjamini_hochberg, sign_flip

FEW = Resampling(resamples=4_000)


def test_scipy_finds_the_same_p_value_for_few_prompts() -> None:
    differences = np.random.default_rng(0).normal(0.4, 1, (9, 4))
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis), permutation_type="samples",
        n_resamples=np.inf, vectorized=True, axis=0,
    ).pvalue  # fmt: skip
    assert sign_flip(differences, FEW).p_value == pytest.approx(theirs)


def test_scipy_finds_about_the_same_for_many() -> None:
    differences = np.random.default_rng(1).normal(0.2, 1, (40, 3))
    theirs = stats.permutation_test(
        (differences,), lambda x, axis: x.mean(axis), permutation_type="samples",
        n_resamples=4_000, vectorized=True, axis=0, rng=3,
    ).pvalue  # fmt: skip
    assert np.abs(sign_flip(differences, FEW).p_value - theirs).max() < 0.03


def test_all_flips_of_three_prompts_by_hand() -> None:
    # |±1 ±2 ±3| ≥ 6 only for the two flips with all signs alike.
    assert sign_flip(np.array([[1.0], [2.0], [3.0]]), FEW).p_value[0] == 2 / 8


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip(np.zeros((30, 2)), FEW).p_value.tolist() == [1.0, 1.0]
    assert sign_flip(np.zeros((5, 1)), FEW).p_family.tolist() == [1.0]


def test_a_cell_without_numbers_has_no_p_value() -> None:
    differences = np.full((5, 2), np.nan)
    differences[:, 0] = 1
    assert np.isnan(sign_flip(differences, FEW).p_value).tolist() == [False, True]


@pytest.mark.parametrize("prompts", [10, 30])
def test_alike_models_are_rejected_at_the_stated_rate(prompts: int) -> None:
    differences = np.random.default_rng(2).standard_t(4, (prompts, 1_500))
    p = sign_flip(differences, Resampling(resamples=1_000)).p_value
    assert 0.03 < (p < 0.05).mean() < 0.07


def test_groups_are_flipped_as_one() -> None:
    differences = np.random.default_rng(4).normal(0.3, 1, (12, 3))
    units = np.repeat(np.arange(6), 2)
    found = sign_flip(differences, FEW, units)
    sums = sign_flip(differences.reshape(6, 2, 3).sum(1), FEW)
    assert found.p_value.tolist() == sums.p_value.tolist()
    assert found.p_family.tolist() == sums.p_family.tolist()


def by_hand(differences: np.ndarray) -> np.ndarray:
    """max-T over every flip, one at a time; a number that is not there is left out."""
    n, cells = differences.shape
    scale = [np.sqrt(np.nansum(differences[:, c] ** 2)) for c in range(cells)]

    def scaled(signs: tuple[int, ...]) -> list[float]:
        flipped = differences * np.array(signs)[:, None]
        return [abs(np.nansum(flipped[:, c])) / scale[c] for c in range(cells)]

    observed = scaled((1,) * n)
    most = [max(scaled(signs)) for signs in itertools.product((-1, 1), repeat=n)]
    return np.array([np.mean([m >= one - 1e-9 for m in most]) for one in observed])


def test_the_family_by_hand() -> None:
    differences = np.random.default_rng(5).normal(0.5, 1, (8, 4)) * [1, 10, 0.1, 3]
    found = sign_flip(differences, FEW)
    assert found.p_family == pytest.approx(by_hand(differences))
    assert (found.p_family >= found.p_value).all()


def test_the_family_where_prompts_lack_a_number() -> None:
    differences = np.random.default_rng(6).normal(0.5, 1, (8, 4))
    differences[:3, 1] = differences[5, 2] = np.nan
    found = sign_flip(differences, FEW)
    assert found.p_family == pytest.approx(by_hand(differences))
    alone = sign_flip(differences[3:, 1:2], FEW)
    assert found.p_value[1] == alone.p_value[0]


def test_a_family_of_one_needs_no_correction() -> None:
    for prompts in (9, 40):
        found = sign_flip(np.random.default_rng(7).normal(0.2, 1, (prompts, 1)), FEW)
        assert found.p_family.tolist() == found.p_value.tolist()


def test_the_scale_of_a_cell_decides_nothing() -> None:
    differences = np.random.default_rng(8).normal(0.2, 1, (30, 5))
    one, other = (sign_flip(differences * s, FEW) for s in (1.0, [1, 1e6, 1e-6, 4, 0.25]))
    assert one.p_family == pytest.approx(other.p_family, abs=1e-3)


@pytest.mark.parametrize("prompts", [10, 40])
def test_cells_above_the_threshold_are_those_below_the_level(prompts: int) -> None:
    differences = np.random.default_rng(9).normal(np.linspace(0, 2, 30), 1, (prompts, 30))
    found = sign_flip(differences, FEW)
    scaled = np.abs(differences.sum(0)) / np.sqrt((differences**2).sum(0))
    assert (scaled > found.threshold).tolist() == (found.p_family <= 0.05).tolist()
    assert 0 < (found.p_family <= 0.05).sum() < 30


def test_scipy_corrects_alike() -> None:
    p = np.random.default_rng(3).random(200) ** 2
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


def test_the_correction_skips_what_is_not_there() -> None:
    adjusted = benjamini_hochberg(np.array([0.01, np.nan, 0.04]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
    assert benjamini_hochberg(np.array([])).tolist() == []
