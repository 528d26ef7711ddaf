"""An encoded prompt and ordered class rules become one weight per token and class, [T, C]; the
words of a query set become the tokens that ask, a mask [T].

The first rule that takes a token wins; what no rule takes is `other`, always the last column, so
every row sums to 1. The policy says how a token of several kinds of characters (` #`, `\\n\\n#`,
`##\\n`) is counted:

- `priority`: by the first rule that matches any of its characters. Whitespace rules match only
  tokens that are all whitespace (`newline`: that also hold a newline).
- `pure`: by the first rule that matches all of its characters, else `other`.
- `proportional`: by characters, each going to the first rule that matches it.

Special tokens are taken whole, under every policy, and only by rules about tokens (`special`,
`bos`, `first`, `ids:`) or places (`span:`, `role:`): the letters of `<|im_start|>` are not text.
Rules about tokens take ordinary tokens whole too. A space the tokenizer put there itself (`▁` with
no character of its own) counts as one space, in no span. A token that carries some bytes of a
character counts as that character.

Query sets: `last` (token of the prompt), `all`, `span:NAME` (tokens that overlap the span;
`span:role:user` for a chat role), `class:NAME` (tokens of the class; under `proportional` those it
has most of), `after:SPAN` (tokens that start at or after the end of the span's last range).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from mindshare.errors import ClassRuleError, SelectionError, nearest
from mindshare.tokens.encoding import DUMMY_PREFIX, Encoded, bounds, token_mask
from mindshare.tokens.offsets import char_mask
from mindshare.tokens.rules import Rule, TokenClass, matching_characters, named_class, parse_class

Policy = Literal["priority", "pure", "proportional"]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
OTHER = "other"
EXAMPLES = 5  # pieces that show what a class holds
QueryKind = Literal["last", "all", "span", "class", "after"]
QUERY_WORDS = ("last", "all")
QUERY_PREFIXES = ("span", "class", "after")
QUERY_FORMS = "last, all, span:NAME, class:NAME, after:SPAN"


@dataclass(frozen=True)
class Classes:
    """Ordered token classes and the policy for tokens of several kinds of characters."""

    rules: tuple[TokenClass, ...]
    policy: Policy = "priority"

    def __post_init__(self) -> None:
        if self.policy not in get_args(Policy):
            raise ClassRuleError(
                f"{self.policy!r} is no policy{nearest(str(self.policy), get_args(Policy))}",
                allowed=", ".join(get_args(Policy)),
            )
        for name, times in Counter(rule.name for rule in self.rules).items():
            if times > 1:
                raise ClassRuleError(
                    f"class {name!r} is given {times} times",
                    next_step="join its rules into one (re:…|…) or choose another name",
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The class names in column order, `other` last."""
        return (*(rule.name for rule in self.rules), OTHER)


def parse_classes(
    classes: Classes | Mapping[str, str] | Iterable[str | TokenClass],
    *,
    policy: Policy = "priority",
) -> Classes:
    """Classes from `{"hash": "#"}`, from `["hash=#", …]` or from `TokenClass`es, in that order.

    Classes that are ready keep their own policy.
    """
    if isinstance(classes, Classes):
        return classes
    if isinstance(classes, str):
        raise ClassRuleError(f"{classes!r} is one text, not several", allowed=f"[{classes!r}]")
    if isinstance(classes, Mapping):
        return Classes(tuple(named_class(name, rule) for name, rule in classes.items()), policy)
    given = list(classes) if isinstance(classes, Iterable) else [classes]
    if not all(isinstance(rule, TokenClass | str) for rule in given):
        form = "{'hash': '#'}, or ['hash=#', …]"
        raise ClassRuleError(f"classes={classes!r} can't be read", allowed=form)
    rules = (rule if isinstance(rule, TokenClass) else parse_class(rule) for rule in given)
    return Classes(tuple(rules), policy)


