"""Made-up results to describe: of any size, with awkward names, flat, noisy or with an effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from mindshare.stats import RESPONSE, Resampling, contrast, estimate
from mindshare.tables import table

QUICK = Resampling(resamples=200)
MODELS = ("Base", "Tuned", "base", "SmolLM2-135M", "Qwen2.5-7B", "model 3", "Layer 5", "a, b")
CLASSES = ("hash", "star", "space", "digit9", "#", "0.5", "mass", "layer 3", "no", "x_1", "[0, 1]")
CONDITIONS = ("/ ×55", "random sentence", "random-sentence*10", "at 5: x", "shape", "“q”")


@dataclass(frozen=True)
class Made:
    """How many of everything, and how the numbers behave."""

    models: Sequence[str] = ("Base", "Tuned")
    classes: Sequence[str] = ("hash", "star", "space", "other")
    layers: Sequence[int | None] = (0, 1, 2, 3)
    heads: Sequence[int | None] = (None,)
    prompts: int = 12
    seed: int = 0
    noise: float = 0.1  # of each prompt, relative
    layered: bool = True  # whether layers and classes differ at all
    absent: float = 0.0  # part of the numbers that are missing
    effect: dict[str, float] = field(default_factory=dict)  # class → added in the last model
    trend: dict[str, float] = field(default_factory=dict)  # class → added towards the last layer


def class_tables(made: Made, measure: str = "mass") -> dict[str, pa.Table]:
    """The tables of a class chart, by the project's own statistics."""
    masses = {name: _mass(made, i) for i, name in enumerate(made.models)}
    first, *others = made.models
    words = {
        name: "".join(c if c.isalnum() or c in "_-." else "-" for c in name) for name in masses
    }
    tables = {"summary": estimate(masses, measure, options=QUICK)}
    for other in others:
        tables[f"{words[other]}_minus_{words[first]}"] = contrast(
            masses, a=first, b=other, measure=measure, options=QUICK
        )
    return tables | {f"mass_{words[name].strip('-.') or 'model'}": m for name, m in masses.items()}


def _mass(made: Made, model: int) -> pa.Table:
    level = np.random.default_rng(made.seed).gamma(2, 0.02, (len(made.layers), len(made.classes)))
    level = level if made.layered else np.full_like(level, 0.05)
    rng = np.random.default_rng([made.seed, model])
    columns: dict[str, list] = {name: [] for name in _COLUMNS}
    for prompt in range(made.prompts):
        for i, layer in enumerate(made.layers):
            for head in made.heads:
                moved = level[i] + _added(made, model, i)
                mass = moved * np.exp(made.noise * rng.normal(size=len(made.classes)))
                _rows(columns, made, (f"p{prompt}", "last", layer, head), mass, rng)
    return table("mass", columns, {})


_NAMES = "prompt queries layer head class mass share density expected lift n_tokens n_queries"
_COLUMNS = _NAMES.split()


def _added(made: Made, model: int, i: int) -> np.ndarray:
    last = model == len(made.models) - 1
    depth = i / max(len(made.layers) - 1, 1)
    return np.array(
        [
            (made.effect.get(name, 0.0) if last else 0.0) + depth * made.trend.get(name, 0.0)
            for name in made.classes
        ]
    )


def _rows(columns: dict[str, list], made: Made, place: tuple, mass: np.ndarray, rng) -> None:
    expected = 0.02 + 0.1 * np.arange(len(mass))
    for kind, x, e in zip(made.classes, mass, expected, strict=True):
        x = np.nan if rng.random() < made.absent else x
        numbers = (x, x / mass.sum(), x / 9, e, x / e, 9.0, 1)
        for name, value in zip(_COLUMNS, (*place, kind, *numbers), strict=True):
            columns[name].append(value)


def insertion_tables(made: Made, conditions: Sequence[str]) -> dict[str, pa.Table]:
    """The tables of an insertion; the classes of `made` are not used."""
    responses = {name: _response(made, i, conditions) for i, name in enumerate(made.models)}
    over = [(), ("heads",), ("heads", "layers")]
    names = ("summary", "by_layer", "overall")
    tables = {
        name: estimate(responses, RESPONSE, over=how, options=QUICK)
        for name, how in zip(names, over, strict=True)
    }
    if len(responses) == 1:
        return tables | {"response": next(iter(responses.values()))}
    return tables | {f"response_{i}": r for i, r in enumerate(responses.values())}


def _response(made: Made, model: int, conditions: Sequence[str]) -> pa.Table:
    rng = np.random.default_rng([made.seed, model, 7])
    middle = {"amplitude": 1.0, "peak_ratio": 1.0, "entropy_change": 0.0, "peak_shift": 0.0}
    columns: dict[str, list] = {}
    for prompt in range(made.prompts):
        for c, condition in enumerate(conditions):
            for i, layer in enumerate(made.layers):
                for head in made.heads:
                    there = 0.3 * c * bool(made.effect) + i * sum(made.trend.values())
                    there += model * made.effect.get("model", 0.0)
                    row = {"prompt": f"p{prompt}", "condition": condition, "layer": layer}
                    row |= {"head": head, "label": "unchanged" if head else "smoothed"}
                    row |= {  # what lies between 0 and 1 stays there
                        name: middle.get(name, 0.5)
                        + (1.0 if name in middle else 0.4) * (there + made.noise * rng.normal())
                        if rng.random() >= made.absent
                        else np.nan
                        for name in RESPONSE
                    }
                    for name, value in row.items():
                        columns.setdefault(name, []).append(value)
    return table("response", columns, {})


def awkward(seed: int) -> Made:
    """Any number of models, classes, layers, heads and prompts, with names that invite mistakes."""
    rng = np.random.default_rng(seed)
    n_layers = int(rng.integers(1, 9)) if rng.random() < 0.6 else int(rng.integers(13, 34))
    by_head = rng.random() < 0.3
    layers = sorted(rng.choice(60, n_layers, replace=False).tolist())
    made = Made(
        models=rng.permutation(MODELS)[: rng.integers(1, 4)].tolist(),
        classes=[*rng.permutation(CLASSES)[: rng.integers(1, 5)].tolist(), "other"],
        layers=layers[:6] if by_head else layers,
        heads=sorted(rng.choice(12, rng.integers(1, 5), replace=False).tolist())
        if by_head
        else (None,),
        prompts=int(rng.choice([1, 2, 5, 12])),
        seed=seed,
        noise=float(rng.choice([0.0, 0.02, 0.3])),
        layered=bool(rng.random() < 0.8),
        absent=float(rng.choice([0.0, 0.0, 0.05])),
    )
    some = {made.classes[0]: float(rng.choice([0.0, 0.05, 0.3]))}
    return replace(made, effect=some if rng.random() < 0.5 else {}, trend=some)
