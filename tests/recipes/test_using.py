"""Hiding the maps from two tiny models of few layers."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mindshare_recipes.using import WINDOW, questions, run_study

from ..cli.tiny import tokenizer
from ..models import tiny

SIZES = {"num_hidden_layers": 3, "max_position_embeddings": 2048, "vocab_size": 300}


@pytest.mark.parametrize("layers", [1, 3, 12, 28, 30, 32])
def test_windows_cover_every_layer_of_the_model(layers: int) -> None:
    middles = questions(layers)["later"]["layers"]
    covered = {n for middle in middles for n in range(layers) if abs(n - middle) <= WINDOW // 2}
    assert covered == set(range(layers))
    assert max(middles) < layers


def test_the_study_is_of_the_layers_that_the_models_have(tmp_path: Path) -> None:
    models = [str(tiny.llama_folder(tmp_path / name, **SIZES)) for name in ("base", "tuned")]
    for folder in models:
        tokenizer().save_pretrained(folder)
    said = run_study(*models, out=tmp_path / "out", n=1)
    assert {line.partition("]")[0] for line in said} == {f"[{name}" for name in questions(3)}
    later = pq.read_table(tmp_path / "out" / "later" / "summary.parquet")
    assert set(later["layer"].to_pylist()) == {2}
