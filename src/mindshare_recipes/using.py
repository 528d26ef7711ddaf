"""Does the tuned model answer *because* it looks at the maps? Hide them, and see what it loses.

Held-out maps with the nine actions as choices; the base is the control. What is hidden from the
last token, by windows of layers: the stars, the hashes, the spaces between them and the system
prompt (`glyphs`); both maps as a whole (`maps`); the maps from every later token (`later`); the
maps from each head of the tuned model by itself (`heads`), which shows whether looking predicts
using.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mindshare.api.candidates import Loading, candidates
from mindshare.api.charts import Chart
from mindshare.api.knockout import knockout
from mindshare.facts.cells import Number
from mindshare.facts.words import count, value, where
from mindshare.stats import Resampling, estimate
from mindshare.stats.uses import RANK_CORRELATION
from mindshare.tables import metadata
from mindshare_recipes.building_blocks import GLYPHS, SEGMENTS
from mindshare_recipes.maps import ACTIONS, prompt, samples

WINDOW = 5  # layers at once
CLASSES = {
    **GLYPHS,
    "system": SEGMENTS["system"],
}  # in the order, and so the colours, of its charts
MAPS = {"maps": SEGMENTS["maps"]}


def questions(layers: int) -> dict[str, dict[str, Any]]:
    """What is hidden from whom in a model with so many layers, as keywords of `knockout`."""
    # Of windows that cover all layers; the last may overlap the one before.
    middles = tuple(min(n + WINDOW // 2, layers - 1) for n in range(0, layers, WINDOW))
    return {
        "glyphs": {"classes": CLASSES, "window": WINDOW},
        "maps": {"classes": MAPS, "window": WINDOW},
        "later": {"classes": MAPS, "window": WINDOW, "queries": "later", "layers": middles},
        "heads": {"classes": MAPS, "heads": "each"},
    }


def run_study(base: str, tuned: str, *, out: Path, n: int) -> list[str]:
    """Charts and tables of each question in a folder of its own; gives what was found."""
    prompts = [replace(prompt(sample), choices=tuple(ACTIONS)) for sample in samples("test", n)]
    quiet = Loading(progress=False)
    layers = min(one.facts.layers for one in candidates([base, tuned], quiet))
    found: list[str] = []
    for name, asked in questions(layers).items():
        models = [tuned] if "heads" in asked else [base, tuned]
        chart = knockout(models, prompts, **asked, loading=quiet, into=out / name)
        chart.save(out / name)
        heads = f"all heads of {WINDOW} layers at once"
        heads = "each head by itself" if "heads" in asked else heads
        hidden = f"hidden from the queries {asked.get('queries', 'last')}, {heads}"
        lines = [f"{count(n, 'held-out map')}; {hidden}.", *chart.findings, *_accuracies(chart)]
        lines += _ranks(chart) if "heads" in asked else []
        found += [f"[{name}] {line}" for line in lines]
    return found


def _accuracies(chart: Chart) -> list[str]:
    """Accuracy among the nine actions: with nothing hidden, and where it falls lowest."""
    effects = {label: one.table("effects") for label, one in chart.measurements.items()}
    summary = estimate(effects, "correct", options=Resampling()).to_pylist()
    lines = []
    for label, one in chart.measurements.items():
        clean = one.table("answers")["correct_clean"].to_numpy().mean()
        for name in dict.fromkeys(row["class"] for row in summary):
            rows = [r for r in summary if (r["model"], r["class"]) == (label, name)]
            least = min(rows, key=lambda row: float(row["mean"]))
            size = value(Number.from_row(least, "mean"), "correct")
            place = where((least["layer"], least["head"]))
            lines.append(
                f"{label} names {100 * clean:.1f} % of the actions rightly; with {name} hidden it "
                f"names fewest around {place}: {size}."
            )
    return lines


def _ranks(chart: Chart) -> list[str]:
    """Does mass predict effect over heads?"""
    return [
        f"Over heads, mass and loss have the rank correlation {rho} ({name.split(' ', 1)[1]})."
        for name, rho in metadata(chart.tables["uses"]).items()
        if name.startswith(RANK_CORRELATION)
    ]
