"""What the statistics promise, on simulated data where the truth is known.

Every column of a matrix is a dataset of its own, so hundreds of them are one call. The bounds are
those that are promised (an interval of 95 % holds the truth in 93 to 97 of 100), not what the seeds
happen to give: each case has enough datasets that a true rate in the middle passes by far. Where a
promise does not hold, the law says so with a bound of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mindshare.stats import Resampling, contrast
from mindshare.stats.bootstrap import spread
from mindshare.stats.paired import paired
from mindshare.stats.permutation import benjamini_hochberg, sign_flip
from mindshare.table import joined
from tests.stats.masses import mass_table, shuffled

USUAL = Resampling()
QUICK = Resampling(resamples=2_000)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

# name → (how it is drawn, its mean)
DRAWN: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: rng.normal(0, 1, size), 0.0),
    "laplace": (lambda rng, size: rng.laplace(0, 1, size), 0.0),
    "student 3": (lambda rng, size: rng.standard_t(3, size), 0.0),
    "gamma 4": (lambda rng, size: rng.gamma(4, 1, size), 4.0),
    "exponential": (lambda rng, size: rng.exponential(1, size), 1.0),
    "beta": (lambda rng, size: rng.beta(0.5, 5, size), 0.5 / 5.5),
    "log-normal": (lambda rng, size: rng.lognormal(0, 1, size), math.exp(0.5)),
}


def covered(
    name: str, prompts: int, options: Resampling = USUAL, *, datasets: int = 2_000
) -> float:
    """How often the interval holds the true mean."""
    draw, truth = DRAWN[name]
    found = spread(draw(np.random.default_rng(1), (prompts, datasets)), options)
    return float(((found.low <= truth) & (truth <= found.high)).mean())


# Intervals.


@pytest.mark.parametrize("prompts", [20, 50, 200])
@pytest.mark.parametrize("name", ["normal", "laplace", "student 3", "gamma 4"])
def test_95_of_100_intervals_hold_the_truth(name: str, prompts: int) -> None:
    assert 0.93 <= covered(name, prompts) <= 0.97


@pytest.mark.parametrize("prompts", [50, 200])
@pytest.mark.parametrize("name", ["exponential", "beta"])
def test_strongly_skewed_numbers_need_50_prompts(name: str, prompts: int) -> None:
    assert 0.93 <= covered(name, prompts, datasets=4_000) <= 0.97


@pytest.mark.parametrize("name", ["normal", "gamma 4", "exponential", "beta"])
def test_with_20_prompts_bca_holds_what_the_percentile_does_not(name: str) -> None:
    bca = covered(name, 20, Resampling(interval="bca"), datasets=8_000)
    assert 0.93 <= bca <= 0.97
    if name in ("exponential", "beta"):
        assert 0.91 < covered(name, 20, datasets=8_000) < bca - 0.005


def test_where_the_promise_does_not_hold() -> None:
    """Few prompts and skewed numbers; a very long tail; BCa where both tails are long."""
    assert 0.91 < covered("normal", 6) < 0.95
    assert 0.86 < covered("exponential", 6) < 0.92
    assert 0.88 < covered("log-normal", 50) < 0.93
    assert 0.89 < covered("student 3", 20, Resampling(interval="bca")) < 0.93


def test_without_widening_10_prompts_would_not_be_enough() -> None:
    values = np.random.default_rng(2).normal(0, 1, (10, 2_000))
    found = stats.bootstrap(
        (values,), np.mean, axis=0, method="percentile", n_resamples=1_000, batch=50, rng=1
    ).confidence_interval
    assert ((found.low <= 0) & (found.high >= 0)).mean() < 0.92
    assert 0.93 <= covered("normal", 10) <= 0.97


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_other_levels_hold_too(confidence: float) -> None:
    held = covered("normal", 50, Resampling(confidence=confidence))
    assert abs(held - confidence) < 0.4 * (1 - confidence)


# Groups.


def grouped(
    groups: int, datasets: int, *, seed: int, uneven: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """(prompts × datasets around 0, whose prompts share half their variance by group; groups)"""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, groups) if uneven else np.full(groups, 4)
    units = np.repeat(np.arange(groups), sizes)
    common = rng.normal(0, 1, (groups, datasets))[units]
    return common + rng.normal(0, 1, common.shape), units


@pytest.mark.parametrize("uneven", [False, True])
def test_groups_are_covered_and_ignoring_them_is_not(uneven: bool) -> None:
    values, units = grouped(40, 2_000, seed=3, uneven=uneven)
    together, alone = spread(values, USUAL, units), spread(values, USUAL)
    assert 0.93 <= ((together.low <= 0) & (together.high >= 0)).mean() <= 0.97
    assert ((alone.low <= 0) & (alone.high >= 0)).mean() < 0.85


def test_groups_that_are_flipped_alone_are_found_where_nothing_is() -> None:
    values, units = grouped(40, 2_000, seed=4)
    together, alone = sign_flip(values, QUICK, units), sign_flip(values, QUICK)
    assert 0.035 <= (together.p_value <= 0.05).mean() <= 0.065
    assert (alone.p_value <= 0.05).mean() > 0.15


# Families.


def families(
    prompts: int, cells: int, datasets: int, *, seed: int, effect: float = 0.0
) -> list[dict[str, np.ndarray]]:
    """Contrasts of cells that hang together, as heads do, with spreads from 1 to 100.

    The first cell has the effect, in its own standard deviations.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(datasets):
        common = rng.normal(0, 1, (prompts, 1))
        values = 0.6 * common + 0.8 * rng.standard_t(5, (prompts, cells)) * math.sqrt(3 / 5)
        values[:, 0] += effect
        values *= np.logspace(0, 2, cells)
        flips = sign_flip(values, Resampling(resamples=1_000, seed=int(rng.integers(2**31))))
        found.append({"p_value": flips.p_value, "p_family": flips.p_family})
    return found


