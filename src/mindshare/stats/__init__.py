"""Tables of single prompts → tables over prompts: means with intervals, and paired differences.

    averaged(mass)                                      single heads → their mean, per layer
    summarise(masses, measure="mass")                   one row per model, layer, head and class
    contrast(masses, measure="mass", a="base", b="sft") model b minus model a, with p-values

`masses` maps a model's label to its `mass` table. The prompt is the unit of resampling. Everything
is stateless, seeded, and free of torch: the same tables give the same bytes.
"""

from __future__ import annotations

from mindshare.stats.averages import averaged
from mindshare.stats.bootstrap import Resampling
from mindshare.stats.cells import MEASURES
from mindshare.stats.contrast import contrast
from mindshare.stats.summary import summarise

__all__ = ["MEASURES", "Resampling", "averaged", "contrast", "summarise"]
