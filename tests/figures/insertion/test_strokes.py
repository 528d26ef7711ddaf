from __future__ import annotations

import numpy as np
import pytest

from mindshare.figures.insertion.strokes import (
    MOST,
    is_thinned,
    series_colours,
    strokes,
    without_and_with,
)
from mindshare.figures.insertion.versions import Profile
from mindshare.figures.theme import PALETTES


def profile(received: object, *, position: object = None, queries: object = None) -> Profile:
    values = np.array(received, float)
    n = len(values)
    places = np.arange(n) if position is None else np.array(position)
    counts = np.arange(n)[::-1] if queries is None else np.array(queries)
    return Profile("c", places, values, counts, tuple("t" * n))


def drawn(one: Profile, few: int = 0) -> list[tuple[list[int], bool]]:
    return [(s.points.tolist(), s.faded) for s in strokes(one, few=few)]


def test_a_line_breaks_where_tokens_or_numbers_are_missing() -> None:
    assert drawn(profile([1, 2, np.nan, 4, 5])) == [([0, 1], False), ([3, 4], False)]
    assert drawn(profile([1, 2, 3], position=[0, 2, 3])) == [([0], False), ([1, 2], False)]
    assert drawn(profile([np.nan, np.nan])) == []


def test_strokes_that_meet_share_their_point() -> None:
    assert drawn(profile([1, 2, 3, 4, 5]), few=2) == [([0, 1, 2], False), ([2, 3, 4], True)]


def test_few_queries_in_the_middle_fade_both_steps() -> None:
    one = profile([1, 2, 3, 4, 5], queries=[9, 9, 1, 9, 9])
    assert drawn(one, few=5) == [([0, 1], False), ([1, 2, 3], True), ([3, 4], False)]


def test_a_long_line_keeps_its_ends_its_peaks_and_its_floor() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(20_000)
    values[12_345], values[777] = 9.0, -1.0
    (stroke,) = strokes(profile(values, queries=np.full(20_000, 99)), few=5)
    assert len(stroke.points) <= 2_002
    assert {0, 777, 12_345, 19_999} <= set(stroke.points.tolist())
    assert (np.diff(stroke.points) > 0).all()


def test_a_line_that_is_short_enough_keeps_every_point() -> None:
    one = profile(np.ones(MOST), queries=np.full(MOST, 99))
    assert not is_thinned(one)
    assert len(strokes(one, few=5)[0].points) == MOST


@pytest.mark.parametrize("name", PALETTES)
def test_without_is_blue_and_no_two_series_look_alike(name: str) -> None:
    palette = PALETTES[name]
    blue, red = without_and_with(palette)
    assert series_colours(palette)[0] == blue
    assert red != blue
    assert len(set(series_colours(palette))) == len(palette.classes)
    assert without_and_with(PALETTES["seed"]) == ("#2f6fc4", "#d63333")
    assert series_colours(PALETTES["seed"])[1] == "#ee8a1d"
