"""The entry point and `mindshare run`: exit codes, help, and results made again from their file."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import mindshare as package
from mindshare.cli import app, run, run_command
from mindshare.cli.app import RUNNABLE
from mindshare.cli.groups import STUDY, Group, Option, command, read_study, study_files
from mindshare.errors import ModelError
from mindshare.folders import write_texts

from .conftest import Mindshare

COMMAND = [sys.executable, "-c", "from mindshare.cli import main; main()"]
HEAVY = ("torch", "transformers", "pyarrow", "numpy", "pandas", "scipy")
NAMES = sorted(app.command().commands)


def test_version(mindshare: Mindshare) -> None:
    ran = mindshare("--version")
    assert (ran.code, ran.out) == (0, f"mindshare {package.__version__}\n")


def test_no_command_shows_all_commands(mindshare: Mindshare) -> None:
    ran = mindshare()
    assert {"check-description", "demo", "head-map", "insert", "measure", "models"} < set(NAMES)
    assert {"report", "run", "runs", "shares", "status", "tokens"} < set(NAMES)
    for name in NAMES:
        assert f" {name} " in ran.out + ran.err


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_examples_whole(mindshare: Mindshare, name: str) -> None:
    ran = mindshare(name, "--help")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    documented = (app.command().commands[name].callback.__doc__ or "").partition("Example")[2]
    examples = [line.strip() for line in documented.splitlines()[1:] if line.strip()]
    assert any(line.startswith(f"mindshare {name}") for line in examples)
    for line in examples:
        assert line in [shown.strip() for shown in lines], "an example is wrapped"


@pytest.mark.parametrize("name", ["measure", "shares", "head-map", "insert", "parts", "knockout"])
def test_every_command_that_measures_says_with_what_and_where(name: str) -> None:
    options = {word for one in app.command().commands[name].params for word in one.opts}
    assert options >= {
        "--adapter",
        "--dtype",
        "--device",
        "--workers",
        "--on",
        "--trust-remote-code",
    }
    # A knock-out makes one pass, of which every intervention takes a part.
    assert ("--chunk-tokens" in options) == (name != "knockout")


@pytest.mark.parametrize(
    "statement",
    [
        "import mindshare",
        "import mindshare.cli.app",
        "from mindshare.cli import run; run(['--help'])",
    ],
)
def test_importing_and_help_are_light(statement: str) -> None:
    check = f"{statement}; import sys; print([m for m in {HEAVY} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines()[-1] == "[]"


def test_an_added_command_that_is_broken_breaks_nothing_else(
    mindshare: Mindshare, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib.metadata import EntryPoint

    broken = EntryPoint("extra", "no_such_package:extra", "mindshare.commands")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [broken])
    assert mindshare("models", "--json").code == 0
    ran = mindshare("--help")
    assert ran.code == 0
    assert "models" in ran.out
    assert "no_such_package" in ran.err


MANY = ("measure", "llama", "--data", "rows.jsonl", "--class", "hash=#", "--out", "run")


@pytest.mark.parametrize("command", [MANY, ("run", "study.toml", "--out", "run")], ids=" ".join)
def test_an_interrupt_is_no_traceback(place: Path, llama: Path, command: tuple[str, ...]) -> None:
    (place / "llama").symlink_to(llama)
    (place / "rows.jsonl").write_text('{"text": "see ## and ** here"}\n' * 20_000)
    lines = "command = 'measure'\nmodel = 'llama'\ndata = 'rows.jsonl'\n"
    (place / "study.toml").write_text(f"{lines}class = ['hash=#']")
    process = subprocess.Popen(
        [*COMMAND, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs this in the background has switched interrupts off.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and not (place / "run").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130, err
    assert "mindshare: stopped" in err
    assert "Traceback" not in err


def test_an_interrupt_inside_another_error_is_one() -> None:
    """Python 3.11 makes a RuntimeError of what `__set_name__` raises; others import that class."""

    def build() -> Any:
        try:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        except RuntimeError as error:
            raise ModelError("could not import the model's class") from error

    assert run_command(build, [], name="mindshare") == 130


def test_a_reader_that_leaves_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*COMMAND, "models"], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["models", "status nowhere"])
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_traceback(words: str, closed: str) -> None:
    line = f"{shlex.join(COMMAND)} {words} {closed}"
    ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert ran.returncode == (0 if words == "models" else 2)
    assert "Traceback" not in ran.stderr + ran.stdout


def test_a_stream_that_lacks_a_character_gets_its_escape() -> None:
    narrow = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    ran = subprocess.run([*COMMAND, "models"], capture_output=True, text=True, env=narrow)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "smollm2" in ran.stdout
    assert ran.stdout.isascii()


@pytest.mark.parametrize("work", ["print", "threading.Timer(1, print, ['late']).start"])
def test_the_end_waits_for_threads_and_tells_who_asked(work: str) -> None:
    code = f"import atexit, threading; atexit.register(print, 'told'); ({work})(); {COMMAND[-1]}"
    for asked, expected in (("--version", 0), ("no-such-command", 2)):
        done = subprocess.run(
            [sys.executable, "-c", code, asked], capture_output=True, text=True, check=False
        )
        assert done.returncode == expected
        assert ("late" in done.stdout) == ("late" in work)
        assert done.stdout.splitlines()[-1] == "told"
        assert (package.__version__ in done.stdout) == (expected == 0)
        assert "Traceback" not in done.stderr


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    @command(Group)
    def broken(_: Group) -> None:
        raise ZeroDivisionError("one over nothing")

    @command(Group)
    def whole(_: Group) -> None: ...

    monkeypatch.setattr(app, "COMMANDS", (broken, whole))
    with pytest.raises(ZeroDivisionError, match="one over nothing") as caught:
        run(["broken"])
    assert "Please report it" in caught.value.__notes__[0]


# mindshare run

TEXT = ("--text", "see ## and ** here")
ASKED = (*TEXT, "--class", "hash=#", "--class", "star=*", "--layers", "0,2")


@pytest.mark.parametrize(
    "first",
    [
        ("measure", *ASKED),
        ("shares", *ASKED, "--palette", "safe"),
        ("head-map", *ASKED, "--show", "hash"),
        ("insert", *TEXT, "--insert", "/ *3", "--heads", "0.1"),
    ],
    ids=lambda words: words[0],
)
def test_results_hold_the_file_that_makes_them_again(
    mindshare: Mindshare, llama: Path, place: Path, first: tuple[str, ...]
) -> None:
    name, *options = first
    ran = mindshare(name, llama, *options, "--out", "one", "--quiet")
    assert ran.code == 0, ran.err
    again = mindshare("run", "one/study.toml", "--out", "two", "--quiet")
    assert again.code == 0, again.err
    assert again.out.strip() == "two"
    tables = sorted(file.name for file in (place / "one").glob("*.parquet"))
    assert len(tables) > 2
    for table in tables:
        left, right = (pq.read_table(place / folder / table) for folder in ("one", "two"))
        assert left.equals(right), table
    texts = ("study.toml", "prompts.jsonl")
    assert all((place / "one" / t).read_text() == (place / "two" / t).read_text() for t in texts)


def test_a_study_can_be_written_without_being_run(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    ran = mindshare("shares", llama, *ASKED, "--save-study", "studies/map.toml")
    assert ran.code == 0, ran.err
    assert "mindshare run studies/map.toml" in ran.out
    assert not (place / "results").exists()
    done = mindshare("run", "studies/map.toml", "--out", "out", "--quiet")
    assert done.code == 0, done.err
    assert (place / "out" / "summary.parquet").is_file()
    twice = mindshare("shares", llama, *ASKED, "--save-study", "studies/map.toml")
    assert twice.code == 2
    assert "exists already" in twice.err


def given(one: Option) -> Any:
    """A value other than the default."""
    value = {bool: not one.default, int: 7, str: "word", Path: Path("word")}[one.type]
    return (value, value) if one.several else value


@pytest.mark.parametrize("name", RUNNABLE)
def test_a_saved_study_loses_no_option(name: str, place: Path) -> None:
    """Each is written and read again, or typed for `run`, or has done its work on the prompts."""
    kind = RUNNABLE[name].kind
    every = kind.options.values()
    kept = {one.name: given(one) for one in every if one.role in ("keyword", "command")}
    for file, text in study_files(kind(**kept), []).items():
        write_texts(place, {file: text})
    _, again = read_study(place / STUDY, RUNNABLE)
    assert {field: vars(again)[field] for field in kept} == kept
    typed = {one.name for one in every if one.role in ("apart", "trust")}
    assert typed - set(app.run.kind.options) == {"save_study"}
    chooses = {one.key for one in every if one.role == "prompts"}
    assert chooses <= {word.removeprefix("--") for words in CHOICES for word in words}, chooses


# Options that say which prompts, as they are used; a saved study holds what they have chosen.
CHOICES = (
    ("--text", "a <<map>>##<</map>> b", "--marked"),
    ("--file", "one.txt", "--marked"),
    ("--chat", "chat.json"),
    ("--data", "rows.csv", "--format", "tsv", "--column", "prompt=said", "--where", "level>=2"),
    ("--data", "rows.csv", "--format", "tsv", "--column", "text=said", "--sample", "4",
     "--sample-seed", "5", "--limit", "2"),
    ("--prompt", "a ## b", "--system", "Look."),
)  # fmt: skip


@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_a_saved_study_has_the_prompts_that_were_chosen(
    mindshare: Mindshare, llama: Path, place: Path, words: tuple[str, ...]
) -> None:
    (place / "one.txt").write_text("a <<map>>##<</map>> b")
    (place / "chat.json").write_text('[{"role": "user", "content": "a ##"}]')
    rows = "".join(f"{i}\ta {'##' * i} b\t{i % 4}\n" for i in range(9))
    (place / "rows.csv").write_text("id\tsaid\tlevel\n" + rows)
    first = ("insert", "--insert", "/ *3") if "--system" in words else ("measure", "--class", "h=#")
    ran = mindshare(first[0], llama, *first[1:], *words, "--out", "one", "--quiet")
    assert ran.code == 0, ran.err
    saved = mindshare(first[0], llama, *first[1:], *words, "--save-study", "apart/s.toml")
    assert saved.code == 0, saved.err
    again = mindshare("run", "apart/s.toml", "--out", "two", "--quiet")
    assert again.code == 0, again.err
    tables = sorted(file.name for file in (place / "one").glob("*.parquet"))
    assert len(tables) > 2
    for table in tables:
        left, right = (pq.read_table(place / folder / table) for folder in ("one", "two"))
        assert left.equals(right), table


@pytest.mark.parametrize("command", ["measure", "shares"])
def test_a_saved_study_leaves_out_what_a_model_cannot_hold(
    mindshare: Mindshare, llama: Path, place: Path, command: str
) -> None:
    rows = [{"text": "a ## b"}, {"text": "#" * 500}, {"text": 3}]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = (command, llama, "--data", "rows.jsonl", "--class", "h=#", "--bad-rows", "skip")
    assert mindshare(*asked, "--out", "one").code == 0
    assert mindshare(*asked, "--save-study", "s.toml").code == 0
    for study in ("one/study.toml", "s.toml"):
        ran = mindshare("run", study, "--out", Path("two") / Path(study).stem, "--quiet")
        assert ran.code == 0, ran.err
        assert "more than the" in ran.err


def test_mistakes_in_a_file_name_it(mindshare: Mindshare, place: Path) -> None:
    study = "command = 'measure'\nmodel = 'm'\ntext = 'a'\n"
    for line, word in {"limit = 'three'": "field limit", "layers = '5-2'": "--layers '5-2'",
                       "measure = 'mess'": "bad.toml"}.items():  # fmt: skip
        (place / "bad.toml").write_text(f"{study}{line}\n")
        ran = mindshare("run", "bad.toml")
        assert ran.code == 2
        assert word in ran.err
        assert "Traceback" not in ran.err


def test_a_file_cannot_replace_results(mindshare: Mindshare, llama: Path, place: Path) -> None:
    """A value that looks like an option is a model of that name."""
    (place / "out").mkdir()
    (place / "out" / "manifest.json").write_text("precious")
    lines = [f"models = ['{llama}', '--replace']", "class = 'hash=#'", "text = '# a'"]
    (place / "bad.toml").write_text("command = 'shares'\n" + "\n".join(lines))
    ran = mindshare("run", "bad.toml", "--out", "out")
    assert ran.code == 2
    assert "out exists already" in ran.err
    assert (place / "out" / "manifest.json").read_text() == "precious"
    assert "'--replace'" in mindshare("run", "bad.toml", "--out", "new").err
