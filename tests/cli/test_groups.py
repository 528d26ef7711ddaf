"""A field of a group is an option, a line of the help and a field of study files, by itself.

What a command was asked for is written and read again; values of a file are only values.
"""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from mindshare.cli.app import RUNNABLE
from mindshare.cli.groups import PROMPTS, STUDY, Group, command, option, read_study, study_files
from mindshare.cli.options import ChartOptions, LookOptions
from mindshare.cli.sources import SourceOptions
from mindshare.errors import SelectionError
from mindshare.prompts import DataSource, Prompt

seen: list[Group] = []


class NewLook(LookOptions, panel="How it looks"):
    """A group with new fields of every kind."""

    y_title: str | None = option(None, "A title of the axis.")
    bare: bool = option(False, "Nothing but the marks.")
    dpi: int = option(288, "Dots per inch.", min=72)
    colour: tuple[str, ...] = option((), "Of a class; repeatable.", metavar="CLASS=COLOUR")
    style_file: Path | None = option(None, "A style.", path=True)


@command(SourceOptions, ChartOptions, NewLook)
def draw_it(options: Any) -> None:
    """Draw it."""
    seen.append(options)
    print(options.text, options.models)


def invoke(*arguments: str) -> str:
    app = typer.Typer(add_completion=False)
    app.command()(draw_it)
    found = CliRunner().invoke(app, arguments, terminal_width=200, catch_exceptions=False)
    return found.output


NEW = ["--y-title=Mass", "--bare", "--dpi=300", "--colour=a=red", "--colour=b=blue"]


def test_a_new_field_is_an_option_with_its_help() -> None:
    shown = invoke("--help")
    for words in ("--y-title", "A title of the axis.", "--bare", "CLASS=COLOUR"):
        assert words in shown
    assert "[default: 288]" in shown
    assert "x>=72" in shown
    assert "# ('m', 'n')" in invoke("m", "n", "--text", "#", *NEW)
    given = {"y_title": "Mass", "bare": True, "dpi": 300, "colour": ("a=red", "b=blue")}
    assert vars(seen[-1]).items() >= vars(NewLook(**given)).items()
    assert seen[-1].keywords() == given
    assert "equal to 72" in invoke("m", "--dpi", "71")


def test_a_new_field_stands_in_study_files_both_ways(tmp_path: Path) -> None:
    invoke("m", "--text", "#", *NEW)
    options = seen[-1]
    files = study_files(options, [Prompt.from_text("#")])
    assert tomllib.loads(files[STUDY]) == {
        "command": "draw-it",
        "models": ["m"],
        "data": "prompts.jsonl",
        "y-title": "Mass",
        "bare": True,
        "dpi": 300,
        "colour": ["a=red", "b=blue"],
    }
    path = tmp_path / STUDY
    path.write_text(files[STUDY] + 'style-file = "s.json"\n')
    found, again = read_study(path, {"draw-it": draw_it})
    assert found is draw_it
    changed = {"style_file": tmp_path / "s.json", "text": None, "data": str(tmp_path / PROMPTS)}
    assert vars(again) == vars(options.having(**changed))
    path.write_text("command = 'draw-it'\nmodels = ['m']\ndpi = 71\n")
    with pytest.raises(SelectionError, match="dpi is 71"):
        read_study(path, {"draw-it": draw_it})


def test_the_command_line_can_be_typed_again() -> None:
    invoke("m", "--text", "two words", *NEW, "--title", "--odd")
    options = seen[-1]
    program, name, *words = shlex.split(options.line())
    assert (program, name, words[0]) == ("mindshare", "draw-it", "m")
    invoke(*words)
    assert vars(seen[-1]) == vars(options)


def test_a_model_named_like_an_option_is_none_when_typed_again() -> None:
    invoke("--text", "a", "--", "m", "--bare")
    assert seen[-1].line() == "mindshare draw-it --text a -- m --bare"


def test_the_line_leaves_out_what_decides_no_number() -> None:
    apart = {"out": Path("x"), "quiet": True}
    line = asked("shares", text="a", trust_remote_code=True, **apart).line()
    assert line == "mindshare shares m --text a --trust-remote-code"


# Study files.


def read(folder: Path, text: str) -> dict[str, Any]:
    """The values of all options by name."""
    path = folder / STUDY
    path.write_text(text, encoding="utf-8")
    _, options = read_study(path, RUNNABLE)
    return vars(options)


def asked(name: str, **values: Any) -> Group:
    return RUNNABLE[name].kind(models=("m",), **values)


def test_only_what_was_asked_for_is_written(tmp_path: Path) -> None:
    classes = ("hash=#", 'say="hi"', "odd=\x7f\n\\")
    chosen = {"class_": classes, "layers": "0,5", "dtype": "float32", "width": "page"}
    apart = {"quiet": True, "out": Path("x"), "trust_remote_code": True}
    files = study_files(asked("shares", **chosen, **apart), [Prompt.from_text("a # b")])
    assert tomllib.loads(files[STUDY]) == {
        "command": "shares",
        "models": ["m"],
        "class": list(classes),
        "layers": "0,5",
        "width": "page",
        "data": PROMPTS,
    }
    again = read(tmp_path, files[STUDY])
    assert {name: again[name] for name in chosen} == chosen
    assert not again["trust_remote_code"]


