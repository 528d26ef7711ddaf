"""The nine atomic actions: cells on a grid → cells on a grid.

Moves shift by one cell. Turns, `double` and `half` keep the upper left corner of the shape's
bounding box where it is. `double` makes each cell a block of 2 × 2; `half` undoes that and is not
defined for other shapes. A turn by 45 degrees is left out: on a grid of characters its cells fall
between the columns, and a drawing of it would be another shape.
"""

from __future__ import annotations

from collections.abc import Callable

from mindshare.recipes.building_blocks.shapes import Cells

Action = Callable[[Cells], Cells | None]


def corner(cells: Cells) -> tuple[int, int]:
    """The upper left corner of the bounding box."""
    return min(row for row, _ in cells), min(column for _, column in cells)


def _move(rows: int, columns: int) -> Action:
    return lambda cells: frozenset((r + rows, c + columns) for r, c in cells)


def _in_place(change: Action) -> Action:
    """An action on the shape by itself, put back to the corner where it was."""

    def act(cells: Cells) -> Cells | None:
        top, left = corner(cells)
        changed = change(frozenset((r - top, c - left) for r, c in cells))
        if changed is None:
            return None
        new_top, new_left = corner(changed)
        return frozenset((r - new_top + top, c - new_left + left) for r, c in changed)

    return act


def _double(cells: Cells) -> Cells:
    return frozenset((2 * r + i, 2 * c + j) for r, c in cells for i in (0, 1) for j in (0, 1))


def _half(cells: Cells) -> Cells | None:
    small = frozenset((r // 2, c // 2) for r, c in cells)
    return small if _double(small) == cells else None


ACTIONS: dict[str, Action] = {
    "left": _move(0, -1),
    "right": _move(0, 1),
    "up": _move(-1, 0),
    "down": _move(1, 0),
    "turn left": _in_place(lambda cells: frozenset((-c, r) for r, c in cells)),
    "turn right": _in_place(lambda cells: frozenset((c, -r) for r, c in cells)),
    "turn around": _in_place(lambda cells: frozenset((-r, -c) for r, c in cells)),
    "double": _in_place(_double),
    "half": _in_place(_half),
}


def inside(cells: Cells, size: int) -> bool:
    return all(0 <= row < size and 0 <= column < size for row, column in cells)


def actions_between(start: Cells, target: Cells) -> list[str]:
    """Every listed action that turns the start into the target."""
    return [name for name, act in ACTIONS.items() if act(start) == target]
