"""A text → what it states: numbers, orders, and layers that it mentions.

What stands before a number in its sentence says what it is about, or the few words behind it; else
what was named before the last number; else the headings and labels above. A number that none of
these explains is a statement too, one that could not be read. So are changes and ratios between
things that are not clearly named, and numbers in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mindshare_checker.text import Given, Line, Token, Vocabulary, Written, given_by, lines_of

PICTURE = "about the picture, not about a number in it"
CHANGE = "a change, and not clearly said of what"
CHOICE = "a choice of the analysis, not a number of the table"
COUNT = "a count of something that the table does not count"
IN_WORDS = "a ratio in words"
_PICTURE = re.compile(r"\b(components|axes|axis|legend)\b", re.I)
# What stands behind a number and says what it is.
_SPREAD = re.compile(
    r"\s*(?:skewness-widened|t-widened|percentile|bootstrap|interval|confidence)", re.I
)
_TIMES = re.compile(r"\s*(?:times\b|×|x\b|-?fold\b)", re.I)
_POWER = re.compile(r"\s*power\b|(?:\s+[a-z]+)?\s+(?:could|would)\s+have\s+been\s+found\b", re.I)
_MORE = re.compile(r"\s*(?:more|less|higher|lower|larger|smaller|greater|above|below)\b", re.I)
_OF_ATTENTION = re.compile(r"\s*of\s+(?:its|their|all|(?:all\s+)?the|total)\s+attention\b", re.I)
_SOME = re.compile(r"\s+(?:because|others?\b|of\s+(?:them|these|those|\d+)\b)", re.I)
_COUNTED = {
    word[:4]: word
    for word in ("prompts", "layers", "heads", "models", "insertions", "conditions", "resamples")
} | {"clas": "classes", "type": "classes"}
_SHOWN = 60  # characters of a sentence that stand for a statement
_NAMES = ("name", "layer", "head")
_PLACES = ("layer", "head")


@dataclass(frozen=True)
class Statement:
    """One number, or two for a range; `what` says how it is to be looked up.

    value, difference, between: cells; low, high, p: of a cell; total, together: a sum over
    all or some classes; share: of that sum; prompts, layers, models, …: a count; confidence,
    resamples, seed: how the table was made; highest, lowest, most: the place where a series is;
    larger, smaller: than another cell; mention: of a layer; or unread, and then `why`.
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
    why: str = ""
    source: str = ""  # the name of its text, where there are several

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
    forms = {"layer": "layer {}", "head": "head {}", "against": "minus {}"}
    order = ("layer", "head", "model", "condition", "against", "token_class", "measure")
    values = {part: given[part] for part in order if given.get(part) is not None}
    words = {p: " ".join(map(str, v)) if isinstance(v, tuple) else v for p, v in values.items()}
    return ", ".join(forms.get(part, "{}").format(word) for part, word in words.items())


def read_statements(text: str, vocabulary: Vocabulary) -> list[Statement]:
    """All statements of a text, in order; of each line, the layers it mentions come last."""
    statements: list[Statement] = []
    for line in lines_of(text, vocabulary):
        tokens = vocabulary.tokens(line.text)
        statements += _LineReader(line, tokens).statements()
        for token in tokens:
            for layer in token.content if token.what == "layer" else ():
                number, given = Written(float(layer), 0.0, f"layer {layer}"), {"layer": layer}
                statements.append(Statement("mention", number, given, token.text, line.number))
    return statements


@dataclass
class _Sentence:
    """What has been said so far in one sentence."""

    given: Given
    fresh: set[str] = field(default_factory=set)  # parts named since the last number
    stale: set[str] = field(default_factory=set)  # places named before a semicolon
    cue: str | None = None
    change: bool = False
    last: Statement | None = None
    classes: list[str] = field(default_factory=list)  # with a number, for sums of them
    minus: str | None = None  # the part whose next name a difference is taken from
    pair: Given = field(default_factory=dict)  # of "A … more than B": A, and B as `against`
    among: tuple[int, ...] = ()  # several layers that were named


