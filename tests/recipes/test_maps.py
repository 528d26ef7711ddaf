"""Maps: shapes that can be told apart, actions, samples by seed, rows as prompts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import OutputError, SelectionError
from mindshare.prompts import DataSource
from mindshare_recipes.maps import (
    ACTIONS,
    GRIDS,
    QUESTION,
    SHAPES,
    SYSTEM,
    Cells,
    Sample,
    cells_of,
    corner,
    draw,
    prompt,
    row,
    samples,
    write_rows,
)

ELL = cells_of(("#.", "#.", "##"))
drawn = st.frozensets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def view(cells: Cells) -> list[str]:
    top, left = corner(cells)
    bottom, right = max(r for r, _ in cells), max(c for _, c in cells)
    return [
        "".join("#" if (r, c) in cells else "." for c in range(left, right + 1))
        for r in range(top, bottom + 1)
    ]


def test_turns_as_a_person_draws_them() -> None:
    assert view(ACTIONS["turn left"](ELL)) == ["..#", "###"]
    assert view(ACTIONS["turn right"](ELL)) == ["###", "#.."]
    assert view(ACTIONS["turn around"](ELL)) == ["##", ".#", ".#"]


def test_scaling_as_a_person_draws_it() -> None:
    assert view(ACTIONS["double"](ELL)) == ["##..", "##..", "##..", "##..", "####", "####"]
    assert ACTIONS["half"](ELL) is None


def inside(cells: Cells, size: int) -> bool:
    return all(0 <= row < size and 0 <= column < size for row, column in cells)


def actions_between(start: Cells, target: Cells) -> list[str]:
    """Every listed action that turns the start into the target."""
    return [name for name, act in ACTIONS.items() if act(start) == target]


def test_moves_go_where_they_say() -> None:
    corners = {name: corner(ACTIONS[name](ELL)) for name in ("left", "right", "up", "down")}
    assert corners == {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
    assert not inside(ACTIONS["left"](ELL), 8)
    assert inside(ACTIONS["right"](ELL), 8)


@given(drawn)
def test_every_action_has_its_opposite(cells: Cells) -> None:
    pairs = [("left", "right"), ("up", "down"), ("turn left", "turn right"), ("double", "half")]
    for there, back in [*pairs, ("turn around", "turn around")]:
        assert ACTIONS[back](ACTIONS[there](cells)) == cells


@given(drawn)
def test_four_quarter_turns_are_none_and_two_are_half_a_turn(
    cells: Cells,
) -> None:
    turn = ACTIONS["turn left"]
    assert turn(turn(cells)) == ACTIONS["turn around"](cells)
    assert turn(turn(turn(turn(cells)))) == cells


@given(drawn)
def test_turns_and_scaling_stay_at_their_corner(cells: Cells) -> None:
    for name in ("turn left", "turn right", "turn around", "double"):
        assert corner(ACTIONS[name](cells)) == corner(cells)


def test_a_symmetric_shape_would_have_two_answers() -> None:
    square = cells_of(("##", "##"))
    assert set(actions_between(square, square)) == {"turn left", "turn right", "turn around"}


TURNS = [ACTIONS[name] for name in ("turn left", "turn around", "turn right")]


def test_there_are_enough_and_they_fit_doubled_into_the_smallest_grid() -> None:
    assert len(SHAPES) >= 12
    assert all(max(cell) < 4 for cells in SHAPES.values() for cell in cells)


def test_a_drawing_is_read_row_by_row() -> None:
    assert cells_of((".#", "##")) == {(0, 1), (1, 0), (1, 1)}


def test_every_turn_of_every_shape_looks_different() -> None:
    for name, cells in SHAPES.items():
        assert len({cells, *(turn(cells) for turn in TURNS)}) == 4, name


def test_no_shape_is_another_one_turned() -> None:
    views = [frozenset({cells, *(turn(cells) for turn in TURNS)}) for cells in SHAPES.values()]
    assert len(set(views)) == len(SHAPES)


def test_every_shape_starts_at_its_corner_and_is_in_one_piece() -> None:
    for name, cells in SHAPES.items():
        assert min(r for r, _ in cells) == min(c for _, c in cells) == 0, name
        assert reached(cells) == cells, name


def reached(cells: Cells) -> set[tuple[int, int]]:
    """The cells that can be walked to from the first one, corners counting as touching."""
    seen, edge = set(), {min(cells)}
    while edge:
        seen |= edge
        near = {(r + i, c + j) for r, c in edge for i in (-1, 0, 1) for j in (-1, 0, 1)}
        edge = (near & cells) - seen
    return seen


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


SAMPLE = Sample("ell", 8, 2, 1, "turn right")


def spanned(content: dict[str, Any], name: str) -> list[str]:
    return [content["messages"][m]["content"][a:b] for m, a, b in content["spans"][name]]


def test_spans_hold_what_they_are_called() -> None:
    content = row(SAMPLE)
    start, target = draw(SAMPLE.start, 8, "#"), draw(SAMPLE.target, 8, "*")
    assert spanned(content, "start_map") == [start]
    assert spanned(content, "target_map") == [target]
    assert spanned(content, "maps") == [start, target]
    assert spanned(content, "question") == [QUESTION]
    assert spanned(content, "system") == [SYSTEM]
    assert content["answer"] == "turn right"


def test_the_answer_is_named_in_the_system_message_and_nowhere_else() -> None:
    assert "turn right" in SYSTEM
    assert "turn right" not in row(SAMPLE)["messages"][1]["content"]
    assert not set("#*") & set(SYSTEM + QUESTION)


def test_a_written_file_is_read_back_as_prompts(tmp_path: Path) -> None:
    some = samples("test", 18)
    path = write_rows(some, tmp_path / "new" / "test.jsonl")
    assert list(DataSource(path).open()) == [prompt(sample) for sample in some]
    assert [json.loads(line)["answer"] for line in path.read_text().splitlines()] == [
        s.action for s in some
    ]


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("mine")
    with pytest.raises(OutputError, match="exists already"):
        write_rows([SAMPLE], path)
    assert path.read_text() == "mine"
