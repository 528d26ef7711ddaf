"""A `response_summary` over heads and layers and its conditions → what a sweep is going to draw.

Decides what lies along the axis: the number of inserted tokens where lengths differ, else what was
inserted, else where. Draws nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.insertion.response_measures import check_measure
from mindshare.figures.insertion.versions import metadata, require
from mindshare.figures.selection import Row, Shown
from mindshare.figures.theme import Style
from mindshare.figures.wording import has_intervals
from mindshare.table import DEFINITIONS

MEASURES = ("amplitude", "shape", "entropy_change", "retained")
Conditions: TypeAlias = pa.Table | Mapping[str, pa.Table]
"""The `conditions` of all models alike, or of each by its label: tokenizers count differently."""
_TIMES = re.compile(r" ×\d[\d,]*")


@dataclass(frozen=True)
class SweepOptions(Style):
    """What to draw and how."""

    width: str = "page"
    models: tuple[str, ...] | None = None
    conditions: tuple[str, ...] | None = None
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words
    bands: bool = True
    columns: int | None = None  # panels in a row; None: as many as fit


@dataclass(frozen=True)
class Inserted:
    """What was inserted under one condition, where, and how many tokens."""

    unit: str  # what is inserted once or many times
    place: str
    tokens: float  # mean over the prompts


@dataclass(frozen=True)
class Sweep:
    """Everything that decides the chart."""

    shown: Shown  # of all measures
    inserted: Mapping[tuple[str, str], Inserted]  # by model and condition
    options: SweepOptions
    measures: tuple[str, ...]
    about: Mapping[str, str]

    @property
    def along(self) -> str:
        """What x is: tokens, unit, or place."""
        lengths: dict[tuple[str, str, str], set[float]] = {}
        for (model, _), one in self.inserted.items():
            lengths.setdefault((model, one.unit, one.place), set()).add(one.tokens)
        if any(len(found) > 1 for found in lengths.values()):
            return "tokens"
        return "unit" if len(self.units) > 1 or len(self.places) == 1 else "place"

    @property
    def units(self) -> list[str]:
        return list(dict.fromkeys(one.unit for one in self.inserted.values()))

    @property
    def places(self) -> list[str]:
        return list(dict.fromkeys(one.place for one in self.inserted.values()))

    @property
    def has_intervals(self) -> bool:
        return self.options.bands and has_intervals(self.shown)

    def lines(self, measure: str) -> dict[str, list[Row]]:
        """Words of a line → its rows along x."""
        found: dict[str, list[Row]] = {}
        for row in self.shown.rows:
            one = self.inserted[row["model"], row["condition"]]
            if row["measure"] == measure:
                x = getattr(one, self.along)
                found.setdefault(self._words(row["model"], one), []).append({**row, "x": x})
        if self.along == "tokens":
            for rows in found.values():
                rows.sort(key=lambda row: float(row["x"]))
        return found

    def _words(self, model: str, one: Inserted) -> str:
        """What tells this line from the others; of a single line, what it is."""
        parts = [
            (model, len(self.shown.models) > 1),
            (one.unit, len(self.units) > 1 and self.along != "unit"),
            (one.place, len(self.places) > 1 and self.along != "place"),
        ]
        words = [word for word, wanted in parts if wanted]
        return ", ".join(words) or (model if self.along == "unit" else one.unit)


def choose_points(
    summary: pa.Table,
    conditions: Conditions,
    options: SweepOptions,
    *,
    measures: Sequence[str],
    about: Mapping[str, str],
) -> Sweep:
    """The rows that were asked for, and what was inserted under each condition."""
    for measure in measures:
        check_measure(measure)
    require(summary, "response_summary")
    found = Shown(summary, ", ".join(measures), "", metadata(summary))
    found = found.only("measure", list(dict.fromkeys(measures)))
    found = found.only("model", options.models).only("condition", options.conditions)
    if found.heads != [None] or found.layers != [None]:
        raise SelectionError(
            "a sweep needs the mean over heads and layers, and this table has single ones",
            next_step="mindshare.stats.summarise_response(…, over_heads=True, over_layers=True)",
        )
    names = list(dict.fromkeys(found.table["condition"].to_pylist()))
    inserted = {
        (model, name): one
        for model in found.models
        for name, one in _inserted(_own(conditions, model), names, options).items()
    }
    return Sweep(found, inserted, options, tuple(dict.fromkeys(measures)), about)


def _own(conditions: Conditions, model: str) -> pa.Table:
    if not isinstance(conditions, Mapping):
        return conditions
    if model not in conditions:
        raise SelectionError(
            f"there is no table of conditions for {model!r}", allowed=", ".join(conditions)
        )
    return conditions[model]


def _inserted(
    conditions: pa.Table, names: Sequence[str], options: SweepOptions
) -> dict[str, Inserted]:
    require(conditions, "conditions")
    rows: list[Row] = conditions.to_pylist()
    found = {}
    for name in names:
        own = [row for row in rows if row["condition"] == name]
        if not own:
            raise SelectionError(
                f"the table of conditions has no {name!r}",
                allowed=", ".join(dict.fromkeys(row["condition"] for row in rows)),
            )
        place = str(own[0]["place"])
        tokens = sum(row["n_inserted"] for row in own) / len(own)
        found[name] = Inserted(_unit(name, place, options), place, tokens)
    return found


def _unit(name: str, place: str, options: SweepOptions) -> str:
    """`/ ×55 at start` → `/`"""
    if name in options.condition_labels:
        return options.condition_labels[name]
    return _TIMES.sub("", name.removesuffix(f" at {place}")).strip() or name


def sweep_table(sweep: Sweep) -> pa.Table:
    """The numbers that are drawn, and what was inserted for each."""
    rows = sweep.shown.rows
    own = [sweep.inserted[row["model"], row["condition"]] for row in rows]
    columns: dict[str, tuple[Any, list[Any]]] = {
        "insertion": (pa.string(), [one.unit for one in own]),
        "place": (pa.string(), [one.place for one in own]),
        "n_inserted": (pa.float64(), [one.tokens for one in own]),
    }
    table = sweep.shown.table
    for name, (kind, values) in columns.items():
        kept = pa.field(name, kind, metadata={"definition": DEFINITIONS[name]})
        table = table.append_column(kept, pa.array(values, type=kind))
    return table
