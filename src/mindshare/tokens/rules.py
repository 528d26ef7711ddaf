"""The text of one class rule becomes a `Rule`, `NAME=RULE` a `TokenClass`.

    whitespace, newline, punctuation, digit, letter: a kind of character
    special, bos, first         a kind of token; first: the first one, whatever it is
    role:user, span:NAME        the characters of a chat role or of a named span
    #*                          these characters (no letters or digits in it)
    chars:abc                   these characters, whatever they are
    re:PATTERN or /PATTERN/     characters inside a match of a regular expression
    ids:1,2,3                   tokens with these ids
    RULE@NAME                   any of these, but only inside span NAME (or role:NAME)

An `@` is read as the last form when a name follows it to the end. A literal one is written
`chars:@`, last in a longer set (`chars:ab@`), or `\\@` in a regular expression. Spaces around a
rule are dropped, but not after `chars:` and `re:`.

The kinds of characters follow Unicode. `whitespace`: what Python's `str.isspace` says; `newline`:
those that end a line. `punctuation`: the categories P*, and the ASCII symbols among them
($ + < = > ^ ` | ~). `digit`: decimal digits (Nd). `letter`: the categories L*, and the marks
written on letters (Mn, Mc), without the variation selectors that go with emoji.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mindshare.errors import ClassRuleError, nearest
from mindshare.limits import matches, pattern_problem
from mindshare.naming import UNNAMED
from mindshare.prompts import CharRange
from mindshare.tokens.offsets import char_mask

CHARACTER_WORDS = ("whitespace", "newline", "punctuation", "digit", "letter")
TOKEN_WORDS = ("special", "bos", "first")
WORDS = (*CHARACTER_WORDS, *TOKEN_WORDS)
PREFIXES = ("role:", "span:", "re:", "ids:", "chars:")
ALLOWED = (
    f"{', '.join(WORDS)}, role:NAME, span:NAME, re:PATTERN, ids:1,2, chars:ABC, "
    "or characters other than letters and digits (#*)"
)

_NAME = re.compile(r"[A-Za-z][\w-]{0,999}")
_WITHIN = re.compile(r"(?P<rule>.*[^\\])@(?P<span>(?:role:)?[A-Za-z][\w-]*)\s*", re.DOTALL)

RuleKind = Literal["word", "span", "chars", "re", "ids"]


@dataclass(frozen=True)
class Rule:
    """A rule that has been read: its kind and what follows it."""

    kind: RuleKind
    argument: str
    ids: tuple[int, ...] = ()

    @property
    def is_whitespace(self) -> bool:
        """Whether it looks for whitespace, which counts in tokens of nothing else."""
        return self.kind == "word" and self.argument in ("whitespace", "newline")

    @property
    def takes_space(self) -> bool:
        """Whether it takes a space character, wherever it stands."""
        by_word = self.kind == "word" and self.argument == "whitespace"
        return by_word or (self.kind == "chars" and " " in self.argument)

    @property
    def is_about_tokens(self) -> bool:
        """Whether it takes a token whole, whatever its characters."""
        return self.kind == "ids" or (self.kind == "word" and self.argument in TOKEN_WORDS)


@dataclass(frozen=True)
class TokenClass:
    """A named rule, restricted to a span if `within` names one. Both stay as they were written."""

    name: str
    rule: str
    within: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ClassRuleError(
                f"{self.name!r} cannot name a class",
                allowed="a letter, then letters, digits, _ and -, up to 1,000 of them",
            )
        if self.name in UNNAMED:
            raise ClassRuleError(
                f"the class name {self.name!r} is reserved",
                next_step="choose another name; other is always there, and always last",
            )
        try:
            parse_rule(self.rule)
        except ClassRuleError as error:
            raise error.within(f"class {self.name!r}") from None

    @property
    def parsed(self) -> Rule:
        return parse_rule(self.rule)

    @property
    def spans(self) -> tuple[str, ...]:
        """The spans and roles (`role:user`) that the class refers to."""
        by_rule = self.parsed.argument if self.parsed.kind == "span" else None
        return tuple(span for span in (by_rule, self.within) if span is not None)

    def __str__(self) -> str:
        return f"{self.name}={self.rule}" + (f"@{self.within}" if self.within else "")


def parse_class(text: str) -> TokenClass:
    """`hash=#` or `hash=#@map` as a `TokenClass`."""
    name, equals, rule = text.partition("=")
    if not equals:
        raise ClassRuleError(
            f"{text!r} is not a class", allowed="NAME=RULE, such as hash=# or space=whitespace"
        )
    return named_class(name.strip(), rule)


def named_class(name: str, rule: str) -> TokenClass:
    """The class of that name by a rule that may end in `@SPAN`."""
    if not isinstance(rule, str):
        raise ClassRuleError(f"the rule of class {name!r} is {rule!r}, not text", allowed=ALLOWED)
    restricted = _WITHIN.fullmatch(rule)
    if restricted:
        return TokenClass(name, _trimmed(restricted["rule"]), restricted["span"])
    if rule.strip().endswith("@") and not rule.lstrip().startswith(("chars:", "re:")):
        raise ClassRuleError(
            f"the rule {rule!r} of class {name!r} ends in @, but names no span",
            next_step="write RULE@SPAN to restrict a rule, chars:@ for the character itself",
        )
    return TokenClass(name, _trimmed(rule))


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> Rule:
    """Read one rule (without `@SPAN`)."""
    if text in WORDS:
        return Rule("word", text)
    if len(text) > 2 and text[0] == text[-1] == "/":
        return _regex_rule(text[1:-1])
    prefix, colon, argument = text.partition(":")
    if colon and f"{prefix}:" in PREFIXES:
        return _prefixed_rule(prefix, argument)
    if not text:
        raise ClassRuleError("the rule is empty", allowed=ALLOWED)
    if not any(char.isalnum() for char in text):
        return Rule("chars", text)
    raise ClassRuleError(
        f"{text!r} is no rule{nearest(text, (*WORDS, *PREFIXES))}",
        allowed=ALLOWED,
        next_step=f"write chars:{text} for these characters, re:{text} for this text",
    )


def _prefixed_rule(prefix: str, argument: str) -> Rule:
    if not argument:
        raise ClassRuleError(f"the rule '{prefix}:' says nothing", allowed=ALLOWED)
    if prefix == "re":
        return _regex_rule(argument)
    if prefix == "chars":
        return Rule("chars", argument)
    if prefix != "ids":
        return Rule("span", f"role:{argument}" if prefix == "role" else argument)
    words = [word.strip() for word in argument.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        raise ClassRuleError(
            f"'ids:{argument}' is not a list of token ids", allowed="whole numbers: ids:1,2,3"
        )
    return Rule("ids", argument, tuple(map(int, words)))


def _regex_rule(pattern: str) -> Rule:
    problem = pattern_problem(pattern)
    if problem is not None:
        raise ClassRuleError(
            f"the regular expression {pattern!r} is invalid: {problem}",
            next_step="write chars:… for literal characters, or put \\ before special ones",
        )
    return Rule("re", pattern)


def _trimmed(rule: str) -> str:
    """Spaces around a rule are not part of it, unless they are all of it or a prefix takes all."""
    if rule.lstrip().startswith(("chars:", "re:")):
        return rule.lstrip()
    return rule.strip() or rule


NEWLINES = frozenset("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def matching_characters(
    text: str, rule: Rule, spans: Mapping[str, tuple[CharRange, ...]]
) -> NDArray[np.bool_]:
    """Which characters of the text the rule takes. A span that is not there takes none."""
    if rule.kind == "span":
        return char_mask(len(text), spans.get(rule.argument, ()))
    if rule.kind == "re":
        return char_mask(len(text), _matches(rule.argument, text))
    if rule.kind == "chars":
        return _mask(text, frozenset(rule.argument).__contains__)
    return _mask(text, KINDS[rule.argument])


def _matches(pattern: str, text: str) -> list[CharRange]:
    try:
        return matches(pattern, text)
    except TimeoutError as error:
        raise ClassRuleError(
            f"the regular expression {pattern!r} runs away: {error} for {len(text):,} characters",
            next_step="write it without repeats inside repeats, such as (a+)+, and without choices "
            "that overlap, such as (a|aa)+",
        ) from None


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
