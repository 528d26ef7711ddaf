"""A statement → the cells of a table that it is about.

A part that the statement leaves open is filled in only if the table leaves no choice. Knows what
the words of a statement mean in a table; answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.numbers import Numbers
from mindshare.report.describing.phrases import UNITS
from mindshare.report.describing.statements import Statement

PARTS = {
    "model": "which model",
    "layer": "which layer",
    "head": "which head",
    "kind": "which token class",
    "condition": "which condition",
    "measure": "which measure",
}
NO_NUMBER = "the table has no such number"


@dataclass(frozen=True)
class Answer:
    """Values that the statement must fit, or why there are none; of an order, whether it holds."""

    values: tuple[float, ...] = ()
    why: str = ""
    holds: bool | None = None
    words: str = ""  # what the table says instead


class Lookup:
    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers

    def cells(self, statement: Statement) -> tuple[dict[Key, Number], str]:
        """The cells a statement is about; several only if it speaks about several."""
        why = self._unclear(statement)
        if why:
            return {}, why
        single = statement.number.relation == "=" and statement.upto is None
        exact = self._exact(statement.given) if single else None
        if exact is not None:
            return {exact: self.numbers.cells[exact]}, ""
        found = {k: n for k, n in self.numbers.cells.items() if self.meant(k, statement.given)}
        if not found:
            return {}, NO_NUMBER
        found = _means_first(found, statement.given)
        if single and len(found) > 1:
            return {}, f"it is not said {left_open(list(found))}"
        return found, ""

    def _unclear(self, statement: Statement) -> str:
        """Why a statement should not be looked up at all; nothing if it can be."""
        if not statement.given:
            return "it is not said what this number is about"
        measure = statement.given.get("measure", self.numbers.measure)
        if not self.numbers.classes and "measure" not in statement.given:
            return "it is not said which measure"
        many = statement.number.relation != "=" or statement.upto is not None
        if many and self.numbers.classes and "kind" not in statement.given:
            return "it is not said which token class"
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

    def meant(self, key: Key, given: dict[str, Any]) -> bool:
        if "measure" not in given and self.numbers.classes and key.measure != self.numbers.measure:
            return False
        if key.against != given.get("against"):
            return False
        for part in PARTS:
            if part not in given:
                continue
            said, there = given[part], getattr(key, part)
            if there not in said if isinstance(said, tuple) else there != said:
                return False
        return True


def _means_first(found: dict[Key, Number], given: dict[str, Any]) -> dict[Key, Number]:
    """A layer or head that is not named: the mean over them, if the table has it."""
    for part in ("layer", "head"):
        means = {k: n for k, n in found.items() if getattr(k, part) is None}
        if part not in given and means:
            found = means
    return found


def left_open(keys: list[Key]) -> str:
    """What the statement should have said."""
    parts = [part for part in PARTS if len({getattr(key, part) for key in keys}) > 1]
    return " and ".join(PARTS[part] for part in parts)
