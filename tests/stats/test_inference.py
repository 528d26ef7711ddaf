"""Matrices of numbers per prompt and cell, against SciPy and against loops by hand."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mindshare.stats import Resampling
from mindshare.stats.inference import benjamini_hochberg, max_t, paired_contrast
from mindshare.stats.intervals import mean_intervals

FEW = Resampling(resamples=4_000)
QUICK = Resampling(resamples=500)


def test_the_blocks_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(8).gamma(2, 1, (30, 50)) - 1.5
    units = np.arange(30) // 2
    options = Resampling(resamples=700)
    whole = paired_contrast(np.zeros_like(values), values, options, units)
    monkeypatch.setattr("mindshare.stats.inference._CELLS", 7)
    small = paired_contrast(np.zeros_like(values), values, options, units)
    assert np.array_equal(whole["p_family"], small["p_family"])


def test_the_number_of_threads_decides_nothing() -> None:
    """Sums of whole numbers are exact, in whichever order they are added."""
    code = """
import hashlib, numpy as np
from mindshare.stats import Resampling
from mindshare.stats.inference import max_t
from mindshare.stats.intervals import mean_intervals
values = np.random.default_rng(0).normal(0, 1, (301, 97))
found = mean_intervals(values, Resampling(resamples=600))
family = max_t(values, found, Resampling(resamples=600), np.arange(301))
parts = (found.low, found.high, family.p_family)
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


# The family.


def contrasted(differences: np.ndarray, units: np.ndarray | None = None) -> dict[str, np.ndarray]:
    units = np.arange(len(differences)) if units is None else units
    return paired_contrast(np.zeros_like(differences), differences, FEW, units)


def test_equal_numbers_are_no_evidence_of_anything() -> None:
    for value in (0.0, 1.0):
        found = contrasted(np.full((30, 2), value))
        for name in ("low", "high", "p_value", "p_family", "detectable"):
            assert np.isnan(found[name]).all(), name


def test_too_few_prompts_have_no_p_value() -> None:
    differences = np.random.default_rng(4).normal(1, 0.1, (9, 2))
    differences[4:, 1] = np.nan
    found = contrasted(differences)
    assert np.isnan(found["p_family"]).tolist() == [False, True]
    assert np.isnan(found["p_value"]).tolist() == [False, True]


def by_hand(differences: np.ndarray, units: np.ndarray, options: Resampling) -> np.ndarray:
    """max-T, one draw at a time; a number that is not there is left out."""
    numbers = np.unique(units)
    rng = np.random.default_rng(options.seed)

    def t_value(values: np.ndarray, of: np.ndarray, null: float) -> float:
        sums = np.array([values[of == u].sum() for u in np.unique(of)])
        sizes = np.array([(of == u).sum() for u in np.unique(of)])
        n, mean = len(sizes), values.mean()
        off = sums - sizes * mean
        spread = (off**2).sum()
        return abs(mean - null) * len(values) / np.sqrt(n / (n - 1) * spread) if spread else 0.0

    def cell(c: int, drawn: np.ndarray, null: float) -> float:
        rows = [(i, k) for k, u in enumerate(drawn) for i in np.flatnonzero(units == numbers[u])]
        rows = [(i, k) for i, k in rows if not np.isnan(differences[i, c])]
        places, of = (np.array(part) for part in zip(*rows, strict=True))
        return t_value(differences[places, c], of, null)

    cells, means = range(differences.shape[1]), np.nanmean(differences, 0)
    everyone = np.arange(len(numbers))
    observed = [cell(c, everyone, 0.0) for c in cells]
    draws = rng.integers(0, len(numbers), (options.resamples, len(numbers)))
    most = [max(cell(c, drawn, means[c]) for c in cells) for drawn in draws]
    beyond = [sum(m >= one for m in most) for one in observed]
    return (np.array(beyond) + 1) / (options.resamples + 1)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("lacking", [False, True])
def test_the_family_by_hand(grouped: bool, lacking: bool) -> None:
    options = Resampling(resamples=300)
    differences = np.random.default_rng(5).normal(0.4, 1, (24, 3)) * [1, 10, 0.1]
    if lacking:
        differences[:6, 1] = differences[11, 2] = np.nan
    units = np.arange(24) // 2 if grouped else np.arange(24)
    found = max_t(differences, mean_intervals(differences, options, units), options, units)
    assert found.p_family == pytest.approx(by_hand(differences, units, options), abs=0.005)


def test_the_scale_of_a_cell_decides_nothing() -> None:
    differences = np.random.default_rng(8).normal(0.2, 1, (30, 5))
    one, other = (contrasted(differences * s) for s in (1.0, [1, 1e6, 1e-6, 4, 0.25]))
    assert one["p_family"] == pytest.approx(other["p_family"], abs=1e-3)


def test_equal_means_with_unequal_spread_do_not_differ() -> None:
    """Sign flips found a difference in half of these."""
    rng = np.random.default_rng(9)
    differences = rng.beta(0.3, 8, (30, 400)) - 0.3 / 8.3
    assert (contrasted(differences)["p_family"] < 0.05).sum() == 0


