"""Shapes, actions and samples: maps with one action between them, as prompts and as data files.

A sample is a start map drawn in `#`, a target map drawn in `*`, and the one action that turns the
first into the second. A seed decides which samples, and their order. Train and test never share a
(shape, position): the pair is put on one side before anything is drawn, whatever the grid or the
action. Actions are equally frequent in every set.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mindshare.errors import OutputError, SelectionError
from mindshare.prompts import Prompt

Cells: TypeAlias = frozenset[tuple[int, int]]  # (row, column)
Action = Callable[[Cells], Cells | None]  # None: not defined for these cells

# Shapes. None looks the same after a quarter or a half turn, so the drawing decides which turn it
# was; each has its bounding box at (0, 0).

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

# Actions. Moves shift by one cell. Turns, `double` and `half` keep the upper left corner of the
# bounding box where it is. `double` makes each cell a block of 2 × 2; `half` undoes that and is not
# defined for other shapes. A turn by 45 degrees is left out: on a grid of characters its cells fall
# between the columns, and a drawing of it would be another shape.


def corner(cells: Cells) -> tuple[int, int]:
    """The upper left corner of the bounding box."""
    return min(row for row, _ in cells), min(column for _, column in cells)


def _moved(cells: Cells, rows: int, columns: int) -> Cells:
    return frozenset((r + rows, c + columns) for r, c in cells)


def _in_place(change: Action) -> Action:
    """A change of the shape whose result keeps the corner where it was."""

    def act(cells: Cells) -> Cells | None:
        top, left = corner(cells)
        changed = change(_moved(cells, -top, -left))
        if changed is None:
            return None
        new_top, new_left = corner(changed)
        return _moved(changed, top - new_top, left - new_left)

    return act


def _double(cells: Cells) -> Cells:
    return frozenset((2 * r + i, 2 * c + j) for r, c in cells for i in (0, 1) for j in (0, 1))


def _half(cells: Cells) -> Cells | None:
    small = frozenset((r // 2, c // 2) for r, c in cells)
    return small if _double(small) == cells else None


ACTIONS: dict[str, Action] = {
    "left": lambda cells: _moved(cells, 0, -1),
    "right": lambda cells: _moved(cells, 0, 1),
    "up": lambda cells: _moved(cells, -1, 0),
    "down": lambda cells: _moved(cells, 1, 0),
    "turn left": _in_place(lambda cells: frozenset((-c, r) for r, c in cells)),
    "turn right": _in_place(lambda cells: frozenset((c, -r) for r, c in cells)),
    "turn around": _in_place(lambda cells: frozenset((-r, -c) for r, c in cells)),
    "double": _in_place(_double),
    "half": _in_place(_half),
}


# Samples.

GRIDS = (8, 10, 12)  # cells of a side
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
        shape = SHAPES[self.shape]
        cells = _double(shape) if self.action == "half" else shape  # only that can be halved
        return _moved(cells, self.row, self.column)

    @property
    def target(self) -> Cells:
        target = ACTIONS[self.action](self.start)
        assert target is not None, f"{self.action} is not defined for {self.shape}"
        return target

    @property
    def fits(self) -> bool:
        cells = self.start | self.target
        return all(0 <= r < self.size and 0 <= c < self.size for r, c in cells)

    @property
    def id(self) -> str:
        action = self.action.replace(" ", "-")
        return f"{self.shape}-{self.size}-{self.row}-{self.column}-{action}"


def samples(split: Split, count: int, *, seed: int = 0) -> list[Sample]:
    """`count` different samples of one side, actions in turn, in an order the seed decides."""
    by_action = []
    for action in ACTIONS:
        possible = list(_possible(split, action))
        random.Random(f"{seed} {split} {action}").shuffle(possible)
        by_action.append(possible)
    in_turn = list(chain.from_iterable(zip(*by_action, strict=False)))  # equally frequent
    if count > len(in_turn):
        raise SelectionError(
            f"there are no {count:,} {split} samples with every action equally frequent",
            allowed=f"1 to {len(in_turn):,}",
        )
    chosen = in_turn[:count]
    random.Random(f"{seed} {split} order").shuffle(chosen)
    return chosen


def _possible(split: Split, action: str) -> Iterator[Sample]:
    """Every sample of an action on one side whose two maps fit their grid."""
    for shape, size in product(SHAPES, GRIDS):
        for row, column in product(range(size), repeat=2):
            sample = Sample(shape, size, row, column, action)
            if _side(shape, row, column) == split and sample.fits:
                yield sample


@cache
def _side(shape: str, row: int, column: int) -> Split:
    """Which side a (shape, position) is on; the same for every seed, grid and action."""
    digest = hashlib.sha256(f"{shape} {row} {column}".encode()).digest()
    return "test" if int.from_bytes(digest[:8]) < TEST_SHARE * 2**64 else "train"


# Rows: what `mindshare … --data` reads. The prompt ends where the answer would begin.

_NAMES = list(ACTIONS)
SYSTEM = (
    "You see a map before and after one action. Name the action: "
    f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}."
)
QUESTION = "Which action was it?"


def draw(cells: Cells, size: int, glyph: str) -> str:
    """A square map: the glyph where a cell is, spaces elsewhere, every line of full width."""
    return "\n".join(
        "".join(glyph if (row, column) in cells else " " for column in range(size))
        for row in range(size)
    )


def row(sample: Sample) -> dict[str, Any]:
    """Everything about a sample; `messages` and `spans` are the prompt, `answer` the solution.

    Spans are [message, start, stop]: `start_map`, `target_map`, `maps` (both) and `question` of the
    user's message; `system` is all of the system message.
    """
    start = draw(sample.start, sample.size, "#")
    target = draw(sample.target, sample.size, "*")
    user = f"Start:\n{start}\nTarget:\n{target}\n{QUESTION}"
    spans = {
        name: [[1, user.index(text), user.index(text) + len(text)]]
        for name, text in {"start_map": start, "target_map": target, "question": QUESTION}.items()
    }
    return {
        "id": sample.id,
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": user}],
        "spans": {
            "system": [[0, 0, len(SYSTEM)]],
            "maps": spans["start_map"] + spans["target_map"],
            **spans,
        },
        "answer": sample.action,
        "shape": sample.shape,
        "size": sample.size,
        "row": sample.row,
        "column": sample.column,
    }


def prompt(sample: Sample) -> Prompt:
    """The sample as a prompt, spans included."""
    content = row(sample)
    return Prompt.from_chat(
        content["messages"], content["spans"], id=content["id"], answer=content["answer"]
    )


def write_rows(samples: Iterable[Sample], path: Path) -> Path:
    """Write a JSON Lines file; an existing one is never overwritten."""
    text = "".join(json.dumps(row(sample)) + "\n" for sample in samples)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(
            f"{path} exists already", next_step="choose another folder or remove the file"
        ) from None
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error
    return path
