"""Tables of a prompt's versions → what the tokens of one head receive, checked, in order.

Asking for a prompt, condition, layer or head that is not in the table is refused with what is
there. Knows the tables `sequence`, `places` and `aligned`, nothing about charts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError, nearest
from mindshare.table import SCHEMAS

Head = tuple[int | None, int | None]  # layer, head; None: the mean over them
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WITHOUT = "without"
_INSERTED = ("inserted",)
_MARKS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


@dataclass(frozen=True)
class Profile:
    """What the tokens of one version receive in one head, in the order of their positions."""

    condition: str
    position: Integers  # what the horizontal axis shows
    received: Floats  # NaN where no query counts
    n_queries: Integers
    tokens: tuple[str, ...]

    def after_first(self) -> Profile:
        """Without the token at position 0."""
        kept = self.position > 0
        tokens = tuple(t for t, keep in zip(self.tokens, kept, strict=True) if keep)
        numbers = (self.position[kept], self.received[kept], self.n_queries[kept])
        return Profile(self.condition, *numbers, tokens)


def visible(token: str) -> str:
    """The token with every space, line end and control character as a mark."""
    return "".join(_MARKS.get(c) or (c if c.isprintable() else _escaped(c)) for c in token)


def pick(table: pa.Table, kind: str, **wanted: Any) -> pa.Table:
    """The rows of a table of this kind that have these values; None is the mean, a null."""
    require(table, kind)
    for column, value in wanted.items():
        there = table[column]
        kept = table.filter(pc.is_null(there) if value is None else pc.equal(there, value))
        if kept.num_rows == 0:
            raise _absent(table, column, value)
        table = kept
    return table


def require(table: pa.Table, kind: str) -> None:
    """Refuses a table of another kind, or without rows."""
    missing = [name for name in SCHEMAS[kind].names if name not in table.column_names]
    if missing or table.num_rows == 0:
        lacks = f"no column {missing[0]!r}" if missing else "no rows"
        raise SelectionError(f"this table has {lacks}, so it can't be drawn as {kind!r}")


def _absent(table: pa.Table, column: str, value: Any) -> SelectionError:
    there = pc.unique(table[column]).to_pylist()
    shown = ["the mean" if x is None else str(x) for x in there]
    more = f", … ({len(shown)} in all)" if len(shown) > 12 else ""
    asked = "mean" if value is None else repr(value)
    return SelectionError(
        f"there is no {column} {asked} in the table{nearest(str(value), shown)}",
        allowed=", ".join(shown[:12]) + more,
    )


def whole(sequence: pa.Table, places: pa.Table, *, condition: str, head: Head) -> Profile:
    """Every token of one version; both tables are of one prompt."""
    rows = pick(sequence, "sequence", condition=condition, layer=head[0], head=head[1])
    tokens = dict(zip(*columns(places_of(places, condition), "position", "token"), strict=True))
    position, received, n_queries = columns(rows, "position", "received", "n_queries")
    return _profile(condition, position, received, n_queries, [tokens[i] for i in position])


def both(aligned: pa.Table, *, condition: str, head: Head) -> tuple[Profile, Profile]:
    """The original tokens of one prompt without and with the insertion, at the same positions."""
    rows = pick(aligned, "aligned", condition=condition, layer=head[0], head=head[1])
    position, tokens = columns(rows, "position_without", "token")
    without, n_without = columns(rows, "received_without", "n_queries_without")
    with_, n_with = columns(rows, "received_with", "n_queries_with")
    return (
        _profile(WITHOUT, position, without, n_without, tokens),
        _profile(condition, position, with_, n_with, tokens),
    )


def places_of(places: pa.Table, condition: str) -> pa.Table:
    return pick(places, "places", condition=condition)


def extent(places: pa.Table, condition: str) -> tuple[int, int] | None:
    """First and last position of the tokens that hold an inserted character."""
    rows = places_of(places, condition)
    inside = [
        p for p, part in zip(*columns(rows, "position", "part"), strict=True) if part in _INSERTED
    ]
    return (min(inside), max(inside)) if inside else None


def unmatched(places: pa.Table, condition: str) -> list[int]:
    """Positions of original tokens without a partner in this version."""
    partners = set(places_of(places, condition)["position_without"].to_pylist())
    there: list[int] = places_of(places, WITHOUT)["position"].to_pylist()
    return [i for i in there if i not in partners]


def columns(table: pa.Table, *names: str) -> list[list[Any]]:
    return [table[name].to_pylist() for name in names]


def metadata(table: pa.Table) -> dict[str, str]:
    """What the table says about itself."""
    return {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}


def _profile(
    condition: str, position: Any, received: Any, n_queries: Any, tokens: Sequence[str]
) -> Profile:
    order = np.argsort(np.array(position), kind="stable")
    return Profile(
        condition,
        np.array(position, np.int64)[order],
        np.array(received, np.float64)[order],
        np.array([n or 0 for n in n_queries], np.int64)[order],
        tuple(tokens[i] for i in order),
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
