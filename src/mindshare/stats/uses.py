"""Looked at, carried, used: the means of mass, contribution and effect of the same cells, joined.

    uses(effect, mass, contribution)      three summaries → a table `uses`, one row per cell

A head that looks without using is among the tenth that look most, and its effect is below a
twentieth of the largest, or below a tenth and not told from 0. One that uses without looking is
among the tenth with the largest effect, and looks less than the median head does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.measures import MEASURES
from mindshare.stats.matrices import common_metadata
from mindshare.tables import table

LOOKS, USES = "looks without using", "uses without looking"
_KEYS = ("model", "queries", "layer", "head", "class")
_TENTH, _TWENTIETH = 0.1, 0.05
RANK_CORRELATION = "mindshare.rank_correlation"  # + " MODEL CLASS": metadata of a table `uses`


def uses(effect: pa.Table, mass: pa.Table, contribution: pa.Table) -> pa.Table:
    """Summaries of the same cells; the rank correlation of mass and loss is in the metadata."""
    looked, carried = (
        {tuple(row[k] for k in _KEYS): row["mean"] for row in one.to_pylist()}
        for one in (mass, contribution)
    )
    rows = [row for row in effect.to_pylist() if tuple(row[k] for k in _KEYS) in looked]
    keys = [tuple(row[k] for k in _KEYS) for row in rows]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in _COPIED}
    columns["mass"] = [looked[key] for key in keys]
    columns["contribution"] = [carried.get(key) for key in keys]
    remarks = np.full(len(rows), None, object)
    about = common_metadata([effect])
    # Some measures fall with what is lost, others (a divergence) grow.
    sign = -1 if MEASURES[about["mindshare.measure"]].below else 1
    for model, token_class in dict.fromkeys((row["model"], row["class"]) for row in rows):
        some = [i for i, k in enumerate(keys) if (k[0], k[-1]) == (model, token_class)]
        masses = np.array([columns["mass"][i] for i in some], float)
        means = np.array([columns["mean"][i] for i in some], float)
        spans = [(columns["low"][i], columns["high"][i]) for i in some]
        remarks[some] = remarks_of(masses, means, spans)
        about[f"{RANK_CORRELATION} {model} {token_class}"] = (
            f"{rank_correlation(masses, sign * means):.3f}"
        )
    return table("uses", columns | {"remark": remarks}, about)


_COPIED = (*_KEYS, "n_prompts", "mean", "low", "high")


def remarks_of(mass: np.ndarray, effect: np.ndarray, spans: list[Any]) -> list[str | None]:
    """One for each head, where there is something to remark."""
    size = np.abs(effect)
    few = max(1, round(_TENTH * len(mass)))
    most_looked, most_used = (set(np.argsort(-x)[:few].tolist()) for x in (mass, size))
    median, small = np.median(mass), _TWENTIETH * size.max(initial=0.0)
    found: list[str | None] = []
    for i, (low, high) in enumerate(spans):
        idle = size[i] < (2 * small if low is not None and low <= 0 <= high else small)
        if i in most_looked and idle:
            found.append(LOOKS)
        elif i in most_used and mass[i] < median:
            found.append(USES)
        else:
            found.append(None)
    return found


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; NaN where either does not vary."""
    a, b = (ranks(x) for x in (a, b))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale else float("nan")


def ranks(values: np.ndarray) -> np.ndarray:
    """Equal values share the mean of their ranks. SciPy's `rankdata` takes seconds to import."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: np.ndarray = (np.cumsum(counts) - (counts - 1) / 2)[where.reshape(-1)]
    return ranks
