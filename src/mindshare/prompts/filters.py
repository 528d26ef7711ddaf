"""`level>=3` and the like become tests of a row's values. Knows no files and no prompts.

Numbers are compared as numbers, also where a file holds them as text; all else as text, character
by character. A value that is not there counts as an empty text, and is never less or greater.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mindshare.errors import PromptError

FORM = "COLUMN=VALUE, or with !=, <, <=, >, >=, or ~ and a regular expression"
_WRITTEN = re.compile(
    r"(?P<column>[^=!<>~]*(?:![^=!<>~]+)*)(?P<sign>==|!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL
)
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDER = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Filter:
    """One test; `written` is how it was asked for, `number` what the value is as a number."""

    written: str
    column: str
    sign: str
    value: str
    number: int | float | Decimal | None

    def holds(self, values: Mapping[str, Any]) -> bool:
        found = values.get(self.column)
        if self.sign == "~":
            return re.search(self.value, _text(found)) is not None
        if found is None and self.sign in _ORDER:
            return False
        number = None if self.number is None else _number(found)
        if number is not None:
            return _COMPARE[self.sign](number, self.number)
        if self.number is not None and self.sign in _ORDER:  # a word is not less than 3
            return False
        return _COMPARE[self.sign](*_texts(found, self.value))


def parse_filter(written: str) -> Filter:
    match = _WRITTEN.fullmatch(written)
    column = match["column"].strip() if match else ""
    if match is None or not column:
        raise PromptError(f"the filter {written!r} cannot be read", allowed=FORM)
    sign, value = match["sign"].replace("==", "="), match["value"].strip()
    if sign == "~":
        _check_pattern(value, written)
    return Filter(written, column, sign, value, _number(value))


def _check_pattern(pattern: str, written: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise PromptError(
            f"the regular expression {pattern!r} is invalid: {error}",
            where=f"filter {written!r}",
            next_step="escape special characters with a backslash",
        ) from None


def _number(value: Any) -> int | float | Decimal | None:
    """The number that a value is or writes; whole numbers exactly."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    try:
        return int(value)
    except ValueError:
        return float(value)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _texts(found: Any, wanted: str) -> tuple[str, str]:
    if isinstance(found, bool):  # true, True and TRUE are the same
        return _text(found), wanted.lower()
    return _text(found), wanted
