from __future__ import annotations

import pytest

from mindshare.figures.insertion.scales import around, from_zero, number_format, step


def test_steps_are_round_and_never_too_many() -> None:
    assert [step(x, 5) for x in (1, 0.3, 7, 60, 0.0004)] == pytest.approx(
        [0.2, 0.1, 2, 20, 0.0001], rel=1e-9
    )


@pytest.mark.parametrize("highest", [1e-6, 0.0003, 0.07, 0.1749, 0.5, 1, 4.2, 1000])
def test_an_axis_from_0_holds_the_number_and_keeps_room_above(highest: float) -> None:
    top, ticks, _ = from_zero(highest, height=100, room=10)
    assert highest / top <= 0.9 + 1e-9
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 6
    assert ticks[-1] / top <= 0.93  # no label at the very top


@pytest.mark.parametrize("values", [[0.2, 0.9], [-1.3, 0.4], [5, 5], [0, 0], [-3, -3.001]])
def test_round_ends_hold_every_number(values: list[float]) -> None:
    low, high, ticks, _ = around(values)
    assert low <= min(values) <= max(values) <= high
    assert low < high
    assert (ticks[0], ticks[-1]) == (low, high)


def test_labels_have_as_many_decimals_as_the_steps() -> None:
    assert number_format(0.05, 0.2) == ".2f"
    assert number_format(0.1, 0.5) == ".1f"
    assert number_format(20, 100) == ",.0f"
    assert number_format(0.0001, 0.0004) == "~e"
