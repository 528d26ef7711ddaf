"""Tables of saved results → those that belong to one chart of token classes.

One folder can hold several charts: by kind of character and by part of the prompt, by layer and by
head. Their classes overlap, so that nothing may be added up over them; each is described on its
own. A mean over layers that stands beside the single layers does not say which it is over, and is
left out. Knows columns, no numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from mindshare.report.describing.cells import has, kind_of

Tables = Mapping[str, pa.Table]
UNNAMED = ("other", "sink_slot")  # classes that no rule names


@dataclass(frozen=True)
class _Shown:
    """What a table shows."""

    name: str
    table: pa.Table
    classes: frozenset[str]
    measure: str
    by_head: bool
    layered: bool  # has single layers

    def belongs(self, first: _Shown) -> bool:
        same = (self.measure, self.by_head) == (first.measure, first.by_head)
        return same and (self.classes <= first.classes or first.classes <= self.classes)


def sets_of(tables: Tables) -> list[dict[str, pa.Table]]:
    """The tables of each chart, the main one first; that one has the single prompts too."""
    shown = _main_first(
        [_shown(name, t) for name, t in tables.items() if kind_of(t) and t.num_rows]
    )
    if not all(one.classes for one in shown):  # of an insertion
        return [dict(tables)]
    found: list[list[_Shown]] = []
    for one in shown:
        if not one.layered and any(_beside(one, other) for other in shown):
            continue
        own = next((group for group in found if one.belongs(group[0])), None)
        if own is None:
            found.append([one])
        else:
            own.append(one)
    groups = [{one.name: one.table for one in group} for group in found]
    rest = {name: t for name, t in tables.items() if not kind_of(t)}
    return [groups[0] | rest, *groups[1:]] if groups else []


def metadata(table: pa.Table) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}


def measure_of(table: pa.Table) -> str:
    """A table of many measures names them all; what is meant is then said in the text."""
    return metadata(table).get("mindshare.measure", "mass").split(", ")[0]


def _shown(name: str, table: pa.Table) -> _Shown:
    kinds = table["class" if "class" in table.column_names else "kind"] if _classed(table) else None
    found = {kind for kind in kinds.unique().to_pylist() if kind} if kinds is not None else set()
    return _Shown(
        name,
        table,
        frozenset(found.difference(UNNAMED) or found),
        measure_of(table),
        _any(table, "head"),
        _any(table, "layer"),
    )


def _classed(table: pa.Table) -> bool:
    return has(table, "class") or has(table, "kind")


def _any(table: pa.Table, column: str) -> bool:
    return has(table, column) and table[column].null_count < table.num_rows


def _main_first(shown: list[_Shown]) -> list[_Shown]:
    """`summary`, then what is like it, then the others: means before differences, by name."""
    order = sorted(shown, key=lambda one: (one.by_head, kind_of(one.table) != "summary", one.name))
    first = next((one for one in order if one.name == "summary"), None)
    return order if first is None else [first, *(one for one in order if one is not first)]


def _beside(one: _Shown, other: _Shown) -> bool:
    """Whether the other has the single layers of what one has a mean of."""
    return other.layered and not other.by_head and bool(one.classes & other.classes)
