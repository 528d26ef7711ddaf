"""What a text says with a number: of which model, layer or class, and how it is to be looked up.

Knows no table, and not how it was read.
"""

from __future__ import annotations

from dataclasses import dataclass

from mindshare.report.describing.outline import Given
from mindshare.report.describing.tokens import Written

_WORDS = {"layer": "layer {}", "head": "head {}", "against": "minus {}"}
_ORDER = ("layer", "head", "model", "condition", "against", "kind", "measure", "label")


@dataclass(frozen=True)
class Statement:
    """One number, or two for a range; `what` says how it is to be looked up.

    value, difference, between: cells; low, high: the ends of a cell's interval; effect: its effect;
    detectable: what could have been found in cells; total, together: a sum over all or some
    classes; share; label: how many heads have it; prompts, layers, models, …: a count; correlation,
    p, level, small, power, confidence, resamples, seed; highest, lowest, most: the place where a
    series is; larger, smaller: than another cell; mention: of a layer; or unread, and then `why`.
    """

    what: str
    number: Written
    given: Given  # the parts of a key that are said
    words: str
    line: int
    upto: Written | None = None
    together: tuple[str, ...] = ()  # the classes that a sum is over
    times: bool = False  # "times" stands behind it
    places: tuple[tuple[int, int | None], ...] = ()  # layers and heads that a series is highest in
    among: tuple[int, ...] = ()  # layers that it is the highest of; none named: all
    than: Given | None = None  # the cell that it is larger than
    heads: bool = False  # about single heads, none of them named
    why: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The same for statements about the same thing."""
        return (self.what, *self.together, *sorted((k, str(v)) for k, v in self.given.items()))

    @property
    def said(self) -> str:
        """`~0.03`, `< 0.03`, `0.01 to 0.03`"""
        number = self.number
        sign = "~" if number.about else "" if number.relation == "=" else f"{number.relation} "
        return f"{sign}{number.text}" + (f" to {self.upto.text}" if self.upto else "")


def about(given: Given) -> str:
    """`layer 16, Qwen-Phys, hash`"""
    found = [(part, given[part]) for part in _ORDER if given.get(part) is not None]
    return ", ".join(_WORDS.get(part, "{}").format(_listed(value)) for part, value in found)


def _listed(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
