"""Every mistake gets exit code 2, one message on stderr, and no traceback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mindshare.models.reference import embedded_file

from . import tiny
from .conftest import Mindshare, Ran

TEXT = ("--text", "a ## b")


def refused(ran: Ran, *words: str) -> None:
    assert ran.code == 2, ran
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.startswith("mindshare: ")
    for word in words:
        assert word in ran.err, ran.err


@pytest.mark.parametrize("command", ["tokens", "measure"])
class TestPromptSources:
    def test_empty_prompt(self, mindshare: Mindshare, llama: Path, command: str) -> None:
        refused(mindshare(command, llama, "--text", ""), "the prompt is empty", "Allowed:")

    def test_empty_file(self, mindshare: Mindshare, llama: Path, command: str) -> None:
        Path("empty.txt").touch()
        refused(mindshare(command, llama, "--file", "empty.txt"), "empty.txt")

    def test_longer_than_the_context(self, mindshare: Mindshare, llama: Path, command: str) -> None:
        ran = mindshare(command, llama, "--text", "x" * (tiny.CONTEXT + 1))
        refused(ran, f"{tiny.CONTEXT + 1} tokens, more than the {tiny.CONTEXT}", "Next: shorten")

    def test_two_sources(self, mindshare: Mindshare, command: str) -> None:
        ran = mindshare(command, "any", *TEXT, "--file", "f.txt")
        refused(ran, "--text and --file are given together", "exactly one of")

    def test_no_source(self, mindshare: Mindshare, command: str) -> None:
        refused(mindshare(command, "any"), "no prompt is given", "--text, --file, --chat, --data")

    @pytest.mark.parametrize("option", ["--file", "--chat", "--data"])
    def test_missing_file(self, mindshare: Mindshare, command: str, option: str) -> None:
        refused(mindshare(command, "any", option, "gone.txt"), "no such file", "gone.txt")

    def test_bad_row(self, mindshare: Mindshare, command: str) -> None:
        Path("rows.jsonl").write_text('{"text": "fine"}\n{"texts": "typo"}\n')
        refused(mindshare(command, "any", "--data", "rows.jsonl"), "rows.jsonl, line 2", "texts")

    def test_invalid_regex(self, mindshare: Mindshare, command: str) -> None:
        ran = mindshare(command, "any", *TEXT, "--class", "x=re:(")
        refused(ran, "regular expression '(' is invalid", "class 'x'", "Next:")

    def test_unknown_class_word(self, mindshare: Mindshare, command: str) -> None:
        ran = mindshare(command, "any", *TEXT, "--class", "x=whitspace")
        refused(ran, "'whitspace' is no rule; did you mean 'whitespace'?")

    def test_class_without_rule(self, mindshare: Mindshare, command: str) -> None:
        refused(mindshare(command, "any", *TEXT, "--class", "hash"), "'hash' is not a class")

    def test_unknown_policy(self, mindshare: Mindshare, command: str) -> None:
        ran = mindshare(command, "any", *TEXT, "--class", "x=#", "--policy", "proportionate")
        refused(ran, "did you mean 'proportional'?")


@pytest.mark.parametrize("command", ["tokens", "measure", "models"])
class TestModels:
    def test_unknown_model_without_network(self, mindshare: Mindshare, command: str) -> None:
        ran = mindshare(command, "nobody/nothing", *(() if command == "models" else TEXT))
        refused(
            ran, "'nobody/nothing' is not on this machine", "smollm2", "Allowed: on this machine"
        )

    def test_encoder_decoder(
        self, mindshare: Mindshare, refused_models: dict[str, Path], command: str
    ) -> None:
        if command == "models":  # a description is no refusal: see test_models
            assert mindshare(command, refused_models["t5"]).code == 0
            return
        refused(mindshare(command, refused_models["t5"], *TEXT), "'t5'", "encoder-decoder")

    def test_truncated_gguf(self, mindshare: Mindshare, command: str) -> None:
        with embedded_file().open("rb") as whole:
            Path("half.gguf").write_bytes(whole.read(100_000))
        ran = mindshare(command, "half.gguf", *(() if command == "models" else TEXT))
        refused(ran, "half.gguf")

    def test_corrupt_gguf(self, mindshare: Mindshare, command: str) -> None:
        Path("noise.gguf").write_bytes(b"GG" + bytes(range(256)) * 8)
        ran = mindshare(command, "noise.gguf", *(() if command == "models" else TEXT))
        refused(ran, "noise.gguf")


class TestWeights:
    @pytest.mark.parametrize("keep", [0, 5, 2000])
    def test_truncated_safetensors(self, mindshare: Mindshare, llama: Path, keep: int) -> None:
        folder = Path(shutil.copytree(llama, "broken"))
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:keep])
        refused(mindshare("measure", folder, *TEXT), "model.safetensors is corrupt or truncated")

    def test_corrupt_safetensors(self, mindshare: Mindshare, llama: Path) -> None:
        folder = Path(shutil.copytree(llama, "broken"))
        (folder / "model.safetensors").write_bytes(b"\xff" * 4000)
        refused(mindshare("measure", folder, *TEXT), "model.safetensors is corrupt or truncated")

    def test_missing_adapter(self, mindshare: Mindshare, llama: Path) -> None:
        Path("adapter").mkdir()
        refused(mindshare("measure", llama, *TEXT, "--adapter", "adapter"), "not a PEFT adapter")

    def test_unknown_dtype(self, mindshare: Mindshare, llama: Path) -> None:
        refused(mindshare("measure", llama, *TEXT, "--dtype", "float8"), "float8", "bfloat16")

    def test_unknown_device(self, mindshare: Mindshare, llama: Path) -> None:
        refused(mindshare("measure", llama, *TEXT, "--device", "cup"), "cup")

    @pytest.mark.parametrize(
        ("kind", "reason"), [("mamba", "no token gives attention"), ("bloom", "own")]
    )
    def test_attention_that_cannot_be_measured(
        self, mindshare: Mindshare, refused_models: dict[str, Path], kind: str, reason: str
    ) -> None:
        ran = mindshare("measure", refused_models[kind], *TEXT, "--out", "out")
        refused(ran, reason)
        assert not Path("out").exists()


class TestSelection:
    @pytest.mark.parametrize(("option", "what"), [("--layers", "layer"), ("--heads", "head")])
    def test_out_of_range(self, mindshare: Mindshare, llama: Path, option: str, what: str) -> None:
        ran = mindshare("measure", llama, *TEXT, option, "0-9")
        count = tiny.LAYERS if what == "layer" else tiny.HEADS
        refused(ran, f"{what} {count} does not exist", f"Allowed: 0 to {count - 1}")

    @pytest.mark.parametrize("value", ["x", "1-", "5-2", "1,,2", "-1", "0:3", "men"])
    def test_unreadable_range(self, mindshare: Mindshare, value: str) -> None:
        ran = mindshare("measure", "any", *TEXT, f"--layers={value}")
        refused(ran, f"--layers {value!r}", "such as --layers 0,5-9")

    def test_unknown_measure(self, mindshare: Mindshare) -> None:
        ran = mindshare("measure", "any", *TEXT, "--measure", "mass,entrpy")
        refused(ran, "unknown measure 'entrpy'; did you mean 'entropy'?")

    def test_unknown_query_set(self, mindshare: Mindshare) -> None:
        refused(mindshare("measure", "any", *TEXT, "--queries", "lst"), "did you mean 'last'?")

    def test_query_set_without_its_span(self, mindshare: Mindshare, llama: Path) -> None:
        ran = mindshare("measure", llama, *TEXT, "--queries", "span:map")
        refused(ran, "no span 'map'", "span:map")

    def test_near_and_diagonal(self, mindshare: Mindshare) -> None:
        ran = mindshare("measure", "any", *TEXT, "--near", "2", "--include-diagonal")
        refused(ran, "--near 2 and --include-diagonal")


class TestDestination:
    """All of these before the model is looked for: 'any' does not exist."""

    def test_exists(self, mindshare: Mindshare) -> None:
        Path("out").mkdir()
        (Path("out") / "manifest.json").write_text("{}")
        ran = mindshare("measure", "any", *TEXT, "--out", "out")
        refused(ran, "out exists already", "Next: add --replace")

    def test_not_results(self, mindshare: Mindshare) -> None:
        Path("out").mkdir()
        (Path("out") / "thesis.txt").write_text("precious")
        for options in ((), ("--replace",)):
            ran = mindshare("measure", "any", *TEXT, "--out", "out", *options)
            refused(ran, "out exists already, and is not a folder of mindshare results")
        assert (Path("out") / "thesis.txt").read_text() == "precious"

    def test_below_a_file(self, mindshare: Mindshare) -> None:
        Path("file").touch()
        ran = mindshare("measure", "any", *TEXT, "--out", "file/out")
        refused(ran, "file/out can't be written", "Next: choose another folder")

    def test_where_nothing_can_be_written(self, mindshare: Mindshare) -> None:
        refused(mindshare("measure", "any", *TEXT, "--out", "/proc/out"), "can't be written")

    def test_demo_replaces_only_a_demo(self, mindshare: Mindshare) -> None:
        Path("out").mkdir()
        manifest = Path("out") / "manifest.json"
        manifest.write_text(json.dumps({"prompts": [{"id": "mine"}]}))
        refused(mindshare("demo", "--out", "out"), "out exists already, and is not an earlier demo")
        assert manifest.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["measures"],
        ["measure"],
        ["measure", "smollm2", "--layer", "3"],
        ["measure", "smollm2", "--near", "-2"],
        ["measure", "smollm2", "--limit", "x"],
    ],
)
def test_usage_errors(mindshare: Mindshare, arguments: list[str]) -> None:
    ran = mindshare(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert "Usage: mindshare" in ran.err
    assert "Traceback" not in ran.err