@dataclass(frozen=True)
class ClassCount:
    """How many tokens a class has (fractions under `proportional`), and its commonest pieces."""

    tokens: float
    examples: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ClassedTokens:
    """An encoded prompt with its class weights [T, C]; every row sums to 1."""

    encoded: Encoded
    classes: Classes
    weights: Floats

    @property
    def names(self) -> tuple[str, ...]:
        return self.classes.names

    def counts(self) -> dict[str, ClassCount]:
        """Per class the number of tokens and up to five examples, commonest first."""
        return {name: self._count(column) for column, name in enumerate(self.names)}

    def _count(self, column: int) -> ClassCount:
        weights = self.weights[:, column]
        totals: defaultdict[str, float] = defaultdict(float)
        for token in np.flatnonzero(weights):
            totals[self.encoded.pieces[token]] += float(weights[token])
        commonest = sorted(totals, key=lambda piece: -totals[piece])  # ties: in order of the text
        return ClassCount(float(weights.sum()), tuple(commonest[:EXAMPLES]))

    def labels(self) -> tuple[str, ...]:
        """Per token the class with most of it; the earlier class at a tie."""
        return tuple(self.names[column] for column in self.weights.argmax(axis=1))

    def empty(self) -> tuple[str, ...]:
        """The classes, `other` aside, that no token belongs to."""
        columns = zip(self.names[:-1], self.weights.T, strict=False)
        return tuple(name for name, column in columns if not column.any())

    def overlaps(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """(earlier class, later class) → the pieces that both match; the earlier one has them."""
        tokens, pure = _TokenFlags(self.encoded), self.classes.policy == "pure"
        flags = np.array([tokens.taken_by(rule, pure=pure) for rule in self.classes.rules])
        overlaps: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        # Only the first rule that matches a token has it, so no other pair is of interest.
        for later, token in np.argwhere(flags) if len(flags) else ():
            first = int(flags[:, token].argmax())
            if first < later:
                overlaps[int(later), first].append(self.encoded.pieces[token])
        pairs = sorted(overlaps.items())  # by the later class, then by the earlier one
        return {(self.names[a], self.names[b]): tuple(pieces) for (b, a), pieces in pairs}


def classify(encoded: Encoded, classes: Classes) -> ClassedTokens:
    """Weigh every token by the classes, under their policy; every row of weights sums to 1."""
    tokens = _TokenFlags(encoded)
    weights = np.zeros((len(encoded), len(classes.rules) + 1))
    free = np.ones(len(encoded), dtype=bool)
    for column, rule in enumerate(classes.rules):
        taken = free & tokens.taken_by(rule, pure=classes.policy == "pure")
        weights[taken, column] = 1.0
        free &= ~taken
    weights[free, -1] = 1.0
    if classes.policy == "proportional":
        mixed = ~tokens.special & (tokens.length > 0)  # special and empty tokens stay whole
        shares = _characters_by_class(tokens, classes.rules)
        weights[mixed] = shares[mixed] / tokens.length[mixed, None]
    return ClassedTokens(encoded, classes, weights)


def _characters_by_class(tokens: _TokenFlags, rules: Sequence[TokenClass]) -> Floats:
    """How many characters of each token every class takes, [T, C]."""
    counts = np.zeros((len(tokens.ids), len(rules) + 1))
    left = tokens.length.copy()  # characters of each token that no rule has taken yet
    free = np.ones(len(tokens.encoded.text), dtype=bool)
    for column, rule in enumerate(rules):
        if rule.parsed.is_about_tokens:
            taken = np.where(tokens.named_by(rule), left, 0)
        else:
            characters = tokens.characters(rule) & free
            free &= ~characters
            taken = np.minimum(tokens.count(characters), left)
        counts[:, column] = taken
        left -= taken
    counts[:, -1] = left
    return counts


class _TokenFlags:
    """Which tokens of one prompt a rule takes, as flags [T]."""

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
        flags = matching_characters(self.encoded.text, rule.parsed, spans)
        if rule.within is not None:
            flags = flags & char_mask(len(flags), spans.get(rule.within, ()))
        return flags

    def taken_by(self, rule: TokenClass, *, pure: bool) -> Flags:
        """The tokens that a rule takes whole."""
        if rule.parsed.is_about_tokens:
            return self.named_by(rule)
        number = self.count(self.characters(rule))
        touched = number > 0
        taken = touched & (number == self.length) if pure else touched
        if rule.parsed.is_whitespace and not pure:
            taken = taken & self.all_whitespace
        if rule.within is None and rule.parsed.takes_space:
            taken = taken | self.dummy
        by_place = touched if rule.parsed.kind == "span" else np.zeros_like(touched)
        return np.where(self.special, by_place, taken)

    def named_by(self, rule: TokenClass) -> Flags:
        """The tokens that a rule about tokens names, inside its span."""
        if rule.parsed.kind == "ids":
            named = np.isin(self.ids, rule.parsed.ids)
        elif rule.parsed.argument in ("bos", "first"):
            wanted = rule.parsed.argument == "first" or self.encoded.bos.present
            named = np.arange(len(self.ids)) < int(wanted)
        else:
            named = self.special
        if rule.within is not None:
            named = named & token_mask(self.encoded, self.encoded.spans.get(rule.within, ()))
        return named


@dataclass(frozen=True)
class QuerySet:
    """Which tokens of a prompt are the queries that are measured."""

    kind: QueryKind
    name: str | None = None

    def __str__(self) -> str:
        return self.kind if self.name is None else f"{self.kind}:{self.name}"


def parse_queries(text: str) -> QuerySet:
    """`last`, `all`, `span:NAME`, `class:NAME` or `after:SPAN` as a `QuerySet`."""
    word = text.strip()
    if word in QUERY_WORDS:
        return QuerySet(cast(QueryKind, word))
    kind, _, name = word.partition(":")
    if name and kind in QUERY_PREFIXES:
        return QuerySet(cast(QueryKind, kind), name)
    if kind in QUERY_PREFIXES:
        raise SelectionError(f"the query set {text!r} names nothing", allowed=QUERY_FORMS)
    raise SelectionError(
        f"{text!r} is no query set{nearest(kind, (*QUERY_WORDS, *QUERY_PREFIXES))}",
        allowed=QUERY_FORMS,
    )


def query_mask(queries: QuerySet, encoded: Encoded, classed: ClassedTokens) -> Flags:
    """The tokens [T] in the set; never none."""
    mask = _query_mask(queries, encoded, classed)
    if not mask.any():
        raise SelectionError(
            f"the query set {queries} holds no token of this prompt",
            where=f"prompt {encoded.prompt.id}",
        )
    return mask


def _query_mask(queries: QuerySet, encoded: Encoded, classed: ClassedTokens) -> Flags:
    position = np.arange(len(encoded))
    if queries.kind in QUERY_WORDS:
        return position >= (len(encoded) - 1 if queries.kind == "last" else 0)
    by_class = queries.kind == "class"
    known, name = list(classed.names if by_class else encoded.spans), queries.name or ""
    if name not in known:
        what = "class" if by_class else "span"
        raise SelectionError(
            f"there is no {what} {name!r}{nearest(name, known)}",
            where=f"query set {queries}, prompt {encoded.prompt.id}",
            allowed=", ".join(known) or f"this prompt has no {what}",
        )
    if by_class:
        return np.asarray([label == name for label in classed.labels()], dtype=bool)
    ranges = encoded.spans[name]
    if queries.kind == "span":
        return token_mask(encoded, ranges)
    starts, _ = bounds(encoded)
    return starts >= max(end for _, end in ranges)
