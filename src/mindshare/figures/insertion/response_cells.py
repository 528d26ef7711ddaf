"""A `response_summary` and options → what a map of heads is going to draw, checked.

Chooses the model, the condition and the ends of the colour scale. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError
from mindshare.figures.insertion.map_axes import CellSize
from mindshare.figures.insertion.response_measures import check_measure, shade_of
from mindshare.figures.insertion.shades import Shade
from mindshare.figures.insertion.version_words import called
from mindshare.figures.insertion.versions import metadata, pick, require
from mindshare.figures.selection import Row, Shown
from mindshare.figures.theme import Style
from mindshare.stats.labels import RESTING

SYMBOLS = {
    "smoothed": "~",
    "sharpened": "^",
    "amplified": "+",
    "damped": "–",
    "reconfigured": "×",
    "unchanged": "·",
    "resting": "○",
}
# The same as strokes in a square from −1 to 1: characters sit higher or lower by font.
SHAPES = {
    "smoothed": "M-1,0.25C-0.65,-0.75,-0.3,-0.5,0,0C0.3,0.5,0.65,0.75,1,-0.25",
    "sharpened": "M-0.85,0.55L0,-0.6L0.85,0.55",
    "amplified": "M-0.85,0L0.85,0M0,-0.85L0,0.85",
    "damped": "M-0.85,0L0.85,0",
    "reconfigured": "M-0.7,-0.7L0.7,0.7M0.7,-0.7L-0.7,0.7",
    "unchanged": "M-0.08,0L0.08,0",
    "resting": "M0.6,0A0.6,0.6,0,1,1,-0.6,0A0.6,0.6,0,1,1,0.6,0",
}
_SMALLEST = 7.5  # pixels of a cell that can hold a symbol


@dataclass(frozen=True)
class ResponseMapOptions(Style):
    """What to draw and how."""

    ends: tuple[float, float] | None = None  # of the colours; None: as far as the numbers go
    symbols: bool = True  # each head's label, where cells are large enough
    layers: tuple[int, ...] | None = None
    condition_labels: Mapping[str, str] = field(default_factory=dict)  # name → words


@dataclass(frozen=True)
class ResponseCells:
    """Everything that decides the map."""

    shown: Shown
    options: ResponseMapOptions
    model: str
    condition: str
    shade: Shade

    @property
    def measure(self) -> str:
        return self.shown.measure

    @property
    def words(self) -> str:
        return called(self.condition, self.options.condition_labels)

    @property
    def size(self) -> CellSize:
        return CellSize.of(len(self.shown.layers), len(self.shown.heads), self.options)

    @property
    def rows(self) -> list[Row]:
        """Those that have a number."""
        return [row for row in self.shown.rows if row["mean"] is not None]

    @property
    def resting(self) -> int:
        """Heads that have no number because they rest."""
        return sum(row["label"] == RESTING and row["mean"] is None for row in self.shown.rows)

    @property
    def numbers(self) -> list[float]:
        return [row["mean"] for row in self.rows]

    @property
    def labels(self) -> dict[str, int]:
        """Label → number of heads, in the order of the symbols; what is not known comes last."""
        found = [row["label"] for row in self.shown.rows if row["label"] is not None]
        order = [*SYMBOLS, *dict.fromkeys(word for word in found if word not in SYMBOLS)]
        return {word: found.count(word) for word in order if word in found}

    @property
    def has_symbols(self) -> bool:
        size = self.size
        room = min(size.width, size.height)
        return bool(self.options.symbols and self.labels and room >= _SMALLEST)


def choose_cells(
    summary: pa.Table,
    measure: str,
    options: ResponseMapOptions,
    *,
    model: str | None,
    condition: str | None,
) -> ResponseCells:
    """One measure of one model under one condition, single heads."""
    check_measure(measure)
    require(summary, "response_summary")
    model = _only(summary, "model", model)
    rows = pick(summary, "response_summary", model=model)
    condition = _only(rows, "condition", condition)
    rows = pick(rows, "response_summary", condition=condition, measure=measure)
    found = Shown(rows, measure, "", metadata(summary)).only("layer", options.layers)
    if None in found.heads or None in found.layers:
        raise SelectionError(
            "a map needs every layer and head by itself, and this table has their mean",
            next_step="summarise without over_heads and over_layers",
        )
    numbers = [x for x in found.table["mean"].to_pylist() if x is not None]
    return ResponseCells(found, options, model, condition, shade_of(measure, numbers, options.ends))


def _only(table: pa.Table, column: str, wanted: str | None) -> str:
    """What was asked for, or the only one there is."""
    there: list[str] = pc.unique(table[column]).to_pylist()
    if wanted is None and len(there) > 1:
        raise SelectionError(
            f"a map shows one {column}, and the table has several",
            allowed=", ".join(there),
            next_step=f"choose one, e.g. {column}={there[0]!r}",
        )
    return there[0] if wanted is None else wanted
