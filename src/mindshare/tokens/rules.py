"""The text of one class rule becomes a `Rule`, `NAME=RULE` a `TokenClass`.

    whitespace, newline, punctuation, digit, letter: a kind of character
    special, bos                a kind of token
    role:user, span:NAME        the characters of a chat role or of a named span
    #*                          these characters (no letters or digits in it)
    chars:abc                   these characters, whatever they are
    re:PATTERN or /PATTERN/     characters inside a match of a regular expression
    ids:1,2,3                   tokens with these ids
    RULE@NAME                   any of these, but only inside span NAME (or role:NAME)

An `@` is read as the last form when a name follows it to the end. A literal one is written
`chars:@`, last in a longer set (`chars:ab@`), or `\\@` in a regular expression. Spaces around a
rule are dropped, but not after `chars:` and `re:`. This module does not know tokens or texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mindshare.errors import ClassRuleError, nearest

CHARACTER_WORDS = ("whitespace", "newline", "punctuation", "digit", "letter")
TOKEN_WORDS = ("special", "bos")
WORDS = (*CHARACTER_WORDS, *TOKEN_WORDS)
PREFIXES = ("role:", "span:", "re:", "ids:", "chars:")
RESERVED = ("other", "sink_slot")
ALLOWED = (
    f"{', '.join(WORDS)}, role:NAME, span:NAME, re:PATTERN, ids:1,2, chars:ABC, "
    "or characters other than letters and digits (#*)"
)

_NAME = re.compile(r"[A-Za-z][\w-]*")
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
                allowed="a letter, then letters, digits, _ and -",
            )
        if self.name in RESERVED:
            raise ClassRuleError(
                f"the class name {self.name!r} is reserved",
                next_step="choose another name; other is always there, and always last",
            )
        try:
            parse_rule(self.rule)
        except ClassRuleError as error:
            raise ClassRuleError(
                error.what,
                where=f"class {self.name!r}",
                allowed=error.allowed,
                next_step=error.next_step,
            ) from None

    @property
    def parsed(self) -> Rule:
        return parse_rule(self.rule)

    @property
    def spans(self) -> tuple[str, ...]:
        """The spans and roles (`role:user`) that the class speaks of."""
        own = (self.parsed.argument,) if self.parsed.kind == "span" else ()
        return own if self.within is None else (*own, self.within)

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
    if text and not any(char.isalnum() for char in text):
        return Rule("chars", text)
    raise _unknown(text)


def _prefixed_rule(prefix: str, argument: str) -> Rule:
    if not argument:
        raise ClassRuleError(f"the rule '{prefix}:' says nothing", allowed=ALLOWED)
    if prefix == "re":
        return _regex_rule(argument)
    if prefix == "ids":
        return _ids_rule(argument)
    if prefix == "chars":
        return Rule("chars", argument)
    return Rule("span", f"role:{argument}" if prefix == "role" else argument)


def _regex_rule(pattern: str) -> Rule:
    try:
        re.compile(pattern)
    except re.error as error:
        position = "" if error.pos is None else f" at position {error.pos}"
        raise ClassRuleError(
            f"the regular expression {pattern!r} is invalid: {error.msg}{position}",
            next_step="write chars:… for literal characters, or put \\ before special ones",
        ) from None
    return Rule("re", pattern)


def _ids_rule(argument: str) -> Rule:
    words = [word.strip() for word in argument.split(",")]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ClassRuleError(
            f"'ids:{argument}' is not a list of token ids", allowed="whole numbers: ids:1,2,3"
        )
    return Rule("ids", argument, tuple(map(int, words)))


def _unknown(text: str) -> ClassRuleError:
    if not text:
        return ClassRuleError("the rule is empty", allowed=ALLOWED)
    return ClassRuleError(
        f"{text!r} is no rule{nearest(text, (*WORDS, *PREFIXES))}",
        allowed=ALLOWED,
        next_step=f"write chars:{text} for these characters, re:{text} for this text",
    )


def _trimmed(rule: str) -> str:
    """Spaces around a rule are not part of it, unless they are all of it or a prefix takes all."""
    if rule.lstrip().startswith(("chars:", "re:")):
        return rule.lstrip()
    return rule.strip() or rule
