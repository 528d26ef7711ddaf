"""Tables of saved results → one number a cell, to be looked up by what a sentence says.

Numbers that the saved tables imply (the lift behind a mass, the difference of two conditions) are
made here, by the same statistics. Knows which tables there are, nothing about sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.report.describing.cells import Key, Number, cells_of, has, kind_of, means_of
from mindshare.report.describing.implied import implied
from mindshare.report.describing.phrases import count
from mindshare.report.describing.sets import UNNAMED, measure_of, metadata, sets_of
from mindshare.stats import Resampling

ADDITIVE = ("mass", "share", "expected")  # over classes
_EXTENTS = "mindshare.extents"


@dataclass(frozen=True)
class Extent:
    """How much of everything one chart shows."""

    classes: tuple[str, ...]  # that a rule names
    models: int
    layers: int
    heads: int  # of a layer
    single: int  # heads of all layers
    prompts: tuple[int, int]  # the fewest and the most of a number


@dataclass(frozen=True)
class Numbers:
    """Every number by its cell, and what the tables say about themselves."""

    cells: dict[Key, Number]
    measure: str  # the one that is meant where none is named
    about: dict[str, str] = field(default_factory=dict)
    queries: tuple[str, ...] = ()  # query sets: the first is described
    charts: tuple[Extent, ...] = ()  # where the tables are those of several

    def get(self, key: Key) -> Number | None:
        return self.cells.get(key)

    def keys(self, **wanted: Any) -> list[Key]:
        """Cells with these parts, in the order of the tables; differences only if asked for."""
        wanted = {"against": None} | wanted
        return [
            key
            for key in self.cells
            if all(getattr(key, name) == value for name, value in wanted.items())
        ]

    @cached_property
    def models(self) -> list[str]:
        own = _distinct(key.model for key in self.cells if key.against is None)
        return own or _distinct(key.model for key in self.cells)

    @cached_property
    def classes(self) -> list[str]:
        return _distinct(key.kind for key in self.cells if key.kind is not None)

    @cached_property
    def named(self) -> list[str]:
        """The classes that a rule names, or all of them."""
        return [name for name in self.classes if name not in UNNAMED] or self.classes

    @cached_property
    def conditions(self) -> list[str]:
        return _distinct(key.condition for key in self.cells if key.condition is not None)

    @cached_property
    def measures(self) -> list[str]:
        return _distinct(key.measure for key in self.cells)

    @cached_property
    def layers(self) -> list[int]:
        return sorted({key.layer for key in self.cells if key.layer is not None})

    @cached_property
    def heads(self) -> list[int]:
        return sorted({key.head for key in self.cells if key.head is not None})

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """(a, b) of the differences between models, b − a."""
        found = [(k.against, k.model) for k in self.cells if k.against and k.condition is None]
        return _distinct((a, b) for a, b in found if a is not None)

    @property
    def n_prompts(self) -> int:
        return max((n.n_prompts for n in self.cells.values()), default=0)

    @property
    def units(self) -> str:
        """What is resampled, counted: '30 prompts', '5 groups of prompts'."""
        groups = max((n.n_groups or 0 for n in self.cells.values()), default=0)
        if groups and groups < self.n_prompts:
            return f"{count(groups, 'group')} of prompts"
        return count(self.n_prompts, "prompt")

    @cached_property
    def extents(self) -> tuple[Extent, ...]:
        """Of each chart that the tables hold."""
        return self.charts or (self.extent(),)

    def extent(self) -> Extent:
        """Of everything."""
        counts = [number.n_prompts for number in self.cells.values()] or [0]
        single = {(key.layer, key.head) for key in self.cells if key.head is not None}
        sizes = (len(self.models), len(self.layers), len(self.heads), len(single))
        return Extent(tuple(self.named), *sizes, (min(counts), max(counts)))

    def total(self, key: Key) -> float | None:
        """Of the named classes in one place; None where classes overlap or do not add up."""
        if key.measure not in ADDITIVE or len(self.extents) > 1:
            return None
        found = [self.get(replace(key, kind=name)) for name in self.named]
        there = [number.value for number in found if number is not None]
        return sum(there) if there else None


def numbers_of(tables: Mapping[str, pa.Table] | pa.Table) -> Numbers:
    """One table, or all tables of saved results by name."""
    found = charts_of({"summary": tables} if isinstance(tables, pa.Table) else tables)
    if len(found) == 1:
        return found[0]
    cells: dict[Key, Number] = {}
    for one in found:
        cells = one.cells | cells  # the first chart's stay
    ordered = {key: cells[key] for one in found for key in one.cells}
    return replace(found[0], cells=ordered, charts=tuple(one.extent() for one in found))


def charts_of(tables: Mapping[str, pa.Table]) -> list[Numbers]:
    """Those of each chart of token classes, or all of an insertion."""
    groups = sets_of(tables)
    if not any(kind_of(table) for group in groups for table in group.values()):
        raise SelectionError(
            "there is no table of means or differences to describe",
            allowed="a `summary`, a contrast, or the table of a chart",
            next_step="give the tables of a folder that `mindshare shares` or `insert` wrote",
        )
    return [_of_one(group) for group in groups]


def _of_one(tables: Mapping[str, pa.Table]) -> Numbers:
    """Of the tables of one chart, or of an insertion."""
    known = {name: t for name, t in tables.items() if kind_of(t) is not None}
    first = known.get("summary", next(iter(known.values())))
    about = metadata(first)
    queries = tuple(first["queries"].unique().to_pylist()) if has(first, "queries") else ()
    cells: dict[Key, Number] = {}
    every = [first, *known.values(), *implied(tables, about)]  # its order is kept
    for table in every:
        _add(cells, table, queries)
    for table in every:
        if kind_of(table) == "contrast":
            for row in _rows(table, queries):
                for key, number in means_of(row, measure_of(table)):
                    cells.setdefault(key, number)
    charts = tuple(_extent(one) for one in json.loads(about.pop(_EXTENTS, "[]")))
    return Numbers(cells, measure_of(first), about, queries, charts)


def long_table(numbers: Numbers) -> pa.Table:
    """All numbers as one table, which `numbers_of` reads back."""
    rows = [asdict(key) | asdict(number) for key, number in numbers.cells.items()]
    text, whole = pa.string(), pa.int64()
    kinds = dict.fromkeys(("layer", "head", "n_prompts", "n_groups"), whole)
    named = [f.name for f in fields(Key)] + ["label"]
    names = [f.name for part in (Key, Number) for f in fields(part)]
    about = numbers.about | {"mindshare.measure": numbers.measure}
    if numbers.charts:
        about[_EXTENTS] = json.dumps([asdict(one) for one in numbers.charts])
    schema = pa.schema(
        [(n, kinds.get(n, text if n in named else pa.float64())) for n in names], metadata=about
    )
    return pa.Table.from_pylist(rows, schema=schema)


def _extent(saved: dict[str, Any]) -> Extent:
    low, high = saved.pop("prompts")
    return Extent(tuple(saved.pop("classes")), prompts=(low, high), **saved)


def _add(cells: dict[Key, Number], table: pa.Table, queries: tuple[str, ...]) -> None:
    kind = kind_of(table)
    if kind is None:
        return
    measure, fewest = measure_of(table), Resampling.of(metadata(table)).fewest
    for row in _rows(table, queries):
        for key, number in cells_of(row, kind, measure, fewest=fewest):
            cells.setdefault(key, number)


def _rows(table: pa.Table, queries: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    """Those of the first query set."""
    for row in table.to_pylist():
        if not queries or row.get("queries", queries[0]) == queries[0]:
            yield row


def _distinct(found: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(found))
