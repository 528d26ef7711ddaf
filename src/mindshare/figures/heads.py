"""A `summary` or `contrast` table and options → what a head map is going to draw, checked.

Chooses the class, the model and the ends of the colour scale. Draws nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.selection import Shown, shown
from mindshare.figures.theme import Style

_NEEDS = ("queries", "layer", "head", "class", "n_prompts", "low", "high")


@dataclass(frozen=True)
class HeadMapOptions(Style):
    """What to draw and how."""

    model: str | None = None  # needed only if the summary has several
    layers: tuple[int, ...] | None = None
    alpha: float = 0.05  # differences with p_family below it get a dot


@dataclass(frozen=True)
class Heads:
    """Everything that decides the map."""

    shown: Shown
    options: HeadMapOptions
    token_class: str

    @property
    def is_difference(self) -> bool:
        return "difference" in self.shown.table.column_names

    @property
    def column(self) -> str:
        return "difference" if self.is_difference else "mean"

    @property
    def models(self) -> list[str]:
        """The model; or what is compared, b, then what it is compared with, a."""
        columns = ("model_b", "model_a") if self.is_difference else ("model",)
        return [str(self.shown.table[name][0]) for name in columns]

    @property
    def numbers(self) -> list[float]:
        return [x for x in self.shown.table[self.column].to_pylist() if x is not None]

    @property
    def all_zero(self) -> bool:
        return self.is_difference and not any(self.numbers)

    @property
    def marked(self) -> int:
        """How many differences survive the correction."""
        if not self.is_difference:
            return 0
        found = self.shown.table["p_family"].to_pylist()
        return sum(p is not None and p < self.options.alpha for p in found)

    @property
    def testable(self) -> bool:
        """Whether any difference could get a dot: so few prompts have so few flips of sign."""
        table = self.shown.table
        units = "n_groups" if "n_groups" in table.column_names else "n_prompts"
        most = max(table[units].to_pylist(), default=0)
        return bool(2.0 ** (1 - most) < self.options.alpha)

    @property
    def domain(self) -> tuple[float, float]:
        """Amounts start at 0; differences have 0 in the middle. Never empty."""
        most = max((abs(x) for x in self.numbers), default=0.0) or 1.0
        return (-most if self.is_difference else 0.0, most)


def choose_heads(table: pa.Table, token_class: str, options: HeadMapOptions) -> Heads:
    """The rows that were asked for: one class, one model or one pair, single heads."""
    found = shown(table, queries=options.queries, needs=_NEEDS)
    found = found.only("class", [token_class]).only("layer", options.layers)
    if "model" in table.column_names:
        found = _one_model(found, options.model)
    if None in found.heads or None in found.layers:
        raise SelectionError(
            "a head map needs every layer and head by itself, and this table has their mean",
            next_step="measure without a mean over heads or layers",
        )
    return Heads(found, options, token_class)


def _one_model(found: Shown, model: str | None) -> Shown:
    if model is None and len(found.models) > 1:
        raise SelectionError(
            "a head map shows one model, and the table has several",
            allowed=", ".join(found.models),
            next_step=f"choose one, e.g. HeadMapOptions(model={found.models[0]!r})",
        )
    return found.only("model", None if model is None else [model])