def any_found(found: list[dict[str, np.ndarray]], name: str) -> float:
    return float(np.mean([(one[name] <= 0.05).any() for one in found]))


@pytest.mark.parametrize("prompts", [10, 30])
def test_no_cell_is_found_where_there_is_nothing(prompts: int) -> None:
    found = families(prompts, 60, 1_000, seed=prompts)
    assert 0.03 <= any_found(found, "p_family") <= 0.07
    assert any_found(found, "p_value") > 0.3  # without correction


def test_no_cell_is_found_where_prompts_lack_numbers() -> None:
    rng = np.random.default_rng(6)
    hits = 0
    for i in range(1_000):
        values = rng.normal(0, 1, (30, 40)) + rng.normal(0, 1, (30, 1))
        values[rng.random(values.shape) < np.linspace(0, 0.7, 40)] = np.nan
        hits += bool((sign_flip(values, Resampling(resamples=500, seed=i)).p_family <= 0.05).any())
    assert 0.03 <= hits / 1_000 <= 0.07


def test_a_planted_effect_is_found_and_the_scale_of_a_cell_does_not_matter() -> None:
    """The first cell's spread is a hundredth of the last one's."""
    found = families(50, 60, 200, seed=7, effect=0.8)
    assert np.mean([one["p_family"][0] <= 0.05 for one in found]) > 0.9


def test_the_rate_of_false_discoveries_is_held() -> None:
    rng = np.random.default_rng(8)
    rates, power = [], []
    for i in range(400):
        values = rng.normal(0, 1, (30, 100))
        values[:, :20] += 0.7
        p = sign_flip(values, Resampling(resamples=2_000, seed=i)).p_value
        told = benjamini_hochberg(p) <= 0.05
        rates.append(told[20:].sum() / max(told.sum(), 1))
        power.append(told[:20].mean())
    assert np.mean(rates) <= 0.05
    assert np.mean(power) > 0.7


# What could have been found.


@pytest.mark.parametrize("prompts", [8, 20, 100])
def test_what_is_detectable_is_found_4_times_in_5(prompts: int) -> None:
    rng = np.random.default_rng(prompts)
    noise = rng.normal(0, 1, (prompts, 3_000))
    known = paired(np.zeros((prompts, 1)), noise[:, :1], QUICK, np.arange(prompts))
    true = known["detectable"][0] / known["se"][0] / math.sqrt(prompts)  # for a spread of 1
    p = sign_flip(noise + true, QUICK).p_value
    assert 0.75 <= (p <= 0.05).mean() <= 0.85


def test_what_is_detectable_in_a_family_is_found_4_times_in_5() -> None:
    rng = np.random.default_rng(9)
    hits = []
    for i in range(300):
        options = Resampling(resamples=1_000, seed=i)
        values = rng.normal(0, 1, (30, 50))
        null = paired(np.zeros_like(values), values, options, np.arange(30))
        values[:, 0] += null["detectable_family"][0] / null["sd"][0]
        hits.append(sign_flip(values, options).p_family[0] <= 0.05)
    assert 0.72 <= np.mean(hits) <= 0.90


# What decides nothing.


