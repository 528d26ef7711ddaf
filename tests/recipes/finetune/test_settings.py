from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.recipes.finetune.settings import Settings


def test_the_rate_warms_up_and_falls_to_a_tenth() -> None:
    settings = Settings(steps=100, learning_rate=1e-3, warmup=10)
    assert settings.rate(0) == pytest.approx(1e-4)
    assert settings.rate(10) == pytest.approx(1e-3)
    assert settings.rate(100) == pytest.approx(1e-4)
    rates = [settings.rate(step) for step in range(10, 101)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"batch": 0}, {"learning_rate": 2.0}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SelectionError, match=next(iter(wrong))):
        Settings(**{"steps": 5, **wrong})  # type: ignore[arg-type]


def test_a_difference_is_said_in_words() -> None:
    ours = Settings(steps=5)
    assert ours.difference(ours.to_dict()) is None
    assert ours.difference({**ours.to_dict(), "rank": 4}) == "rank was 4 and is now 8"
