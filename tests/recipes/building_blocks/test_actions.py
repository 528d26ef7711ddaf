from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mindshare.recipes.building_blocks.actions import ACTIONS, actions_between, corner, inside
from mindshare.recipes.building_blocks.shapes import cells_of

ELL = cells_of(("#.", "#.", "##"))
drawn = st.frozensets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def view(cells: frozenset[tuple[int, int]]) -> list[str]:
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


def test_moves_go_where_they_say() -> None:
    corners = {name: corner(ACTIONS[name](ELL)) for name in ("left", "right", "up", "down")}
    assert corners == {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
    assert not inside(ACTIONS["left"](ELL), 8)
    assert inside(ACTIONS["right"](ELL), 8)


@given(drawn)
def test_every_action_has_its_opposite(cells: frozenset[tuple[int, int]]) -> None:
    pairs = [("left", "right"), ("up", "down"), ("turn left", "turn right"), ("double", "half")]
    for there, back in [*pairs, ("turn around", "turn around")]:
        assert ACTIONS[back](ACTIONS[there](cells)) == cells


@given(drawn)
def test_four_quarter_turns_are_none_and_two_are_half_a_turn(
    cells: frozenset[tuple[int, int]],
) -> None:
    turn = ACTIONS["turn left"]
    assert turn(turn(cells)) == ACTIONS["turn around"](cells)
    assert turn(turn(turn(turn(cells)))) == cells


@given(drawn)
def test_turns_and_scaling_stay_at_their_corner(cells: frozenset[tuple[int, int]]) -> None:
    for name in ("turn left", "turn right", "turn around", "double"):
        assert corner(ACTIONS[name](cells)) == corner(cells)


def test_a_symmetric_shape_would_have_two_answers() -> None:
    square = cells_of(("##", "##"))
    assert set(actions_between(square, square)) == {"turn left", "turn right", "turn around"}
