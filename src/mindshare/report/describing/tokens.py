"""A line of text → its names, layers, heads, numbers and cue words, in order.

Digits inside names, words and version numbers are no numbers. Knows how things are written, not
what they say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mindshare.report.describing.vocabulary import Vocabulary

_POWER = r"(?:[eE][+\-−]?\d+(?!\w|\.\d)|\s?[×x]\s?10(?:\^[+\-−]?\d+|[⁺⁻]?[⁰¹²³⁴-⁹]+))"
_PLAIN = rf"(?:(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\.\d+)(?:{_POWER})?"
_WHOLE = r"\d+(?!\d|\.\d|,\d{3}|\s*%)"
_ABOUT = r"[~≈≃]\s*|\b(?:about|approximately|approx\.?|around|roughly|nearly|circa|ca\.)\s+"
_SIGNED = rf"[+\-−–]?(?:{_PLAIN})"
_AFTER = r"(?![\w]|\.\d|-[A-Za-z])"
_BELOW = r"[<≤]\s*|\b(?:below|under|less\s+than|at\s+most|up\s+to|no\s+more\s+than)\s+"
_ABOVE = r"[>≥]\s*|\b(?:above|more\s+than|at\s+least|exceeding)\s+"
NOUNS = (
    "prompts?|layers?|heads?|models?|classe?s?|token\\s+class(?:es)?|token\\s+types|insertions?|"
    "conditions?|resamples|cells?"
)
CUES = {
    "total": r"total|sum|altogether",
    "together": r"together",
    "minus": r"minus",
    "reaching": r"reaching",
    "correlation": r"rank\s+correlation",
    "p": r"p(?:_adjusted|_family|_value)?(?=\s*[<=]?\s*\d)",
    "margin": r"margin",
    "effect": r"effect(?=\s+[+\-−]?\d)",
    "small": r"differs?\s+by(?=\s+less\s+than)",
    "detectable": r"difference\s+of(?=\s+\S+(?:\s+[a-z]+){0,2}\s+could\s+have\s+been\s+found)",
    "change": r"by(?=\s+[~≈+\-−\d])|differences?\s+(?:of|between)|"
    r"(?:gap|increase|decrease|drop|change|rise|fall|gain|loss)\s+of",
    "seed": r"seed",
    "mean": r"mean\s+(?:over|of)\s+the\s+(?:heads|layers)(?=\s+[\d−-])",
    "picture": r"layer\.head|axis|axes|scale|colou?rs?|vertical|horizontal|ticks?|units?|grid|"
    r"position(?:s|ed)?|sequence\s+length",
}
_HERE = (
    r"(?:\s+(?:mean|value|number|difference|attention))?(?:\s+(?:is|was))?\s+(?:in|at)"
    r"(?=\s+layer\s+\d)"
)
ORDERS = {  # where something is largest or smallest
    "highest": rf"(?:highest|largest|greatest|strongest|maximum|peaks?){_HERE}",
    "lowest": rf"(?:lowest|smallest|weakest|minimum){_HERE}",
    "most": r"most\s+in(?=\s+layer\s+\d)",
}
_THAN = r"(?=(?:[^.;:!?]|\.(?=\d)){0,120}?\bthan\b)"
COMPARED = {  # one thing with another
    "larger": rf"(?:larger|higher|greater|bigger|stronger|more){_THAN}",
    "smaller": rf"(?:smaller|lower|weaker|less){_THAN}",
}
_FEW = "two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred"
_IN_WORDS = (
    rf"\b(?:twice|thrice|doubles?|doubled|halves|halved|half\s+(?:of|as)|(?:{_FEW})(?:\s+times|-?fold)|"
    r"(?:one|two|three|a)[-\s](?:third|quarter|fifth)s?)\b"
)
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−", "0123456789+--")
_NUMBER = re.compile(
    r"(?P<sign>[+\-−–]?)(?P<digits>[\d,]*\.?\d+)(?:(?:[eE]|\s?[×x]\s?10\^?)(?P<power>\S+))?"
)


@dataclass(frozen=True)
class Token:
    """`what` is name, layer, head, everywhere, interval, between, count, number, cue, order,
    compared, words (a number in words), or stop."""

    what: str
    text: str
    start: int
    stop: int
    content: Any = None


@dataclass(frozen=True)
class Written:
    """A number as it stands in a text."""

    value: float
    half: float  # of a unit in the last written digit
    text: str  # its digits
    about: bool = False
    percent: bool = False
    signed: bool = False
    relation: str = "="  # or < or >


class Lexer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        cues = _either("cue", CUES)
        orders = f"{_either('order', ORDERS)}|{_either('compared', COMPARED)}"
        numbers = rf"(?P<relation>(?:{_BELOW}|{_ABOVE})?)(?P<about>(?:{_ABOUT})?)"
        self._pattern = re.compile(
            rf"(?P<name>{vocabulary.pattern})"
            rf"|(?P<everywhere>\ball\s+layers\b)"
            rf"|\b(?P<unit>layer|head)s?\s+\(?(?P<list>{_WHOLE}"
            rf"(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+to\s+|\s*[–-]\s*){_WHOLE})*)"
            rf"|\[\s*(?P<low>{_SIGNED})\s*,\s*(?P<high>{_SIGNED})\s*\]"
            rf"|(?P<between>(?:\b(?:between|from)\s+)?(?:{_ABOUT})?(?<![\w.\-−–])(?P<first>{_PLAIN})"
            rf"\s*(?:–|-|\bto\b|(?<=\d)\s+and\b)\s*(?:{_ABOUT})?(?P<last>{_PLAIN}){_AFTER})"
            rf"(?:(?=\s+(?P<nouns>{NOUNS})\b))?"
            rf"|(?P<count>(?<![\w.\-−–])(?:{_PLAIN}))(?=\s+(?P<noun>{NOUNS})\b)"
            rf"|{numbers}(?<![\w.\-−–])(?P<number>{_SIGNED}){_AFTER}(?P<percent>\s*%)?"
            rf"|(?P<words>{_IN_WORDS})|{orders}|{cues}|(?P<stop>[.!?;](?=\s|$))",
            re.IGNORECASE,
        )

    def tokens(self, text: str) -> list[Token]:
        return [token for m in self._pattern.finditer(text) if (token := self._token(m))]

    def _token(self, m: re.Match[str]) -> Token | None:
        groups = {name for name, found in m.groupdict().items() if found is not None}
        for what in _MAKERS:
            if what in groups:
                content = self._name(m) if what == "name" else _MAKERS[what](m)
                kind = m["unit"].lower() if what == "unit" else _TOKEN.get(what, what)
                return Token(kind, m[0], m.start(), m.end(), content)
        named = next((name for name in groups if name.partition("_")[0] in _NAMED), None)
        if named is None:
            return None
        what, _, which = named.partition("_")
        return Token(what, m[0], m.start(), m.end(), which)

    def _name(self, m: re.Match[str]) -> Any:
        return self.vocabulary.find(m[0])


def _either(what: str, words: dict[str, str]) -> str:
    return "|".join(rf"(?P<{what}_{name}>\b(?:{one})\b)" for name, one in words.items())


def written(text: str) -> Written:
    """`−0.030`, `2.39e-1` → a number with its last digit."""
    m = _NUMBER.fullmatch(text.strip())
    assert m is not None, text
    digits = m["digits"].replace(",", "")
    power = int((m["power"] or "0").translate(_DIGITS))
    last = power - len(digits.partition(".")[2])
    negative = m["sign"] in ("-", "−", "–")
    value = float(f"{'-' if negative else ''}{digits}e{power}")
    # A whole number may be a count or a rounded value: half a unit either way.
    return Written(value, 0.5 * 10.0**last, text.strip(), signed=bool(m["sign"]))


def _number(m: re.Match[str]) -> Written:
    plain = written(m["number"])
    relation = m["relation"].strip().lower()
    scale = 0.01 if m["percent"] else 1.0
    return Written(
        plain.value * scale,
        plain.half * scale,
        m["number"] + ("%" if m["percent"] else ""),
        bool(m["about"].strip()),
        bool(m["percent"]),
        plain.signed,
        _side(relation),
    )


def _side(relation: str) -> str:
    if not relation:
        return "="
    return "<" if re.match(r"<|≤|below|under|less|at\s+most|up|no", relation) else ">"


def _whole(m: re.Match[str]) -> tuple[int, ...]:
    """`0 to 4, 7 and 9` → 0, 1, 2, 3, 4, 7, 9"""
    found: list[int] = []
    for run in re.finditer(r"(\d+)(?:\s*(?:to|[–-])\s*(\d+))?", m["list"]):
        first, last = int(run[1]), int(run[2] or run[1])
        found += range(first, last + 1)
    return tuple(found)


_NAMED = ("cue", "order", "compared")
_TOKEN = {"low": "interval", "stop": "stop"}
_MAKERS: dict[str, Any] = {
    "name": None,
    "everywhere": lambda _: None,
    "unit": _whole,
    "low": lambda m: (written(m["low"]), written(m["high"])),
    "between": lambda m: (written(m["first"]), written(m["last"]), m["nouns"]),
    "count": lambda m: (written(m["count"]), m["noun"].lower()),
    "number": _number,
    "words": lambda m: Written(0.0, 0.0, m["words"]),
    "stop": lambda m: m["stop"],
}
