"""A statement → what the table says about the same thing.

Finds the numbers that a statement must fit, or says why there are none. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mindshare.report.describing import order_answers, telling
from mindshare.report.describing.cells import Key
from mindshare.report.describing.class_findings import SMALL
from mindshare.report.describing.lookup import PARTS, Answer, Lookup
from mindshare.report.describing.numbers import ADDITIVE, Numbers
from mindshare.report.describing.statements import Statement
from mindshare.stats.student import POWER


class Answers:
    def __init__(self, numbers: Numbers) -> None:
        self.numbers, self.lookup = numbers, Lookup(numbers)
        self._known: dict[str, Callable[[Statement], Answer]] = {
            "value": self._value,
            "difference": self._value,
            "low": self._end,
            "high": self._end,
            "between": self._value,
            "total": self._total,
            "together": self._total,
            "share": self._share,
            "label": self._label,
            "effect": self._end,
            "detectable": self._detectable,
            "level": self._level,
            "small": self._small,
            "power": lambda _: Answer((POWER,)),
            "highest": lambda one: order_answers.ranked(self.lookup, one),
            "lowest": lambda one: order_answers.ranked(self.lookup, one),
            "most": lambda one: order_answers.ranked(self.lookup, one),
            "larger": lambda one: order_answers.compared(self.lookup, one),
            "smaller": lambda one: order_answers.compared(self.lookup, one),
            "mention": self._mention,
            "correlation": self._trend,
            "p": self._trend,
            "confidence": self._about,
            "resamples": self._about,
            "seed": self._about,
            "prompts": self._prompts,
        }

    def to(self, statement: Statement) -> Answer:
        if statement.what in self._known:
            return self._known[statement.what](statement)
        extents, conditions = self.numbers.extents, len(self.numbers.conditions)
        counts = {
            "layers": [one.layers for one in extents],
            "heads": [n for one in extents for n in (one.heads, one.single)],
            "models": [one.models for one in extents],
            "classes": [len(one.classes) for one in extents],
            "insertions": [conditions],
            "conditions": [conditions],
        }
        if any(counts.get(statement.what, ())):
            return _counted(statement, counts[statement.what])
        return Answer(why=statement.why or "it is not clear what this number is")

    def _value(self, statement: Statement) -> Answer:
        found, why = self.lookup.cells(statement)
        if not found and statement.what == "difference":
            return self._subtracted(statement, why)
        return Answer(tuple(number.value for number in found.values()), why)

    def _subtracted(self, statement: Statement, why: str) -> Answer:
        """Where the table has no differences: of its two means."""
        given = {k: v for k, v in statement.given.items() if k != "against"}
        other = given | {_differing(self.numbers, statement.given): statement.given["against"]}
        means = [self.lookup.cells(replace(statement, given=one))[0] for one in (given, other)]
        if not all(len(found) == 1 for found in means):
            return Answer(why=why)
        b, a = (next(iter(found.values())).value for found in means)
        return Answer((b - a,))

    def _end(self, statement: Statement) -> Answer:
        found, why = self.lookup.cells(statement)
        ends = [getattr(number, statement.what) for number in found.values()]
        if not ends:
            return Answer(why=why)
        if ends[0] is None:
            none = "effect" if statement.what == "effect" else "interval"
            return Answer(why=f"the table has no {none} for it")
        return Answer((float(ends[0]),))

    def _detectable(self, statement: Statement) -> Answer:
        """What could have been found in every one of these cells."""
        found = [
            number.detectable_family
            for key, number in self.numbers.cells.items()
            if key.against is not None
            and (key.head is not None) == _of_heads(statement)
            and self.lookup.meant(key, statement.given)
        ]
        known = [size for size in found if size is not None]
        if not known or len(known) < len(found):
            return Answer(why="the table does not say what could have been found")
        return Answer((max(known),))

    def _level(self, statement: Statement) -> Answer:
        """p of a difference that is named, or the level that all are tested at."""
        if "against" in statement.given:
            one = replace(statement, number=replace(statement.number, relation="="))
            found, why = self.lookup.cells(one)
            p = next(iter(found.values())).p if found else None
            return Answer(why=why or "the table has no p for it") if p is None else Answer((p,))
        return _chosen(statement, telling.ALPHA)

    def _small(self, statement: Statement) -> Answer:
        return _chosen(statement, SMALL)

    def _mention(self, statement: Statement) -> Answer:
        layer = statement.given["layer"]
        if not self.numbers.layers or layer in self.numbers.layers:
            return Answer((float(layer),))
        return Answer(why=f"the table has no layer {layer}")

    def _total(self, statement: Statement) -> Answer:
        if self.numbers.measure not in ADDITIVE:
            return Answer(why=f"{self.numbers.measure} does not add up over classes")
        kinds = statement.together or self._whole(statement)
        if not kinds or (statement.what == "together" and not statement.together):
            return Answer(why="it is not said which classes are added up")
        places: dict[Key, float] = {}
        for kind in kinds:
            one = replace(statement, given=statement.given | {"kind": kind})
            found, why = self.lookup.cells(one)
            if not found:
                return Answer(why=why)
            for key, number in found.items():
                place = replace(key, kind=None)
                places[place] = places.get(place, 0.0) + number.value
        return Answer(tuple(places.values()))

    def _whole(self, statement: Statement) -> tuple[str, ...]:
        """The set of classes that this one is of, if there is but one such."""
        sets = dict.fromkeys(one.classes for one in self.numbers.extents)
        kind = statement.given.get("kind")
        found = [one for one in sets if kind is None or kind in one]
        return found[0] if len(found) == 1 else ()

    def _share(self, statement: Statement) -> Answer:
        if "kind" not in statement.given:
            return Answer(why="it is not said which token class")
        part = self._value(statement)
        given = {k: v for k, v in statement.given.items() if k != "kind"}
        kinds = self._whole(statement)
        whole = self._total(replace(statement, given=given, together=kinds))
        if len(part.values) != 1 or len(whole.values) != 1 or whole.values[0] == 0:
            return Answer(why=part.why or whole.why or "it is not clear what the whole is")
        return Answer((part.values[0] / whole.values[0],))

    def _label(self, statement: Statement) -> Answer:
        there = {"model": self.numbers.models, "condition": self.numbers.conditions}
        for part, names in there.items():
            if part not in statement.given and len(names) > 1:
                return Answer(why=f"it is not said {PARTS[part]}")
        wanted = {k: v for k, v in statement.given.items() if k in there}
        heads = {
            (key.model, key.condition, key.layer, key.head)
            for key, number in self.numbers.cells.items()
            if number.label == statement.given["label"]
            and all(getattr(key, part) == value for part, value in wanted.items())
        }
        return Answer((float(len(heads)),))

    def _trend(self, statement: Statement) -> Answer:
        given = {k: v for k, v in statement.given.items() if k not in ("layer", "head")}
        found = {
            key.layer: number.value
            for key, number in self.numbers.cells.items()
            if key.layer is not None and key.head is None and self.lookup.meant(key, given)
        }
        trend = telling.trend([found[layer] for layer in sorted(found)])
        if trend is None:
            return Answer(why="there are too few layers for a trend")
        return Answer((trend.correlation if statement.what == "correlation" else trend.p_value,))

    def _about(self, statement: Statement) -> Answer:
        found = self.numbers.about.get(f"mindshare.{statement.what}")
        return Answer((float(found),)) if found else Answer(why="the table does not say")

    def _prompts(self, statement: Statement) -> Answer:
        counts = [one.prompts for one in self.numbers.extents]
        if statement.upto is None:
            return _counted(statement, [most for _, most in counts])
        own = [one for one in counts if one == (statement.number.value, statement.upto.value)]
        low, high = own[0] if own else counts[0]
        return Answer((float(low), float(high)))


def _counted(statement: Statement, totals: list[int]) -> Answer:
    """Of one of the charts; a smaller count can be one of some of them."""
    total = max(totals)
    if statement.number.value in totals:
        return Answer((statement.number.value,))
    if statement.number.value < total:
        return Answer(why=f"of {total} {statement.what}, and not clearly said of which")
    return Answer((float(total),))


def _of_heads(statement: Statement) -> bool:
    return statement.heads or statement.given.get("head") is not None


def _chosen(statement: Statement, ours: float) -> Answer:
    """A number that is a choice: ours is known."""
    if abs(statement.number.value - ours) < statement.number.half / 100:
        return Answer((ours,))
    return Answer(why="a level or margin is a choice, not a number of the table")


def _differing(numbers: Numbers, given: dict[str, Any]) -> str:
    return "model" if given.get("against") in numbers.models else "condition"
