"""What to insert where, and what to measure of it: one frozen, serialisable definition.

Like `Study` it names no model and no prompt, and runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mindshare.errors import SelectionError, nearest
from mindshare.prompts import Insertion, parse_insertions
from mindshare.study.study import definition_hash

WITHOUT = "without"  # the condition of a prompt as it is
QUERIES = ("all", "original")


@dataclass(frozen=True)
class InsertionStudy:
    """Which insertions to compare with the prompt as it is."""

    insertions: tuple[Insertion, ...]
    against: tuple[Insertion, ...] = ()  # one for each insertion, or none
    layers: tuple[int, ...] | None = None  # None: every layer that has attention
    queries: str = "all"  # of `received`: every token, or those that were not inserted
    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    kernel: str = "auto"

    def __post_init__(self) -> None:
        if not self.insertions:
            raise SelectionError("there is nothing to insert", allowed="e.g. '/ *55'")
        if self.against and len(self.against) != len(self.insertions):
            raise SelectionError("there must be one `against` for each insertion")
        names = self.conditions
        twice = [name for name in names if names.count(name) > 1 or name == WITHOUT]
        if twice:
            raise SelectionError(
                f"two conditions are called {twice[0]!r}", next_step="leave out one of them"
            )
        if self.queries not in QUERIES:
            raise SelectionError(
                f"unknown query set {self.queries!r} for an insertion"
                f"{nearest(self.queries, QUERIES)}",
                allowed="all, or original (tokens that were not inserted)",
            )
        if self.layers == ():
            raise SelectionError("layers=[] leaves no layer", allowed="None for all, or numbers")
        if self.near < -1:
            raise SelectionError(f"near={self.near}", allowed="-1 (include the diagonal), 0, 1, …")

    def pairs(self) -> list[tuple[Insertion, Insertion | None]]:
        """Each insertion and what it stands against."""
        others = self.against or (None,) * len(self.insertions)
        return list(zip(self.insertions, others, strict=True))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the versions with an insertion, in the order of the tables."""
        return tuple(one.name for pair in self.pairs() for one in pair if one is not None)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def hash(self) -> str:
        return definition_hash(self.to_dict())


def build_insertion_study(
    insert: str | Sequence[str],
    *,
    against: str | None = None,
    at: str | Sequence[str] = "between",
    seed: int = 0,
    **rest: Any,
) -> InsertionStudy:
    """From what people write: '/ *55', ['/ *10,25', 'he *25'], 'random-sentence', 'start'."""
    insertions = parse_insertions(insert, places=at, seed=seed)
    others = () if against is None else tuple(_against(against, insertions))
    return InsertionStudy(tuple(insertions), others, **rest)


def _against(text: str, insertions: Sequence[Insertion]) -> Iterator[Insertion]:
    """What each insertion stands against: at the same place, with a name of its own."""
    for one in insertions:
        found = parse_insertions(text, places=one.place, seed=one.seed)
        if len(found) > 1:
            raise SelectionError(
                f"against={text!r} are {len(found)} insertions", allowed="one, e.g. random-sentence"
            )
        name = found[0].name if len(insertions) == 1 else f"{found[0].name} for {one.name}"
        yield replace(found[0], name=name)
