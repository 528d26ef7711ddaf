"""A `summary` or `contrast` table → the rows a chart draws, checked, with what they say about
themselves.

Asking for a layer, head, class or model that is not in the table is refused with what is there.
Knows the tables, nothing about charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError, nearest

Row = dict[str, Any]
UNNAMED = ("other", "sink_slot")  # classes that no rule names


@dataclass(frozen=True)
class Shown:
    """The rows of one query set. Every list is in the order of drawing."""

    table: pa.Table
    measure: str
    queries: str
    about: dict[str, str]  # the table's metadata

    @property
    def rows(self) -> list[Row]:
        rows: list[Row] = self.table.to_pylist()
        return rows

    @property
    def models(self) -> list[str]:
        return self._words("model")

    @property
    def classes(self) -> list[str]:
        return self._words("class")

    @property
    def layers(self) -> list[int | None]:
        return self._numbers("layer")

    @property
    def heads(self) -> list[int | None]:
        return self._numbers("head")

    def _words(self, column: str) -> list[str]:
        words: list[str] = pc.unique(self.table[column]).to_pylist()
        return words

    def _numbers(self, column: str) -> list[int | None]:
        """Ascending; None (the mean) last."""
        numbers: list[int | None] = pc.unique(self.table[column]).to_pylist()
        return sorted(numbers, key=lambda n: (n is None, n))

    def only(self, column: str, wanted: Sequence[Any] | None) -> Shown:
        """The rows with these values, or all of them."""
        if wanted is None:
            return self
        there = self._words(column)
        for value in wanted:
            if value not in there:
                raise SelectionError(
                    f"there is no {column} {value!r} in the table"
                    f"{nearest(str(value), map(str, there))}",
                    allowed=_listed(there),
                )
        kept = self.table.filter(pc.is_in(self.table[column], value_set=pa.array(list(wanted))))
        return Shown(kept, self.measure, self.queries, self.about)


def shown(table: pa.Table, *, queries: str | None, needs: Iterable[str]) -> Shown:
    """The rows of the chosen query set, or of the only one."""
    missing = [name for name in needs if name not in table.column_names]
    about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    if missing or "mindshare.measure" not in about:
        lacks = f"no column {missing[0]!r}" if missing else "no word about its measure"
        raise SelectionError(
            f"this table has {lacks}, so it can't be drawn",
            next_step="make it with mindshare.stats.summarise or mindshare.stats.contrast",
        )
    sets = pc.unique(table["queries"]).to_pylist()
    if table.num_rows == 0 or (queries is None and len(sets) > 1):
        raise SelectionError(
            "the table has several query sets" if sets else "the table has no rows",
            allowed=_listed(sets) or None,
            next_step="choose one, e.g. options with queries='all'" if sets else None,
        )
    everything = Shown(table, about["mindshare.measure"], queries or sets[0], about)
    return everything.only("queries", [everything.queries])


def _listed(values: Sequence[Any]) -> str:
    shown = [str(v) for v in values[:12]]
    return ", ".join(shown) + (", …" if len(values) > len(shown) else "")
