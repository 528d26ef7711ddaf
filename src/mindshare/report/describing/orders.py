"""Words of order → statements: where something is highest, and what is larger than what.

They hold no number but a place, or two names, and can be looked up like numbers. What stands before
them in the sentence says what they are about, and what is still open the words behind. Knows how
people write, has seen no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mindshare.report.describing.outline import Given, Line, given_by
from mindshare.report.describing.statements import Statement
from mindshare.report.describing.tokens import Token, Written

_THAN = re.compile(r"\bthan\b", re.I)
_NEAR = 25  # characters between "than" and a name
_BEFORE = 30  # characters of a sentence that stand before such a word
_CUT = re.compile(r"[(,;:]")
_COMPARABLE = ("model", "kind", "condition", "layer")
_PLACES = ("layer", "head")


def ranked(
    line: Line, tokens: Sequence[Token], i: int, *, given: Given, among: tuple[int, ...]
) -> Statement:
    """`highest in layer 3`: of the layers `among`, or of all."""
    layer = tokens[i + 1]
    head = tokens[i + 2] if i + 2 < len(tokens) and tokens[i + 2].what == "head" else None
    if head is not None and line.text[layer.stop : head.start].strip(" ,"):
        head = None
    stop = (head or layer).stop
    series = _filled({p: v for p, v in given.items() if p not in _PLACES}, tokens[i + 2 :])
    return replace(
        _statement(line, tokens[i], line.text[layer.start : stop], stop),
        given={p: v for p, v in series.items() if p not in _PLACES},
        places=tuple((n, head.content[0] if head else None) for n in layer.content),
        among=among,
    )


def compared(line: Line, tokens: Sequence[Token], i: int, *, given: Given) -> Iterator[Statement]:
    """`larger … than NAME`; nothing where no name stands near."""
    than = _THAN.search(line.text, tokens[i].stop)
    if than is None:
        return
    after = next((j for j in range(i + 1, len(tokens)) if tokens[j].start >= than.end()), None)
    if after is None:
        return
    between = line.text[than.end() : tokens[after].start]
    named = {p: v for p, v in given_by([tokens[after]]).items() if p in _COMPARABLE}
    if not named or len(between) > _NEAR or _CUT.search(between):
        return
    ((part, name),) = named.items()
    one = _filled(given | given_by(list(tokens[i + 1 : after])), tokens[after + 1 :])
    said = f"{tokens[i].content} than {tokens[after].text.strip()}"
    made = replace(_statement(line, tokens[i], said, tokens[after].stop), given=one)
    if part not in one or one[part] == name:
        yield replace(made, what="unread", why="it is not said what is compared")
    else:
        yield replace(made, than=one | {part: name})


def mentioned(line: Line, tokens: Sequence[Token]) -> Iterator[Statement]:
    """Every layer that is named: the table may not have it."""
    for token in tokens:
        if token.what == "layer":
            for layer in token.content:
                number = Written(float(layer), 0.0, f"layer {layer}")
                yield Statement("mention", number, {"layer": layer}, token.text, line.number)


def _filled(given: Given, behind: Sequence[Token]) -> Given:
    """With names up to the next number or stop, for parts that are not given yet."""
    found = dict(given)
    for token in behind:
        if token.what not in ("name", "layer", "head"):
            break
        found = given_by([token]) | found
    return found


def _statement(line: Line, token: Token, said: str, stop: int) -> Statement:
    words = line.text[max(0, token.start - _BEFORE) : stop]
    return Statement(token.content, Written(0.0, 0.0, said), {}, words, line.number)
