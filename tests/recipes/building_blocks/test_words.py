"""Sentences from planted masses: what differs is said to, what can't be tested is said to be so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.recipes.building_blocks.words import Findings, sentences
from mindshare.stats import Resampling, averaged, contrast, summarise
from mindshare.table import table

QUICK = Resampling(resamples=200)
GLYPHS, PARTS = ("hash", "star", "space", "other"), ("system", "maps", "other")
LAYERS, HEADS = 4, 3


def mass(
    classes: tuple[str, ...], prompts: int, *, model: int, effect: dict[str, float]
) -> pa.Table:
    """Noise around 0.1, and the effect in the second model from layer 2 on."""
    rng = np.random.default_rng([model, len(classes)])
    names = "prompt queries layer head class mass share density expected lift n_tokens n_queries"
    columns: dict[str, list[Any]] = {name: [] for name in names.split()}
    for n in range(prompts):
        for layer in range(LAYERS):
            for head in range(HEADS):
                for kind in classes:
                    added = effect.get(kind, 0.0) if model and layer >= 2 else 0.0
                    x = 0.1 + added + 0.01 * rng.normal()
                    row = (f"p{n}", "last", layer, head, kind, x, x, x, 0.1, x / 0.1, 5.0, 1)
                    for name, value in zip(columns, row, strict=True):
                        columns[name].append(value)
    return table("mass", columns, {})


def found(n: int, **effect: float) -> Findings:
    def masses(classes: tuple[str, ...]) -> dict[str, pa.Table]:
        labels = ("base", "tuned")
        return {m: mass(classes, n, model=i, effect=effect) for i, m in enumerate(labels)}

    def changed(masses: dict[str, pa.Table]) -> pa.Table:
        return contrast(masses, a="base", b="tuned", options=QUICK)

    glyphs = {m: averaged(one) for m, one in masses(GLYPHS).items()}
    single = masses(PARTS)
    parts = {m: averaged(one) for m, one in single.items()}
    middle = {m: averaged(one, layers=(2, 3)) for m, one in single.items()}
    return Findings(
        base="base",
        tuned="tuned",
        layers=(0, 2, 3),
        middle=range(2, 4),
        by_glyph=summarise(glyphs, options=QUICK),
        by_glyph_change=changed(glyphs),
        by_part=summarise(parts, measure="share", options=QUICK),
        by_part_change=changed(parts),
        in_the_middle=changed(middle),
        by_head_change=changed(single),
    )


def test_a_planted_change_is_told_with_its_window_and_layer_by_layer() -> None:
    method, answer, *rest = sentences(found(12, star=0.2))
    assert "attention of the last token, mean over heads" in method
    assert "p < 0.05 (permutation test, corrected for all cells of the table, max-T)" in method
    assert "in the mean of layers 2 to 3, the window that was asked about" in answer
    assert "which is undecided; a difference of 0." in answer
    (star,) = [s for s in rest if s.startswith("Change in the mass of star")]
    assert star.endswith("in layer 3; undecided in layer 0.")
    assert not any("hash" in s or "space" in s for s in rest)  # what says nothing is left out


def test_maps_that_get_more() -> None:
    _, answer, *_, heads = sentences(found(12, maps=0.2))
    assert (
        "which differs from zero (p < 0.05, corrected). Of all 4 layers: more in layers" in answer
    )
    assert "undecided in the others." in answer
    assert "So yes" not in answer
    assert "Of 12 heads, 6 give the maps more and 0 less after tuning" in heads
    assert heads.endswith(" standard deviations.")


@pytest.mark.parametrize("maps", [1, 2, 5])
def test_few_maps_are_not_tested(maps: int) -> None:
    said = sentences(found(maps, star=0.2))
    assert len(said) == 4
    assert f"nothing can be told from chance with {maps} map" in said[0]
    assert "which can't be tested. Single layers can't be tested." in said[1]
    assert said[-1] == "12 heads: no test is possible with so few maps."
    assert not any("[" in sentence or "undecided" in sentence for sentence in said)
