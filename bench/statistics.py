"""How long the statistics take: 1,000 prompts × 784 heads × 10,000 resamples.

Made-up numbers of the shape of a study (SmolLM2 has 270 heads, Qwen2.5-7B 784). The quickest
of several rounds counts: on a shared machine the others measure the neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mindshare.stats import Resampling
from mindshare.stats.inference import max_t, paired_contrast
from mindshare.stats.intervals import mean_intervals

PROMPTS, CELLS, ROUNDS = 1_000, 784, 5


def times() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    of_a, of_b = rng.gamma(2, 0.01, (2, PROMPTS, CELLS))
    units, groups = np.arange(PROMPTS), np.arange(PROMPTS) // 3
    lacking = np.where(rng.random((PROMPTS, CELLS)) < 0.01, np.nan, of_a)
    plain = Resampling()
    found = mean_intervals(of_b - of_a, plain)
    cases: dict[str, Callable[[], object]] = {
        "intervals": lambda: mean_intervals(of_a, plain),
        "intervals by group of 3": lambda: mean_intervals(of_a, plain, groups),
        "intervals, 1 % of the numbers not there": lambda: mean_intervals(lacking, plain),
        "max-T": lambda: max_t(of_b - of_a, found, plain, units),
        "a whole contrast": lambda: paired_contrast(of_a, of_b, plain, units),
    }
    shape = f"{PROMPTS:,} prompts × {CELLS} cells × {plain.resamples:,} resamples"
    return {"shape": shape} | {name: _quickest(case) for name, case in cases.items()}


def _quickest(case: Callable[[], object]) -> float:
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        case()
        took.append(time.perf_counter() - start)
    return min(took)
