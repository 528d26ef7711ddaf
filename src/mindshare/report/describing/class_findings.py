"""Numbers of a class chart → what they support: findings, none of them in words yet.

Each finding has passed a test that counts how many places, classes and models it was picked from;
what passes none is not found. A few prompts support nothing. Knows numbers, writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from mindshare.report.describing import telling
from mindshare.report.describing.cells import Number
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.places import Place

FEW = 4  # rivals that can be listed
SMALL = 0.1  # of the larger mean: a difference that is called small


@dataclass(frozen=True)
class End:
    """The place with the largest or the smallest mean, and those it can't be told from."""

    place: Place
    number: Number
    beside: list[Place]
    others: int  # places that it was compared with

    @property
    def stands_out(self) -> bool:
        """Told from most of the others, and from all but a few."""
        return len(self.beside) <= min(FEW, self.others // 2)


@dataclass(frozen=True)
class Extremes:
    """A class that differs between places: at least its highest from its lowest."""

    model: str
    kind: str
    highest: End
    lowest: End


@dataclass(frozen=True)
class Leads:
    """Places of a model where one class has clearly more than every other, by class."""

    model: str
    by_class: dict[str, list[Place]]
    nobody: list[Place]


@dataclass(frozen=True)
class Change:
    """How model b differs from model a in one class."""

    pair: tuple[str, str]
    kind: str
    more: dict[Place, Number]
    less: dict[Place, Number]
    close: dict[Place, Number]  # by less than a tenth of the larger mean
    undecided: dict[Place, Number]

    @property
    def decided(self) -> bool:
        return bool(self.more or self.less)


@dataclass(frozen=True)
class OverDepth:
    model: str
    kind: str
    trend: telling.Trend


@dataclass(frozen=True)
class Misleading:
    """A class that has the most mass but less than uniform attention gives it, or the reverse."""

    model: str
    kind: str
    most: bool
    places: dict[Place, Number]  # the lift


@dataclass(frozen=True)
class Findings:
    extremes: list[Extremes] = field(default_factory=list)
    leads: list[Leads] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    trends: list[OverDepth] = field(default_factory=list)
    misleading: list[Misleading] = field(default_factory=list)

    @property
    def anything(self) -> bool:
        leads = any(lead.by_class for lead in self.leads)
        changes = any(c.more or c.less or c.close for c in self.changes)
        return bool(self.extremes or self.trends or self.misleading or leads or changes)


def find(view: ClassView) -> Findings:
    if not view.several:
        return Findings()
    extremes = list(_extremes(view))
    standing_out = {(one.model, one.kind) for one in extremes}
    return Findings(
        extremes,
        list(_leads(view)),
        list(_changes(view)),
        list(_trends(view, standing_out)),
        list(_misleading(view)),
    )


def _extremes(view: ClassView) -> Iterator[Extremes]:
    tried = len(view.models) * len(view.classes) * telling.pairs(len(view.places))
    for model in view.models:
        for kind in view.classes:
            series = view.series(model, kind)
            if len(series) < 2:
                continue
            found = ends(series, tried)
            if found is not None:
                yield Extremes(model, kind, *found)


def ends(series: Mapping[Place, Number], tried: int) -> tuple[End, End] | None:
    """The highest and the lowest of a series, if at least these two differ."""
    high = max(series, key=lambda p: series[p].value)
    low = min(series, key=lambda p: series[p].value)
    if not telling.apart(series[high], series[low], comparisons=tried):
        return None
    beside = partial(telling.beside, series, comparisons=tried)
    found = [End(place, series[place], beside(place), len(series) - 1) for place in (high, low)]
    return found[0], found[1]


def _leads(view: ClassView) -> Iterator[Leads]:
    if len(view.classes) < 2 or view.by_head:
        return
    tried = len(view.models) * len(view.places) * telling.pairs(len(view.classes))
    for model in view.models:
        leads = Leads(model, {}, [])
        for place in view.places:
            kind = _ahead(view, model, place, tried, most=True)
            if kind is None:
                leads.nobody.append(place)
            else:
                leads.by_class.setdefault(kind, []).append(place)
        yield leads


def _ahead(view: ClassView, model: str, place: Place, tried: int, *, most: bool) -> str | None:
    """The class that is told to have more (or less) than each of the others here."""
    there = {k: n for k in view.classes if (n := view.at(model, k, place)) is not None}
    if len(there) < 2:
        return None
    first = (max if most else min)(there, key=lambda k: there[k].value)
    return None if telling.beside(there, first, comparisons=tried) else first


def _changes(view: ClassView) -> Iterator[Change]:
    tried = len(view.pairs) * len(view.classes) * len(view.places)
    for pair in view.pairs:
        for kind in view.classes:
            change = Change(pair, kind, {}, {}, {}, {})
            for place, number in view.differences(pair, kind).items():
                margin = SMALL * _larger(view, pair, kind, place)
                if telling.within(number, margin, comparisons=tried):  # whatever its sign
                    change.close[place] = number
                elif telling.differs(number):
                    (change.more if number.value > 0 else change.less)[place] = number
                else:
                    change.undecided[place] = number
            yield change


def _larger(view: ClassView, pair: tuple[str, str], kind: str, place: Place) -> float:
    """The larger of the two means that a difference is between."""
    found = [view.at(model, kind, place) for model in pair]
    return max((abs(number.value) for number in found if number is not None), default=0.0)


def _trends(view: ClassView, standing_out: set[tuple[str, str]]) -> Iterator[OverDepth]:
    """Only where the highest and the lowest layer can be told apart."""
    if view.by_head:
        return
    tried = len(view.models) * len(view.classes)
    for model, kind in sorted(standing_out):
        layers = {p: n for p, n in view.series(model, kind).items() if p[0] is not None}
        found = telling.trend([number.value for number in layers.values()])
        if found is not None and found.p_value * tried < telling.ALPHA:
            yield OverDepth(model, kind, found)


def _misleading(view: ClassView) -> Iterator[Misleading]:
    if view.measure != "mass" or view.by_head or len(view.classes) < 2:
        return
    tried = len(view.models) * len(view.places) * telling.pairs(len(view.classes))
    found: dict[tuple[str, str, bool], dict[Place, Number]] = {}
    for model in view.models:
        for place in view.places:
            for most in (True, False):
                kind = _ahead(view, model, place, tried, most=most)
                lift = None if kind is None else view.lift(model, kind, place)
                if kind is None or lift is None:
                    continue
                if telling.beyond(lift, 1.0, comparisons=tried) == (-1 if most else 1):
                    found.setdefault((model, kind, most), {})[place] = lift
    for who, places in found.items():
        yield Misleading(*who, places)
