"""Numbers keep to the width the tables were laid out for."""

from __future__ import annotations

import pytest

from mindshare.cli.numbers import count_text, lift_text, mass_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.004, "×0.00"),
        (1.234, "×1.23"),
        (9.996, "×10.0"),
        (12.34, "×12.3"),
        (123.4, "×123"),
        (9999.6, "×10k"),
    ],
)
def test_lift(value: float | None, text: str) -> None:
    assert lift_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2 / 3, "0.67"),
        (19.0, "19"),
        (123.45, "123.5"),
        (1234.5, "1234"),
        (131_072, "131k"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert count_text(value) == text


@pytest.mark.parametrize("exponent", range(-6, 5))
def test_widths(exponent: int) -> None:
    value = 9.99996 * 10.0**exponent
    assert len(lift_text(value)) <= 5
    assert len(count_text(value)) <= 5
    assert len(mass_text(min(value, 1.0))) == 6
