"""The shape that every kind of data takes before it becomes prompts: rows of named values.

A row that could not be read carries the reason instead of values, so that whoever asked can stop
there or go on. Knows no formats and no prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mindshare.errors import PromptError


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands, and its values by column, or why it has none."""

    place: str
    values: Mapping[str, Any] | None = None
    problem: PromptError | None = None


@dataclass(frozen=True)
class Rows:
    """Data that can be read row by row.

    `columns` None: every row has its own. `read` is given the columns that are wanted (None: all)
    and may leave out the others, so that a few columns of a wide table cost no more than they hold.
    """

    name: str
    columns: tuple[str, ...] | None
    read: Callable[[Collection[str] | None], Iterator[Row]]


def bad_row(place: str, what: str, *, allowed: str | None = None) -> Row:
    return Row(place, problem=PromptError(what, where=place, allowed=allowed))


def broken(name: str, error: object) -> PromptError:
    """What no row is to blame for: the file ends too early, the disk fails."""
    reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    return PromptError(
        f"the data cannot be read to the end: {reason}",
        where=name,
        next_step="check that the file is whole",
    )
