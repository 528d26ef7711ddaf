"""Two numbers per prompt and cell → their paired difference: interval, effect, p-values, and what
could have been found.

Shared by the contrasts of models and of conditions. A pair needs both its numbers; the means are
over the pairs only. Knows matrices, nothing about layers or classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mindshare.stats.bootstrap import Spread, spread
from mindshare.stats.permutation import benjamini_hochberg, sign_flip
from mindshare.stats.resampling import Resampling
from mindshare.stats.response_cells import mean
from mindshare.stats.student import ALPHA, critical, shift

# With 6 or 7 units too few flips of signs are rare, and the power is 62 or 75 %, not 80 %.
_FEWEST = 8


def paired(
    of_a: np.ndarray, of_b: np.ndarray, options: Resampling, units: np.ndarray
) -> dict[str, np.ndarray]:
    """[prompt, cell], twice → the columns of a contrast, one entry per cell.

    `units` says which prompts are drawn and flipped together.
    """
    differences = of_b - of_a  # NaN where either has no number
    alone = np.isnan(differences)
    over = spread(differences, options, units)
    flips = sign_flip(differences, options, units)
    return {
        "mean_a": mean(np.where(alone, np.nan, of_a), 0),
        "mean_b": mean(np.where(alone, np.nan, of_b), 0),
        "difference": over.mean,
        **over.columns(),
        "effect": effect(over),
        "detectable": detectable(over, lambda n: critical(ALPHA, n - 1)),
        "detectable_family": detectable(over, lambda n: student_of(flips.threshold, n)),
        "p_value": flips.p_value,
        "p_adjusted": benjamini_hochberg(flips.p_value),
        "p_family": flips.p_family,
    }


def effect(over: Spread) -> np.ndarray:
    """The mean difference in standard deviations of the differences (Cohen's d_z)."""
    found = np.full(len(over.mean), np.nan)
    np.divide(over.mean, over.sd, out=found, where=over.sd > 0)  # NaN > 0 is false
    return found


def detectable(over: Spread, threshold: Callable[[int], float]) -> np.ndarray:
    """The smallest true difference that passes the threshold of Student's t with 80 % power.

    `threshold` gives the t that must be passed, for so many units.
    """
    found = np.full(len(over.mean), np.nan)
    for n in np.unique(over.n_groups).tolist():
        if n >= _FEWEST and math.isfinite(t := threshold(n)):
            cells = over.n_groups == n
            found[cells] = shift(t, n - 1) * over.se[cells]
    return found


def student_of(scaled: float, n: int) -> float:
    """|sum| / √(sum of squares) of n numbers → |t|, which rises with it; ∞ for equal ones."""
    left = n - scaled**2
    return scaled * math.sqrt((n - 1) / left) if left > 1e-9 * n else math.inf
