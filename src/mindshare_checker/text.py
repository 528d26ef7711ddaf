"""A text → its lines, each split into tokens, with what the lines above say it is about.

    names     models, token classes, conditions and measures, as people write them
    tokens    the names, layers, heads, numbers and cue words of a line, in order
    lines     a heading or a label names something for the lines below it

This is about how things are written; what they say is read in `statements`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

from mindshare.naming import BEFORE_NUMBERS, ORDINARY

# Names: a name is found as it is, or in quotes. One that is also an ordinary word must be quoted,
# or stand before a colon or a number; one that stands before numbers anyway ("total") is quoted.

ALIASES = (("hash", "#"), ("star", "*", "asterisk"), ("space", "whitespace", "spaces"))
_QUOTES = "“”\"'`‘’"
_COLOURS = "red|blue|gr[ae]y|green|orange|purple|black|yellow|brown|pink"


@dataclass(frozen=True)
class Name:
    part: str  # of a key: model, token_class, condition or measure
    name: str


@dataclass(frozen=True)
class Vocabulary:
    """Written words → the names they stand for; `phrases` of our own sentences are never quoted."""

    names: Mapping[str, Name] = field(default_factory=dict)
    phrases: Mapping[str, Name] = field(default_factory=dict)

    def tokens(self, text: str) -> list[Token]:
        """The names, layers, heads, numbers and cue words of a text, in order."""
        return [self._token(m) for m in self._pattern.finditer(text)]

    def _token(self, m: re.Match[str]) -> Token:
        assert m.lastgroup is not None  # every alternative is a group
        what, _, which = m.lastgroup.partition("_")
        content = self._name(m[0]) if what == "name" else which or _content(m, what)
        what = m["unit"].lower() if what == "place" else what
        return Token(what, m[0], m.start(), m.end(), content)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        names = {word: _name_pattern(word) for word in self.names}
        for word in self.phrases:
            bare = rf"(?<!\bone\s)(?<!\w){_spaced(word)}(?!\w)"  # not "one factor per query"
            names[word] = f"{names[word]}|{bare}" if word in names else bare
        order = sorted(names, key=len, reverse=True)  # the longest that fits is meant
        patterns = {"name": "|".join(names[word] for word in order) or r"(?!)"} | _TOKENS
        every = "|".join(rf"(?P<{what}>{pattern})" for what, pattern in patterns.items())
        return re.compile(every, re.IGNORECASE)

    def _name(self, matched: str) -> Name | None:
        """The name behind what matched; letters in their own case first."""
        bare = " ".join(matched.split())
        bare = re.sub(rf"\s*\((?:{_COLOURS})\)$", "", bare, flags=re.I)
        if bare.casefold() in self.phrases:
            return self.phrases[bare.casefold()]
        if bare[0] in _QUOTES and bare not in self.names:
            bare = bare[1:-1]
        folded = {word.casefold(): name for word, name in reversed(list(self.names.items()))}
        return self.names.get(bare) or folded.get(bare.casefold())


def aliases(classes: Iterable[str]) -> dict[str, str]:
    """Other words for these classes → the class; also `# (Hash)`. None if two words are in use."""
    names: dict[str, str] = {}
    known = {name.casefold(): name for name in classes}
    for synonyms in ALIASES:
        used = [word for word in synonyms if word in known]
        if len(used) == 1:
            name = known[used[0]]
            names |= dict.fromkeys(synonyms, name)
            names |= {f"{a} ({b})": name for a, b in permutations(synonyms, 2)}
    return names


def _spaced(word: str) -> str:
    return re.escape(word).replace(r"\ ", r"\s+")


def _name_pattern(word: str) -> str:
    escaped = _spaced(word)
    quoted = rf"[{_QUOTES}]{escaped}[{_QUOTES}]"
    before = r"(?<!\w)" if word[0].isalnum() or word[0] == "_" else ""
    after = r"(?!\w)" if word[-1].isalnum() or word[-1] == "_" else ""
    parts = set(word.casefold().split())
    if not re.search(r"\w", word):  # a sign: `# (Hash)`
        return rf"{quoted}|{escaped}(?=\s*\()" if len(word) < 3 else rf"{quoted}|{escaped}"
    if parts & set(BEFORE_NUMBERS.split()) or re.fullmatch(r"[\d\s.,;:%+\-−–\[\]()]+", word):
        return quoted
    if parts <= set(ORDINARY.split()):
        numbered = rf"{before}{escaped}{after}(?=\s*:|\s*[(=]?\s*[~≈]?\d)"
        return rf"{quoted}|{numbered}|(?<=\bminus\s){escaped}{after}"
    return rf"{quoted}|{before}{escaped}{after}(?:\s*\((?:{_COLOURS})\))?"


# Tokens. Digits inside names, words and version numbers are no numbers.

_POWER = r"(?:[eE][+\-−]?\d+(?!\w|\.\d)|\s?[×x]\s?10(?:\^[+\-−]?\d+|[⁺⁻]?[⁰¹²³⁴-⁹]+))"
_PLAIN = rf"(?:(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\.\d+)(?:{_POWER})?"
_SIGNED = rf"[+\-−–]?(?:{_PLAIN})"
_WHOLE = r"\d+(?!\d|\.\d|,\d{3}|\s*%)"
_START, _END = r"(?<![\w.\-−–])", r"(?![\w]|\.\d|-[A-Za-z])"
_ABOUT = r"[~≈≃]\s*|\b(?:about|approximately|approx\.?|around|roughly|nearly|circa|ca\.)\s+"
_BELOW = r"[<≤]\s*|\b(?:below|under|less\s+than|at\s+most|up\s+to|no\s+more\s+than)\s+"
_ABOVE = r"[>≥]\s*|\b(?:above|more\s+than|at\s+least|exceeding)\s+"
_NOUNS = (
    r"prompts?|layers?|heads?|models?|classe?s?|token\s+class(?:es)?|token\s+types|insertions?|"
    r"conditions?|resamples"
)
_FEW = "two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|hundred"
_LIST = rf"{_WHOLE}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+to\s+|\s*[–-]\s*){_WHOLE})*"
# "highest in layer 3", "lowest mean is in layer 4"
_IN_LAYER = (
    r"(?:\s+(?:mean|value|number|difference|attention))?(?:\s+(?:is|was))?\s+(?:in|at)"
    r"(?=\s+layer\s+\d)"
)
_THAN = r"(?=(?:[^.;:!?]|\.(?=\d)){0,120}?\bthan\b)"
_WORDS = {  # what a word or two say about the numbers near them
    "order_highest": rf"(?:highest|largest|greatest|strongest|maximum|peaks?){_IN_LAYER}",
    "order_lowest": rf"(?:lowest|smallest|weakest|minimum){_IN_LAYER}",
    "order_most": r"most\s+in(?=\s+layer\s+\d)",
    "compared_larger": rf"(?:larger|higher|greater|bigger|stronger|more){_THAN}",
    "compared_smaller": rf"(?:smaller|lower|weaker|less){_THAN}",
    "cue_total": r"total|sum|altogether",
    "cue_together": r"together|reaching",
    "cue_minus": r"minus",
    "cue_against": r"against(?=\s+\d)",  # the number of what was compared with
    "cue_p": r"p(?:_adjusted|_family|_value)?(?=\s*[<=]?\s*\d)",
    "cue_seed": r"seed",
    "cue_choice": r"margin|(?:mean|effect)(?=\s+[+\-−]?\d)|(?:rank|Spearman)\s+correlation|"
    r"mean\s+(?:over|of)\s+the\s+(?:heads|layers)(?=\s+[\d−-])",
    "cue_change": r"by(?=\s+(?:less\s+than\s+|more\s+than\s+)?[~≈+\-−\d])|"
    r"differences?\s+(?:of|between)|differs?(?:\s+\w+)?\s+between|"
    r"(?:gap|increase|decrease|drop|change|rise|fall|gain|loss)\s+of",
    "cue_picture": r"layer\.head|axis|axes|scale|colou?rs?|vertical|horizontal|ticks?|units?|grid|"
    r"position(?:s|ed)?|sequence\s+length",
}
_TOKENS = {
    "everywhere": r"\ball\s+layers\b",
    "place": rf"\b(?P<unit>layer|head)s?\s+\(?(?P<list>{_LIST})",
    "interval": rf"\[\s*(?P<low>{_SIGNED})\s*,\s*(?P<high>{_SIGNED})\s*\]",
    "between": rf"(?:\b(?:between|from)\s+)?(?:{_ABOUT})?{_START}(?P<first>{_PLAIN})"
    rf"\s*(?:–|-|\bto\b|(?<=\d)\s+and\b)\s*(?:{_ABOUT})?(?P<last>{_PLAIN}){_END}"
    rf"(?:(?=\s+(?P<nouns>{_NOUNS})\b))?",
    "count": rf"{_START}(?P<counted>{_PLAIN})(?=\s+(?P<noun>{_NOUNS})\b)",
    "number": rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE}))?(?P<about>{_ABOUT})?"
    rf"{_START}(?P<digits>{_SIGNED}){_END}(?P<percent>\s*%)?",
    "words": rf"\b(?:twice|thrice|doubles?|doubled|halves|halved|half\s+(?:of|as)|"
    rf"(?:{_FEW})(?:\s+times|-?fold)|(?:one|two|three|a)[-\s](?:third|quarter|fifth)s?)\b",
    **{what: rf"\b(?:{words})\b" for what, words in _WORDS.items()},
    "stop": r"[.!?;](?=\s|$)",
}
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−", "0123456789+--")
_NUMBER = re.compile(
    r"(?P<sign>[+\-−–]?)(?P<digits>[\d,]*\.?\d+)(?:(?:[eE]|\s?[×x]\s?10\^?)(?P<power>\S+))?"
)


_DIGITS_OF_POWER = 6  # with its sign: more is as good as infinite
_NO_LAYER = 10_000  # no model has as many layers or heads


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


@dataclass(frozen=True)
class Token:
    """`what` is name, layer, head, everywhere, interval, between, count, number, words (a number in
    words), order, compared, cue or stop; `content` is what it names or says."""

    what: str
    text: str
    start: int
    stop: int
    content: Any = None


def _content(m: re.Match[str], what: str) -> Any:
    """What a token says, by the groups of its pattern."""
    match what:
        case "place":
            return _whole_numbers(m["list"])
        case "interval":
            return written(m["low"]), written(m["high"])
        case "between":
            return written(m["first"]), written(m["last"]), m["nouns"]
        case "count":
            return written(m["counted"]), m["noun"].lower()
        case "number":
            return _number(m)
        case "words":
            return Written(0.0, 0.0, m[0])
    return None


def written(text: str) -> Written:
    """`−0.030`, `2.39e-1` → a number with its last digit."""
    m = _NUMBER.fullmatch(text.strip())
    assert m is not None, text
    digits = m["digits"].replace(",", "")
    power = int((m["power"] or "0").translate(_DIGITS)[:_DIGITS_OF_POWER])
    last = power - len(digits.partition(".")[2])
    negative = m["sign"] in ("-", "−", "–")
    value = float(f"{'-' if negative else ''}{digits}e{power}")
    # A whole number may be a count or a rounded value: half a unit either way.
    half = 0.0 if math.isinf(value) else float(f"5e{last - 1}")
    return Written(value, half, text.strip(), signed=bool(m["sign"]))


def _number(m: re.Match[str]) -> Written:
    plain = written(m["digits"])
    scale = 0.01 if m["percent"] else 1.0
    return Written(
        plain.value * scale,
        plain.half * scale,
        m["digits"] + ("%" if m["percent"] else ""),
        about=bool(m["about"]),
        percent=bool(m["percent"]),
        signed=plain.signed,
        relation="<" if m["below"] else ">" if m["above"] else "=",
    )


def _whole_numbers(text: str) -> tuple[int, ...]:
    """`0 to 4, 7 and 9` → 0, 1, 2, 3, 4, 7, 9"""
    runs = re.finditer(r"(\d+)(?:\s*(?:to|[–-])\s*(\d+))?", text)
    ends = ([min(int(end[:9]), _NO_LAYER) for end in (run[1], run[2] or run[1])] for run in runs)
    return tuple(n for first, last in ends for n in range(first, last + 1))


# Lines. A heading, a label in bold, or a label with nothing after it names what follows: `Layer
# 16`, then `Qwen-Phys:`. Other labels hold for their own line, and for lines indented below it.

Given = dict[str, Any]  # the parts of a key that were named; several layers are a tuple
# A part that is named anew forgets those after it.
_ORDER = ("condition", "layer", "head", "model", "token_class", "measure")
_HEADING = re.compile(r"\s*(?P<signs>#{1,6})\s+(?P<text>.+)")
_BULLET = re.compile(r"(?P<indent>\s*)(?:[*+•-]|\d{1,2}[.)])\s+(?P<text>.+)")
_LABEL = re.compile(
    r"(?P<bold>\*\*|__)?(?P<label>[^:*][^:]{0,60}?)(?P=bold)?:(?(bold)(?:\*\*|__)?)"
)
_FENCE = re.compile(r"\s*(```|~~~|\$\$\s*$)")
_FOLDED = re.compile(r"\s*<details><summary>(?!In words)")
_NO_WORDS = re.compile(r"\s*(?:\||</?[a-zA-Z!][^>]*>\s*$|\$\$|:?-{3,})")  # tables, tags, formulas
# Sections of a report that say where it comes from.
_APART = re.compile(r"methods|prompts|origin|make it again", re.I)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LONGEST = 60  # characters of a title


@dataclass(frozen=True)
class Line:
    """Words without their markup, and what is given from above; `title` is the last heading."""

    number: int
    text: str
    given: Given
    title: str


@dataclass(frozen=True)
class _Scope:
    """A heading or label that names something for the lines below it."""

    rank: int  # headings below 0, list items by their indent
    given: Given
    stays: bool = True  # not only for lines that are indented below it

    @property
    def first(self) -> int:
        """The place of its first part in `_ORDER`; -1: it names nothing."""
        return min((_ORDER.index(part) for part in self.given), default=-1)


def lines_of(text: str, vocabulary: Vocabulary) -> Iterator[Line]:
    """The lines that are no headings, in order."""
    scopes: list[_Scope] = []
    title = ""
    for number, raw in _prose(text):
        heading = _heading(raw)
        if heading is not None:
            rank, words = heading
            named = _named_by_heading(vocabulary.tokens(words))
            title = title if named else words
            scopes = _under(scopes, _Scope(rank, named))
            continue
        bullet = _BULLET.fullmatch(raw)
        indent = len(bullet["indent"]) if bullet else len(raw) - len(raw.lstrip())
        words = bullet["text"] if bullet else raw.strip()
        scopes = [one for one in scopes if one.stays or one.rank < indent]
        label = _LABEL.match(words)
        named = _named_by_label(plain(label["label"]), vocabulary) if label else {}
        above = {part: value for one in scopes for part, value in one.given.items()}
        yield Line(number, plain(words), above | named, title)
        if label and named and "token_class" not in named:  # a class is named for its own line only
            alone = not words[label.end() :].strip(" *_")
            stays = alone or words.startswith(("**", "__"))
            scopes = _under(scopes, _Scope(indent, named, stays))


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that can describe something, numbered from 1."""
    fence, apart, folded = "", 0, False
    for number, raw in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(raw)
        if mark and fence in ("", mark[1].strip()):
            fence = "" if fence else mark[1].strip()
            continue
        folded = bool(_FOLDED.match(raw)) or (folded and "</details>" not in raw)
        heading = None if fence else _HEADING.fullmatch(raw)
        if heading and (not apart or len(heading["signs"]) <= apart):
            apart = len(heading["signs"]) if _APART.fullmatch(heading["text"].strip()) else 0
        skipped = fence or apart or folded or _NO_WORDS.match(raw)
        if raw.strip() and raw.strip() != "\\n" and not skipped:
            yield number, raw


