"""Every mistake gets exit code 2, one message on stderr, and no traceback."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mindshare import limits
from mindshare.models.reference import embedded_file
from mindshare.prompts import rows

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

    @pytest.mark.parametrize("value", ["x", "1-", "5-2", "1,,2", "-1", "0:3", "men", "٣"])
    def test_unreadable_range(self, mindshare: Mindshare, value: str) -> None:
        ran = mindshare("measure", "any", *TEXT, f"--layers={value}")
        refused(ran, f"--layers {value!r}", "such as --layers 0,5-9")

    @pytest.mark.parametrize(
        ("command", "option"),
        [("measure", "--layers"), ("measure", "--near"), ("insert", "--heads"), ("insert", "--top"),
         ("insert", "--insert=/*"), ("shares", "--width"), ("shares", "--font-size"),
         ("shares", "--class=h=ids:"), ("measure", "--limit"), ("measure", "--chunk-tokens"),
         ("knockout", "--answer=greedy:"), ("knockout", "--heads")],
    )  # fmt: skip
    def test_digits_are_ascii_digits(
        self, mindshare: Mindshare, llama: Path, command: str, option: str
    ) -> None:
        value = {"--heads": "٠.٠", "--width": "٩cm"}.get(option, "٩")
        words = f"{option}{value}" if "=" in option else f"{option}={value}"
        classes = ("--class", "hash=#") if command == "knockout" else ()
        ran = mindshare(command, llama, *TEXT, *classes, words)
        assert ran.code == 2, ran
        assert "Traceback" not in ran.err
        assert not list(Path().iterdir())

    @pytest.mark.parametrize(
        ("command", "option"),
        [("measure", "--near"), ("insert", "--near"), ("shares", "--top"), ("measure", "--workers"),
         ("knockout", "--screen"), ("insert", "--seed"), ("measure", "--chunk-tokens"),
         ("knockout", "--window")],
    )  # fmt: skip
    @pytest.mark.parametrize("digits", [30, 5_000])
    def test_a_number_beyond_all_use(
        self, mindshare: Mindshare, llama: Path, command: str, option: str, digits: int
    ) -> None:
        asked = () if command == "insert" else ("--class", "hash=#")
        answer = ("--answer", "greedy", "--heads", "each") if command == "knockout" else ()
        ran = mindshare(command, llama, *TEXT, *asked, *answer, f"{option}={'1' * digits}")
        assert ran.code == 2, ran
        assert "Traceback" not in ran.err
        assert not list(Path().iterdir())

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

    @pytest.mark.parametrize("name", ["one.pdf", "rows.parquet", "\udcff"])
    @pytest.mark.parametrize("source", [TEXT, ("--data", "rows.jsonl")], ids=["one", "run"])
    def test_a_name_that_is_none(
        self, mindshare: Mindshare, llama: Path, name: str, source: tuple[str, ...]
    ) -> None:
        Path("rows.jsonl").write_text('{"text": "a ## b"}\n')
        ran = mindshare("measure", llama, *source, "--out", name)
        refused(ran, "is no UTF-8" if name == "\udcff" else "is named as a file")
        assert [path.name for path in Path().iterdir()] == ["rows.jsonl"]

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


def test_a_study_file_that_is_nested_deeply(mindshare: Mindshare) -> None:
    Path("deep.toml").write_text(f"command = {'[' * 5000}{']' * 5000}")
    refused(mindshare("run", "deep.toml"), "nested too deeply", "deep.toml")


@pytest.mark.parametrize(
    "command",
    [
        ["models", "NAME"],
        ["tokens", "NAME", *TEXT],
        ["measure", "NAME.gguf", *TEXT],
        ["measure", "any", "--data", "NAME.jsonl"],
        ["measure", "any", "--file", "NAME"],
        ["measure", "any", *TEXT, "--out", "NAME"],
        ["measure", "MODEL", *TEXT, "--adapter", "NAME"],
        ["run", "NAME"],
        ["status", "NAME"],
        ["runs", "NAME"],
        ["redraw", "NAME", "--bare"],
        ["report", "NAME"],
        ["check-description", "NAME.txt", "NAME"],
        ["explore", "NAME"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["x" * 5_000, "~nobody-of-this-name/x"], ids=["long", "home"])
def test_a_path_that_cannot_be(
    mindshare: Mindshare, llama: Path, command: list[str], name: str
) -> None:
    words = [word.replace("NAME", name).replace("MODEL", str(llama)) for word in command]
    if words[-2:] == ["--out", "~nobody-of-this-name/x"]:
        words[1] = "no such model"  # a shell's sign, and a folder's name like any
    refused(mindshare(*words))


@pytest.mark.skipif(not Path(os.devnull).exists(), reason="no devices here")
@pytest.mark.parametrize(
    "command",
    [
        ["tokens", "any", "--file", "it.txt"],
        ["tokens", "any", "--chat", "it.json"],
        ["tokens", "any", "--data", "it.jsonl"],
        ["insert", "any", *TEXT, "--insert", "file:it.txt"],
        ["run", "it.toml"],
        ["check-description", "it.txt", "results"],
    ],
    ids=" ".join,
)
class TestNoFileOnADisk:
    """A device or a pipe may never end, and a large file fills the memory."""

    def test_a_device(self, mindshare: Mindshare, command: list[str]) -> None:
        Path("results").mkdir()
        for ending in ("txt", "json", "jsonl", "toml"):
            Path(f"it.{ending}").symlink_to(os.devnull)
        refused(mindshare(*command), "it.", "a pipe or a device")

    def test_a_file_of_gigabytes(
        self, mindshare: Mindshare, command: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rows, "LONGEST_LINE", 1 << 20)  # data are read row by row
        Path("results").mkdir()
        for ending in ("txt", "json", "jsonl", "toml"):
            with Path(f"it.{ending}").open("wb") as file:
                file.truncate(limits.LARGEST + 1)
        refused(mindshare(*command), "it.", " has more than ", " MB")


class TestProgramsThatRunAway:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "SECONDS", 1.0)

    def test_filter(self, mindshare: Mindshare) -> None:
        Path("rows.jsonl").write_text(json.dumps({"text": "a" * 50 + "b"}))
        ran = mindshare("measure", "any", "--data", "rows.jsonl", "--where", "text~(a+)+$")
        refused(ran, "runs away", "filter 'text~(a+)+$'")

    def test_class(self, mindshare: Mindshare, llama: Path) -> None:
        text = "a" * 50 + "b"
        refused(mindshare("measure", llama, "--text", text, "--class", "x=re:(a+)+$"), "runs away")

    @pytest.mark.parametrize(
        "template",
        [
            "{% for i in range(99999) %}" * 3 + "{% endfor %}" * 3,
            "{{ 'x' * 100000000000000 }}",
            "{{ 'x' * 8000000000 }}",
            "{{ '%8000000000d' % 1 }}",
            "{{ 9 ** (9 ** 9) }}",
            "{% generation %}{{ 'a' | center(8000000000) }}{% endgeneration %}",
            "{% set n = namespace(x='aaaaaaaa') %}"
            "{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x | length }}",
            "{{ messages[0].content }}{% if 'QZ' in messages[0].content %}{{ 9 ** (9 ** 9) }}"
            "{% endif %}",
        ],
    )
    def test_chat_template(self, mindshare: Mindshare, llama: Path, template: str) -> None:
        folder = Path(shutil.copytree(llama, "model"))
        (folder / "chat_template.jinja").write_text(template)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path("chat.json").write_text('[{"role": "user", "content": "a"}]')
        refused(mindshare("tokens", folder, "--chat", "chat.json"), "chat template runs away")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in kilobytes
        assert grown < 500_000


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


def test_where_models_run_is_checked_before_prompts_are_read(mindshare: Mindshare) -> None:
    ran = mindshare("measure", "any", "--data", "gone.jsonl", "--on", "locl")
    refused(ran, "unknown place 'locl'")


def test_a_command_that_is_no_text(mindshare: Mindshare) -> None:
    Path("s.toml").write_text('command = ["measure"]')
    refused(mindshare("run", "s.toml"), "s.toml")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here")
def test_a_full_device_is_told() -> None:
    with open("/dev/full", "w") as full:
        code = "from mindshare.cli import main; main(['runs', '--json', '.'])"
        ran = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ran.returncode == 2
    assert ran.stderr.startswith("mindshare: ")
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("name", ["num_hidden_layers", "hidden_size", "vocab_size"])
def test_a_config_with_a_billion_of_something(mindshare: Mindshare, llama: Path, name: str) -> None:
    folder = Path(shutil.copytree(llama, "huge"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, name: 10**9}))
    refused(mindshare("measure", folder, *TEXT), f"{name} is 1,000,000,000", "config.json")


class TestBeforeWeightsAreRead:
    def test_layers(self, mindshare: Mindshare, llama: Path) -> None:
        config = Path(shutil.copytree(llama, "model")) / "config.json"
        content = json.loads(config.read_text()) | {"vocab_size": 7}  # its weights do not load
        config.write_text(json.dumps(content))
        refused(mindshare("measure", "model", *TEXT), "config and weights do not fit")
        refused(mindshare("measure", "model", *TEXT, "--layers", "9"), "layer 9 does not exist")

    @pytest.mark.parametrize(
        ("command", "asked", "words"),
        [
            ("shares", (*TEXT, "--layers", "2"), ("layer 2 does not exist: second has 2 layers",)),
            ("shares", ("--chat", "chat.json"), ("no chat template (in second, chat.json)",)),
            ("shares", (*TEXT, "--class", "x=#@map"), ("no span 'map', which class 'x'",)),
            ("measure", (*TEXT, "--queries", "after:map"), ("no span 'map'", "after:map")),
            ("insert", (*TEXT, "--at", "before:map"), ("no span 'map'", "before:map")),
            ("parts", (*TEXT, "--layers", "9"), ("layer 9 does not exist",)),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
    )
    def test_whatever_costs_nothing_to_see(
        self, mindshare: Mindshare, llama: Path, command: str, asked: tuple[str, ...], words: Any
    ) -> None:
        """The first model's weights do not load, and the second has a layer less, no template."""
        first, second = (Path(shutil.copytree(llama, name)) for name in ("first", "second"))
        for folder, change in ((first, {"vocab_size": 7}), (second, {"num_hidden_layers": 2})):
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps(config | change))
        (second / "chat_template.jinja").unlink()
        Path("chat.json").write_text('[{"role": "user", "content": "a ##"}]')
        models = (first,) if command in ("measure", "insert") else (first, second)
        classes = () if command in ("insert", "parts") else ("--class", "hash=#")
        refused(mindshare(command, *models, *classes, *asked), *words)

    def test_a_stale_base_behind_a_model_that_does_not_load(
        self, mindshare: Mindshare, llama: Path
    ) -> None:
        config = Path(shutil.copytree(llama, "model")) / "config.json"
        config.write_text(json.dumps(json.loads(config.read_text()) | {"vocab_size": 7}))
        Path("adapter").mkdir()
        stated = {"base_model_name_or_path": "/gone/base", "peft_type": "LORA"}
        Path("adapter", "adapter_config.json").write_text(json.dumps(stated))
        ran = mindshare("shares", "model", "adapter", *TEXT, "--class", "h=#")
        refused(ran, "the base of the adapter 'adapter' is not there", "/gone/base", "--adapter")

    def test_a_stale_base(self, mindshare: Mindshare, llama: Path) -> None:
        folder = Path("adapter")
        folder.mkdir()
        config = {"base_model_name_or_path": "/gone/base", "peft_type": "LORA"}
        (folder / "adapter_config.json").write_text(json.dumps(config))
        ran = mindshare("shares", llama, folder, *TEXT, "--class", "h=#")
        refused(ran, "the base of the adapter 'adapter' is not there", "/gone/base", "--adapter")

    def test_a_model_without_weights(self, mindshare: Mindshare, llama: Path) -> None:
        second = Path(shutil.copytree(llama, "second"))
        (second / "model.safetensors").unlink()
        ran = mindshare("shares", llama, second, *TEXT, "--class", "h=#")
        refused(ran, "'second' has no weights")


