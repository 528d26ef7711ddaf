from __future__ import annotations

from collections import Counter

import pytest

from mindshare.errors import SelectionError
from mindshare.recipes.building_blocks.actions import ACTIONS, actions_between, inside
from mindshare.recipes.building_blocks.samples import GRIDS, Sample, draw, samples
from mindshare.recipes.building_blocks.shapes import SHAPES


def test_in_every_sample_the_action_and_no_other_turns_the_start_into_the_target() -> None:
    for split, count in (("train", 12_000), ("test", 900)):
        for sample in samples(split, count):
            assert actions_between(sample.start, sample.target) == [sample.action], sample.id
            assert inside(sample.start | sample.target, sample.size), sample.id


def test_train_and_test_share_no_shape_at_a_position() -> None:
    train, test = samples("train", 12_000), samples("test", 900)
    places = [{(s.shape, s.row, s.column) for s in some} for some in (train, test)]
    assert not places[0] & places[1]
    assert {s.shape for s in test} == set(SHAPES)


def test_nothing_comes_twice_and_maps_do_not_either() -> None:
    every = samples("train", 12_000) + samples("test", 900)
    assert len({s.id for s in every}) == len(every)
    assert len({(s.size, s.start, s.target) for s in every}) == len(every)


def test_actions_are_equally_frequent_and_every_grid_is_there() -> None:
    some = samples("train", 900)
    assert set(Counter(s.action for s in some).values()) == {100}
    assert set(Counter(s.action for s in some)) == set(ACTIONS)
    assert {s.size for s in some} == set(GRIDS)


def test_the_seed_decides_and_decides_all() -> None:
    first = [s.id for s in samples("train", 200, seed=1)]
    assert first == [s.id for s in samples("train", 200, seed=1)]
    assert first != [s.id for s in samples("train", 200, seed=2)]


def test_the_same_seed_gives_the_same_samples_for_ever() -> None:
    """The shipped adapter was trained on these: its held-out maps must stay held out."""
    assert [s.id for s in samples("test", 3)] == PINNED


PINNED = ["jay-12-8-0-up", "axe-8-3-1-left", "stub-10-1-0-right"]


def test_more_than_there_are_is_refused_with_how_many_there_are() -> None:
    with pytest.raises(SelectionError, match="no 99,999 test samples") as error:
        samples("test", 99_999)
    assert "1 to " in str(error.value)


def test_a_map_is_a_square_of_full_lines() -> None:
    sample = Sample("ell", 8, 2, 1, "right")
    assert draw(sample.start, 8, "#").split("\n")[2:5] == [" #      ", " #      ", " ##     "]
    assert draw(sample.target, 8, "*").split("\n")[2:5] == ["  *     ", "  *     ", "  **    "]
    assert {len(line) for line in draw(sample.start, 8, "#").split("\n")} == {8}


def test_half_starts_from_what_was_doubled() -> None:
    sample = Sample("cup", 10, 1, 2, "half")
    assert sample.start == Sample("cup", 10, 1, 2, "double").target
    assert len(sample.target) * 4 == len(sample.start)