def given_by(tokens: Sequence[Token]) -> Given:
    """The parts of a key that these words name."""
    given: Given = {}
    for token in tokens:
        if token.what in ("layer", "head"):
            given[token.what] = token.content[0] if len(token.content) == 1 else token.content
        elif token.what == "name" and token.content is not None:
            given[token.content.part] = token.content.name
    return given


def plain(words: str) -> str:
    """Without the marks of bold, code, links and escapes."""
    escaped: list[str] = []

    def hide(m: re.Match[str]) -> str:
        escaped.append(m[1])
        return "\0"

    words = re.sub(r"\*\*|__", "", _ESCAPED.sub(hide, words))
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = re.sub(r"`([^`]*)`", r'"\1"', words).strip()
    return re.sub("\0", lambda _: escaped.pop(0), words)


def _heading(raw: str) -> tuple[int, str] | None:
    """(rank, words) of `## Words`, of a line all in bold, or of a title on a line of its own."""
    heading = _HEADING.fullmatch(raw)
    if heading and not re.search(r"\d\.\d", raw):
        return len(heading["signs"]) - 10, plain(heading["text"])  # above all lines in bold
    bare = raw.strip()
    bold = re.fullmatch(r"\*\*[^*]+\*\*:?", bare)
    title = re.fullmatch(r"[A-Z][A-Za-z /-]*:?", bare) and len(bare) <= _LONGEST
    return (-1, plain(bare).rstrip(":")) if bold or title else None


def _named_by_heading(tokens: Sequence[Token]) -> Given:
    """What a heading is about; one that names two models, as `A and B compared`, about neither."""
    each = [given_by([token]) for token in tokens]
    return {
        part: value
        for part, value in given_by(tokens).items()
        if all(named.get(part, value) == value for named in each)
    }


def _named_by_label(label: str, vocabulary: Vocabulary) -> Given:
    """A label of nothing but names: `Layer 1 Head 8 (Top-Right)`, not `Layer 20 Drop`."""
    rest = re.sub(r"\([^)]*\)", "", label)
    for token in reversed(vocabulary.tokens(rest)):
        rest = rest[: token.start] + rest[token.stop :]
    return {} if re.search(r"\w", rest) else given_by(vocabulary.tokens(label))


def _under(scopes: Sequence[_Scope], new: _Scope) -> list[_Scope]:
    """Lower scopes end here, and those of the same rank that do not name something larger."""
    return [
        *(s for s in scopes if s.rank < new.rank or (s.rank == new.rank and s.first < new.first)),
        new,
    ]
