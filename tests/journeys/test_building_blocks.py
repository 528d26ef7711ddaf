"""The pair of models, from the maps to the chart: every number again from the eager attentions."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mindshare.models import load
from mindshare_recipes.maps import row, samples, write_rows

from .conftest import Shell

LAYERS = (0, 17, 21, 29)
MAPS = 4
CLASSES = ("--class", "hash=#", "--class", "star=*", "--class", "space=whitespace")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both models as plain transformers folders, the tuned one with its adapter merged."""
    place = tmp_path_factory.mktemp("pair")
    for name in ("smollm2", "smollm2-phys"):
        loaded = load(name, progress=False)
        assert loaded.tokenizer is not None
        loaded.model.save_pretrained(place / name)
        loaded.tokenizer.save_pretrained(place / name)
    return {name: place / name for name in ("smollm2", "smollm2-phys")}


def class_of(piece: str) -> str:
    """Written again, without mindshare: whitespace only if the token is nothing else."""
    if "#" in piece:
        return "hash"
    if "*" in piece:
        return "star"
    return "space" if piece.isspace() else "other"


def eager_masses(folder: Path, messages: list[dict[str, str]]) -> dict[tuple[int, str], float]:
    """(layer, class) → what the last token gives, mean over the heads, from the T×T matrices."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    names = [class_of(tokenizer.decode([token])) for token in ids]
    with torch.no_grad():
        matrices = model(torch.tensor([ids]), output_attentions=True).attentions
    found = {}
    for layer in LAYERS:
        given = matrices[layer][0, :, -1].double().mean(0)  # [key]
        for name in ("hash", "star", "space"):
            chosen = [i for i, own in enumerate(names) if own == name]
            found[layer, name] = float(given[chosen].sum())
    return found


def test_every_number_of_the_chart_is_that_of_the_eager_attentions(
    shell: Shell, folder: Path, pair: dict[str, Path]
) -> None:
    maps = samples("test", MAPS)
    write_rows(maps, folder / "maps.jsonl")
    ran = shell(
        *("shares", "smollm2", "Phys=smollm2-phys", "--data", "maps.jsonl", *CLASSES),
        *("--layers", ",".join(map(str, LAYERS)), "--queries", "last", "--out", "chart"),
        *("--formats", "json,parquet"),
    )
    assert ran.returncode == 0, ran.stderr
    spec = json.loads((folder / "chart" / "class_bars_mass.json").read_text())
    drawn = {(r["model"], r["layer"], r["class"]): r["mean"] for r in spec["data"]["values"]}
    assert len(drawn) == 2 * len(LAYERS) * 3
    for label, name in (("smollm2", "smollm2"), ("Phys", "smollm2-phys")):
        each = [eager_masses(pair[name], row(sample)["messages"]) for sample in maps]
        for layer, kind in each[0]:
            wanted = sum(one[layer, kind] for one in each) / MAPS
            assert drawn[label, layer, kind] == pytest.approx(wanted, abs=1e-4), (label, layer)
    table = pq.read_table(folder / "chart" / "class_bars_mass.parquet").to_pylist()
    assert {(r["model"], r["layer"], r["class"]): r["mean"] for r in table} == drawn


def test_the_tuned_model_names_actions_that_the_base_does_not() -> None:
    from mindshare_recipes.accuracy import accuracy

    found = accuracy(load("smollm2-phys", progress=False), samples("test", 45))
    assert found.exact["all"].share > 0.5, found.exact


@pytest.mark.slow
def test_the_study_says_what_changed(folder: Path) -> None:
    from mindshare_recipes.building_blocks import run_study

    said = run_study("smollm2", "smollm2-phys", out=folder / "study", n=18)
    assert any("Averaged over layers 17–21, " in sentence for sentence in said)
    pictures = {file.stem for file in (folder / "study").glob("*.png")}
    assert pictures == {
        "shares",
        "shares_all_layers",
        "change_by_layer",
        "system_or_maps",
        "heads_maps_change",
    }