def test_prompts_come_back_as_they_were(tmp_path: Path) -> None:
    prompts = [
        Prompt.from_text("one\n<<map>>#<</map>>", marked=True, id="one"),
        Prompt.from_chat([{"role": "user", "content": "Ünïcode 🙂"}], {"x": (0, 0, 3)}),
    ]
    path = tmp_path / PROMPTS
    path.write_text("".join(study_files(asked("insert"), prompts)[PROMPTS]), encoding="utf-8")
    assert list(DataSource(path).open()) == prompts


def test_a_file_says_what_a_command_line_can(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        command = "insert"
        models = ["smollm2", "Tuned=smollm2-phys"]
        data = "rows.jsonl"
        insert = ["/ *10,25", "he *5"]
        at = "end"
        layers = [0, 5]
        top = 2
        drop-first = true
        count-first = false
        near = -1
        """,
    )
    expected = {
        "models": ("smollm2", "Tuned=smollm2-phys"),
        "data": str(tmp_path / "rows.jsonl"),
        "insert": ("/ *10,25", "he *5"),
        "at": ("end",),
        "layers": "0,5",
        "top": 2,
        "drop_first": True,
        "count_first": False,
        "near": -1,
        "by": "divergence",
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("where", ["-", "hf:owner/name:test"])
def test_what_is_no_path_stays(tmp_path: Path, where: str) -> None:
    text = f"command = 'measure'\nmodel = 'm'\ndata = '{where}'\nlayers = 3"
    found = read(tmp_path, text)
    assert (found["data"], found["layers"]) == (where, "3")


@pytest.mark.parametrize(
    "line",
    ["models = ['tiny', '--replace']", "models = ['tiny']\ntitle = '--replace'"],
)
def test_a_value_is_never_an_option(tmp_path: Path, line: str) -> None:
    found = read(tmp_path, f"command = 'shares'\n{line}\nclass = ['--quiet', '--out=/']")
    assert found["class_"] == ("--quiet", "--out=/")
    assert "--replace" in (*found["models"], found["title"])
    assert (found["replace"], found["quiet"], found["out"]) == (False, False, None)


@pytest.mark.parametrize("value", ["true", "false", "'yes'"])
def test_trust_is_not_given_by_a_file(tmp_path: Path, value: str) -> None:
    with pytest.raises(SelectionError, match="trust is given on the command line only") as refused:
        read(tmp_path, f"command = 'measure'\nmodel = 'm'\ntrust-remote-code = {value}")
    assert "field trust-remote-code" in str(refused.value)
    assert "--trust-remote-code" in str(refused.value.next_step)


SHARES = "command = 'shares'\nmodels = ['m']\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = ['m']", ["there is no command", "field command", "shares"]),
        ("comand = 'shares'", ["there is no command", "'comand'"]),
        ("command = 'share'", ["'share'; did you mean 'shares'"]),
        ("command = ['shares']", ["['shares']", "measure, shares"]),
        ("command = 'shares'", ["needs the field models", 'models = ["smollm2"]']),
        (SHARES + "layer = 3", ["no field 'layer'", "'layers'", "field layer"]),
        (SHARES + "out = 'x'", ["no field 'out'"]),
        (SHARES + "replace = true", ["no field 'replace'"]),
        (SHARES + "save-study = 'x'", ["no field 'save-study'"]),
        (SHARES + "marked = 'yes'", ["marked is 'yes'", "field marked", "true or false"]),
        (SHARES + "class = {hash = '#'}", ["class is {'hash': '#'}", "a text"]),
        (SHARES + "class = [['a']]", ["class is [['a']]", "a text"]),
        (SHARES + "layers = []", ["layers is []"]),
        (SHARES + "layers = true", ["layers is True", "a text or a number"]),
        (SHARES + "limit = 'three'", ["limit is 'three'", "a whole number from 1"]),
        (SHARES + "limit = 0", ["limit is 0", "from 1"]),
        (SHARES + "limit = 2.5", ["limit is 2.5"]),
        (SHARES + "limit = true", ["limit is True"]),
        (SHARES + "limit = [1, 2]", ["limit is [1, 2]"]),
        (SHARES + "data = ['a', 'b']", ["data is ['a', 'b']", "a text"]),
        (SHARES + "file = ['a']", ["file is ['a']", "a path"]),
        (SHARES + "sample-seed = -1", ["sample-seed is -1", "from 0"]),
        ("command = 'shares'\nmodels = [1]", ["models is [1]", "as texts"]),
        ("command =", ["this is not TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_its_field(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(SelectionError) as refused:
        read(tmp_path, text)
    for word in (STUDY, *words):
        assert word in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="can't be read"):
        read_study(tmp_path / "no.toml", RUNNABLE)
