"""Shapes, positions and actions → samples; a seed decides which of them, and their order.

A sample is one start map and one target map with one action between them. Train and test never
share a (shape, position): the pair is put on one side before anything is drawn, whatever the grid
or the action. Actions are equally frequent in every set. Knows nothing of prompts and models.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from typing import Literal

from mindshare.errors import SelectionError
from mindshare.recipes.building_blocks.actions import ACTIONS, inside
from mindshare.recipes.building_blocks.shapes import SHAPES, Cells

GRIDS = (8, 10, 12)
TEST_SHARE = 0.15  # of the (shape, position) pairs

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Sample:
    """One question: which action turns the start into the target?"""

    shape: str
    size: int  # of the grid, in cells
    row: int  # upper left corner of the start's bounding box
    column: int
    action: str

    @property
    def start(self) -> Cells:
        cells = SHAPES[self.shape]
        if self.action == "half":  # only what was doubled can be halved
            cells = _applied("double", cells)
        return frozenset((r + self.row, c + self.column) for r, c in cells)

    @property
    def target(self) -> Cells:
        return _applied(self.action, self.start)

    @property
    def id(self) -> str:
        action = self.action.replace(" ", "-")
        return f"{self.shape}-{self.size}-{self.row}-{self.column}-{action}"


def draw(cells: Cells, size: int, glyph: str) -> str:
    """A square map: the glyph where a cell is, spaces elsewhere, every line of full width."""
    return "\n".join(
        "".join(glyph if (row, column) in cells else " " for column in range(size))
        for row in range(size)
    )


def samples(split: Split, count: int, *, seed: int = 0) -> list[Sample]:
    """`count` different samples of one side, actions in turn, in an order the seed decides."""
    by_action = [_shuffled(split, action, seed) for action in ACTIONS]
    interleaved = [one for one in chain.from_iterable(zip_longest(*by_action)) if one is not None]
    even = len(ACTIONS) * min(len(some) for some in by_action)
    if count > even:
        raise SelectionError(
            f"there are no {count:,} {split} samples with every action equally frequent",
            allowed=f"1 to {even:,}",
        )
    chosen = interleaved[:count]
    random.Random(f"{seed} {split} order").shuffle(chosen)
    return chosen


@cache
def side(shape: str, row: int, column: int) -> Split:
    """Which side a (shape, position) is on; the same for every seed, grid and action."""
    digest = hashlib.sha256(f"{shape} {row} {column}".encode()).digest()
    return "test" if int.from_bytes(digest[:8]) < TEST_SHARE * 2**64 else "train"


def _shuffled(split: Split, action: str, seed: int) -> list[Sample]:
    every = list(_possible(split, action))
    random.Random(f"{seed} {split} {action}").shuffle(every)
    return every


def _possible(split: Split, action: str) -> Iterator[Sample]:
    """Every sample of an action on one side whose two maps fit their grid."""
    for shape in SHAPES:
        for size in GRIDS:
            for row in range(size):
                for column in range(size):
                    sample = Sample(shape, size, row, column, action)
                    if side(shape, row, column) == split and _fits(sample):
                        yield sample


def _fits(sample: Sample) -> bool:
    return inside(sample.start, sample.size) and inside(sample.target, sample.size)


def _applied(action: str, cells: Cells) -> Cells:
    result = ACTIONS[action](cells)
    assert result is not None, f"{action} is not defined here"
    return result
