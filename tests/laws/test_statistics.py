"""What the statistics promise, on simulated data where the truth is known.

Every column of a matrix is a dataset of its own, so hundreds of them are one call. The bounds are
those that are promised (an interval of 95 % holds the truth in 93 to 97 of 100), not what the seeds
happen to give: each case has enough datasets that a true rate in the middle passes by far. Where a
promise does not hold, the law says so with a bound of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from mindshare.stats import Resampling, contrast
from mindshare.stats.inference import family_margins, paired_contrast
from mindshare.stats.intervals import mean_intervals
from mindshare.tables import joined
from tests.stats.masses import mass_table, shuffled

USUAL = Resampling()
QUICK, FEW = Resampling(resamples=2_000), Resampling(resamples=100)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

# name → (how it is drawn, its mean)
DRAWN: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: rng.normal(0, 1, size), 0.0),
    "laplace": (lambda rng, size: rng.laplace(0, 1, size), 0.0),
    "student 3": (lambda rng, size: rng.standard_t(3, size), 0.0),
    "gamma 4": (lambda rng, size: rng.gamma(4, 1, size), 4.0),
    "exponential": (lambda rng, size: rng.exponential(1, size), 1.0),
    "beta": (lambda rng, size: rng.beta(0.3, 8, size), 0.3 / 8.3),  # as masses are
    "log-normal": (lambda rng, size: rng.lognormal(0, 1, size), math.exp(0.5)),
}


def covered(name: str, prompts: int, *, datasets: int = 4_000) -> float:
    """How often the interval holds the true mean."""
    draw, truth = DRAWN[name]
    found = mean_intervals(draw(np.random.default_rng(1), (prompts, datasets)), USUAL)
    return float(((found.low <= truth) & (truth <= found.high)).mean())


# Intervals.


@pytest.mark.parametrize("prompts", [20, 30, 100, 300])
@pytest.mark.parametrize("name", list(DRAWN))
def test_93_to_97_of_100_unmarked_intervals_hold_the_truth(name: str, prompts: int) -> None:
    assert (0.90 if name == "log-normal" else 0.925) <= covered(name, prompts) <= 0.98


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_class_that_many_prompts_lack_is_covered_where_it_is(share: float) -> None:
    rng = np.random.default_rng(2)
    values = rng.beta(0.3, 8, (300, 2_000))
    values[rng.random(values.shape) < share] = np.nan
    found = mean_intervals(values, USUAL)
    assert 0.93 <= ((found.low <= 0.3 / 8.3) & (found.high >= 0.3 / 8.3)).mean() <= 0.975


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
    together, alone = mean_intervals(values, USUAL, units), mean_intervals(values, USUAL)
    assert 0.93 <= ((together.low <= 0) & (together.high >= 0)).mean() <= 0.97
    assert ((alone.low <= 0) & (alone.high >= 0)).mean() < 0.85


# Families.


def families(draw: Draw, prompts: int, cells: int, datasets: int) -> list[dict[str, np.ndarray]]:
    """Contrasts of cells with spreads from 1 to 100."""
    rng = np.random.default_rng(prompts)
    found = []
    for i in range(datasets):
        values = draw(rng, (prompts, cells)) * np.logspace(0, 2, cells)
        options = Resampling(resamples=500, seed=i)
        found.append(paired_contrast(np.zeros_like(values), values, options, np.arange(prompts)))
    return found


def any_found(found: list[dict[str, np.ndarray]], name: str) -> float:
    return float(np.mean([(one[name] <= 0.05).any() for one in found]))


def together(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Cells that hang together, as heads do."""
    drawn: np.ndarray = 0.6 * rng.normal(0, 1, (size[0], 1)) + 0.8 * rng.normal(0, 1, size)
    return drawn


