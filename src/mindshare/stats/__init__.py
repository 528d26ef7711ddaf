"""Tables of single prompts → tables over prompts: means with intervals, and paired differences.

    estimate(tables, "mass")                       one row per model, layer, head and class
    contrast(tables, measure="mass", a="base", b="sft")  model b minus model a, with p-values
    ranked(contrast)                               its cells, the largest difference first
    averaged(mass)                                 single heads → their mean, per layer

What an insertion does, from the tables that saw the prompts with and without it:

    aligned(sequence, places)                      the same tokens, without and with
    phases(sequence, places)                       before, inside and after the insertion
    same_readers(sequence)                         by the queries that every version has
    respond(sequence, places, rescaling)           each head's response: numbers and a label
    estimate(responses, RESPONSE)                  the same over prompts, with intervals
    contrast(response, a=…, b=…, measure=RESPONSE) condition b minus condition a, with p-values
    label_counts(summary)                          how many heads have each label

Tables map a model's label to its table. The prompt is the unit of resampling, or its group where
`groups` (prompt id → group) is given. Everything is stateless, seeded, and free of torch: the same
tables give the same bytes.
"""

from __future__ import annotations

from mindshare.stats.estimates import contrast, estimate, ranked
from mindshare.stats.matrices import averaged
from mindshare.stats.profiles import aligned, phases, same_readers
from mindshare.stats.resampling import Resampling
from mindshare.stats.response import (
    LABELS,
    LEFT,
    RESPONSE,
    RESTING,
    Thresholds,
    label_counts,
    meanings,
    respond,
    thresholds_of,
)
from mindshare.stats.uses import uses

__all__ = [
    "LABELS",
    "LEFT",
    "RESPONSE",
    "RESTING",
    "Resampling",
    "Thresholds",
    "aligned",
    "averaged",
    "contrast",
    "estimate",
    "label_counts",
    "meanings",
    "phases",
    "ranked",
    "respond",
    "same_readers",
    "thresholds_of",
    "uses",
]
