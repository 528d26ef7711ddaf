"""Study B on the trained model: the command a reader would type, and what theory says must hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from mindshare.models import LoadedModel
from mindshare.prompts import Prompt
from mindshare.study import build_insertion_study, measure
from tests.journeys.conftest import Shell

SYSTEM = "You are a careful tutor. Reason step by step."
QUESTION = "A baker fills 14 trays with 12 rolls each and sells 95. How many are left?"
HEADS = [(0, 0), (0, 1), (0, 7)]


def _eager(loaded: LoadedModel, ids: Any) -> np.ndarray:
    """[layer, head, query, key] float64, as transformers itself returns it."""
    model: Any = loaded.model
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            found = model(torch.tensor([list(ids)]), output_attentions=True).attentions
    finally:
        model.set_attn_implementation(before)
    return np.stack([x[0].double().numpy() for x in found])


@pytest.fixture(scope="module")
def drawn(shell: Shell, folder: Path) -> Path:
    done = shell(
        "insert",
        "smollm2",
        "--system",
        SYSTEM,
        "--prompt",
        QUESTION,
        "--insert",
        "/ *55",
        "--against",
        "random-sentence",
        "--heads",
        ",".join(f"{layer}.{head}" for layer, head in HEADS),
        "--maps",
        "divergence",
        "--out",
        "slashes",
    )
    assert done.returncode == 0, done.stderr
    assert "55 copies of “/”" in done.stdout  # what it did, in sentences
    return folder / "slashes"


def test_the_command_writes_every_picture_with_its_numbers(drawn: Path) -> None:
    figures = json.loads((drawn / "manifest.json").read_text())["figures"]
    assert {"profiles", "panel", "map_divergence", "retained_by_layer", "text"} <= set(figures)
    for about in figures.values():
        assert about["definition"]
        assert about["description"]
        for name in about["files"]:
            assert (drawn / name).stat().st_size > 100, name


def test_both_insertions_have_the_same_length(drawn: Path) -> None:
    rows = pq.read_table(drawn / "conditions.parquet").to_pylist()
    assert [row["condition"] for row in rows] == ["/ ×55", "random sentence"]
    assert rows[0]["n_prompt_tokens"] == rows[1]["n_prompt_tokens"]
    assert rows[0]["n_inserted"] >= 55


def test_what_the_grid_draws_is_in_the_eager_matrices(drawn: Path, smollm2: LoadedModel) -> None:
    places = pq.read_table(drawn / "places.parquet").to_pylist()
    sequence = pq.read_table(drawn / "sequence.parquet").to_pylist()
    for condition in ("without", "/ ×55", "random sentence"):
        ids = [row["token_id"] for row in places if row["condition"] == condition]
        eager = _eager(smollm2, ids)
        rows = [
            row
            for row in sequence
            if row["condition"] == condition and (row["layer"], row["head"]) in HEADS
        ]
        assert len(rows) == len(HEADS) * len(ids)
        for row in rows:
            column = eager[row["layer"], row["head"], :, row["position"]]
            below = column[row["position"] + 1 :]
            if len(below):
                assert row["received"] == pytest.approx(below.mean(), abs=1e-5)
            else:
                assert row["received"] is None


def test_a_run_at_the_start_scales_the_first_layer_by_what_is_retained(
    smollm2: LoadedModel,
) -> None:
    prompt = Prompt.from_text(f" {QUESTION}")
    found = measure(smollm2, prompt, study=build_insertion_study(" /*30", at="start"))
    places = found.table("places").to_pylist()
    ids = {c: [r["token_id"] for r in places if r["condition"] == c] for c in ("without", "/ ×30")}
    pairs = np.array(
        [
            (row["position_without"], row["position"])
            for row in places
            if row["condition"] != "without" and row["part"] == "original"
        ]
    )
    assert len(pairs) == len(ids["without"])  # nothing merged at the seam
    first = {c: _eager(smollm2, x)[0] for c, x in ids.items()}
    kept = {
        (row["head"], row["position"]): row["retained"]
        for row in found.table("retained").to_pylist()
        if row["layer"] == 0
    }
    for n, (i, k) in enumerate(pairs):
        keys = pairs[: n + 1]
        ratio = first["/ ×30"][:, k, keys[:, 1]] / first["without"][:, i, keys[:, 0]]
        assert (np.ptp(ratio, axis=1) / ratio.mean(1)).max() <= 1e-4
        expected = [kept[head, k] for head in range(len(ratio))]
        assert ratio.mean(1) == pytest.approx(expected, rel=1e-4)
