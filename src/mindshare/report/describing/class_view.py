"""Numbers of a class chart → the models, classes and places that are described, and which closely.

A place is a layer, or a head of a layer. What stands out are those that hold a largest difference,
a highest or a lowest number. Knows numbers, writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.numbers import Numbers
from mindshare.report.describing.places import Place, closely, groups, in_order


@dataclass(frozen=True)
class ClassView:
    """What a class chart shows."""

    numbers: Numbers
    aside: bool = False  # beside a chart of another measure

    @property
    def measure(self) -> str:
        return self.numbers.measure

    @cached_property
    def models(self) -> list[str]:
        return self.numbers.models

    @cached_property
    def classes(self) -> list[str]:
        return self.numbers.named

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        return self.numbers.pairs

    @cached_property
    def places(self) -> list[Place]:
        return in_order((k.layer, k.head) for k in self.numbers.keys(measure=self.measure))

    @property
    def by_head(self) -> bool:
        return any(head is not None for _, head in self.places)

    @property
    def several(self) -> bool:
        """Whether there are prompts enough for intervals."""
        return any(number.has_interval for number in self.numbers.cells.values())

    def at(self, model: str, kind: str, place: Place) -> Number | None:
        return self.numbers.get(Key(self.measure, model, *place, kind=kind))

    def difference(self, pair: tuple[str, str], kind: str, place: Place) -> Number | None:
        a, b = pair
        return self.numbers.get(Key(self.measure, b, *place, kind=kind, against=a))

    def lift(self, model: str, kind: str, place: Place) -> Number | None:
        """Beside a mass, if it is known."""
        return self.numbers.get(Key("lift", model, *place, kind=kind))

    def series(self, model: str, kind: str) -> dict[Place, Number]:
        """The numbers of one class in one model, over the places that have one."""
        found = {place: self.at(model, kind, place) for place in self.places}
        return {place: number for place, number in found.items() if number is not None}

    def differences(self, pair: tuple[str, str], kind: str) -> dict[Place, Number]:
        found = {place: self.difference(pair, kind, place) for place in self.places}
        return {place: number for place, number in found.items() if number is not None}

    @cached_property
    def closely(self) -> list[Place]:
        """The places that are described one by one."""
        return closely(self.places, self._standing_out())

    @property
    def groups(self) -> list[list[Place]]:
        return groups(self.places, self.closely)

    def _standing_out(self) -> Iterator[Place]:
        """Largest differences first, then what is highest, then what is lowest."""
        for pair in self.pairs:
            for kind in self.classes:
                changes = self.differences(pair, kind)
                if changes:
                    yield max(changes, key=lambda p: abs(changes[p].value))
        for choose in (max, min):
            for model in self.models:
                for kind in self.classes:
                    values = {p: n.value for p, n in self.series(model, kind).items()}
                    if values:
                        yield choose(values, key=values.__getitem__)
