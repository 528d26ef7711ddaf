"""The words for a set of queries become the tokens that ask, a mask [T].

    last          the last token of the prompt
    all           every token
    span:NAME     tokens that overlap the span (`span:role:user` for a chat role)
    class:NAME    tokens of the class (under `proportional`: those it has most of)
    after:SPAN    tokens that start at or after the end of the span's last range

This module does not know attention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from mindshare.errors import SelectionError, nearest
from mindshare.prompts import CharRange
from mindshare.tokens.classes import Classed
from mindshare.tokens.encoded import Encoded
from mindshare.tokens.spans import bounds, token_mask

WORDS = ("last", "all")
PREFIXES = ("span", "class", "after")
ALLOWED = "last, all, span:NAME, class:NAME, after:SPAN"

QueryKind = Literal["last", "all", "span", "class", "after"]


@dataclass(frozen=True)
class QuerySet:
    """Which tokens of a prompt are asked where they look."""

    kind: QueryKind
    name: str | None = None

    def __str__(self) -> str:
        return self.kind if self.name is None else f"{self.kind}:{self.name}"


def parse_queries(text: str) -> QuerySet:
    """`last`, `all`, `span:NAME`, `class:NAME` or `after:SPAN` as a `QuerySet`."""
    word = text.strip()
    if word in WORDS:
        return QuerySet(cast(QueryKind, word))
    if word == "generated":
        raise SelectionError("the query set 'generated' is not available yet", allowed=ALLOWED)
    kind, _, name = word.partition(":")
    if name and kind in PREFIXES:
        return QuerySet(cast(QueryKind, kind), name)
    if kind in PREFIXES:
        raise SelectionError(f"the query set {text!r} names nothing", allowed=ALLOWED)
    raise SelectionError(
        f"{text!r} is no query set{nearest(kind, (*WORDS, *PREFIXES))}", allowed=ALLOWED
    )


def query_mask(queries: QuerySet, encoded: Encoded, classed: Classed) -> NDArray[np.bool_]:
    """The tokens [T] in the set; never none."""
    mask = _mask(queries, encoded, classed)
    if not mask.any():
        raise SelectionError(
            f"the query set {queries} holds no token of this prompt",
            where=f"prompt {encoded.prompt.id}",
        )
    return mask


def _mask(queries: QuerySet, encoded: Encoded, classed: Classed) -> NDArray[np.bool_]:
    every = np.ones(len(encoded), dtype=bool)
    if queries.kind == "all":
        return every
    if queries.kind == "last":
        every[:-1] = False
        return every
    if queries.kind == "class":
        name = _present(queries, classed.names, encoded)
        return np.asarray([label == name for label in classed.labels()], dtype=bool)
    ranges = _span(queries, encoded)
    if queries.kind == "span":
        return token_mask(encoded, ranges)
    starts, _ = bounds(encoded)
    after: NDArray[np.bool_] = starts >= max(end for _, end in ranges)
    return after


def _span(queries: QuerySet, encoded: Encoded) -> tuple[CharRange, ...]:
    return encoded.spans[_present(queries, encoded.spans, encoded)]


def _present(queries: QuerySet, there: Iterable[str], encoded: Encoded) -> str:
    """The name the query set asks for, if it is there."""
    name, known = queries.name or "", list(there)
    if name not in known:
        what = "class" if queries.kind == "class" else "span"
        raise SelectionError(
            f"there is no {what} {name!r}{nearest(name, known)}",
            where=f"query set {queries}, prompt {encoded.prompt.id}",
            allowed=", ".join(known) or f"this prompt has no {what}",
        )
    return name
