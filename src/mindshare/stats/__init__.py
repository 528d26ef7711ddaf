"""Tables of single prompts → tables over prompts: means with intervals, and paired differences.

    averaged(mass)                                      single heads → their mean, per layer
    summarise(masses, measure="mass")                   one row per model, layer, head and class
    contrast(masses, measure="mass", a="base", b="sft") model b minus model a, with p-values
    ranked(contrast, by="effect")                       its cells, the largest effect first

What an insertion does, from the tables that saw the prompts with and without it:

    aligned(sequence, places)                           the same tokens, without and with
    phases(sequence, places)                            before, inside and after the insertion
    respond(sequence, places, rescaling)                each head's response: numbers and a label
    summarise_response(responses)                       the same over prompts, with intervals
    contrast_conditions(response, model=…, a=…, b=…)    condition b minus condition a, with p-values
    label_counts(summary)                               how many heads have each label

`masses` maps a model's label to its `mass` table, `responses` to its `response` table. The prompt
is the unit of resampling, or its group where `groups` (prompt id → group) is given. Everything is
stateless, seeded, and free of torch: the same tables give the same bytes.
"""

from __future__ import annotations

from mindshare.stats.aligned import aligned
from mindshare.stats.averages import averaged
from mindshare.stats.cells import MEASURES
from mindshare.stats.conditions import contrast_conditions, label_counts, summarise_response
from mindshare.stats.contrast import contrast
from mindshare.stats.labels import LABELS, Thresholds, label
from mindshare.stats.phases import PHASES, phases
from mindshare.stats.ranking import ranked
from mindshare.stats.resampling import Resampling
from mindshare.stats.response import RESPONSE, respond
from mindshare.stats.summary import summarise

__all__ = [
    "LABELS",
    "MEASURES",
    "PHASES",
    "RESPONSE",
    "Resampling",
    "Thresholds",
    "aligned",
    "averaged",
    "contrast",
    "contrast_conditions",
    "label",
    "label_counts",
    "phases",
    "ranked",
    "respond",
    "summarise",
    "summarise_response",
]
