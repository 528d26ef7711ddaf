"""A measurement's mass table becomes one small table per query set: layers down, classes across.

Means are over the measured heads, then over prompts; lift is the mean mass over the mean expected
mass, so it means here what it means in the Parquet table. Knows numbers, not terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare.study import Measurement

Layer = int | None  # None: averaged over the layers


@dataclass(frozen=True)
class Cell:
    """`expected` is None where there is no such number (learned sinks)."""

    mass: float
    expected: float | None

    @property
    def lift(self) -> float | None:
        return self.mass / self.expected if self.expected else None


@dataclass(frozen=True)
class Summary:
    """One query set. `tokens` is the mean number of tokens of a class in a prompt."""

    queries: str
    classes: tuple[str, ...]
    layers: tuple[Layer, ...]
    tokens: Mapping[str, float | None]
    cells: Mapping[tuple[Layer, str], Cell]
    prompts: int
    sink_rate: float

    def mean(self, name: str) -> Cell:
        """Over the layers."""
        cells = [self.cells[layer, name] for layer in self.layers]
        expected = [cell.expected for cell in cells if cell.expected is not None]
        return Cell(fmean(cell.mass for cell in cells), fmean(expected) if expected else None)

    def peak(self, name: str) -> Layer:
        """The layer that gives the class most."""
        return max(self.layers, key=lambda layer: self.cells[layer, name].mass)


def summaries(found: Measurement) -> list[Summary]:
    """One summary per query set, in the order they were asked for."""
    keys = ["queries", "layer", "class"]
    means = [("mass", "mean"), ("expected", "mean"), ("n_tokens", "mean")]
    rows: list[dict[str, Any]] = found.mass.group_by(keys).aggregate(means).to_pylist()
    return [_summary(found, queries, rows) for queries in _distinct(found.mass, "queries")]


def _summary(found: Measurement, queries: str, rows: list[dict[str, Any]]) -> Summary:
    rows = [row for row in rows if row["queries"] == queries]
    rates = [r["sink_rate"] for r in found.prompts.to_pylist() if r["queries"] == queries]
    return Summary(
        queries=queries,
        classes=tuple(_distinct(found.mass, "class")),
        layers=tuple(_distinct(found.mass, "layer")),
        tokens={row["class"]: row["n_tokens_mean"] for row in rows},
        cells={
            (row["layer"], row["class"]): Cell(row["mass_mean"], row["expected_mean"])
            for row in rows
        },
        prompts=len(rates),
        sink_rate=fmean(rates),
    )


def _distinct(table: Any, column: str) -> list[Any]:
    """In the order of their first appearance."""
    return table.column(column).unique().to_pylist()  # type: ignore[no-any-return]
