from __future__ import annotations

from mindshare.recipes.building_blocks.actions import ACTIONS
from mindshare.recipes.building_blocks.shapes import SHAPES, cells_of, height, width

TURNS = [ACTIONS[name] for name in ("turn left", "turn around", "turn right")]


def test_there_are_enough_and_they_fit_doubled_into_the_smallest_grid() -> None:
    assert len(SHAPES) >= 12
    assert max(height(cells) for cells in SHAPES.values()) * 2 <= 8
    assert max(width(cells) for cells in SHAPES.values()) * 2 <= 8


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


def reached(cells: frozenset[tuple[int, int]]) -> set[tuple[int, int]]:
    """The cells that can be walked to from the first one, corners counting as touching."""
    seen, edge = set(), {min(cells)}
    while edge:
        seen |= edge
        near = {(r + i, c + j) for r, c in edge for i in (-1, 0, 1) for j in (-1, 0, 1)}
        edge = (near & cells) - seen
    return seen
