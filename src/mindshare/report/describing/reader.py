"""A text → its numeric statements.

What stands before a number in its sentence says what it is about, or the few words behind it; else
what was named before the last number; else the headings and labels above. A number that none of
these explains is a statement too: one that could not be read. So are changes and ratios between
things that the words do not name clearly, and numbers in words. Knows how people write about
charts, has seen no table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mindshare.report.describing import orders
from mindshare.report.describing.behind import named_behind
from mindshare.report.describing.outline import Given, Line, given_by, outline
from mindshare.report.describing.statements import Statement
from mindshare.report.describing.tokens import Lexer, Token, Written
from mindshare.report.describing.vocabulary import Vocabulary

PICTURE = "about the picture, not about a number in it"
CHANGE = "a change, and not clearly said of what"
MARGIN = "a margin is a choice, not a number of the table"
IN_WORDS = "a ratio in words"
MEAN = "a mean of the cells of a chart, not a number of the table"
COUNT = "a count of something that the table does not count"
_PICTURE = re.compile(r"\b(components|axes|axis|legend)\b", re.I)
_SPREAD = re.compile(r"\s*(?:t-widened|percentile|bootstrap|interval|confidence)", re.I)
_TIMES = re.compile(r"\s*(?:times\b|×|x\b|-?fold\b)", re.I)
_POWER = re.compile(r"\s*power\b", re.I)
_MORE = re.compile(r"\s*(?:more|less|higher|lower|larger|smaller|greater|above|below)\b", re.I)
_OF_ATTENTION = re.compile(r"\s*of\s+(?:its|their|all|(?:all\s+)?the|total)\s+attention\b", re.I)
_BECAUSE = re.compile(r"\s+(?:because|of\s+(?:them|these|those))\b", re.I)
_HEADS = re.compile(r"\bheads?\b(?!\s*\d)", re.I)
_COUNTED = {
    word[:4]: word
    for word in ("prompts", "layers", "heads", "models", "insertions", "conditions", "resamples")
} | {"clas": "classes", "type": "classes", "cell": "cells"}
_WORDS = 60  # characters of a sentence that stand for a statement


def read_statements(text: str, vocabulary: Vocabulary) -> list[Statement]:
    lexer = Lexer(vocabulary)
    found: list[Statement] = []
    for line in outline(text, lexer):
        tokens = lexer.tokens(line.text)
        found += _Reader(line, tokens).statements()
        found += orders.mentioned(line, tokens)
    return found


@dataclass
class _Sentence:
    """What has been said so far in one sentence."""

    given: Given
    fresh: set[str] = field(default_factory=set)  # parts named since the last number
    stale: set[str] = field(default_factory=set)  # places named before a semicolon
    cue: str | None = None
    change: bool = False
    label: Token | None = None
    last: Statement | None = None
    kinds: list[str] = field(default_factory=list)
    minus: str | None = None  # the part whose next name a difference is taken from
    among: tuple[int, ...] = ()  # the layers that were named since a semicolon
    first: tuple[int, ...] = ()  # … and before any number: the sentence is about these


class _Reader:
    """One line, token by token."""

    def __init__(self, line: Line, tokens: list[Token]) -> None:
        self.line, self.tokens = line, tokens
        self.said = _Sentence(dict(line.given))
        self.used: set[int] = set()  # tokens that belong to the number before them

    def statements(self) -> Iterator[Statement]:
        for i, token in enumerate(self.tokens):
            if token.what == "interval":
                yield from self._interval(token)
            elif token.what in ("number", "between", "count"):
                yield from self._number(i, token)
            elif token.what == "words":
                yield self._unread(token, IN_WORDS)
            elif token.what == "order":
                yield self._order(i)
            elif token.what == "compared":
                yield from orders.compared(self.line, self.tokens, i, given=self.said.given)
            else:
                self._take(i, token)

    def _take(self, i: int, token: Token) -> None:
        """A word that says what the numbers after it are about."""
        said = self.said
        if token.what == "stop":
            said.cue, said.stale, said.among = None, {"layer", "head"}, said.first
            if token.content != ";":
                self.said = _Sentence(dict(self.line.given))
        elif token.what == "cue":
            self._cue(i, token.content)
        elif token.what == "everywhere":
            self._give(i, {"layer": None, "head": None})
        elif token.what == "name":
            self._named(i, token)
        else:
            if token.what == "layer":
                said.given.pop("head", None)
                self._several(token.content)
            self._give(i, given_by([token]))

    def _give(self, i: int, named: Given) -> None:
        self.said.given |= named
        self.said.stale -= {"layer", "head"} if "layer" in named else set(named)
        if i not in self.used:
            self.said.fresh |= set(named)

    def _cue(self, i: int, cue: str) -> None:
        if cue == "change":
            self.said.change = True
            return
        self.said.cue = cue
        if cue == "minus":
            names = [token for token in self.tokens[:i] if token.what == "name"]
            self.said.minus = names[-1].content.part if names else None

    def _named(self, i: int, token: Token) -> None:
        said, name = self.said, token.content
        if name.part == "label":
            said.label = None if i in self.used else token
        elif said.minus == name.part:
            said.given["against"] = name.name
            said.minus, said.cue = None, None
        elif name.part != "queries":
            self._give(i, {name.part: name.name})

    def _several(self, layers: tuple[int, ...]) -> None:
        if len(layers) > 1:
            self.said.among = layers
            self.said.first = self.said.first if self.said.last else layers

    def _order(self, i: int) -> Statement:
        above = self.line.given.get("layer")
        among = self.said.among or (above if isinstance(above, tuple) else ())
        return orders.ranked(self.line, self.tokens, i, given=self.said.given, among=among)

    def _interval(self, token: Token) -> Iterator[Statement]:
        """The ends belong to the number before them."""
        last = self.said.last
        for end, number in zip(("low", "high"), token.content, strict=True):
            if last is None or last.what not in ("value", "difference"):
                yield self._statement("unread", number, token, why="an interval of nothing")
            else:
                given = dict(last.given)
                yield replace(self._statement(end, number, token), given=given, times=last.times)

    def _number(self, i: int, token: Token) -> Iterator[Statement]:
        said = self.said
        made = self._made(i, token)
        if made.why == PICTURE and said.last is not None and said.last.why == PICTURE:
            return  # one word about the ticks of an axis is enough
        if made.what in ("value", "difference") and "kind" in made.given:
            said.kinds.append(made.given["kind"])
        said.last, said.label, said.fresh = made, None, set()
        said.cue = said.cue if said.cue == "picture" else None
        yield made

    def _made(self, i: int, token: Token) -> Statement:
        if token.what == "count":
            return self._count(token)
        if self.said.cue == "picture" or _PICTURE.search(self.line.title):
            return self._unread(token, PICTURE)
        if token.what == "between":
            return self._between(i, token)
        return self._special(i, token) or self._value(i, token)

    def _special(self, i: int, token: Token) -> Statement | None:
        """What is no number of a cell."""
        number, behind = token.content, self.line.text[token.stop :]
        cued = self._cued(token)
        if cued is not None:
            return cued
        if number.percent and _POWER.match(behind):
            return self._statement("power", number, token)
        if _BECAUSE.match(behind) and number.text.isdigit():
            return self._unread(token, COUNT)
        label = self._label(i, token)
        if label is not None:
            made = self._statement("label", number, token)
            return replace(made, given=made.given | {"label": label})
        if number.percent and _SPREAD.match(behind):
            return self._statement("confidence", number, token)
        return None

    def _cued(self, token: Token) -> Statement | None:
        """What a word before it says it is."""
        said, number = self.said, token.content
        if said.cue in ("margin", "mean"):
            return self._unread(token, MARGIN if said.cue == "margin" else MEAN)
        if said.cue in ("correlation", "p", "seed", "small"):
            level = said.cue == "p" and number.relation == "<"
            return self._statement("level" if level else said.cue, number, token)
        if said.cue == "detectable":
            heads = bool(_HEADS.search(self.line.text[: token.start]))
            return replace(self._statement("detectable", number, token), heads=heads)
        if said.cue == "effect" and said.last is not None:
            return replace(self._statement("effect", number, token), given=dict(said.last.given))
        return None

    def _label(self, i: int, token: Token) -> str | None:
        """A label right before a number, `smoothed 12`, or right behind it, `12 smoothed`."""
        before, text = self.said.label, self.line.text
        if before is not None and not text[before.stop : token.start].strip(" :="):
            return str(before.content.name)
        after = self.tokens[i + 1] if i + 1 < len(self.tokens) else None
        if after is None or after.what != "name" or after.content.part != "label":
            return None
        if text[token.stop : after.start].strip():
            return None
        self.used.add(i + 1)
        return str(after.content.name)

    def _value(self, i: int, token: Token) -> Statement:
        said, number = self.said, token.content
        sums = said.cue in ("together", "reaching", "total")
        given = self._given(i, carried=sums)
        behind = self.line.text[token.stop :]
        if (said.change or _MORE.match(behind)) and "against" not in given:
            return self._unread(token, CHANGE)
        if sums:
            made = self._statement("total" if said.cue == "total" else "together", number, token)
            kinds = () if said.cue == "total" else tuple(dict.fromkeys(said.kinds))
            given = {part: value for part, value in given.items() if part != "kind"}
            return replace(made, given=given, together=kinds)
        what = "share" if number.percent else "difference" if "against" in given else "value"
        if _OF_ATTENTION.match(behind):
            what, given = "value", given | {"measure": "mass"}
        times = bool(_TIMES.match(behind))
        return replace(self._statement(what, number, token), given=given, times=times)

    def _given(self, i: int, *, carried: bool = False) -> Given:
        """With what the words behind a number name, unless it was named just before.

        A layer that was named before a semicolon is carried over to sums only.
        """
        said = self.said
        gone = set() if carried else said.stale
        given = {p: v for p, v in said.given.items() if p not in gone}
        given |= {p: v for p, v in self.line.given.items() if p in gone}
        for place in named_behind(self.line.text, self.tokens, i):
            named = given_by([self.tokens[place]])
            if named and not set(named) & self.said.fresh:
                given |= named
                self.used.add(place)
        return given

    def _between(self, i: int, token: Token) -> Statement:
        first, last, noun = token.content
        if noun is not None:
            made = self._statement("prompts", first, token)
            counted = noun.lower().startswith("prompt")
            return replace(made, upto=last) if counted else self._unread(token, "a range of counts")
        if self.said.change:
            return self._unread(token, CHANGE)
        made = self._statement("between", first, token)
        return replace(made, given=self._given(i), upto=last)

    def _count(self, token: Token) -> Statement:
        number, noun = token.content
        stem = noun.split()[-1]
        what = next(_COUNTED[word] for word in _COUNTED if stem.startswith(word))
        return self._statement(what, number, token)

    def _unread(self, token: Token, why: str) -> Statement:
        number = token.content[0] if token.what == "between" else token.content
        return self._statement("unread", number, token, why=why)

    def _statement(self, what: str, number: Written, token: Token, *, why: str = "") -> Statement:
        given = dict(self.said.given)
        return Statement(what, number, given, self._words(token), self.line.number, why=why)

    def _words(self, token: Token) -> str:
        """The number with some words before it."""
        start = max(0, token.stop - _WORDS)
        words = self.line.text[start : token.stop]
        return words if start == 0 else "…" + words.partition(" ")[2]
