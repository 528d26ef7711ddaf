from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.shades import PAPER, Shade, ink_on, ramp
from mindshare.figures.theme import INK, PALETTES

SEED = PALETTES["seed"]


def test_half_and_double_are_as_far_from_1() -> None:
    shade = Shade.around([0.5, 1.2], 1.0, doublings=True)
    assert (shade.low, shade.high) == (0.5, 2.0)
    assert shade.stops == (-1, 0, 1)
    assert shade.place(0.5) == -shade.place(2.0)
    assert shade.place(0) == shade.place(0.001) == -1  # beyond the ends, at the end


def test_differences_have_0_in_the_middle() -> None:
    shade = Shade.around([-0.1, 0.4], 0.0, doublings=False)
    assert shade.stops == (-0.4, 0.0, 0.4)


def test_a_share_of_the_numbers_can_decide_how_far_colours_reach() -> None:
    values = [1.1] * 95 + [16.0] * 5
    assert Shade.around(values, 1.0, doublings=True).high == 16
    robust = Shade.around(values, 1.0, doublings=True, share=0.95)
    assert robust.high == pytest.approx(1.1)
    assert robust.outside(values) == 5


@pytest.mark.parametrize("values", [[], [1.0], [0.0]])
def test_a_scale_is_never_empty(values: list[float]) -> None:
    shade = Shade.around(values, 1.0, doublings=True)
    assert (shade.low, shade.high) == (0.5, 2.0)


@pytest.mark.parametrize("far", [0.01, 0.2, 0.5, 1, 3, 8])
def test_ratios_are_written_as_round_numbers(far: float) -> None:
    ticks = Shade(2.0**-far, 2.0**far, 1.0, doublings=True).ticks or []
    assert 0.0 in ticks
    assert all(abs(tick) <= far + 1e-9 for tick in ticks)
    assert all(f"{2**tick:.4g}" == f"{2**tick:.10g}" or abs(tick) > 3 for tick in ticks)


def test_ends_the_wrong_way_round_are_refused() -> None:
    for low, high, middle, doublings in ((2, 1, None, False), (2, 4, 1.0, True), (0, 4, 1.0, True)):
        with pytest.raises(SelectionError, match="can't reach"):
            Shade(low, high, middle, doublings=doublings).check("x")


def test_text_is_dark_on_light_and_white_on_dark() -> None:
    both, one = Shade(-1, 1, 0.0), Shade(0, 1)
    assert (ink_on(0, both, SEED), ink_on(-1, both, SEED)) == (INK, PAPER)
    assert (ink_on(0, one, SEED), ink_on(1, one, SEED)) == (INK, PAPER)
    back = Shade(0, 1, falling=True)
    assert (ink_on(0, back, SEED), ink_on(1, back, SEED)) == (PAPER, INK)


@pytest.mark.parametrize("name", PALETTES)
@pytest.mark.parametrize("shade", [Shade(-1, 1, 0.0), Shade(0, 1), Shade(0, 1, falling=True)])
def test_the_ink_can_be_read_everywhere(name: str, shade: Shade) -> None:
    """Contrast as the WCAG counts it, at least 3 for large signs, on every colour of the ramp."""
    palette = PALETTES[name]
    scale = ramp(shade, palette)

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        lit = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * lit[0] + 0.7152 * lit[1] + 0.0722 * lit[2]

    for place, colour in zip(scale["domain"], scale["range"], strict=True):
        light = luminance(str(colour))
        ink = luminance(ink_on(float(place), shade, palette))
        contrast = (max(light, ink) + 0.05) / (min(light, ink) + 0.05)
        assert contrast >= 3, (place, colour)
