"""Tables of saved results → one number a cell, to be looked up by what a sentence says.

A cell is a measure of a model in a layer and head, of a token class or under a condition; a
difference has in addition what it is taken from. Numbers that the saved tables imply (the lift
behind a mass, the difference of two conditions) are made here, by the same statistics. Knows the
columns of the tables, nothing about sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.report.describing.implied import implied

Row = dict[str, Any]
UNNAMED = ("other", "sink_slot")  # classes that no rule names
ADDITIVE = ("mass", "share", "expected")  # over classes
_KINDS = {
    "long": ("measure", "model", "against", "value"),
    "contrast": ("model_a", "model_b", "class", "difference"),
    "condition_contrast": ("condition_a", "condition_b", "measure", "difference"),
    "response_summary": ("condition", "model", "measure", "mean"),
    "summary": ("model", "class", "mean"),
}


@dataclass(frozen=True)
class Key:
    """What a number is about; None for a layer or head: the mean over them."""

    measure: str
    model: str
    layer: int | None = None
    head: int | None = None
    kind: str | None = None  # token class
    condition: str | None = None
    against: str | None = None  # the model or condition that a difference is taken from


@dataclass(frozen=True)
class Number:
    value: float
    low: float | None = None
    high: float | None = None
    n_prompts: int = 1
    sd: float | None = None
    p_adjusted: float | None = None
    label: str | None = None

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Numbers:
    """Every number by its cell, and what the tables say about themselves."""

    cells: dict[Key, Number]
    measure: str  # the one that is meant where none is named
    about: dict[str, str] = field(default_factory=dict)
    queries: tuple[str, ...] = ()  # query sets: the first is described

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
        return _distinct(key.model for key in self.cells)

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

    def total(self, key: Key) -> float | None:
        """Of the named classes in one place; None where classes do not add up or one is missing."""
        if key.measure not in ADDITIVE:
            return None
        found = [self.get(replace(key, kind=name)) for name in self.named]
        there = [number.value for number in found if number is not None]
        return sum(there) if there else None


def numbers_of(tables: Mapping[str, pa.Table] | pa.Table) -> Numbers:
    """One table, or all tables of saved results by name."""
    if isinstance(tables, pa.Table):
        tables = {"summary": tables}
    known = {name: t for name, t in tables.items() if _kind(t) is not None}
    if not known:
        raise SelectionError(
            "there is no table of means or differences to describe",
            allowed="a `summary`, a contrast, or the table of a chart",
            next_step="give the tables of a folder that `mindshare shares` or `insert` wrote",
        )
    first = known.get("summary", next(iter(known.values())))
    about = metadata(first)
    queries = tuple(first["queries"].unique().to_pylist()) if _has(first, "queries") else ()
    cells: dict[Key, Number] = {}
    for table in [first, *known.values(), *implied(tables, about)]:  # its order is kept
        _add(cells, table, queries)
    return Numbers(cells, _measure(about), about, queries)


def metadata(table: pa.Table) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}


def long_table(numbers: Numbers) -> pa.Table:
    """All numbers as one table, which `numbers_of` reads back."""
    rows = [asdict(key) | asdict(number) for key, number in numbers.cells.items()]
    text, whole = pa.string(), pa.int64()
    kinds = {"layer": whole, "head": whole, "n_prompts": whole}
    names = [f.name for part in (Key, Number) for f in fields(part)]
    numeric = ("value", "low", "high", "sd", "p_adjusted")
    schema = pa.schema(
        [(n, kinds.get(n, pa.float64() if n in numeric else text)) for n in names],
        metadata=numbers.about | {"mindshare.measure": numbers.measure},
    )
    return pa.Table.from_pylist(rows, schema=schema)


def _kind(table: pa.Table) -> str | None:
    return next((k for k, names in _KINDS.items() if _has(table, *names)), None)


def _has(table: pa.Table, *names: str) -> bool:
    return all(name in table.column_names for name in names)


def _measure(about: Mapping[str, str]) -> str:
    """A table of many measures names them all; what is meant is then said in the text."""
    words = about.get("mindshare.measure", "mass")
    return words.split(", ")[0]


def _add(cells: dict[Key, Number], table: pa.Table, queries: tuple[str, ...]) -> None:
    kind = _kind(table)
    if kind is None:
        return
    measure = _measure(metadata(table))
    read = _READ[kind]
    for row in table.to_pylist():
        if queries and row.get("queries", queries[0]) != queries[0]:
            continue
        key, value = read(row, measure)
        if value is not None:
            cells.setdefault(key, _number(row, value))


def _number(row: Row, value: float) -> Number:
    return Number(
        value,
        row.get("low"),
        row.get("high"),
        row.get("n_prompts") or 1,
        row.get("sd"),
        row.get("p_adjusted"),
        row.get("label"),
    )


def _of_summary(row: Row, measure: str) -> tuple[Key, float | None]:
    place = (row.get("layer"), row.get("head"))
    return Key(measure, row["model"], *place, kind=row["class"]), row["mean"]


def _of_contrast(row: Row, measure: str) -> tuple[Key, float | None]:
    place = (row["layer"], row["head"])
    key = Key(measure, row["model_b"], *place, kind=row["class"], against=row["model_a"])
    return key, row["difference"]


def _of_response(row: Row, _: str) -> tuple[Key, float | None]:
    place = (row.get("layer"), row.get("head"))
    return Key(row["measure"], row["model"], *place, condition=row["condition"]), row["mean"]


def _of_conditions(row: Row, _: str) -> tuple[Key, float | None]:
    place = (row["layer"], row["head"])
    conditions = {"condition": row["condition_b"], "against": row["condition_a"]}
    return Key(row["measure"], row["model"], *place, **conditions), row["difference"]


def _of_long(row: Row, _: str) -> tuple[Key, float | None]:
    return Key(**{f.name: row[f.name] for f in fields(Key)}), row["value"]


_READ: dict[str, Callable[[Row, str], tuple[Key, float | None]]] = {
    "long": _of_long,
    "summary": _of_summary,
    "contrast": _of_contrast,
    "response_summary": _of_response,
    "condition_contrast": _of_conditions,
}


def _distinct(found: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(found))