def test_in_how_many_prompts_the_difference_goes_the_way_of_its_mean() -> None:
    differences = np.concatenate([np.full((7, 1), -0.1), np.full((3, 1), 1.0)])
    found = contrasted(differences)
    assert found["difference"][0] > 0
    assert found["n_same_sign"].tolist() == [3]


def test_equivalence_is_tested_and_not_taken_from_a_narrow_interval() -> None:
    rng = np.random.default_rng(10)
    a = rng.gamma(4, 0.1, (200, 1))
    near, far = a * rng.normal(1.01, 0.05, a.shape), a * rng.normal(1.3, 0.05, a.shape)
    b = np.concatenate([near, far], 1)
    found = paired_contrast(np.repeat(a, 2, 1), b, QUICK, np.arange(200))
    assert (found["p_equivalent"] < 0.001).tolist() == [True, False]
    few = paired_contrast(a[:12], near[:12], QUICK, np.arange(12))
    assert np.isnan(few["p_equivalent"][0])


@pytest.mark.parametrize("prompts", [6, 12, 30])
def test_ties_are_no_equivalence(prompts: int) -> None:
    """One prompt in five differs by far, the means by a third: no tie may hide that."""
    rng = np.random.default_rng(prompts)
    a = rng.choice([0.1, 0.2, 0.4], (prompts, 1_000), p=[0.6, 0.3, 0.1])
    b = np.where(rng.random(a.shape) < 0.8, a, a + 0.16 / 3 / 0.2)
    found = paired_contrast(a, b, Resampling(resamples=100), np.arange(prompts))
    assert (found["p_equivalent"] < 0.05).mean() <= 0.01


def test_the_correction_skips_what_is_not_there() -> None:
    adjusted = benjamini_hochberg(np.array([0.01, np.nan, 0.04]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
    assert benjamini_hochberg(np.array([])).tolist() == []


# Pairs.


def compared(differences: np.ndarray) -> dict[str, np.ndarray]:
    of_a = np.random.default_rng(1).normal(0, 1, differences.shape)
    return paired_contrast(of_a, of_a + differences, QUICK, np.arange(len(differences)))


def test_the_effect_is_the_difference_in_its_own_standard_deviations() -> None:
    differences = np.random.default_rng(0).normal(0.3, 2, (25, 3))
    found = compared(differences)
    assert found["effect"] == pytest.approx(differences.mean(0) / differences.std(0, ddof=1))


def test_without_spread_there_is_no_effect_size() -> None:
    same = paired_contrast(np.zeros((9, 1)), np.ones((9, 1)), QUICK, np.arange(9))
    assert (same["difference"][0], same["sd"][0]) == (1.0, 0.0)
    assert np.isnan(same["effect"][0])
    one = paired_contrast(np.zeros((1, 1)), np.ones((1, 1)), QUICK, np.arange(1))
    assert np.isnan([one["effect"][0], one["detectable"][0]]).all()


def test_what_is_picked_out_of_many_must_be_larger() -> None:
    found = compared(np.random.default_rng(3).normal(0, 1, (40, 200)))
    ratio = found["detectable_family"] / found["detectable"]
    assert 1.3 < ratio.min() <= ratio.max() < 2.0
    alone = compared(np.random.default_rng(3).normal(0, 1, (400, 1)))
    assert alone["detectable_family"] == pytest.approx(alone["detectable"], rel=0.05)


def test_long_tails_and_skewness_hide_more() -> None:
    """In standard errors: a spread that is known less well, a side that asks for more."""
    rng = np.random.default_rng(3)
    plain, tailed, skewed = (
        contrasted(x) for x in (rng.normal(0, 1, (30, 400)), rng.standard_t(3, (30, 400)),
                                1 - rng.exponential(1, (30, 400)))
    )  # fmt: skip
    sizes = [np.median(one["detectable"] / one["se"]) for one in (plain, tailed, skewed)]
    assert sizes[0] < sizes[1]
    assert sizes[0] < sizes[2]


def test_where_the_power_cannot_be_promised_nothing_is_called_detectable() -> None:
    """Below 30 prompts, or where fewer than 12 of them differ."""
    values = np.random.default_rng(4).normal(0, 1, (30, 2))
    values[11:, 1] = 0
    for name in ("detectable", "detectable_family"):
        assert np.isnan(compared(values[:29])[name]).all()
        assert np.isnan(compared(values)[name]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("prompts", "added", "same"), [(20, 0.0, True), (19, 0.0, False), (6, 0.01, False)]
)
def test_only_differences_that_are_all_0_need_no_test_of_equivalence(
    prompts: int, added: float, same: bool
) -> None:
    a = np.linspace(0.1, 0.5, prompts)[:, None]
    found = paired_contrast(a, a + added, Resampling(), np.arange(prompts))
    assert bool(found["p_equivalent"][0] < 1e-9) is same
    assert bool(np.isnan(found["p_equivalent"][0])) is not same


def test_a_cell_has_the_same_bytes_alone_and_among_others() -> None:
    values = np.random.default_rng(0).gamma(0.5, 1, (37, 5))
    alone = mean_intervals(values[:, 2:3], Resampling())
    among = mean_intervals(values, Resampling())
    for name in ("mean", "se", "skewness", "low", "high"):
        assert getattr(alone, name)[0] == getattr(among, name)[2], name
