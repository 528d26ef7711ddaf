"""A prompt and a tokenizer become tokens with exact character ranges, classes, spans, queries."""

from __future__ import annotations

from mindshare.tokens.alignment import Alignment, align
from mindshare.tokens.classes import (
    OTHER,
    ClassCount,
    Classed,
    Classes,
    classify,
    parse_classes,
)
from mindshare.tokens.encode import encode
from mindshare.tokens.encoded import BosReport, Encoded, FastTokenizer
from mindshare.tokens.queries import QuerySet, parse_queries, query_mask
from mindshare.tokens.rules import Rule, TokenClass, parse_class, parse_rule
from mindshare.tokens.sentence import random_sentence
from mindshare.tokens.spans import token_mask
from mindshare.tokens.weights import Policy

__all__ = [
    "OTHER",
    "Alignment",
    "BosReport",
    "ClassCount",
    "Classed",
    "Classes",
    "Encoded",
    "FastTokenizer",
    "Policy",
    "QuerySet",
    "Rule",
    "TokenClass",
    "align",
    "classify",
    "encode",
    "parse_class",
    "parse_classes",
    "parse_queries",
    "parse_rule",
    "query_mask",
    "random_sentence",
    "token_mask",
]
