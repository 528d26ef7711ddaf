"""The response numbers of heads: what each says in one line, and where its middle is.

Knows the words of the measures, nothing about tables or marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from mindshare.figures.insertion.shades import Shade
from mindshare.figures.insertion.version_words import named, queries
from mindshare.figures.theme import check_word
from mindshare.stats.labels import meanings, thresholds_of_metadata
from mindshare.table import DEFINITIONS, DROP_FIRST

SHORT = {
    "amplitude": "what the original tokens receive in all, with the insertion / without",
    "shape": "correlation of what the original tokens receive without and with the insertion",
    "entropy_change": "how much more evenly original tokens are attended to with the insertion, in "
    "nats",
    "divergence": "Jensen–Shannon divergence of what the original tokens receive without and with "
    "the insertion, in bits",
    "peak_shift": "by how many original tokens the highest peak moves; above 0 = later",
    "peak_ratio": "highest peak of the original tokens, with the insertion / without",
    "attention_left": "share of the attention of later tokens that goes to the original tokens",
    "weight_evenness": "how evenly the inserted tokens are attended to; 1 = all alike",
    "retained": "share of the attention of later tokens that does not go to the inserted ones",
    "factor": "the one factor a query that brings the old weights closest to the new ones",
    "affine_r2": "how much of the new weights is old weights times one factor a query; 1 = all",
    "affine_r2_after": "how much of the new weights after the insertion is old weights times one "
    "factor a query; 1 = all",
    "value_evenness": "how alike the values of the inserted tokens are; 1 = all alike",
}
MIDDLE = {  # what says that nothing changed; 1: a ratio
    "amplitude": 1.0,
    "peak_ratio": 1.0,
    "factor": 1.0,
    "entropy_change": 0.0,
    "peak_shift": 0.0,
}
_FROM_ZERO = ("divergence", "attention_left")


def check_measure(measure: str) -> None:
    check_word(measure, SHORT, "response number")


def shade_of(measure: str, values: list[float], ends: tuple[float, float] | None = None) -> Shade:
    """These ends; or such that hold every number: the middle in the middle, or up to 1.

    Where 1 says that nothing is lost, 1 is light: what stands out is what changed.
    """
    middle = MIDDLE.get(measure)
    if ends is not None:
        falling = middle is None and measure not in _FROM_ZERO
        shade = Shade(*ends, middle, doublings=middle == 1.0, falling=falling)
        shade.check(measure)
        return shade
    if middle is not None:
        return Shade.around(values, middle, doublings=middle == 1.0)
    if measure in _FROM_ZERO:
        return Shade(0.0, max(values, default=0.0) or 1.0)
    lowest = math.floor(min(values, default=0.0) * 10 + 1e-9) / 10
    return Shade(min(lowest, 0.9), max(1.0, *values) if values else 1.0, falling=True)


def short(measure: str) -> str:
    return f"{named(measure)}: {SHORT[measure]}"


def needed(measures: Iterable[str]) -> list[str]:
    """The measures and what their definitions rest on."""
    found = list(dict.fromkeys(measures))
    received = any("received" in DEFINITIONS[m] for m in found)
    return [*found, *(["received"] if received else [])]


def asked(measure: str, about: Mapping[str, str], metadata: Mapping[str, str]) -> list[str]:
    """`queries: …`, whose attention the number is about, and to which tokens.

    Nothing if it is about values.
    """
    if "received" in needed([measure]):
        words = queries(about, metadata)
    else:
        words = None if measure == "value_evenness" else "original tokens after the insertion"
    return [*([f"queries: {words}"] if words else []), *first_word([measure], metadata)]


def first_word(measures: Iterable[str], metadata: Mapping[str, str]) -> list[str]:
    """Whether the prompt's first token counts, if these numbers compare tokens."""
    words = {"true": "the prompt's first token left out", "false": "the prompt's first one counted"}
    says = words.get(metadata.get(DROP_FIRST, ""))
    compares = any("the compared tokens" in DEFINITIONS[measure] for measure in measures)
    return [says] if says and compares else []


def label_words(labels: Iterable[str], metadata: Mapping[str, str]) -> str:
    """`Labels: smoothed = …; …`: what they say of a head, by the thresholds of the table."""
    known = meanings(thresholds_of_metadata(metadata))
    told = [f"{label} = {known[label]}" for label in labels if label in known]
    return f"Labels, by thresholds on these numbers: {'; '.join(told)}"
