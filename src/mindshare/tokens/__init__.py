"""A prompt and a tokenizer become tokens with exact character ranges, classes, spans, queries."""

from __future__ import annotations

from mindshare.tokens.alignment import Alignment, align
from mindshare.tokens.classes import (
    OTHER,
    ClassedTokens,
    Classes,
    classify,
    parse_classes,
    parse_queries,
    query_mask,
)
from mindshare.tokens.encoding import Encoded, continuation_ids, encode
from mindshare.tokens.rules import TokenClass
from mindshare.tokens.sentence import random_sentence

__all__ = [
    "OTHER",
    "Alignment",
    "ClassedTokens",
    "Classes",
    "Encoded",
    "TokenClass",
    "align",
    "classify",
    "continuation_ids",
    "encode",
    "parse_classes",
    "parse_queries",
    "query_mask",
    "random_sentence",
]
