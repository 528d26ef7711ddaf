"""`mindshare measure`: options reach the study, results the folder, numbers the screen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import mindshare as package

from . import tiny
from .conftest import Mindshare

TEXT = "a ## b **\n##"
CLASSES = ("--class", "hash=#", "--class", "star=*")


def manifest(folder: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(folder) / "manifest.json").read_text())
    return content


def test_results_are_those_of_python(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--out", "out")
    assert ran.code == 0, ran.err
    by_hand = package.measure(str(llama), TEXT, classes={"hash": "#", "star": "*"})
    saved = package.read("out")
    assert saved.tables.keys() == by_hand.tables.keys()
    for name, table in by_hand.tables.items():
        assert saved.table(name).equals(table), name
    assert saved.provenance["study_hash"] == by_hand.provenance["study_hash"]


def test_printed_numbers_are_the_tables(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--out", "out")
    frame = package.read("out").to_pandas()
    for layer in range(tiny.LAYERS):
        line = next(row for row in ran.out.splitlines() if re.match(rf" +{layer} +0", row))
        printed = [float(x) for x in re.findall(r"(?<!×)\b\d\.\d{4}", line)]
        here = frame[frame["layer"] == layer].groupby("class")["mass"].mean()
        expected = [here[name] for name in ("hash", "star", "other")]
        assert printed == pytest.approx(expected, abs=6e-5)
    assert max(map(len, ran.out.splitlines())) <= 80
    assert 'mindshare.read("out").to_pandas()' in ran.out


def test_every_option_reaches_the_study(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare(
        *("measure", llama, "--text", "<<map>>##<</map>> a **", "--marked", *CLASSES),
        *("--policy", "pure", "--measure", "mass,entropy", "--measure", "distance"),
        *("--layers", "0,2", "--heads", "1-3", "--queries", "last", "--queries", "after:map"),
        *("--near", "2", "--chunk-tokens", "4", "--dtype", "bfloat16", "--out", "out"),
    )
    assert ran.code == 0, ran.err
    found = manifest("out")
    assert found["study"] == {
        "classes": [["hash", "#"], ["star", "*"]],
        "policy": "pure",
        "measures": ["mass", "entropy", "distance"],
        "layers": [0, 2],
        "heads": [1, 2, 3],
        "mean_over": [],
        "queries": ["last", "after:map"],
        "near": 2,
        "chunk_tokens": 4,
        "kernel": "auto",
    }
    assert found["model"]["dtype"] == "bfloat16"
    assert "received.parquet" not in {file.name for file in Path("out").iterdir()}


def test_averages_and_the_diagonal(mindshare: Mindshare, llama: Path) -> None:
    options = ("--layers", "mean", "--heads", "mean", "--include-diagonal", "--out", "out")
    ran = mindshare("measure", llama, "--text", TEXT, *CLASSES, *options)
    assert ran.code == 0, ran.err
    assert manifest("out")["study"]["near"] == -1
    assert manifest("out")["study"]["mean_over"] == ["heads", "layers"]
    assert package.read("out").mass.num_rows == 3


def test_data_and_limit(mindshare: Mindshare, llama: Path) -> None:
    rows = [{"id": f"row{i}", "text": f"## {i}"} for i in range(4)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ran = mindshare("measure", llama, "--data", "rows.jsonl", "--limit", "3", "--out", "out")
    assert ran.code == 0, ran.err
    assert "3 prompts of 3 to 3 tokens" in ran.out
    assert "mean over heads and prompts" in ran.out
    assert [prompt["id"] for prompt in manifest("out")["prompts"]] == ["row0", "row1", "row2"]


def test_the_default_folder_is_said_and_stays(mindshare: Mindshare, llama: Path) -> None:
    first = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--quiet")
    folder = first.out.strip()
    assert re.fullmatch(r"results/tiny-llama-[0-9a-f]{8}", folder)
    assert (Path(folder) / "mass.parquet").is_file()
    again = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--quiet")
    assert again.code == 2
    assert f"{folder} exists already" in again.err
    replaced = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--quiet", "--replace")
    assert (replaced.code, replaced.out.strip()) == (0, folder)


def test_an_empty_class_is_told(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("measure", llama, "--text", "a ##", *CLASSES, "--out", "out")
    assert ran.code == 0
    assert "warning: class 'star' matches no token of any prompt" in ran.err
    assert "hash" not in ran.err


def test_an_adapter_is_merged(mindshare: Mindshare, llama: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(llama)
    config = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    get_peft_model(base, config).save_pretrained("lora")
    plain = mindshare("measure", llama, "--text", TEXT, *CLASSES, "--out", "plain")
    adapted = mindshare(
        "measure", llama, "--adapter", "lora", "--text", TEXT, *CLASSES, "--out", "adapted"
    )
    assert (plain.code, adapted.code) == (0, 0)
    assert manifest("adapted")["model"]["adapter"] == "lora"
    assert not package.read("adapted").mass.equals(package.read("plain").mass)