def test_the_order_of_the_prompts_decides_nothing() -> None:
    rng = np.random.default_rng(10)
    values = rng.gamma(2, 0.05, (2, 40, 3, 2, 2))
    values[:, rng.random(40) < 0.3, :, :, 1] = np.nan
    groups = {f"p{i:04}": i % 13 for i in range(40)}
    tables = {name: mass_table(v, heads=(0, 1)) for name, v in zip("ab", values, strict=True)}
    turned = {name: joined([shuffled(t, seed=i)]) for i, (name, t) in enumerate(tables.items())}
    mixed = dict(reversed(groups.items()))
    for kind in ("percentile", "bca"):
        options: dict[str, Any] = {"options": Resampling(resamples=500, interval=kind)}
        one = contrast(tables, a="a", b="b", groups=groups, **options)
        other = contrast(turned, a="a", b="b", groups=mixed, **options)
        assert one.equals(other, check_metadata=True)


def test_the_two_models_can_change_places() -> None:
    rng = np.random.default_rng(11)
    a, b = rng.gamma(2, 1, (2, 30, 20))
    one, other = (paired(x, y, QUICK, np.arange(30)) for x, y in ((a, b), (b, a)))
    for name in ("p_value", "p_family", "p_adjusted", "detectable", "sd", "se"):
        assert one[name] == pytest.approx(other[name]), name
    for name in ("difference", "effect"):
        assert one[name] == pytest.approx(-other[name]), name
    assert one["low"] == pytest.approx(-other["high"], abs=0.02)  # up to the draws


# SciPy.


@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
@pytest.mark.parametrize("name", ["normal", "exponential", "student 3"])
def test_scipy_agrees_on_intervals(name: str, ours: str, theirs: str) -> None:
    values = DRAWN[name][0](np.random.default_rng(12), (30, 6))
    options = Resampling(resamples=20_000, interval=ours)
    found = spread(values, options)
    expected = stats.bootstrap(
        (values,), np.mean, axis=0, confidence_level=1 - 2 * options.tail(30),
        n_resamples=20_000, batch=2_000, method=theirs, rng=3,
    ).confidence_interval  # fmt: skip
    width = expected.high - expected.low
    assert (np.abs(found.low - expected.low) < 0.03 * width).all()
    assert (np.abs(found.high - expected.high) < 0.03 * width).all()


def test_scipy_agrees_on_tests_and_corrections() -> None:
    rng = np.random.default_rng(13)
    for prompts, close in ((10, 1e-12), (40, 0.02)):
        values = rng.normal(0.2, 1, (prompts, 8))
        expected = stats.permutation_test(
            (values,), lambda x, axis: x.mean(axis), permutation_type="samples",
            n_resamples=9_999, vectorized=True, axis=0, rng=4, batch=1_000,
        ).pvalue  # fmt: skip
        found = sign_flip(values, USUAL).p_value
        assert np.abs(found - expected).max() <= close
        assert benjamini_hochberg(found) == pytest.approx(stats.false_discovery_control(found))


# The same with more cases.


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["percentile", "bca"])
@pytest.mark.parametrize("prompts", [20, 50, 200])
@pytest.mark.parametrize("name", list(DRAWN))
def test_the_table_of_coverage_is_true(name: str, prompts: int, interval: str) -> None:
    """The table in the docstring of `mindshare.stats.resampling`."""
    table = {
        "normal": ((95.0, 95.4, 94.6), (94.8, 94.9, 94.5)),
        "laplace": ((94.4, 94.7, 94.6), (92.1, 93.2, 94.3)),
        "student 3": ((94.5, 94.1, 94.7), (91.4, 92.3, 93.0)),
        "gamma 4": ((94.6, 94.5, 94.9), (94.0, 95.1, 95.0)),
        "exponential": ((92.6, 93.8, 94.5), (93.7, 94.6, 95.0)),
        "beta": ((92.3, 93.9, 94.5), (93.8, 94.8, 94.9)),
        "log-normal": ((88.1, 90.8, 93.1), (90.2, 91.2, 93.1)),
    }
    said = table[name][interval == "bca"][[20, 50, 200].index(prompts)] / 100
    held = covered(name, prompts, Resampling(interval=interval, seed=5), datasets=8_000)
    assert abs(held - said) < 0.015


@pytest.mark.slow
@pytest.mark.parametrize("prompts", [8, 12, 13, 50])
def test_family_wise_error_of_many_cells(prompts: int) -> None:
    found = families(prompts, 200, 2_000, seed=100 + prompts)
    assert 0.03 <= any_found(found, "p_family") <= 0.07
