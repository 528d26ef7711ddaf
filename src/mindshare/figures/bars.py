"""A `summary` table and options → what a chart of bars is going to draw, checked.

Chooses the rows, the order of the classes and the layout. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.figures.bar_layout import Layout, layout
from mindshare.figures.selection import UNNAMED, Shown, shown
from mindshare.figures.theme import Style
from mindshare.figures.wording import has_intervals

ADDITIVE = ("mass", "share", "expected")  # over classes; density and lift are not
COLUMNS = ("model", "layer", "head", "class", "mean", "low", "high", "n_prompts")


@dataclass(frozen=True)
class ClassBarsOptions(Style):
    """What to draw and how."""

    class_order: tuple[str, ...] | None = None  # bottom to top; None: the first rule on top
    class_labels: Mapping[str, str] = field(default_factory=dict)  # name → words in the legend
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    models: tuple[str, ...] | None = None
    whiskers: bool = True
    first_colour: int = 0  # of the palette: colours before it are those of other classes


@dataclass(frozen=True)
class Bars:
    """Everything that decides the chart."""

    shown: Shown
    options: ClassBarsOptions
    order: list[str]  # classes, bottom to top
    layout: Layout
    about: Mapping[str, str]
    all_named: bool = True  # every class that has a name is shown

    @property
    def stacked(self) -> bool:
        return self.shown.measure in ADDITIVE

    @property
    def whiskers(self) -> bool:
        return self.options.whiskers and has_intervals(self.shown)

    @property
    def ends_at_1(self) -> bool:
        """Whether the top segment ends at 1 by definition, so that its interval would pass it."""
        return self.shown.measure == "share" and self.all_named

    def label(self, name: str) -> str:
        return self.options.class_labels.get(name, name)


def choose_bars(summary: pa.Table, options: ClassBarsOptions, about: Mapping[str, str]) -> Bars:
    """The rows that were asked for, and where they go."""
    found = shown(summary, queries=options.queries, needs=COLUMNS)
    found = found.only("model", options.models).only("layer", options.layers)
    found = found.only("head", options.heads)
    order = _order(found, options)
    all_named = set(order) >= set(found.classes) - set(UNNAMED)
    found = found.only("class", order)
    plan = layout(
        found,
        options,
        stacked=found.measure in ADDITIVE,
        label=lambda name: options.class_labels.get(name, name),
    )
    return Bars(found, options, order, plan, about, all_named)


def _order(found: Shown, options: ClassBarsOptions) -> list[str]:
    """Without a word about it: the named classes, the first rule on top, where legends begin."""
    named = [name for name in reversed(found.classes) if name not in UNNAMED]
    order = list(options.class_order or named or found.classes)
    if len(set(order)) < len(order):
        raise SelectionError(f"class_order names a class twice: {', '.join(order)}")
    return order
