"""The shapes of the maps, drawn; and a shape as the set of its cells.

A shape is the frozenset of its (row, column) cells, its bounding box starting at (0, 0). None of
the drawings looks the same after a quarter or a half turn, so every turn can be told from the
drawing. Knows nothing of maps, actions or prompts.
"""

from __future__ import annotations

from typing import TypeAlias

Cell: TypeAlias = tuple[int, int]
Cells: TypeAlias = frozenset[Cell]

_DRAWN = {
    "corner": ("#..", "#..", "###"),
    "ell": ("#.", "#.", "##"),
    "jay": (".#", ".#", "##"),
    "tee": ("###", ".#.", ".#."),
    "stub": ("###", ".#."),
    "arch": ("###", "#.#", "#.#"),
    "cup": ("#.#", "###"),
    "flag": ("###", "###", "#.."),
    "banner": ("###", "###", "..#"),
    "axe": ("##", "##", "#."),
    "spade": ("##", "##", ".#"),
    "stairs": ("#..", "##.", "###"),
    "steps": ("#..", "##.", ".##"),
    "chair": ("#..", "###", "#.#"),
    "dog": ("..#", "###", "#.#"),
    "house": (".#.", "###", "###"),
    "arrow": (".#.", "###", "#.#"),
    "key": ("##.", "##.", "..#"),
    "hook": ("##.", ".#.", ".##", "..#"),
    "branch": ("#.", "##", "#.", "#."),
    "twig": (".#", "##", ".#", ".#"),
    "long-ell": ("#.", "#.", "#.", "##"),
    "long-jay": (".#", ".#", ".#", "##"),
    "crown": ("#.#", "###", "###"),
}


def cells_of(drawn: tuple[str, ...]) -> Cells:
    return frozenset(
        (row, column)
        for row, line in enumerate(drawn)
        for column, glyph in enumerate(line)
        if glyph == "#"
    )


SHAPES: dict[str, Cells] = {name: cells_of(drawn) for name, drawn in _DRAWN.items()}


def height(cells: Cells) -> int:
    return max(row for row, _ in cells) + 1


def width(cells: Cells) -> int:
    return max(column for _, column in cells) + 1
