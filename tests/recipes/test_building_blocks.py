"""The study on two tiny models, and its sentences from planted masses."""

from __future__ import annotations

import json
import shlex
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import read_csv

from mindshare.api.candidates import Loading, candidates
from mindshare.api.comparison import compare
from mindshare.models import wrap
from mindshare.stats import Resampling, averaged, contrast
from mindshare.study import build_study
from mindshare.tables import table
from mindshare_recipes.building_blocks import (
    BY_GLYPH,
    BY_SEGMENT,
    GLYPHS,
    SEGMENTS,
    classes_in,
    regrouped,
    run_study,
    same_depth,
    sentences,
)
from mindshare_recipes.maps import prompt, samples

from ..cli.tiny import tokenizer
from ..models import tiny

SIZES = {"num_hidden_layers": 4, "max_position_embeddings": 2048, "vocab_size": 300}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    place = tmp_path_factory.mktemp("study")
    base = tiny.llama_folder(place / "base", initializer_range=0.3, **SIZES)
    tokenizer().save_pretrained(base)
    tuned = tiny.lora_folder(place / "tuned", tiny.llama(**SIZES), base_name=str(base))
    seen: list[tuple[str, int, int]] = []
    said = run_study(
        str(base),
        str(tuned),
        out=place / "out",
        n=20,  # of 6, no difference can be told from chance in 16 heads
        progress=lambda *told: seen.append(told),
    )
    assert {total for _, _, total in seen} == {20}
    assert [told for told in seen if told[1] == 20] == [("base", 20, 20), ("tuned", 20, 20)]
    return place / "out", said


def test_the_layers_are_those_of_the_same_depth() -> None:
    assert same_depth(28) == (0, 16, 20, 27)
    assert same_depth(30) == (0, 17, 21, 29)


def test_five_figures_and_their_tables(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    pictures = {file.stem for file in place.glob("*.png")}
    assert pictures == {
        "shares",
        "shares_all_layers",
        "change_by_layer",
        "system_or_maps",
        "heads_maps_change",
    }
    assert json.loads((place / "manifest.json").read_text())["findings"] == said
    shown = read_csv(place / "shares.csv")
    assert set(shown["layer"].to_pylist()) == {0, 2, 3}
    assert set(shown["class"].to_pylist()) == {"hash", "star", "space"}


def test_the_answer_is_made_from_the_numbers(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    rows = pq.read_table(place / "in_the_middle.parquet").to_pylist()
    (maps,) = [row for row in rows if row["class"] == "maps"]
    assert said[1].startswith("Averaged over layers 2, ")
    (number,) = said[1].numbers  # type: ignore[attr-defined]
    assert (number.value, number.low) == (maps["difference"], maps["low"])


def test_heads_are_counted_from_the_table(ran: tuple[Path, list[str]]) -> None:
    place, said = ran
    rows = pq.read_table(place / "by_head_change.parquet").to_pylist()
    maps = [row for row in rows if row["class"] == "maps"]
    told = [row for row in maps if row["p_family"] < 0.05 and row["low"] * row["high"] > 0]
    heads = [s for s in said if f" of {len(maps)} heads" in s]
    assert len(maps) == 16
    assert sum(int(s.partition(" of 16")[0].split()[-1]) for s in heads) <= len(told)
    assert heads


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
    assert words[:5] == ["mindshare-recipes", "building-blocks", "study", "--n", "20"]
    assert Path(words[words.index("--tuned") + 1]).name == "tuned"


@pytest.mark.parametrize(("groups", "rules"), [(BY_GLYPH, GLYPHS), (BY_SEGMENT, SEGMENTS)])
def test_sums_are_what_a_study_of_its_own_would_measure(
    groups: dict[str, tuple[str, ...]], rules: dict[str, str]
) -> None:
    """Mass is linear in the keys: equal but for the rounding of float32."""
    words = tokenizer()
    loaded = wrap(tiny.llama(**SIZES | {"vocab_size": len(words)}), words, name="tiny")
    maps = [prompt(sample) for sample in samples("test", 2)]
    models = candidates([loaded], Loading())
    study = build_study(classes=rules, measures="mass", queries="last")
    all_ = build_study(classes=classes_in(models, maps), measures="mass", queries="last")
    (right,) = compare(models, maps, study).tables("mass").values()
    (mass,) = compare(models, maps, all_).tables("mass").values()
    key = [(name, "ascending") for name in ("prompt", "layer", "head", "class")]
    right, found = right.sort_by(key), regrouped(mass, groups, study).sort_by(key)
    assert found["class"].to_pylist() == right["class"].to_pylist()
    for name in ("mass", "share", "expected", "density", "lift", "n_tokens"):
        expected = np.asarray(right[name].to_numpy(), float)
        assert np.asarray(found[name].to_numpy(), float) == pytest.approx(
            expected, abs=1e-6, rel=1e-5, nan_ok=True
        ), name
    assert found.schema.metadata == right.schema.metadata


QUICK = Resampling(resamples=200)
KINDS, PARTS = ("hash", "star", "space", "other"), ("system", "maps", "other")
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


def said(n: int, **effect: float) -> list[str]:
    """The sentences of the study about n maps whose masses have this effect planted."""

    def masses(classes: tuple[str, ...]) -> dict[str, pa.Table]:
        labels = ("base", "tuned")
        return {m: mass(classes, n, model=i, effect=effect) for i, m in enumerate(labels)}

    def change(masses: dict[str, pa.Table]) -> pa.Table:
        return contrast(masses, a="base", b="tuned", options=QUICK)

    single = masses(PARTS)
    tables = {
        "tuned_minus_base": change({m: averaged(one) for m, one in masses(KINDS).items()}),
        "by_part_change": change({m: averaged(one) for m, one in single.items()}),
        "in_the_middle": change({m: averaged(one, layers=(2, 3)) for m, one in single.items()}),
        "by_head_change": change(single),
    }
    return sentences(tables, range(2, 4))


def test_a_planted_change_is_told_where_it_is() -> None:
    method, answer, *rest = said(24, star=0.2)
    assert "24 held-out maps" in method
    assert answer.startswith(
        "Averaged over layers 2–3, attention to maps tokens is nearly the same"
    )
    (star,) = [s for s in rest if " star " in s]
    assert star.startswith("tuned looks significantly more at star tokens than base in layers 2–3")
    assert not any("hash" in s or "space" in s for s in rest)  # what says nothing is left out


def test_maps_that_get_more() -> None:
    _, answer, *rest = said(12, maps=0.2)
    assert "tuned looks more at maps tokens than base: +0.2" in answer
    layers, heads = [s for s in rest if " maps " in s]
    assert "in layers 2–3; largest of these in layer" in layers
    assert "in 6 of 12 heads; largest of these in layer" in heads
    for sentence in (answer, layers, heads):
        (number,) = sentence.numbers  # type: ignore[attr-defined]
        assert number.value == pytest.approx(0.2, abs=0.03)
        assert number.cell.column == "difference"


@pytest.mark.parametrize("maps", [1, 2, 5])
def test_few_maps_are_not_tested(maps: int) -> None:
    method, answer = said(maps, star=0.2)
    assert "nothing can be told from chance" in method
    assert f"untested: {maps} prompt" in answer
    assert "[" not in answer
