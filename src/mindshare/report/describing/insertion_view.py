"""Numbers of an insertion → the models, conditions, layers and heads that are described.

A few numbers are told of every layer, more of the heads that respond most, all of them over all
heads. With many conditions the layers of the first two are described. Knows numbers, writes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mindshare.report.describing import telling
from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.numbers import Numbers
from mindshare.report.describing.places import Place, closely, groups, in_order

BY_LAYER = ("retained", "divergence", "amplitude", "affine_r2")
BY_HEAD = ("divergence", "amplitude", "shape", "entropy_change", "attention_left")
RESPONDS = "divergence"  # what heads are ranked by
LAYERED = 2  # conditions that are described layer by layer
TOP = 6  # heads that are described


@dataclass(frozen=True)
class Told:
    """One model under one condition."""

    model: str
    condition: str


@dataclass(frozen=True)
class InsertionView:
    """What an insertion did, in numbers."""

    numbers: Numbers

    @cached_property
    def every(self) -> list[Told]:
        return [Told(m, c) for m in self.numbers.models for c in self.numbers.conditions]

    @property
    def layered(self) -> list[Told]:
        first = self.numbers.conditions[:LAYERED]
        return [one for one in self.every if one.condition in first]

    @property
    def several(self) -> bool:
        return any(number.has_interval for number in self.numbers.cells.values())

    def at(self, told: Told, measure: str, place: Place = (None, None)) -> Number | None:
        return self.numbers.get(Key(measure, told.model, *place, condition=told.condition))

    @cached_property
    def _index(self) -> dict[tuple[str, Told], dict[Place, Number]]:
        found: dict[tuple[str, Told], dict[Place, Number]] = {}
        for key, number in self.numbers.cells.items():
            if key.against is None and key.condition is not None:
                told = Told(key.model, key.condition)
                found.setdefault((key.measure, told), {})[key.layer, key.head] = number
        return found

    def series(self, told: Told, measure: str, *, heads: bool = False) -> dict[Place, Number]:
        """One number over the layers, or over the single heads."""
        found = self._index.get((measure, told), {})
        places = in_order(p for p in found if p[0] is not None and (p[1] is not None) == heads)
        return {place: found[place] for place in places}

    def measures(self, told: Told, place: Place = (None, None)) -> dict[str, Number]:
        """Every number of one place."""
        found = {m: self.at(told, m, place) for m in self.numbers.measures}
        return {measure: number for measure, number in found.items() if number is not None}

    def closely(self, told: Told) -> list[Place]:
        layers = in_order(p for m in BY_LAYER for p in self.series(told, m))
        return closely(layers, self._standing_out(told))

    def groups(self, told: Told) -> list[list[Place]]:
        layers = in_order(p for m in BY_LAYER for p in self.series(told, m))
        return groups(layers, self.closely(told))

    def _standing_out(self, told: Told) -> Iterator[Place]:
        for measure in BY_LAYER:
            values = {p: n.value for p, n in self.series(told, measure).items()}
            if values:
                yield max(values, key=values.__getitem__)
                yield min(values, key=values.__getitem__)

    def top(self, told: Told) -> list[Place]:
        """The heads with the largest mean response."""
        heads = self.series(told, RESPONDS, heads=True)
        return sorted(heads, key=lambda place: -heads[place].value)[:TOP]

    def responding(self, told: Told) -> list[Place]:
        """Of these, the heads that can be told to respond more than the middle one does."""
        heads = self.series(told, RESPONDS, heads=True)
        if len(heads) < 2:
            return []
        order = sorted(heads.values(), key=lambda number: number.value)
        middle, tried = order[len(order) // 2], len(heads) * len(self.every)
        return [p for p in self.top(told) if telling.apart(heads[p], middle, comparisons=tried)]

    def labels(self, told: Told) -> dict[str, int]:
        """Label → how many heads have it, the most frequent first."""
        heads: dict[Place, str] = {}  # a head has a row for each of its numbers
        for (_, one), places in self._index.items():
            if one == told:
                heads |= {p: number.label for p, number in places.items() if number.label}
        found = list(heads.values())
        return dict(sorted({w: found.count(w) for w in found}.items(), key=lambda x: -x[1]))

    @cached_property
    def differences(self) -> dict[Key, Number]:
        """Between conditions, over all heads."""
        return {key: number for key, number in self.numbers.cells.items() if key.against}
