"""Looked at against used: rank correlation, and the heads that are named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mindshare.measures import of_knockouts
from mindshare.stats import estimate, uses
from mindshare.stats.uses import LOOKS, RANK_CORRELATION, USES, rank_correlation
from mindshare.tables import table


def effects(
    mass: list[float], effect: list[float], prompts: int = 8, *, measure: str = "delta_logprob"
) -> pa.Table:
    """Heads of one layer with these means, the same in every prompt but for a little noise."""
    noise = np.random.default_rng(0).normal(0, 1e-4, (prompts, len(mass)))
    heads, cells = len(mass), prompts * len(mass)
    nothing = np.full(cells, np.nan)
    return table(
        "effects",
        {
            "prompt": np.repeat([f"p{i}" for i in range(prompts)], heads),
            "queries": ["last"] * cells,
            "layer": [0] * cells,
            "head": np.tile(np.arange(heads), prompts),
            "class": ["star"] * cells,
            **dict.fromkeys(of_knockouts(), nothing),
            measure: (np.array(effect) + noise).reshape(-1),
            "mass": np.tile(mass, prompts),
            "contribution": np.tile(mass, prompts),
            "n_tokens": np.full(cells, 3.0),
            "n_keys": np.full(cells, 3),
        },
        {},
    )


def joined(mass: list[float], effect: list[float], measure: str = "delta_logprob") -> pa.Table:
    tables = {"m": effects(mass, effect, measure=measure)}
    return uses(*(estimate(tables, name) for name in (measure, "mass", "contribution")))


def test_heads_that_look_and_heads_that_use_are_told_apart() -> None:
    mass, effect = [0.05 + i / 1000 for i in range(20)], [-0.3 - i / 100 for i in range(20)]
    mass[3], effect[3] = 0.9, 0.0
    mass[7], effect[7] = 0.01, -2.0
    rows = joined(mass, effect).to_pylist()
    remarks = {row["head"]: row["remark"] for row in rows if row["remark"]}
    assert remarks == {3: LOOKS, 7: USES}


def test_the_rank_correlation_is_of_mass_and_loss() -> None:
    """Below 0 is a loss of log-probability; the larger a divergence, the more is lost."""
    losses = [1.0, 2.0, 3.0, 4.0]
    for measure, sign in (("delta_logprob", -1), ("delta_logit", -1), ("kl", 1), ("flip", 1)):
        found = joined([0.1, 0.2, 0.3, 0.4], [sign * loss for loss in losses], measure)
        assert found.schema.metadata[f"{RANK_CORRELATION} m star".encode()] == b"1.000", measure


def test_rank_correlation_of_equal_and_constant_values() -> None:
    a = np.array([1.0, 2.0, 2.0, 3.0])
    assert rank_correlation(a, a) == 1.0
    assert rank_correlation(a, -a) == -1.0
    assert np.isnan(rank_correlation(a, np.ones(4)))
