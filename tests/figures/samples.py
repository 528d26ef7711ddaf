"""Tables to draw: the reading of the published chart, and made-up ones of any size."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mindshare.tables import table

# Layer → Phys and Instruct; whitespace, star, hash: the reading that two careful readers agree on.
READING = {
    0: ((0.030, 0.042, 0.026), (0.029, 0.051, 0.032)),
    16: ((0.012, 0.055, 0.008), (0.012, 0.017, 0.0)),
    20: ((0.022, 0.030, 0.027), (0.002, 0.011, 0.008)),
    27: ((0.030, 0.030, 0.005), (0.021, 0.019, 0.005)),
}
PHYS, INSTRUCT = "Qwen-Phys", "Qwen-Instruct"
CLASSES = ("hash", "star", "space")
ABOUT = {
    "mindshare.measure": "mass",
    "mindshare.interval": "t-widened percentile bootstrap",
    "mindshare.unit": "prompt",
    "mindshare.confidence": "0.95",
    "mindshare.resamples": "10000",
    "mindshare.seed": "0",
}


def reading(*, n_prompts: int = 100) -> pa.Table:
    """The published chart as a `summary`; one prompt has no intervals."""
    rows = []
    for model, i in ((PHYS, 0), (INSTRUCT, 1)):
        for layer, bars in READING.items():
            space, star, hash_ = bars[i]
            for kind, mean in zip(CLASSES, (hash_, star, space), strict=True):
                rows.append((model, "all", layer, None, kind, mean))
    return summary(rows, n_prompts=n_prompts)


def summary(rows: Sequence[tuple], *, n_prompts: int = 100, measure: str = "mass") -> pa.Table:
    """Rows of (model, queries, layer, head, class, mean), with a made-up spread."""
    names = ("model", "queries", "layer", "head", "class", "mean")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    mean = np.array(columns["mean"], float)
    half = 0.06 * mean + 0.01 * np.nanmax(mean) if n_prompts > 1 else np.full(len(mean), np.nan)
    counts = [n_prompts] * len(rows)
    more = {"n_prompts": counts, "n_groups": counts, "sd": half * 5, "se": half / 2}
    more |= {"margin_family": 2 * half}
    more |= {"n_absent": [0] * len(rows), "reliable": [True] * len(rows)}
    spread = {"low": np.maximum(mean - half, 0), "high": mean + half}
    return table("summary", {**columns, **more, **spread}, ABOUT | {"mindshare.measure": measure})


def made_up(
    models: Sequence[str],
    layers: int,
    *,
    heads: Sequence[int | None] = (None,),
    classes: Sequence[str] = CLASSES,
    measure: str = "mass",
) -> pa.Table:
    """A `summary` of any size; shares sum to 1, lifts are around 1."""
    rng = np.random.default_rng(1)
    rows = []
    for model, layer, head in itertools.product(models, range(layers), heads):
        level = rng.gamma(3, 0.01, len(classes)) * (1.5 + np.sin(layer / 4))
        level = level / level.sum() if measure == "share" else level
        level = level * 40 if measure == "lift" else level
        rows += [(model, "all", layer, head, k, x) for k, x in zip(classes, level, strict=True)]
    return summary(rows, measure=measure)


def contrasted(layers: int, heads: int | None, *, planted: bool = True) -> pa.Table:
    """A `contrast` of heads, or of their mean, with an effect in a few; or of one model alone."""
    rng = np.random.default_rng(2)
    every = [None] if heads is None else range(heads)
    cells = list(itertools.product(range(layers), every, CLASSES))
    difference = rng.normal(0, 0.002, len(cells)) if planted else np.zeros(len(cells))
    strong = rng.random(len(cells)) < 0.1 if planted else np.zeros(len(cells), bool)
    difference[strong] *= 12
    p = np.where(strong, 0.001, 0.6)
    columns = {
        "model_a": [INSTRUCT] * len(cells),
        "model_b": [PHYS if planted else INSTRUCT] * len(cells),
        "queries": ["all"] * len(cells),
        "layer": [c[0] for c in cells],
        "head": [c[1] for c in cells],
        "class": [c[2] for c in cells],
        "n_prompts": [100] * len(cells),
        "n_groups": [100] * len(cells),
        "mean_a": np.full(len(cells), 0.02),
        "mean_b": 0.02 + difference,
        "difference": difference,
        "sd": np.abs(difference),
        "se": np.abs(difference) / 10,
        "low": difference - 0.001 * planted,
        "high": difference + 0.001 * planted,
        "p_value": p if planted else np.ones(len(cells)),
        "p_adjusted": p if planted else np.ones(len(cells)),
        "p_family": p if planted else np.ones(len(cells)),
        "effect": np.sign(difference) if planted else np.full(len(cells), np.nan),
        "detectable": np.abs(difference) * 0.3,
        "detectable_family": np.abs(difference) * 0.5,
    }
    size = len(columns["difference"])
    columns |= {"n_absent": [0] * size, "reliable": [True] * size}
    columns |= {"n_same_sign": [100] * size, "p_equivalent": [None] * size}
    return table("contrast", columns, ABOUT)
