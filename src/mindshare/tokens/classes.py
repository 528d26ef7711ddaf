"""An encoded prompt and ordered class rules become one weight per token and class, [T, C].

The first rule that takes a token wins; what no rule takes is `other`, always the last column, so
every row sums to 1. How rules take tokens is in `weights`. This module does not know attention.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np

from mindshare.errors import ClassRuleError, nearest
from mindshare.tokens.encoded import Encoded
from mindshare.tokens.rules import TokenClass, named_class, parse_class
from mindshare.tokens.weights import Floats, Policy, claims, class_weights

OTHER = "other"
EXAMPLES = 5


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
        names = [rule.name for rule in self.rules]
        for name in names:
            if names.count(name) > 1:
                raise ClassRuleError(
                    f"class {name!r} is given {names.count(name)} times",
                    next_step="join its rules into one (re:…|…) or choose another name",
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The class names in column order, `other` last."""
        return (*(rule.name for rule in self.rules), OTHER)


def parse_classes(
    given: Classes | Mapping[str, str] | Iterable[str | TokenClass],
    *,
    policy: Policy = "priority",
) -> Classes:
    """Classes from `{"hash": "#"}`, from `["hash=#", …]` or from `TokenClass`es, in that order.

    Classes that are ready keep their own policy.
    """
    if isinstance(given, Classes):
        return given
    if isinstance(given, str):
        raise ClassRuleError(f"{given!r} is one text, not several", allowed=f"[{given!r}]")
    if isinstance(given, Mapping):
        return Classes(tuple(named_class(name, rule) for name, rule in given.items()), policy)
    rules = (rule if isinstance(rule, TokenClass) else parse_class(rule) for rule in given)
    return Classes(tuple(rules), policy)


@dataclass(frozen=True)
class ClassCount:
    """How many tokens a class has (fractions under `proportional`), and its commonest pieces."""

    tokens: float
    examples: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Classed:
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

    def labels(self) -> tuple[str, ...]:
        """Per token the class with most of it; the earlier class at a tie."""
        return tuple(self.names[column] for column in self.weights.argmax(axis=1))

    def empty(self) -> tuple[str, ...]:
        """The classes, `other` aside, that no token belongs to."""
        columns = zip(self.names[:-1], self.weights.T, strict=False)
        return tuple(name for name, column in columns if not column.any())

    def overlaps(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """(earlier class, later class) → the pieces that both match; the earlier one has them."""
        if not self.classes.rules:
            return {}
        matched = claims(self.encoded, self.classes.rules, policy=self.classes.policy)
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for later in range(1, matched.shape[1]):
            for earlier in range(later):
                both = np.flatnonzero(matched[:, earlier] & matched[:, later])
                if len(both):
                    pieces = tuple(self.encoded.pieces[token] for token in both)
                    found[self.names[earlier], self.names[later]] = pieces
        return found

    def _count(self, column: int) -> ClassCount:
        weights = self.weights[:, column]
        seen: defaultdict[str, float] = defaultdict(float)
        for token in np.flatnonzero(weights):
            seen[self.encoded.pieces[token]] += float(weights[token])
        commonest = sorted(seen, key=lambda piece: -seen[piece])  # ties: as they come in the text
        return ClassCount(float(weights.sum()), tuple(commonest[:EXAMPLES]))


def classify(encoded: Encoded, classes: Classes) -> Classed:
    """Weigh every token by the classes, under their policy."""
    return Classed(encoded, classes, class_weights(encoded, classes.rules, policy=classes.policy))
