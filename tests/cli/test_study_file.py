"""Study files: what a command was asked for, written and read again."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mindshare.cli.app import command
from mindshare.cli.study_file import PROMPTS, STUDY, read_study, study_files
from mindshare.errors import SelectionError
from mindshare.prompts import Prompt, read_data


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    found: dict[str, Any] = command().commands
    return found


def written(folder: Path, text: str) -> Path:
    path = folder / STUDY
    path.write_text(text, encoding="utf-8")
    return path


def test_only_what_was_asked_for_is_written(commands: dict[str, Any]) -> None:
    values = {
        "models": ["smollm2"],
        "class_": ["hash=#", 'say="hi"'],
        "layers": "0,5",
        "quiet": True,
    }
    files = study_files(commands["shares"], values, [Prompt.from_text("a # b")])
    assert tomllib.loads(files[STUDY]) == {
        "command": "shares",
        "models": ["smollm2"],
        "class": ["hash=#", 'say="hi"'],
        "layers": "0,5",
        "data": PROMPTS,
    }


def test_prompts_come_back_as_they_were(commands: dict[str, Any], tmp_path: Path) -> None:
    prompts = [
        Prompt.from_text("one\n<<map>>#<</map>>", marked=True, id="one"),
        Prompt.from_chat([{"role": "user", "content": "Ünïcode 🙂"}], {"x": (0, 0, 3)}),
    ]
    files = study_files(commands["insert"], {}, prompts)
    path = tmp_path / PROMPTS
    path.write_text(files[PROMPTS], encoding="utf-8")
    assert list(read_data(path)) == prompts


def test_a_file_is_the_command_line_it_stands_for(commands: dict[str, Any], tmp_path: Path) -> None:
    text = """
    command = "insert"
    models = ["smollm2", "Tuned=smollm2-phys"]
    data = "rows.jsonl"
    insert = ["/ *10,25", "he *5"]
    layers = [0, 5]
    top = 2
    drop-first = true
    count-first = false
    """
    arguments = read_study(written(tmp_path, text), commands)
    assert arguments == [
        *("insert", "smollm2", "Tuned=smollm2-phys", "--data", str(tmp_path / "rows.jsonl")),
        *("--insert", "/ *10,25", "--insert", "he *5", "--layers", "0,5", "--top", "2"),
        "--drop-first",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = ['m']", ["there is no command", "field command", "shares"]),
        ("comand = 'shares'", ["there is no command; did you mean it by 'comand'?"]),
        ("command = 'share'", ["'share'; did you mean 'shares'"]),
        (
            "command = 'shares'\nlayer = 3",
            ["no field 'layer'; did you mean 'layers'", "field layer"],
        ),
        ("command = 'shares'\nout = 'x'", ["no field 'out'"]),
        ("command = 'insert'\ndrop-first = 'yes'", ["drop-first is 'yes'", "true or false"]),
        ("command = 'shares'\nclass = {hash = '#'}", ["class is {'hash': '#'}", "a text"]),
        ("command = 'shares'\nlayers = []", ["layers is []"]),
        ("command =", ["this is not TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_its_field(
    commands: dict[str, Any], tmp_path: Path, text: str, words: list[str]
) -> None:
    with pytest.raises(SelectionError) as refused:
        read_study(written(tmp_path, text), commands)
    message = str(refused.value)
    assert STUDY in message
    for word in words:
        assert word in message


def test_a_file_that_is_not_there(commands: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="can't be read"):
        read_study(tmp_path / "no.toml", commands)


def test_rows_are_json_lines(commands: dict[str, Any]) -> None:
    files = study_files(commands["measure"], {}, [Prompt.from_text("a"), Prompt.from_text("b")])
    assert [json.loads(line)["text"] for line in files[PROMPTS].splitlines()] == ["a", "b"]
