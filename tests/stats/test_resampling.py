from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from mindshare.errors import SelectionError
from mindshare.stats import Resampling


@pytest.mark.parametrize(
    "wrong",
    [{"confidence": 95}, {"confidence": 0}, {"resamples": 10}, {"seed": -1}, {"interval": "t"}],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SelectionError, match=next(iter(wrong))):
        Resampling(**wrong)


def test_an_interval_that_is_not_known_is_named_with_its_neighbour() -> None:
    with pytest.raises(SelectionError, match="did you mean 'percentile'") as caught:
        Resampling(interval="percentiles")
    assert caught.value.allowed == "percentile, bca"


@pytest.mark.parametrize(("confidence", "fewest"), [(0.5, 2), (0.9, 5), (0.95, 6), (0.99, 8)])
def test_an_interval_needs_as_many_prompts_as_its_level_asks_for(
    confidence: float, fewest: int
) -> None:
    assert Resampling(confidence=confidence).fewest == fewest
    assert 2.0 ** (1 - fewest) <= 1 - confidence + 1e-12


@pytest.mark.parametrize("n", [6, 20, 500])
def test_the_tails_are_widened_to_those_of_student(n: int) -> None:
    wide = stats.norm.ppf(Resampling().tail(n)) * (1 - 1 / n) ** 0.5
    assert wide == pytest.approx(stats.t.ppf(0.025, n - 1), rel=1e-5)


@pytest.mark.parametrize("options", [Resampling(), Resampling(0.9, 300, 4, "bca")])
def test_a_table_says_how_it_was_made(options: Resampling) -> None:
    about = options.metadata("mass")
    assert Resampling.of(about) == options
    assert about["mindshare.unit"] == "prompt"
    assert options.metadata("mass", grouped=True)["mindshare.unit"] == "group"


def test_a_table_that_says_nothing_was_made_as_usual() -> None:
    assert Resampling.of({}) == Resampling()
