"""A statement → what the table says about the same thing.

A part that the statement leaves open is filled in only if the table leaves no choice. Knows what
the words of a statement mean in a table; judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from mindshare.report.describing import telling
from mindshare.report.describing.numbers import ADDITIVE, Key, Number, Numbers
from mindshare.report.describing.phrases import UNITS
from mindshare.report.describing.statements import Statement

_PARTS = {
    "model": "which model",
    "layer": "which layer",
    "head": "which head",
    "kind": "which token class",
    "condition": "which condition",
    "measure": "which measure",
}


@dataclass(frozen=True)
class Answer:
    """Values that the statement must fit, or why there are none."""

    values: tuple[float, ...] = ()
    why: str = ""


class Answers:
    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
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
        numbers = self.numbers
        counts = {
            "layers": len(numbers.layers),
            "heads": len(numbers.heads),
            "models": len(numbers.models),
            "classes": len(numbers.named),
            "insertions": len(numbers.conditions),
            "conditions": len(numbers.conditions),
        }
        if counts.get(statement.what):
            return _counted(statement, counts[statement.what])
        return Answer(why=statement.why or "it is not clear what this number is")

    def _cells(self, statement: Statement) -> tuple[dict[Key, Number], str]:
        """The cells a statement is about; several only if it speaks about several."""
        why = self._unclear(statement)
        if why:
            return {}, why
        single = statement.number.relation == "=" and statement.upto is None
        exact = self._exact(statement.given) if single else None
        if exact is not None:
            return {exact: self.numbers.cells[exact]}, ""
        found = {k: n for k, n in self.numbers.cells.items() if self._meant(k, statement.given)}
        if not found:
            return {}, "the table has no such number"
        found = _means_first(found, statement.given)
        if single and len(found) > 1:
            return {}, f"it is not said {_open(list(found))}"
        return found, ""

    def _unclear(self, statement: Statement) -> str:
        """Why a statement should not be looked up at all; nothing if it can be."""
        if not statement.given:
            return "it is not said what this number is about"
        measure = statement.given.get("measure", self.numbers.measure)
        if not self.numbers.classes and "measure" not in statement.given:
            return "it is not said which measure"
        if statement.times and UNITS.get(measure) != " times":
            return "a ratio, and not clearly said of what"
        return ""

    def _exact(self, given: dict[str, Any]) -> Key | None:
        """The one cell, without a search: most statements name everything."""
        numbers = self.numbers
        only = {
            "measure": [numbers.measure] if numbers.classes else numbers.measures,
            "model": numbers.models,
            "kind": numbers.classes,
            "condition": numbers.conditions,
        }
        filled = {part: there[0] for part, there in only.items() if len(there) == 1}
        wanted = {"measure": "", "model": ""} | filled | given
        if any(isinstance(value, tuple) for value in wanted.values()):
            return None
        key = Key(**wanted)
        return key if key in numbers.cells else None

    def _meant(self, key: Key, given: dict[str, Any]) -> bool:
        if "measure" not in given and self.numbers.classes and key.measure != self.numbers.measure:
            return False
        if key.against != given.get("against"):
            return False
        for part in _PARTS:
            if part not in given:
                continue
            said, there = given[part], getattr(key, part)
            if there not in said if isinstance(said, tuple) else there != said:
                return False
        return True

    def _value(self, statement: Statement) -> Answer:
        found, why = self._cells(statement)
        if not found and statement.what == "difference":
            return self._subtracted(statement, why)
        return Answer(tuple(number.value for number in found.values()), why)

    def _subtracted(self, statement: Statement, why: str) -> Answer:
        """Where the table has no differences: of its two means."""
        given = {k: v for k, v in statement.given.items() if k != "against"}
        other = given | {_differing(self.numbers, statement.given): statement.given["against"]}
        means = [self._cells(replace(statement, given=one))[0] for one in (given, other)]
        if not all(len(found) == 1 for found in means):
            return Answer(why=why)
        b, a = (next(iter(found.values())).value for found in means)
        return Answer((b - a,))

    def _end(self, statement: Statement) -> Answer:
        found, why = self._cells(statement)
        ends = [getattr(number, statement.what) for number in found.values()]
        if not ends:
            return Answer(why=why)
        if ends[0] is None:
            return Answer(why="the table has no interval for it")
        return Answer((float(ends[0]),))

    def _total(self, statement: Statement) -> Answer:
        if self.numbers.measure not in ADDITIVE:
            return Answer(why=f"{self.numbers.measure} does not add up over classes")
        kinds = statement.together or tuple(self.numbers.named)
        if statement.what == "together" and not statement.together:
            return Answer(why="it is not said which classes are added up")
        places: dict[Key, float] = {}
        for kind in kinds:
            found, why = self._cells(replace(statement, given=statement.given | {"kind": kind}))
            if not found:
                return Answer(why=why)
            for key, number in found.items():
                place = replace(key, kind=None)
                places[place] = places.get(place, 0.0) + number.value
        return Answer(tuple(places.values()))

    def _share(self, statement: Statement) -> Answer:
        if "kind" not in statement.given:
            return Answer(why="it is not said which token class")
        part = self._value(statement)
        given = {k: v for k, v in statement.given.items() if k != "kind"}
        whole = self._total(replace(statement, given=given))
        if len(part.values) != 1 or len(whole.values) != 1 or whole.values[0] == 0:
            return Answer(why=part.why or whole.why or "it is not clear what the whole is")
        return Answer((part.values[0] / whole.values[0],))

    def _label(self, statement: Statement) -> Answer:
        there = {"model": self.numbers.models, "condition": self.numbers.conditions}
        for part, names in there.items():
            if part not in statement.given and len(names) > 1:
                return Answer(why=f"it is not said {_PARTS[part]}")
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
            if key.layer is not None and key.head is None and self._meant(key, given)
        }
        trend = telling.trend([found[layer] for layer in sorted(found)])
        if trend is None:
            return Answer(why="there are too few layers for a trend")
        return Answer((trend.correlation if statement.what == "correlation" else trend.p_value,))

    def _about(self, statement: Statement) -> Answer:
        found = self.numbers.about.get(f"mindshare.{statement.what}")
        return Answer((float(found),)) if found else Answer(why="the table does not say")

    def _prompts(self, statement: Statement) -> Answer:
        counts = [number.n_prompts for number in self.numbers.cells.values()]
        if statement.upto is not None:
            return Answer((float(min(counts)), float(max(counts))))
        return _counted(statement, max(counts))


def _counted(statement: Statement, total: int) -> Answer:
    """A smaller count can be one of some of them."""
    if statement.number.value < total:
        return Answer(why=f"of {total} {statement.what}, and not clearly said of which")
    return Answer((float(total),))


def _means_first(found: dict[Key, Number], given: dict[str, Any]) -> dict[Key, Number]:
    """A layer or head that is not named: the mean over them, if the table has it."""
    for part in ("layer", "head"):
        means = {k: n for k, n in found.items() if getattr(k, part) is None}
        if part not in given and means:
            found = means
    return found


def _open(keys: list[Key]) -> str:
    """What the statement should have said."""
    parts = [part for part in _PARTS if len({getattr(key, part) for key in keys}) > 1]
    return " and ".join(_PARTS[part] for part in parts)


def _differing(numbers: Numbers, given: dict[str, Any]) -> str:
    return "model" if given.get("against") in numbers.models else "condition"
