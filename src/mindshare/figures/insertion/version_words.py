"""What all figures of an insertion say: definitions, queries, counts, names of heads.

Every sentence is made from what the tables say about themselves or from what the caller knows.
Knows nothing about marks or colours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from mindshare.figures.insertion.versions import Head
from mindshare.figures.theme import Style
from mindshare.figures.wording import head_word, layer_word
from mindshare.table import DEFINITIONS, defined

_UNBROKEN = 16  # characters of a name that is kept in one line
_QUERIES = {"all": "every token", "original": "tokens that were not inserted"}


def file_name(*words: str) -> str:
    """Words of any kind → letters, digits, `_` and `-`."""
    return "_".join(re.sub(r"[^\w-]+", "_", word).strip("_") or "x" for word in words)


def called(condition: str, labels: Mapping[str, str]) -> str:
    """The words for a condition; a name made of signs gets quotes, so that it ends somewhere."""
    if condition in labels or condition[:1].isalpha():
        return labels.get(condition, condition)
    name = condition.replace(" ", "\u00a0") if len(condition) <= _UNBROKEN else condition
    return f"“{name}”"


def where(head: Head, style: Style) -> str:
    """`Layer 1 Head 8`"""
    if head == (None, None):
        return "Mean over layers and heads"
    layer, one = layer_word(head[0], style), head_word(head[1], style)
    if None in head:
        return f"{layer[0].upper()}{layer[1:]}, {one}"
    return f"{layer.capitalize()} {one.capitalize()}"


def queries(about: Mapping[str, str], metadata: Mapping[str, str]) -> str | None:
    """The caller's word, or what the table's own study says."""
    study = json.loads(metadata.get("mindshare.definition", "{}"))
    if "queries" in about or "queries" not in study:
        return about.get("queries")
    near = int(study.get("near", 0))
    counted = {0: "i > j", -1: "i ≥ j"}.get(near, f"i > j + {near}")
    return f"{_QUERIES.get(study['queries'], study['queries'])}, {counted}"


def definition(
    measures: Sequence[str],
    *,
    about: Mapping[str, str],
    metadata: Mapping[str, str],
    style: Style,
    marks: Sequence[str],
) -> str:
    """How the numbers were made; `marks` says what the chart adds to them."""
    asked = queries(about, metadata) if "received" in measures else None
    parts = [f"{named(measure)}: {defined(measure, metadata)}" for measure in measures]
    if any("A[" in DEFINITIONS[m] or "A'" in DEFINITIONS[m] for m in measures):
        parts.append(
            "A[i,j] is the attention that query token i gives to key token j, after softmax"
        )
    if any("A'" in DEFINITIONS[m] for m in measures):
        parts.append("A' is the same with the insertion")
    parts += [f"Query set Q: {asked}"] if asked else []
    parts += marks
    parts.append(f"Layers and heads are labelled {style.labels}")
    parts += [f"{key.capitalize()}: {text}" for key, text in about.items() if key != "queries"]
    return " ".join(f"{part.rstrip('.')}." for part in parts)


def named(measure: str) -> str:
    """`entropy_change` → `Entropy change`"""
    return measure.replace("_", " ").replace(" r2", " R²").capitalize().replace("r²", "R²")


def sentences(parts: Sequence[str | None]) -> str:
    return " ".join(part for part in parts if part)
