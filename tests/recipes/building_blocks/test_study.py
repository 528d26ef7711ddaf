"""The study on two tiny models: every sentence against the tables it was made from."""

from __future__ import annotations

import json
import shlex
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from mindshare.charts.candidates import Loading, candidates
from mindshare.charts.comparison import compare
from mindshare.models import wrap
from mindshare.recipes.building_blocks.rows import prompt
from mindshare.recipes.building_blocks.samples import samples
from mindshare.recipes.building_blocks.study import (
    GLYPHS,
    SEGMENTS,
    _classes,
    regrouped,
    run_study,
    same_depth,
)
from mindshare.study import build_study

from ...cli.tiny import tokenizer
from ...models import tiny

SIZES = {"num_hidden_layers": 4, "max_position_embeddings": 2048, "vocab_size": 300}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    place = tmp_path_factory.mktemp("study")
    base = tiny.llama_folder(place / "base", initializer_range=0.3, **SIZES)
    tokenizer().save_pretrained(base)
    tuned = tiny.lora_folder(place / "tuned", tiny.llama(**SIZES), base_name=str(base))
    seen: list[tuple[int, int]] = []
    said = run_study(
        str(base),
        str(tuned),
        out=place / "out",
        n=6,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [total for _, total in seen] == [12] * len(seen)
    assert sorted(seen) == seen
    assert seen[-1] == (12, 12)
    return place / "out", said


def test_the_layers_are_those_of_the_same_depth() -> None:
    assert same_depth(28) == (0, 16, 20, 27)
    assert same_depth(30) == (0, 17, 21, 29)


def test_four_figures_and_their_tables(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    pictures = {file.stem for file in place.glob("*.png")}
    assert pictures == {"shares", "shares_all_layers", "system_or_maps", "heads_maps_change"}
    assert json.loads((place / "manifest.json").read_text())["findings"] == said
    shown = pq.read_table(place / "shares.parquet")
    assert set(shown["layer"].to_pylist()) == {0, 2, 3}
    assert set(shown["class"].to_pylist()) == {"hash", "star", "space"}


def test_the_answer_is_made_from_the_numbers(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    rows = pq.read_table(place / "in_the_middle.parquet").to_pylist()
    (maps,) = [row for row in rows if row["class"] == "maps"]
    answer = said[1]
    assert f"tuned gives them {maps['mean_b']:.4f}" in answer
    assert f"base {maps['mean_a']:.4f}" in answer
    assert f"{abs(maps['difference']):.4f}" in answer


def test_heads_are_counted_from_the_table(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    rows = pq.read_table(place / "by_head_change.parquet").to_pylist()
    maps = [row for row in rows if row["class"] == "maps"]
    (sentence,) = [s for s in said if "heads" in s and "maps more" in s]
    assert f" {len(maps)} heads" in sentence
    assert len(maps) == 16


def test_no_table_is_there_twice(ran: tuple[Path, list[str]]) -> None:
    place, _ = ran
    manifest = json.loads((place / "manifest.json").read_text())
    found = [pq.read_table(place / f"{name}.parquet") for name in manifest["tables"]]
    numbers = [one for one in found if {"mean", "difference"} & set(one.column_names)]
    assert len(numbers) == 6
    assert not any(a.equals(b) for a, b in combinations(numbers, 2))


def test_the_command_makes_it_again(ran: tuple[Path, list[str]]) -> None:
    place, _ = ran
    words = shlex.split(json.loads((place / "manifest.json").read_text())["study"]["command"])
    assert words[:5] == ["mindshare-recipes", "building-blocks", "study", "--n", "6"]
    assert Path(words[words.index("--tuned") + 1]).name == "tuned"


@pytest.mark.parametrize("rules", [GLYPHS, SEGMENTS])
def test_sums_are_what_a_study_of_its_own_would_measure(rules: dict[str, str]) -> None:
    """Mass is linear in the keys: equal but for the rounding of float32."""
    words = tokenizer()
    loaded = wrap(tiny.llama(**SIZES | {"vocab_size": len(words)}), words, name="tiny")
    maps = [prompt(sample) for sample in samples("test", 2)]
    models = candidates([loaded], Loading())
    study = build_study(classes=rules, measures="mass", queries="last")
    all_ = build_study(classes=_classes(models, maps), measures="mass", queries="last")
    own = {"maps": (*GLYPHS, "rest"), "system": ("system",)}
    groups = own if rules is SEGMENTS else {name: (name,) for name in rules}
    (right,) = compare(models, maps, study).masses.values()
    (mass,) = compare(models, maps, all_).masses.values()
    key = [(name, "ascending") for name in ("prompt", "layer", "head", "class")]
    right, found = right.sort_by(key), regrouped(mass, groups, study).sort_by(key)
    assert found["class"].to_pylist() == right["class"].to_pylist()
    for name in ("mass", "share", "expected", "density", "lift", "n_tokens"):
        expected = np.asarray(right[name].to_numpy(), float)
        assert np.asarray(found[name].to_numpy(), float) == pytest.approx(
            expected, abs=1e-6, rel=1e-5, nan_ok=True
        ), name
    assert found.schema.metadata == right.schema.metadata
