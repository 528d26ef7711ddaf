"""A row of a table → the cells it holds: what each number is about, and how sure it is.

A cell is a measure of a model in a layer and head, of a token class or under a condition; a
difference has in addition what it is taken from. A row of differences between models also holds
the means of both. Knows the columns of the tables, nothing about sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
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
    se: float | None = None
    n_groups: int | None = None
    p_family: float | None = None
    effect: float | None = None
    detectable_family: float | None = None

    @property
    def n_units(self) -> int:
        """What was resampled: the prompts, or groups of them."""
        return self.n_groups or self.n_prompts

    @property
    def error(self) -> float | None:
        """The standard error; tables of earlier versions leave it to be made from the sd."""
        if self.se is not None or self.sd is None:
            return self.se
        return float(self.sd / self.n_prompts**0.5)

    @property
    def p(self) -> float | None:
        """Corrected for all cells of the table; for its false discoveries in earlier versions."""
        return self.p_adjusted if self.p_family is None else self.p_family

    @property
    def has_interval(self) -> bool:
        return self.low is not None and self.high is not None


def kind_of(table: pa.Table) -> str | None:
    """Which of the tables over prompts this is."""
    return next((k for k, names in _KINDS.items() if has(table, *names)), None)


def has(table: pa.Table, *names: str) -> bool:
    return all(name in table.column_names for name in names)


def cells_of(row: Row, kind: str, measure: str, *, fewest: int) -> Iterator[tuple[Key, Number]]:
    """The cell of a row; `fewest` are the prompts below which an interval is left out."""
    key, value = _READ[kind](row, measure)
    if value is not None:
        yield key, number_of(row, value, fewest=fewest)


def means_of(row: Row, measure: str) -> Iterator[tuple[Key, Number]]:
    """The two means that a difference between models is between; they have no intervals."""
    for end in ("a", "b"):
        value = row.get(f"mean_{end}")
        if value is not None:
            place = (row["layer"], row["head"])
            key = Key(measure, row[f"model_{end}"], *place, kind=row["class"])
            prompts = row.get("n_prompts") or 1
            yield key, Number(value, n_prompts=prompts, n_groups=row.get("n_groups"))


def number_of(row: Row, value: float, *, fewest: int = 0) -> Number:
    """The number of a row with all that the row says about it."""
    known = {f.name: row[f.name] for f in fields(Number)[1:] if row.get(f.name) is not None}
    found = Number(value, **known)
    if found.n_units >= fewest:
        return found
    return Number(value, **known | {"low": None, "high": None})


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