def unequal(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    drawn: np.ndarray = rng.beta(0.3, 8, size) - rng.beta(3, 80, size)
    return drawn


@pytest.mark.parametrize("draw", [together, unequal])
@pytest.mark.parametrize("prompts", [12, 100])
def test_no_cell_is_found_where_no_mean_differs(draw: Draw, prompts: int) -> None:
    found = families(draw, prompts, 60, 150)
    assert any_found(found, "p_family") <= 0.13  # 0.07, and four standard errors of 150 studies
    assert any_found(found, "p_value") > 0.3  # without correction


# name → (how it is drawn, its mean)
LEANING: dict[str, tuple[Draw, float]] = {
    **DRAWN,
    "60 % zeros": (lambda rng, s: np.where(rng.random(s) < 0.6, 0.0, rng.beta(2, 8, s)), 0.08),
    "90 % zeros": (lambda rng, s: np.where(rng.random(s) < 0.9, 0.0, rng.beta(2, 8, s)), 0.02),
}


@pytest.mark.parametrize("name", ["normal", "beta", "log-normal", "60 % zeros", "90 % zeros"])
@pytest.mark.parametrize("prompts", [12, 30, 100])
def test_no_mean_of_a_table_lies_outside_its_margin(name: str, prompts: int) -> None:
    """Student's t, corrected for so many cells, is wrong in up to 9 of 10 such tables."""
    draw, truth = LEANING[name]
    rng, units, wrong = np.random.default_rng(6), np.arange(prompts), []
    for seed in range(120):
        values = draw(rng, (prompts, 60))
        options = Resampling(resamples=500, seed=seed)
        found = mean_intervals(values, options)
        families = np.zeros(values.shape[1], int)
        margin = family_margins(values, found, options, units, families=families, alpha=0.05)
        wrong.append((np.abs(found.mean - truth) > margin).any())  # NaN: nothing is said
    assert np.mean(wrong) <= 0.16  # 0.07, and four standard errors of 120 tables


def test_a_planted_effect_is_found_and_the_scale_of_a_cell_does_not_matter() -> None:
    """The first cell's spread is a hundredth of the last one's."""

    def planted(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        drawn = together(rng, size)
        drawn[:, 0] += 0.8
        return drawn

    found = families(planted, 50, 60, 60)
    assert np.mean([one["p_family"][0] <= 0.05 for one in found]) > 0.9


# What could have been found.


@pytest.mark.parametrize("prompts", [30, 100])
@pytest.mark.parametrize("shape", ["normal", "long tails", "skewed"])
def test_what_is_detectable_is_found_4_times_in_5(shape: str, prompts: int) -> None:
    rng, size = np.random.default_rng(prompts), (2, prompts, 6_000)
    first, second = {
        "normal": lambda: rng.normal(0, 1, size),
        "long tails": lambda: rng.beta(0.3, 8, size) - rng.beta(0.3, 8, size),
        "skewed": lambda: rng.beta(0.3, 8, size) - 0.3 / 8.3,
    }[shape]()
    units = np.arange(prompts)
    printed = paired_contrast(np.zeros_like(first), first, FEW, units)
    side = np.sign(printed["difference"])
    found = mean_intervals(second + side * printed["detectable"], FEW, units)
    right = (found.p_values() < 0.05) & (np.sign(found.mean) == side)
    assert 0.765 <= right.mean() <= 0.825


# What decides nothing.


def test_the_order_of_the_prompts_decides_nothing() -> None:
    rng = np.random.default_rng(10)
    values = rng.gamma(2, 0.05, (2, 40, 3, 2, 2))
    values[:, rng.random(40) < 0.3, :, :, 1] = np.nan
    groups = {f"p{i:04}": i % 13 for i in range(40)}
    tables = {name: mass_table(v, heads=(0, 1)) for name, v in zip("ab", values, strict=True)}
    turned = {name: joined([shuffled(t, seed=i)]) for i, (name, t) in enumerate(tables.items())}
    mixed = dict(reversed(groups.items()))
    one = contrast(tables, a="a", b="b", groups=groups, options=QUICK)
    other = contrast(turned, a="a", b="b", groups=mixed, options=QUICK)
    assert one.equals(other, check_metadata=True)


def test_the_two_models_can_change_places() -> None:
    rng = np.random.default_rng(11)
    a, b = rng.gamma(2, 1, (2, 30, 20))
    one, other = (paired_contrast(x, y, QUICK, np.arange(30)) for x, y in ((a, b), (b, a)))
    for name in ("p_value", "p_family", "p_adjusted", "detectable", "sd", "se"):
        assert one[name] == pytest.approx(other[name]), name
    for name in ("difference", "effect"):
        assert one[name] == pytest.approx(-other[name]), name
    assert one["low"] == pytest.approx(-other["high"])