class _LineReader:
    """One line, token by token."""

    def __init__(self, line: Line, tokens: list[Token]) -> None:
        self.line, self.tokens = line, tokens
        self.sentence = _Sentence(dict(line.given))
        self.used: set[int] = set()  # tokens that belong to the number before them
        self.skipped: set[int] = set()  # … or to a comparison

    def statements(self) -> Iterator[Statement]:
        for i, token in enumerate(self.tokens):
            match token.what:
                case "interval":
                    yield from self._interval(token)
                case "number" | "between" | "count":
                    yield from self._number(i, token)
                case "words":
                    yield self._unread(token, IN_WORDS)
                case "order":
                    yield self._order(i)
                case "compared":
                    yield from self._compared(i)
                case _ if i not in self.skipped:
                    self._take(i, token)

    def _statement(
        self, what: str, number: Written, token: Token, given: Given | None = None, **fields: Any
    ) -> Statement:
        """Of a number, with some words before it."""
        start = max(0, token.stop - _SHOWN)
        words = self.line.text[start : token.stop]
        words = words if start == 0 else "…" + words.partition(" ")[2]
        given = dict(self.sentence.given if given is None else given)
        return Statement(what, number, given, words, self.line.number, **fields)

    def _unread(self, token: Token, why: str) -> Statement:
        number = token.content[0] if token.what == "between" else token.content
        return self._statement("unread", number, token, why=why)

    # Words that say what the numbers after them are about.

    def _take(self, i: int, token: Token) -> None:
        sentence = self.sentence
        if token.what == "stop":
            sentence.cue, sentence.stale = None, set(_PLACES)
            if token.text != ";":
                self.sentence = _Sentence(dict(self.line.given))
        elif token.what == "cue":
            self._cue(i, token.content)
        elif token.what == "everywhere":
            self._give(i, {"layer": None, "head": None})
        else:
            named = given_by([token])
            if sentence.minus is not None and sentence.minus in named:
                sentence.given["against"] = named[sentence.minus]
                sentence.minus, sentence.cue = None, None
                return
            if "layer" in named:
                sentence.given.pop("head", None)
                sentence.among = token.content if len(token.content) > 1 else sentence.among
            self._give(i, named)

    def _give(self, i: int, named: Given) -> None:
        self.sentence.given |= named
        self.sentence.stale -= set(_PLACES) if "layer" in named else set(named)
        if i not in self.used:
            self.sentence.fresh |= set(named)

    def _cue(self, i: int, cue: str) -> None:
        if cue == "change":
            self.sentence.change = True
            return
        if cue == "against":
            given, pair = self.sentence.given, self.sentence.pair
            given |= {part: pair["against"] for part in pair if part != "against"}
            return
        self.sentence.cue = cue
        if cue == "minus":
            names = [one.content for one in self.tokens[:i] if one.what == "name" and one.content]
            self.sentence.minus = names[-1].part if names else None

    # Numbers.

    def _interval(self, token: Token) -> Iterator[Statement]:
        """The ends belong to the number before them."""
        last = self.sentence.last
        for end, number in zip(("low", "high"), token.content, strict=True):
            if last is not None and last.what in ("value", "difference"):
                yield self._statement(end, number, token, last.given, times=last.times)
            else:
                why = last.why if last is not None and last.why else "an interval of nothing"
                yield self._statement("unread", number, token, why=why)

    def _number(self, i: int, token: Token) -> Iterator[Statement]:
        sentence = self.sentence
        statement = self._read_number(i, token)
        if statement.why == PICTURE and sentence.last is not None and sentence.last.why == PICTURE:
            return  # one word about the ticks of an axis is enough
        if statement.what in ("value", "difference") and "token_class" in statement.given:
            sentence.classes.append(statement.given["token_class"])
        sentence.last, sentence.fresh = statement, set()
        sentence.cue = sentence.cue if sentence.cue == "picture" else None
        yield statement

    def _read_number(self, i: int, token: Token) -> Statement:
        if token.what == "count":
            number, noun = token.content
            return self._statement(_COUNTED[noun.split()[-1][:4]], number, token)
        if self.sentence.cue == "picture" or _PICTURE.search(self.line.title):
            return self._unread(token, PICTURE)
        if token.what == "between":
            first, last, noun = token.content
            if noun is not None or self.sentence.change:
                return self._unread(token, COUNT if noun else CHANGE)
            return self._statement("between", first, token, self._given(i), upto=last)
        return self._no_cell(token) or self._value(i, token)

    def _no_cell(self, token: Token) -> Statement | None:
        """A number that a word before or behind it says is none of a cell's value."""
        sentence, number, behind = self.sentence, token.content, self.line.text[token.stop :]
        if sentence.cue == "choice" or _POWER.match(behind):
            return self._unread(token, CHOICE)
        if sentence.cue == "seed":
            return self._statement("seed", number, token)
        if sentence.cue == "p":
            last = None if sentence.fresh else sentence.last
            given = sentence.given if last is None else last.given
            if "against" not in given:  # a level that differences are tested at
                return self._unread(token, CHOICE)
            return self._statement("p", number, token, given)
        if number.text.isdigit() and _SOME.match(behind):
            return self._unread(token, COUNT)
        if number.percent and _SPREAD.match(behind):
            return self._statement("confidence", number, token)
        return None

    def _value(self, i: int, token: Token) -> Statement:
        sentence, number, behind = self.sentence, token.content, self.line.text[token.stop :]
        sums = sentence.cue in ("together", "total")
        given = self._given(i, carried=sums)
        if number.signed:
            given = sentence.pair | given
        if (sentence.change or sentence.minus or _MORE.match(behind)) and "against" not in given:
            return self._unread(token, CHANGE)
        if sums:
            classes = () if sentence.cue == "total" else tuple(dict.fromkeys(sentence.classes))
            given = {part: name for part, name in given.items() if part != "token_class"}
            return self._statement(str(sentence.cue), number, token, given, together=classes)
        what = "share" if number.percent else "difference" if "against" in given else "value"
        if _OF_ATTENTION.match(behind):
            what, given = "value", {"measure": "mass"} | given
        return self._statement(what, number, token, given, times=bool(_TIMES.match(behind)))

    def _given(self, i: int, *, carried: bool = False) -> Given:
        """With what the words behind a number name, unless it was named just before.

        A layer that was named before a semicolon is carried over to sums only.
        """
        sentence = self.sentence
        gone = set() if carried else sentence.stale
        given = {part: name for part, name in sentence.given.items() if part not in gone}
        given |= {part: name for part, name in self.line.given.items() if part in gone}
        for j in trailing_names(self.line.text, self.tokens, i):
            named = given_by([self.tokens[j]])
            if named and not set(named) & sentence.fresh:
                given |= named
                self.used.add(j)
        return given

    # Orders: they hold no number but a place, or two names, and are looked up like numbers.

    def _order(self, i: int) -> Statement:
        """`highest in layer 3`: of the layers that were named, or of all."""
        tokens, text = self.tokens, self.line.text
        layer, head = tokens[i + 1], tokens[i + 2] if i + 2 < len(tokens) else None
        if head is None or head.what != "head" or text[layer.stop : head.start].strip(" ,"):
            head = None
        stop = (head or layer).stop
        given = {part: v for part, v in self.sentence.given.items() if part not in _PLACES}
        if tokens[i].content == "most":
            given = self.sentence.pair | given
        given = _filled(given, tokens[i + 2 :])
        above = self.line.given.get("layer")
        return self._order_statement(
            tokens[i],
            text[layer.start : stop],
            stop,
            given={part: v for part, v in given.items() if part not in _PLACES},
            places=tuple((n, head.content[0] if head else None) for n in layer.content),
            among=self.sentence.among or (above if isinstance(above, tuple) else ()),
        )

    def _compared(self, i: int) -> Iterator[Statement]:
        """`larger … than NAME`; nothing where no name stands near."""
        tokens, text = self.tokens, self.line.text
        than = re.compile(r"\bthan\b", re.I).search(text, tokens[i].stop)
        assert than is not None  # or it were no such token
        after = next((j for j in range(i + 1, len(tokens)) if tokens[j].start >= than.end()), None)
        named = {} if after is None else given_by([tokens[after]])
        if after is None or not named or "head" in named or "measure" in named:
            return
        if not re.fullmatch(r"[^(,;:]{0,25}", text[than.end() : tokens[after].start]):
            return
        ((part, name),) = named.items()
        given = _filled(self.sentence.given | given_by(tokens[i + 1 : after]), tokens[after + 1 :])
        said = f"{tokens[i].content} than {tokens[after].text.strip()}"
        statement = self._order_statement(tokens[i], said, tokens[after].stop, given=given)
        if part not in given or given[part] == name:
            yield replace(statement, what="unread", why="it is not said what is compared")
            return
        yield replace(statement, than=given | {part: name})
        # Numbers that follow may be of either; with a sign, they are the difference.
        self.skipped.add(after)
        self.sentence.given.pop(part, None)
        if part in ("model", "condition"):
            self.sentence.pair = {part: given[part], "against": name}

    def _order_statement(self, token: Token, said: str, stop: int, **fields: Any) -> Statement:
        words = self.line.text[max(0, token.start - _SHOWN // 2) : stop]
        number = Written(0.0, 0.0, said)
        return Statement(token.content, number, words=words, line=self.line.number, **fields)


def _filled(given: Given, tokens: Sequence[Token]) -> Given:
    """With names up to the next number or stop, for parts that are not given yet."""
    filled = dict(given)
    for token in tokens:
        if token.what not in _NAMES:
            break
        filled = given_by([token]) | filled
    return filled


_ENDS = re.compile(r"[,;()\[\].:→]|\b(?:and|or|but|while|whereas|versus|vs|than)\b", re.I)


def trailing_names(text: str, tokens: Sequence[Token], i: int) -> list[int]:
    """The tokens behind number `i` that say what it is about: `0.061 for hash in layer 3`.

    Those in brackets that hold nothing else, or up to the next comma or `and`.
    """
    opened = re.match(r"\s*\(", text[tokens[i].stop :])
    start = tokens[i].stop + (opened.end() if opened else 0)
    if opened:
        stop = text.find(")", start)
        inside = [j for j in range(i + 1, len(tokens)) if tokens[j].start < stop]
        rest = text[start:stop]
        for j in reversed(inside):
            rest = rest[: tokens[j].start - start] + rest[tokens[j].stop - start :]
        if inside and all(tokens[j].what in _NAMES for j in inside) and not rest.strip(" ,"):
            return inside
    names: list[int] = []
    for j in range(i + 1, len(tokens)):
        token = tokens[j]
        if token.what not in _NAMES or _ENDS.search(text[start : token.start]):
            break
        if opened and not re.match(r"[^()\d]*\)", text[token.stop :]):
            break
        names.append(j)
        start = token.stop
    return names
