"""`mindshare insert`: a folder of figures and tables, or one message and nothing written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from . import tiny
from .conftest import Mindshare
from .test_bad_input import refused

TEXT = ("--text", "see ## and ** here")


@pytest.fixture
def bare(llama: Path, tmp_path: Path) -> Path:
    """The model without its weights: what is refused in time never asks for them."""
    without_weights = shutil.ignore_patterns("*.safetensors")
    return Path(shutil.copytree(llama, tmp_path / "bare", ignore=without_weights))


def rows(folder: Path, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return found


# What it makes.


def test_a_system_message_a_question_and_a_run(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    ran = mindshare(
        *("insert", llama, "--system", "Be <<x>>brief<</x>>.", "--prompt", "Why?", "--marked"),
        *("--insert", "/ *4", "--against", "random-sentence", "--at", "between", "--top", "1"),
        *("--by", "shape", "--layers", "0-1", "--drop-first", "--out", "found"),
    )
    assert ran.code == 0, ran.err
    folder = place / "found"
    pictures = {file.stem for file in folder.glob("*.png")}
    assert {"profiles_top", "panel", "map_amplitude", "text", "retained_by_layer"} <= pictures
    run, other = rows(folder, "conditions")
    assert run["text"] == "[system]Be brief.[user]/ / / / Why?"
    assert (run["n_inserted"], other["condition"]) == (8, "random sentence")
    assert run["n_prompt_tokens"] == other["n_prompt_tokens"]
    assert {row["layer"] for row in rows(folder, "sequence")} == {0, 1}
    manifest = json.loads((folder / "manifest.json").read_text())
    words = " ".join(ran.out.split())
    assert len(manifest["findings"]) == 8
    for sentence in manifest["findings"]:
        assert f"• {' '.join(sentence.split())}" in words
    assert "The heads that change most, by shape" in " ".join(ran.out.split())
    assert "Figures and tables:" in ran.out


def test_several_prompts_models_and_insertions(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    Path("rows.jsonl").write_text(
        "".join(json.dumps({"id": f"r{i}", "text": f"see ## and {i} here"}) + "\n" for i in (1, 2))
    )
    ran = mindshare(
        *("insert", f"A={llama}", f"B={llama}", "--data", "rows.jsonl", "--insert", "/*0,3"),
        *("--insert", "#*3", "--at", "start", "--at", "random", "--seed", "5", "--quiet"),
        *("--heads", "A:0.1,1.2", "--heads", "B:2.3", "--show", "r2", "--layers", "0-2"),
    )
    assert ran.code == 0, ran.err
    folder = place / ran.out.strip()
    drawn = pq.read_table(folder / "profiles_B.parquet")
    assert set(drawn["layer"].to_pylist()) == {2}
    assert set(drawn["prompt"].to_pylist()) == {"r2"}
    conditions = [row["condition"] for row in rows(folder, "conditions_A")]
    expected = [f"{run} at {at}" for run in ("/ ×0", "/ ×3", "# ×3") for at in ("start", "random")]
    assert conditions == expected * 2
    assert rows(folder, "sequence_A") == rows(folder, "sequence_B")


# What is refused: exit code 2, one message, nothing written.


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--insert", "/ *40"), [f"94 tokens, more than the {tiny.CONTEXT}", "'/ ×40'", "Next:"]),
        (("--at", "before:map"), ["no span 'map'", "place before:map"]),
        (("--insert", "random-sentence*1"), ["no random sentence was found", "Next: ask for"]),
        (("--insert", "random-sentence"), ["a random sentence needs a length"]),
        (("--insert", "#", "--against", "random-sentence"), ["no random sentence was found"]),
        (("--heads", "0.4"), ["head 0.4 does not exist", "Allowed: 0.0 to 2.3"]),
        (("--heads", "3.0"), ["head 3.0 does not exist", "3 layers of 4 heads"]),
        (("--layers", "3"), ["layer 3 does not exist", "Allowed: 0 to 2"]),
        (("--heads", "0"), ["'0' in '0' names no head", "LAYER.HEAD"]),
        (("--heads", "bare:9.9", "--heads", "bare:0.0"), ["head 9.9 does not exist"]),
        (("--heads", "bear:0.0"), ["'bear', which is none of the models", "Allowed: bare"]),
    ],
)
def test_what_the_model_cannot_do(
    mindshare: Mindshare, bare: Path, place: Path, options: tuple[str, ...], words: list[str]
) -> None:
    insert = () if "--insert" in options else ("--insert", "/ *3")
    ran = mindshare("insert", bare, *TEXT, *insert, *options, "--out", "out")
    refused(ran)
    for word in words:
        assert word in " ".join(ran.err.split()), ran.err
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--insert", "/ *-5"), ["'-5' does not say how often", "Allowed: TEXT*COUNT"]),
        (("--insert", "/ *5.5"), ["does not say how often"]),
        (("--insert", "*5"), ["no text before the *"]),
        (("--insert", ""), ["the text to insert is empty"]),
        (("--insert", "file:gone.txt"), ["no such file", "gone.txt"]),
        (("--insert", "/", "--insert", "/"), ["'/' is given twice"]),
        (("--insert", "/", "--against", "/"), ["two conditions are called '/'"]),
        (("--insert", "/", "--against", "he*2,3"), ["are 2 insertions"]),
        (("--at", "betwen"), ["did you mean 'between'?", "before:SPAN"]),
        (("--by", "divergense"), ["did you mean 'divergence'?"]),
        (("--queries", "last"), ["unknown query set 'last'", "original"]),
        (("--heads", "0.0", "--heads", "any:0.1"), ["some heads are named for one model"]),
        (("--layers", "mean"), ["every layer is looked at by itself", "--layers mean"]),
        (("--layers", "5-2"), ["runs backwards"]),
        (("--show", "three"), ["there is no prompt 'three' to show"]),
        (("--palette", "pastel"), ["unknown palette 'pastel'"]),
        (("--file", "f.txt"), ["--text and --file are given together"]),
    ],
)
def test_wrong_words_before_the_model_is_looked_for(
    mindshare: Mindshare, place: Path, options: tuple[str, ...], words: list[str]
) -> None:
    ran = mindshare("insert", "any", *TEXT, *options, "--out", "out")
    refused(ran)
    for word in words:
        assert word in " ".join(ran.err.split()), ran.err
    assert not (place / "out").exists()


@pytest.mark.parametrize(
    "source",
    [
        ("--file", "f.txt"),
        ("--text", "Why?", "--file", "f.txt"),
        ("--data", "rows.jsonl"),
        ("--prompt", "Why?", "--chat", "chat.json"),
        (),
    ],
)
def test_a_system_message_needs_its_question(
    mindshare: Mindshare, place: Path, source: tuple[str, ...]
) -> None:
    ran = mindshare("insert", "any", "--system", "Be brief.", *source, "--out", "out")
    refused(ran, "--system goes with --prompt")
    assert list(place.iterdir()) == []


def test_heads_of_layers_that_are_not_measured(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    options = ("--insert", "/ *3", "--layers", "1", "--heads", "0.2", "--out", "out")
    refused(mindshare("insert", llama, *TEXT, *options, "--quiet"), "0")
    assert not (place / "out").exists()


def test_an_earlier_result_is_kept(mindshare: Mindshare, place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "manifest.json").write_text("{}")
    refused(mindshare("insert", "any", *TEXT, "--out", "out"), "out exists already", "--replace")
    assert (place / "out" / "manifest.json").read_text() == "{}"


def test_options_of_the_wrong_kind(mindshare: Mindshare) -> None:
    for options in (("--top", "0"), ("--near", "-2"), ("--seed", "-1"), ("--top", "x")):
        ran = mindshare("insert", "any", *TEXT, *options)
        assert ran.code == 2
        assert "Usage: mindshare insert" in ran.err
        assert "Traceback" not in ran.err
