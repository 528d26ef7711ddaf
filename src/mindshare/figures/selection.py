"""A table and the options of a chart → the rows that are drawn.

A layer, head, class, model or condition that is not in the table is refused with what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError, nearest, require_all_known
from mindshare.facts import evidence
from mindshare.facts.cells import Number
from mindshare.figures.colours import class_colours
from mindshare.figures.theme import Style
from mindshare.measures import MEASURES, Measure
from mindshare.tables import DEFINITIONS, SCHEMAS, metadata

Row = dict[str, Any]
_SHOWN = 12  # values that a refusal lists


@dataclass(frozen=True)
class Selection:
    """Rows of a table over prompts, of one measure and query set; lists are in drawing order."""

    table: pa.Table
    measure: Measure
    style: Style
    about: Mapping[str, str]  # what the caller knows: models, heads, data, …
    queries: str | None = None  # None: the table does not say
    classes: tuple[str, ...] = ()  # all of the table, drawn or not, in the order of the rules

    @cached_property
    def rows(self) -> list[Row]:
        rows: list[Row] = self.table.to_pylist()
        return rows

    @cached_property
    def metadata(self) -> dict[str, str]:
        return metadata(self.table)

    @property
    def is_difference(self) -> bool:
        return "difference" in self.table.column_names

    @property
    def value(self) -> str:
        """The column that is drawn."""
        return "difference" if self.is_difference else "mean"

    @property
    def neutral(self) -> float | None:
        """The number that says that nothing changed."""
        return 0.0 if self.is_difference else self.measure.neutral

    @cached_property
    def drawn(self) -> list[Row]:
        """The rows that have a number."""
        return [row for row in self.rows if row[self.value] is not None]

    @property
    def numbers(self) -> list[float]:
        return [row[self.value] for row in self.drawn]

    @property
    def has_intervals(self) -> bool:
        return bool(self.table["low"].null_count < self.table.num_rows)

    @property
    def models(self) -> list[str]:
        """Of a difference: what is compared, then what it is compared with."""
        if "model" in self.table.column_names:
            return self.values("model")
        return [str(self.table[name][0]) for name in ("model_b", "model_a")]

    @property
    def layers(self) -> list[int | None]:
        return sorted(self.values("layer"), key=lambda n: (n is None, n))

    @property
    def heads(self) -> list[int | None]:
        return sorted(self.values("head"), key=lambda n: (n is None, n))

    def values(self, column: str) -> list[Any]:
        """Each once; none if there is no such column."""
        if column not in self.table.column_names:
            return []
        values: list[Any] = pc.unique(self.table[column]).to_pylist()
        return values

    def class_colours(self, *, first: int = 0) -> dict[str, str]:
        """Of the classes that are drawn: those of the palette, or chosen ones."""
        names, palette = self.values("class"), self.style.colours
        colours = class_colours(names, palette, first=first, among=self.classes)
        return self.style.tinted(colours)

    def only(self, column: str, wanted: Sequence[Any] | None) -> Selection:
        """The rows with these values, or all of them."""
        return self if wanted is None else replace(self, table=only(self.table, column, wanted))

    def single(self, column: str, wanted: Any, what: str) -> Selection:
        """The rows with this value; without one, there must not be several."""
        there = self.values(column)
        if wanted is None and len(there) > 1:
            raise SelectionError(
                f"{what} shows one {column}, and the table has several",
                allowed=_listed(there),
                next_step=f"choose one, e.g. {column}={there[0]!r}",
            )
        return self.only(column, None if wanted is None else [wanted])


def select(
    table: pa.Table,
    style: Style,
    about: Mapping[str, str] | None = None,
    *,
    measure: str | None = None,
) -> Selection:
    """A table over prompts → the rows of one measure (the table's own, unless it has several)."""
    known = metadata(table)
    missing = [n for n in ("layer", "head", "low", "n_prompts") if n not in table.column_names]
    if missing or not ("measure" in table.column_names or "mindshare.measure" in known):
        lacks = f"no column {missing[0]!r}" if missing else "no word about its measure"
        raise SelectionError(
            f"this table has {lacks}, so it can't be drawn",
            next_step="make it with a function of mindshare.stats, such as estimate",
        )
    if table.num_rows == 0:
        raise SelectionError("the table has no rows")
    if "measure" in table.column_names:
        require_all_known([str(measure)], MEASURES, "response number")
        table = only(table, "measure", [measure])
    else:
        measure = known["mindshare.measure"]
    data = Selection(table, MEASURES[str(measure)], style, about or {})
    data = replace(data, classes=tuple(name for name in data.values("class") if name))
    if "queries" not in table.column_names:
        return data
    sets = data.values("queries")
    if len(sets) > 1:
        raise SelectionError(
            f"the table has several query sets: {_listed(sets)}",
            next_step="keep the rows of one of them",
        )
    return replace(data, queries=sets[0])


def only(table: pa.Table, column: str, wanted: Sequence[Any]) -> pa.Table:
    """The rows with these values, None being the mean; each must be there."""
    there = pc.unique(table[column]).to_pylist()
    for value in wanted:
        if value not in there:
            shown = ["the mean" if x is None else str(x) for x in there]
            name = "mean" if value is None else repr(value)
            raise SelectionError(
                f"there is no {column} {name} in the table{nearest(str(value), shown)}",
                allowed=_listed(shown),
            )
    value_set = pa.array(list(wanted), type=table[column].type)
    return table.filter(pc.is_in(table[column], value_set=value_set))


def joined(several: Sequence[Selection]) -> pa.Table:
    """The rows of all of them, each with its measure: what is beside a picture of several."""
    schema = several[-1].table.schema
    field = pa.field("measure", pa.string(), metadata={"definition": DEFINITIONS["measure"]})
    tables = [
        pa.Table.from_arrays(one.table.columns, schema=schema).add_column(
            0, field, pa.array([one.measure.name] * one.table.num_rows, pa.string())
        )
        for one in several
    ]
    return pa.concat_tables(tables)


def significant(data: Selection, row: Row) -> bool:
    """Whether findings would call this difference one."""
    return evidence.differs(Number.from_row(row, data.value))


def pick(table: pa.Table, kind: str, **wanted: Any) -> pa.Table:
    """The rows of a table of this kind (sequence, places, aligned, …) that have these values."""
    missing = [name for name in SCHEMAS[kind].names if name not in table.column_names]
    if missing or table.num_rows == 0:
        lacks = f"no column {missing[0]!r}" if missing else "no rows"
        raise SelectionError(f"this table has {lacks}, so it can't be drawn as {kind!r}")
    for column, value in wanted.items():
        table = only(table, column, [value])
    return table


def _listed(values: Sequence[Any]) -> str:
    more = f", … ({len(values)} in all)" if len(values) > _SHOWN else ""
    return ", ".join(str(v) for v in values[:_SHOWN]) + more
