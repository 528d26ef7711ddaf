"""An encoded prompt, ordered rules and a policy become class weights [T, C], `other` last.

The policy says how a token of several kinds of characters (` #`, `\\n\\n#`, `##\\n`) is counted:

- `priority`: by the first rule that matches any of its characters. Whitespace rules match only
  tokens that are all whitespace (`newline`: that also hold a newline).
- `pure`: by the first rule that matches all of its characters, else `other`.
- `proportional`: by characters, each going to the first rule that matches it.

Special tokens are taken whole, under every policy, and only by rules about tokens (`special`,
`bos`, `ids:`) or places (`span:`, `role:`): the letters of `<|im_start|>` are not text. Rules
about tokens take ordinary tokens whole too. A space the tokenizer put there itself (`▁` with no
character of its own) counts as one space, in no span. A token that carries some bytes of a
character counts as that character. This module does not know attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mindshare.tokens.characters import matching_characters
from mindshare.tokens.encoded import DUMMY_PREFIX, Encoded
from mindshare.tokens.rules import Rule, TokenClass
from mindshare.tokens.spans import bounds, char_mask, token_mask

Policy = Literal["priority", "pure", "proportional"]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def class_weights(encoded: Encoded, rules: Sequence[TokenClass], *, policy: Policy) -> Floats:
    """One row a token, one column a rule and a last one for `other`; every row sums to 1."""
    tokens = _Tokens(encoded)
    if policy == "proportional":
        return _by_characters(tokens, rules)
    return _whole(tokens, rules, pure=policy == "pure")


def claims(encoded: Encoded, rules: Sequence[TokenClass], *, policy: Policy) -> Flags:
    """Which tokens each rule would take if it stood alone, [T, rule]: where rules overlap."""
    tokens = _Tokens(encoded)
    return np.stack([tokens.taken_by(rule, pure=policy == "pure") for rule in rules], 1)


def _whole(tokens: _Tokens, rules: Sequence[TokenClass], *, pure: bool) -> Floats:
    weights = np.zeros((len(tokens.ids), len(rules) + 1))
    free = np.ones(len(tokens.ids), dtype=bool)
    for column, rule in enumerate(rules):
        taken = free & tokens.taken_by(rule, pure=pure)
        weights[taken, column] = 1.0
        free &= ~taken
    weights[free, -1] = 1.0
    return weights


def _by_characters(tokens: _Tokens, rules: Sequence[TokenClass]) -> Floats:
    weights = _whole(tokens, rules, pure=False)  # special and empty tokens stay whole
    shares = np.zeros_like(weights)
    left = tokens.length.copy()  # characters of each token that no rule has taken yet
    free = np.ones(len(tokens.encoded.text), dtype=bool)
    for column, rule in enumerate(rules):
        if rule.parsed.is_about_tokens:
            taken = np.where(tokens.named_by(rule), left, 0)
        else:
            found = tokens.characters(rule) & free
            free &= ~found
            taken = np.minimum(tokens.count(found), left)
        shares[:, column] = taken
        left -= taken
    shares[:, -1] = left
    mixed = ~tokens.special & (tokens.length > 0)
    weights[mixed] = shares[mixed] / tokens.length[mixed, None]
    return weights


class _Tokens:
    """What every rule asks about the tokens of one prompt, [T] each."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self.ids = np.asarray(encoded.ids, dtype=np.int64)
        self.starts, self.ends = bounds(encoded)
        self.length = self.ends - self.starts
        self.special: Flags = np.asarray(encoded.special, dtype=bool)
        is_prefix = np.asarray([piece == DUMMY_PREFIX for piece in encoded.pieces], dtype=bool)
        self.dummy: Flags = is_prefix & (self.length == 0) & ~self.special

    @cached_property
    def all_whitespace(self) -> Flags:
        spaces = matching_characters(self.encoded.text, Rule("word", "whitespace"), {})
        whole: Flags = self.count(spaces) == self.length
        return whole

    def count(self, characters: Flags) -> NDArray[np.int64]:
        """How many of the flagged characters each token has."""
        upto = np.zeros(len(characters) + 1, dtype=np.int64)
        np.cumsum(characters, out=upto[1:])
        return np.subtract(upto[self.ends], upto[self.starts])

    def characters(self, rule: TokenClass) -> Flags:
        """The characters of the text that a rule takes, inside its span."""
        spans = self.encoded.spans
        found = matching_characters(self.encoded.text, rule.parsed, spans)
        if rule.within is not None:
            found = found & char_mask(len(found), spans.get(rule.within, ()))
        return found

    def taken_by(self, rule: TokenClass, *, pure: bool) -> Flags:
        """The tokens that a rule takes whole."""
        if rule.parsed.is_about_tokens:
            return self.named_by(rule)
        number = self.count(self.characters(rule))
        some = number > 0
        taken = some & (number == self.length) if pure else some
        if rule.parsed.is_whitespace and not pure:
            taken = taken & self.all_whitespace
        if _is_space_rule(rule):
            taken = taken | self.dummy
        by_place = some if rule.parsed.kind == "span" else np.zeros_like(some)
        return np.where(self.special, by_place, taken)

    def named_by(self, rule: TokenClass) -> Flags:
        """The tokens that a rule about tokens names, inside its span."""
        if rule.parsed.kind == "ids":
            named = np.isin(self.ids, rule.parsed.ids)
        elif rule.parsed.argument == "bos":
            named = np.arange(len(self.ids)) < int(self.encoded.bos.present)
        else:
            named = self.special
        if rule.within is not None:
            named = named & token_mask(self.encoded, self.encoded.spans.get(rule.within, ()))
        return named


def _is_space_rule(rule: TokenClass) -> bool:
    """Whether it would take a space that stands outside every span."""
    kind, argument = rule.parsed.kind, rule.parsed.argument
    takes_space = (
        argument == "whitespace" if kind == "word" else kind == "chars" and " " in argument
    )
    return takes_space and rule.within is None
