"""The study on two tiny models: every sentence against the tables it was made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mindshare.recipes.building_blocks.study import run_study, same_depth

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
    assert seen[0] == (1, 24)
    assert seen[-1] == (24, 24)
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
    (answer,) = [sentence for sentence in said if sentence.startswith("In the middle layers")]
    assert f"tuned gives the maps {maps['mean_b']:.4f}" in answer
    assert f"base {maps['mean_a']:.4f}: a difference of {maps['difference']:+.4f}" in answer
    words = {"So yes": maps["low"] > 0, "So no:": maps["high"] < 0}
    expected = next((word for word, true in words.items() if true), "So no difference")
    assert expected in answer


def test_heads_are_counted_from_the_table(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    rows = pq.read_table(place / "by_head_change.parquet").to_pylist()
    maps = [row for row in rows if row["class"] == "maps"]
    told = [row for row in maps if row["p_adjusted"] < 0.05]
    (sentence,) = [s for s in said if s.startswith("Of ")]
    counts = [int(n) for n in re.findall(r"\d+", sentence)[:3]]
    assert counts[0] == len(maps) == 16
    assert counts[1] + counts[2] == len(told)
