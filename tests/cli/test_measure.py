"""`measure`: options reach the study, results the folder, numbers the screen.

`shares`, `head-map`, `insert`: a folder of figures and tables, or one message and nothing.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import mindshare as package
from mindshare.cli.measure import labelled

from . import tiny
from .conftest import Mindshare
from .test_bad_input import refused

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
    assert "class 'star' matches no token of any prompt" in ran.err
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
    options = ("--adapter", "lora", "--device", "cpu", "--chunk-tokens", "4", "--out", "chart")
    chart = mindshare("shares", llama, "--text", TEXT, *CLASSES, *options)
    assert chart.code == 0, chart.err
    (found,) = manifest("chart")["models"].values()
    assert (found["model"]["adapter"], found["study"]["chunk_tokens"]) == ("lora", 4)
    assert not package.read("adapted").mass.equals(package.read("plain").mass)


def test_full_prints_every_layer(mindshare: Mindshare, monkeypatch: pytest.MonkeyPatch,
                                 llama: Path) -> None:  # fmt: skip
    monkeypatch.setattr("mindshare.cli.summary.LAYERS", 2)
    asked = ("measure", llama, "--text", TEXT, *CLASSES, "--out", "out", "--replace")
    some, all_ = mindshare(*asked).out, mindshare(*asked, "--full").out
    rows = [len(re.findall(r"^ +\d +0\.", text, re.M)) for text in (some, all_)]
    assert rows == [2, tiny.LAYERS]
    assert ["--full" in text for text in (some, all_)] == [True, False]


# Charts.

PROMPT = ("--text", "see ## and ** here")
ENDINGS = ("png", "svg", "pdf", "csv")


@pytest.fixture
def data(place: Path) -> Path:
    rows = [{"id": i, "text": text} for i, text in enumerate(["a # b *", "c ## *", "# d **"])]
    path = place / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_one_command_writes_the_chart_and_its_tables(
    mindshare: Mindshare, llama: Path, data: Path, place: Path
) -> None:
    ran = mindshare(
        "shares", llama, f"Same={llama}", "--data", data, *CLASSES, "--layers", "0,2", "--out", "c"
    )
    assert ran.code == 0, ran.err
    files = {file.name for file in (place / "c").iterdir()}
    assert {f"class_bars_mass.{end}" for end in ENDINGS} < files
    assert {"summary.parquet", "Same_minus_tiny-llama.parquet", "manifest.json"} < files
    assert "exactly 0" in ran.err  # the same model twice
    assert "Figures and tables: c" in ran.out
    assert "class_bars_mass.png" in ran.out
    command = json.loads((place / "c" / "manifest.json").read_text())["study"]["command"]
    assert command.startswith(f"mindshare shares {llama} Same={llama} --data {data}")
    assert "--out" not in command


def written(path: Path, *texts: str) -> Path:
    """A file of prompts, each with an id of its own."""
    rows = [json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)]
    path.write_text("".join(rows))
    return path


def test_copies_of_one_text_count_as_one(mindshare: Mindshare, llama: Path, place: Path) -> None:
    copies = written(place / "copies.jsonl", *["see ## and ** here"] * 8)
    ran = mindshare("shares", llama, "--data", copies, *CLASSES, "--out", "c")
    assert ran.code == 0, ran.err
    assert "Of 8 prompts, only one is distinct" in " ".join(ran.err.split())
    found = rows(place / "c", "summary")
    assert {(row["n_prompts"], row["n_groups"]) for row in found} == {(8, 1)}
    assert {(row["low"], row["high"], row["reliable"]) for row in found} == {(None, None, False)}


def test_a_class_that_prompts_lack_is_left_out_or_zero(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    half = [f"{word} ## b" for word in "abcdefgh"] + [f"{word} ** b" for word in "abcdefgh"]
    command = ("shares", llama, "--data", written(place / "half.jsonl", *half), *CLASSES)
    means = {}
    for absent in ("left_out", "zero"):
        ran = mindshare(*command, "--absent", absent, "--out", absent)
        assert ran.code == 0, ran.err
        found = [row for row in rows(place / absent, "summary") if row["class"] == "hash"]
        counts = {(row["n_prompts"], row["n_absent"]) for row in found}
        assert counts == ({(8, 8)} if absent == "left_out" else {(16, 0)})
        means[absent] = [row["mean"] for row in found]
    assert [2 * mean for mean in means["zero"]] == pytest.approx(means["left_out"])


def test_the_printed_table_leaves_out_prompts_without_the_class(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    data = written(place / "half.jsonl", "a ## b", "c ## d", "a ** b", "c ** d")
    ran = mindshare("measure", llama, "--data", data, *CLASSES, "--out", "out")
    assert "hash 2 of 4" in ran.out
    frame = package.read("out").to_pandas()
    there = frame[(frame["class"] == "hash") & (frame["n_tokens"] > 0) & (frame["layer"] == 0)]
    line = next(row for row in ran.out.splitlines() if re.match(r" +0 +0", row))
    assert float(line.split()[1]) == pytest.approx(there["mass"].mean(), abs=6e-5)


def test_the_largest_differences_are_counted_as_asked_and_tested_ones_come_first(
    mindshare: Mindshare, llama: Path, other_llama: Path, place: Path
) -> None:
    """Four prompts have the class with the larger difference: too few to be tested."""
    texts = [f"{word} ** b" for word in "abcdefgh"] + [f"{word} ## b" for word in "abcd"]
    data = written(place / "few.jsonl", *texts)
    command = ("shares", llama, f"B={other_llama}", "--data", data, *CLASSES, "--top", "6")
    ran = mindshare(*command, "--labels", "one-based", "--out", "c")
    assert ran.code == 0, ran.err
    lines = [line for line in ran.out.splitlines() if re.match(r"  (hash|star), layer", line)]
    assert ["not tested" in line for line in lines] == [False] * 3 + [True] * 3
    assert all("4 of 12 prompts" in line and "effect" not in line for line in lines[3:])
    numbers = {re.findall(r"layer (\d)", line)[0] for line in lines}
    assert numbers == {"1", "2", "3"}  # of three layers, as in the picture
    csv = (place / "c" / "class_bars_mass.csv").read_text().splitlines()
    assert {row.split(",")[2] for row in csv[1:]} == numbers


def test_sentences_and_the_checker_count_as_asked(
    mindshare: Mindshare, llama: Path, other_llama: Path, place: Path
) -> None:
    data = written(place / "d.jsonl", *(f"{x} ## b ** {x}{x} ** c ##" for x in "abcdefghijklmnop"))
    command = ("shares", llama, f"B={other_llama}", "--data", data, *CLASSES, "--formats", "csv")
    told = {}
    for first, labels in enumerate(("zero-based", "one-based")):
        ran = mindshare(*command, "--labels", labels, "--out", labels)
        assert ran.code == 0, ran.err
        told[first] = re.findall(r"^• .*?\blayer (\d)", ran.out, re.MULTILINE)
        summary = rows(place / labels, "summary")
        stored = {
            r["layer"]: r["mean"] for r in summary if (r["model"], r["class"]) == ("B", "hash")
        }
        assert min(stored) == 0
        for layer, code in ((first, 0), (first + 1, 1)):  # the number of layer 0, and where it is
            text = f"Layer {layer}, B: hash {stored[0]:.4f}."
            (place / "text.txt").write_text(text, encoding="utf-8")
            assert mindshare("check-description", "text.txt", labels).code == code, text
    assert told[0]
    assert told[1] == [str(int(layer) + 1) for layer in told[0]]


def test_figures_that_are_replaced_are_told(mindshare: Mindshare, llama: Path, data: Path) -> None:
    command = ("shares", llama, "--data", data, *CLASSES, "--out", "c")
    assert mindshare(*command).code == 0
    beside = mindshare(*command, "--measure", "lift")
    assert "beside figures of earlier commands: class_bars_mass" in beside.out
    replaced = mindshare(*command, "--measure", "density", "--replace")
    assert "no longer there: class_bars_lift, class_bars_mass" in " ".join(replaced.out.split())


def test_an_unknown_way_to_count_what_is_absent(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("shares", llama, *PROMPT, *CLASSES, "--absent", "zeros")
    assert ran.code == 2
    assert "unknown absent='zeros'; did you mean 'zero'?" in " ".join(ran.err.split())


def test_the_same_command_names_the_same_folder(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    first = mindshare("shares", llama, *PROMPT, *CLASSES, "--quiet")
    assert first.code == 0, first.err
    assert (place / first.out.strip() / "manifest.json").is_file()
    again = mindshare("shares", llama, *PROMPT, *CLASSES, "--quiet")
    assert again.code == 2
    assert "exists already" in again.err
    assert mindshare("shares", llama, *PROMPT, *CLASSES, "--quiet", "--replace").code == 0
    other = mindshare("shares", llama, *PROMPT, *CLASSES, "--quiet", "--measure", "lift")
    assert other.code == 0
    assert other.out != first.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--measure", "weight"), "'weight' can't be drawn"),
        (("--palette", "sage"), "unknown palette 'sage'; did you mean 'safe'?"),
        (("--labels", "one"), "unknown way to label layers and heads 'one'"),
        (("--width", "wide"), "unknown width 'wide'"),
        (("--layers", "0,9"), "layer 9 does not exist: tiny-llama has 3 layers"),
        (("--heads", "7"), "head 7 does not exist"),
        (("--class", "tilde=~"), "class 'tilde' (~) matches no token of the prompt"),
        (("--class", "all=punctuation"), "class 'all' (punctuation) has no token left"),
        (("--class", "map=span:map"), "has no span 'map', which class 'map'"),
        (("--queries", "span:map"), "there is no span 'map'"),
        (("--queries", "first"), "'first' is no query set"),
    ],
)
def test_mistakes_are_refused_and_nothing_is_written(
    mindshare: Mindshare, llama: Path, place: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = mindshare("shares", llama, *PROMPT, *CLASSES, *arguments)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert not list(place.iterdir())


def test_names_are_read_and_paths_with_an_equals_sign_are_not_names() -> None:
    assert labelled(["smollm2", "org/name"]) == ["smollm2", "org/name"]
    assert labelled(["Base=smollm2", "org/x"]) == {"Base": "smollm2", "x": "org/x"}
    assert labelled(["runs/lr=3/model"]) == ["runs/lr=3/model"]
    Path("lr=3").mkdir()
    assert labelled(["lr=3", "A=b"]) == {"lr=3": "lr=3", "A": "b"}


def test_two_models_of_one_name_are_refused(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("shares", f"A={llama}", f"A={llama}", *PROMPT, *CLASSES)
    assert ran.code == 2
    assert "2 models are called 'A'" in ran.err


def test_without_a_class_there_is_nothing_to_draw(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("shares", llama, *PROMPT)
    assert ran.code == 2
    assert "no token class to draw" in ran.err


def test_a_map_a_model_and_the_difference(mindshare: Mindshare, llama: Path, place: Path) -> None:
    ran = mindshare(
        "head-map", f"A={llama}", f"B={llama}", *PROMPT, "--class", "hash=#", "--out", "m"
    )
    assert ran.code == 0, ran.err
    pictures = sorted(file.stem for file in (place / "m").glob("*.png"))
    assert pictures == [
        "head_map_mass_hash_A",
        "head_map_mass_hash_B",
        "head_map_mass_hash_B_minus_A",
    ]
    assert "exactly 0" in ran.err


def test_one_of_several_classes_must_be_chosen(mindshare: Mindshare, llama: Path) -> None:
    several = ("--class", "hash=#", "--class", "star=*")
    ran = mindshare("head-map", llama, *PROMPT, *several)
    assert ran.code == 2
    assert "choose with --show: hash, star" in ran.err
    assert mindshare("head-map", llama, *PROMPT, *several, "--show", "star", "--quiet").code == 0
    wrong = mindshare("head-map", llama, *PROMPT, *several, "--show", "stat")
    assert wrong.code == 2
    assert "did you mean 'star'" in wrong.err


@pytest.fixture
def bare(llama: Path, tmp_path: Path) -> Path:
    """The model with no weight in its file: what is refused in time never asks for them."""
    folder = Path(shutil.copytree(llama, tmp_path / "bare"))
    (folder / "model.safetensors").write_bytes(b"\x02" + bytes(7) + b"{}")
    return folder


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, object]] = pq.read_table(folder / f"{name}.parquet").to_pylist()
    return found


def test_a_system_message_a_question_and_a_run(
    mindshare: Mindshare, llama: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mindshare.cli.measure._FINDINGS", 3)
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
    assert manifest["findings"]
    printed = [f"• {' '.join(one.split())}" in words for one in manifest["findings"]]
    assert printed == [number < 3 for number in range(len(printed))]
    assert f"{len(printed) - 3} more: mindshare report found" in words
    assert "Figures and tables: found" in ran.out


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
        *("--formats", "png,parquet"),
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


# What is refused of an insertion: exit code 2, one message, nothing written.


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
    ran = mindshare("insert", bare, *PROMPT, *insert, *options, "--out", "out")
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
    ran = mindshare("insert", "any", *PROMPT, *options, "--out", "out")
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
    refused(mindshare("insert", llama, *PROMPT, *options, "--quiet"), "0")
    assert not (place / "out").exists()


def test_an_earlier_result_is_kept(mindshare: Mindshare, place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "manifest.json").write_text("{}")
    refused(mindshare("insert", "any", *PROMPT, "--out", "out"), "out exists already", "--replace")
    assert (place / "out" / "manifest.json").read_text() == "{}"


def test_options_of_the_wrong_kind(mindshare: Mindshare) -> None:
    for options in (("--top", "0"), ("--near", "-2"), ("--seed", "-1"), ("--top", "x")):
        ran = mindshare("insert", "any", *PROMPT, *options)
        assert ran.code == 2
        assert "Usage: mindshare insert" in ran.err
        assert "Traceback" not in ran.err


def test_parts_of_wordings_and_the_same_from_its_study_file(
    mindshare: Mindshare, llama: Path
) -> None:
    Path("a.txt").write_text("Task: a ##\nQuestion: **")
    Path("b.json").write_text(json.dumps([{"role": "user", "content": "Task: ##\nQuestion: **"}]))
    ran = mindshare("parts", llama, "--file", "A=a.txt", "--chat", "b.json", "--out", "out")
    assert ran.code == 0, ran.err
    assert {"parts.png", "text_A.png", "text_b.png"} <= {p.name for p in Path("out").iterdir()}
    again = mindshare("run", "out/study.toml", "--out", "again")
    assert again.code == 0, again.err
    assert pq.read_table("again/summary.parquet").equals(pq.read_table("out/summary.parquet"))


def test_names_of_wordings_stand_in_a_study_file_of_another_folder(
    mindshare: Mindshare, llama: Path
) -> None:
    folder = Path("studies")
    folder.mkdir()
    (folder / "a.txt").write_text("Task: a ##\nQuestion: **")
    (folder / "b=2.txt").write_text("Task: b #\nQuestion: *")
    lines = ("command = 'parts'", f"models = ['{llama}']", "file = ['A=a.txt', 'b=2.txt']")
    (folder / "study.toml").write_text("\n".join(lines))
    ran = mindshare("run", folder / "study.toml", "--out", "out")
    assert ran.code == 0, ran.err
    assert {"text_A.png", "text_b-2.png"} <= {p.name for p in Path("out").iterdir()}


@pytest.mark.parametrize("given", [(), ("--text", "a", "--data", "rows.jsonl")])
def test_parts_need_one_kind_of_source(
    mindshare: Mindshare, llama: Path, given: tuple[str, ...]
) -> None:
    refused(mindshare("parts", llama, *given), "--data")


def test_a_knock_out_from_its_data_and_again_from_its_study_file(
    mindshare: Mindshare, llama: Path
) -> None:
    rows = [{"id": f"r{i}", "text": f"{i}: ## b ** c", "label": " yes"} for i in range(2)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = ("--data", "rows.jsonl", "--answer", "label")
    ran = mindshare("knockout", llama, *source, *CLASSES, "--window", "2", "--out", "out")
    assert ran.code == 0, ran.err
    assert "6 knock-outs a prompt: the work of about" in ran.err
    effects = pq.read_table("out/effects_tiny-llama.parquet")
    assert effects.num_rows == 2 * tiny.LAYERS * 2
    again = mindshare("run", "out/study.toml", "--out", "again")
    assert again.code == 0, again.err
    assert pq.read_table("again/effects_tiny-llama.parquet").equals(effects)


def test_a_screen_of_a_greedy_answer(mindshare: Mindshare, llama: Path) -> None:
    asked = ("--answer", "greedy:2", "--heads", "each", "--screen", "2", "--out", "out")
    ran = mindshare("knockout", llama, "--text", TEXT + " c", *CLASSES, *asked)
    assert ran.code == 0, ran.err
    confirmed = pq.read_table("out/confirmed.parquet").to_pylist()
    heads = {(row["layer"], row["head"]) for row in confirmed}
    assert 2 <= len(heads) <= 4  # two by estimate, two by contribution; some may be both


@pytest.mark.parametrize("command", ["measure", "tokens", "shares"])
def test_thousands_of_classes_that_match_nothing_are_a_screenful(
    mindshare: Mindshare, llama: Path, command: str
) -> None:
    rules = [word for i in range(1_000) for word in ("--class", f"c{i}=re:zq{i}x")]
    ran = mindshare(command, llama, "--text", TEXT, *rules)
    assert ran.code == (2 if command == "shares" else 0), ran.err
    assert len(ran.out) < 4_000
    assert len(ran.err.splitlines()) <= 2
    assert "999 others" in ran.err if command == "shares" else "(1,000 in all)" in ran.err
    assert ("--full" in ran.out) == (command != "shares")


def test_full_lists_every_class(mindshare: Mindshare, llama: Path) -> None:
    rules = [word for i in range(30) for word in ("--class", f"c{i}=re:zq{i}x")]
    for command in (("measure", "--heads", "mean"), ("tokens",)):
        ran = mindshare(*command, llama, "--text", TEXT, *rules, "--full")
        assert all(re.search(rf"\bc{i}\b", ran.out) for i in range(30))
        assert "--full" not in ran.out
