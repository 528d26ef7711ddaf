"""A number in a line → the names behind it that say what it is about.

`0.061 for hash in layer 3`, `0.061 (Base)`, `0.061 (layer 3, head 5)`. Knows tokens and commas, not
what was said before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mindshare.report.describing.tokens import Token

_ENDS = re.compile(r"[,;()\[\].:→]|\b(?:and|or|but|while|whereas|versus|vs|than)\b", re.I)
_NAMES = ("name", "layer", "head")


def named_behind(text: str, tokens: Sequence[Token], i: int) -> list[int]:
    """Which tokens: those in brackets that hold nothing else, or up to the next comma or `and`."""
    opened = re.match(r"\s*\(", text[tokens[i].stop :])
    start = tokens[i].stop + (opened.end() if opened else 0)
    inside = _inside(text, tokens, i, start=start) if opened else []
    return inside or list(_following(text, tokens, i, start=start, opened=bool(opened)))


def _inside(text: str, tokens: Sequence[Token], i: int, *, start: int) -> list[int]:
    """All of a bracket that holds nothing but places and names."""
    stop = text.find(")", start)
    found = [j for j in range(i + 1, len(tokens)) if tokens[j].start < stop]
    rest = text[start:stop]
    for j in reversed(found):
        rest = rest[: tokens[j].start - start] + rest[tokens[j].stop - start :]
    named = all(tokens[j].what in _NAMES for j in found)
    return found if named and not rest.strip(" ,") else []


def _following(
    text: str, tokens: Sequence[Token], i: int, *, start: int, opened: bool
) -> Iterator[int]:
    for place in range(i + 1, len(tokens)):
        later = tokens[place]
        if later.what not in _NAMES or _ENDS.search(text[start : later.start]):
            return
        if opened and not re.match(r"[^()\d]*\)", text[later.stop :]):
            return
        yield place
        start = later.stop