class TestKnockouts:
    """What `knockout` refuses; the rest is refused by the library, see tests/api."""

    ASKED = ("--class", "hash=#")

    def data(self, *rows: dict[str, object]) -> str:
        Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return "rows.jsonl"

    def test_no_answer(self, mindshare: Mindshare, llama: Path) -> None:
        ran = mindshare("knockout", llama, *TEXT, *self.ASKED)
        refused(ran, "has no answer", "--answer greedy")

    def test_an_answer_that_merges_with_the_prompt(self, mindshare: Mindshare, llama: Path) -> None:
        data = self.data({"text": "a # b *", "answer": "* yes"})
        refused(mindshare("knockout", llama, "--data", data, *self.ASKED), "as one", "Next:")

    def test_a_class_of_all_that_is_seen(self, mindshare: Mindshare, llama: Path) -> None:
        asked = ("--class", "all=re:.", "--answer", "greedy", "--quiet")
        ran = mindshare("knockout", llama, *TEXT, *asked)
        refused(ran, "class 'all' holds every key", "--how zero")

    @pytest.mark.parametrize("flag", [("--layers", "7"), ("--heads", "9"), ("--heads", "0.9")])
    def test_what_the_model_lacks(
        self, mindshare: Mindshare, llama: Path, flag: tuple[str, str]
    ) -> None:
        ran = mindshare("knockout", llama, *TEXT, *self.ASKED, "--answer", "greedy", *flag)
        refused(ran, "does not exist", "Allowed: 0 to")

    def test_an_unknown_kind(self, mindshare: Mindshare, llama: Path) -> None:
        ran = mindshare("knockout", llama, *TEXT, *self.ASKED, "--how", "maskk")
        refused(ran, "unknown kind of knock-out 'maskk'", "mask")

    def test_a_screen_of_heads_together(self, mindshare: Mindshare, llama: Path) -> None:
        asked = (*self.ASKED, "--answer", "greedy", "--screen", "3", "--window", "2")
        refused(mindshare("knockout", llama, *TEXT, *asked), "a screen is of single heads")

    def test_a_column_of_answers_that_is_not_there(self, mindshare: Mindshare) -> None:
        data = self.data({"text": "a # b", "solution": " c"})
        ran = mindshare("knockout", "any", "--data", data, *self.ASKED, "--answer", "solutions")
        refused(ran, "solutions")
