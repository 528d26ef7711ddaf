from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from mindshare.errors import SelectionError
from mindshare.stats import Resampling
from mindshare.stats.resampling import (
    detectable_effect,
    probability_beyond,
    student_t,
    student_tail,
)


@pytest.mark.parametrize(
    "wrong",
    [{"confidence": 95}, {"confidence": 0}, {"resamples": 10}, {"seed": -1}, {"absent": "nul"}],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SelectionError, match=next(iter(wrong))):
        Resampling(**wrong)


@pytest.mark.parametrize(("confidence", "fewest"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_an_interval_needs_as_many_prompts_as_its_level_asks_for(
    confidence: float, fewest: int
) -> None:
    assert Resampling(confidence=confidence).fewest == fewest
    assert 2.0 ** (1 - fewest) <= 1 - confidence + 1e-12


@pytest.mark.parametrize("options", [Resampling(), Resampling(0.9, 300, 4, "zero")])
def test_a_table_says_how_it_was_made(options: Resampling) -> None:
    about = options.metadata("mass")
    assert Resampling.of(about) == options
    assert about["mindshare.unit"] == "prompt"
    assert options.metadata("mass", grouped=True)["mindshare.unit"] == "group"


def test_a_table_that_says_nothing_was_made_as_usual() -> None:
    assert Resampling.of({}) == Resampling()


def test_statistics_start_without_scipy() -> None:
    code = "import sys, mindshare.stats; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Student's t.


@pytest.mark.parametrize("freedom", [2, 5, 19, 999, 100_000])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.01])
def test_scipy_finds_the_same_t(alpha: float, freedom: int) -> None:
    assert student_t(alpha, freedom) == pytest.approx(stats.t.isf(alpha / 2, freedom), rel=1e-5)


@pytest.mark.parametrize("freedom", [1, 2, 5, 8, 19, 300])
def test_scipy_finds_the_same_tail(freedom: int) -> None:
    t = np.array([0.0, -0.7, 2.1, 6.0, np.nan])
    found = student_tail(t, np.full(5, freedom))
    assert found == pytest.approx(2 * stats.t.sf(np.abs(t), freedom), abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("freedom", [7, 29, 299])
def test_a_spread_that_is_estimated_twice_costs_power(freedom: int) -> None:
    threshold, rng = student_t(0.05, freedom), np.random.default_rng(1)
    effect = detectable_effect(threshold, freedom)
    printed, found = np.sqrt(rng.chisquare(freedom, (2, 200_000)) / freedom)
    reached = np.abs(rng.normal(0, 1, 200_000) + effect * printed) > threshold * found
    assert reached.mean() == pytest.approx(0.8, abs=0.005)


def test_without_an_effect_it_is_the_level() -> None:
    assert probability_beyond(student_t(0.05, 12), 12) == pytest.approx(0.05, abs=1e-7)
