"""A text and a rule about characters become one yes or no per character, [characters].

The built-in kinds follow Unicode:

- `whitespace`: what Python's `str.isspace` says; `newline`: those that end a line.
- `punctuation`: the categories P*, and the ASCII symbols among them ($ + < = > ^ ` | ~).
- `digit`: decimal digits (Nd).
- `letter`: the categories L*, and the marks written on letters (Mn, Mc), without the variation
  selectors that go with emoji.

This module does not know tokens.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mindshare.prompts import CharRange
from mindshare.tokens.rules import Rule
from mindshare.tokens.spans import char_mask

NEWLINES = frozenset("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def matching_characters(
    text: str, rule: Rule, spans: Mapping[str, tuple[CharRange, ...]]
) -> NDArray[np.bool_]:
    """Which characters of the text the rule takes. A span that is not there takes none."""
    if rule.kind == "span":
        return char_mask(len(text), spans.get(rule.argument, ()))
    if rule.kind == "re":
        return char_mask(len(text), (found.span() for found in re.finditer(rule.argument, text)))
    if rule.kind == "chars":
        return _mask(text, frozenset(rule.argument).__contains__)
    return _mask(text, KINDS[rule.argument])


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char).startswith("P") or char in string.punctuation


def _is_letter(char: str) -> bool:
    category = unicodedata.category(char)
    if category in ("Mn", "Mc"):
        return not ("\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef")
    return category.startswith("L")


KINDS: Mapping[str, Callable[[str], bool]] = {
    "whitespace": str.isspace,
    "newline": NEWLINES.__contains__,
    "punctuation": _is_punctuation,
    "digit": str.isdecimal,
    "letter": _is_letter,
}


def _mask(text: str, belongs: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Ask once per distinct character: texts are long, alphabets are short."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    distinct, place = np.unique(codes, return_inverse=True)
    verdicts = np.fromiter((belongs(chr(code)) for code in distinct), bool, len(distinct))
    return verdicts[place.reshape(-1)]
