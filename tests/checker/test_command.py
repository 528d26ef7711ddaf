"""`mindshare check-description`: what it prints, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import typer

from mindshare.cli import run_command
from mindshare_checker.command import check_description
from tests.checker.readings import TEXTS
from tests.figures.samples import reading


def run(arguments: list[str]) -> int:
    """As `mindshare` does, whatever entry points are installed."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command("check-description")(check_description)
    return run_command(lambda: typer.main.get_command(app), arguments, name="mindshare")


@pytest.fixture
def table(tmp_path: Path) -> str:
    pq.write_table(reading(), tmp_path / "table.parquet")
    return str(tmp_path / "table.parquet")


def written(folder: Path, text: str, name: str = "text.txt") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    ("text", "code", "last"),
    [
        ("Layer 0, Qwen-Phys: hash 0.026.", 0, "1 statement holds, 0 do not hold, 0 could not be"),
        ("Layer 0, Qwen-Phys: hash 0.030.", 1, "0 statements hold, 1 does not hold, 0 could not"),
        ("Layer 0: hash 0.026.", 3, "Nothing could be compared: no statement could be read."),
        ("No numbers here.", 3, "Nothing could be compared: no statement could be read."),
    ],
)
def test_exit_codes_and_the_count(
    tmp_path: Path, table: str, capsys: pytest.CaptureFixture[str], text: str, code: int, last: str
) -> None:
    assert run(["check-description", written(tmp_path, text), table]) == code
    out = " ".join(capsys.readouterr().out.split())
    assert last in out
    assert "could not be read." in out


def test_texts_against_one_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path, text, f"{name}.txt") for name, text in TEXTS.items()]
    assert run(["check-description", *files]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "layer 0, Qwen-Instruct, hash: ~0.032" in out
    assert "numbers contradict one another" in out
    same = written(tmp_path, TEXTS["first"], "same.txt")
    assert run(["check-description", files[0], same]) == 0
    bare = [written(tmp_path, "Nothing.", f"{i}.txt") for i in range(2)]
    assert run(["check-description", *bare]) == 3


def test_mistakes_are_said_in_words(
    tmp_path: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = written(tmp_path, " \n", "empty.txt")
    for arguments, words in (
        ([empty, table], "is empty"),
        ([str(tmp_path / "none.txt"), table], "can't be read"),
        ([written(tmp_path, "x 0.5"), str(tmp_path)], "not a folder of mindshare results"),
        ([table], "0 texts and 1 tables"),
    ):
        assert run(["check-description", *arguments]) == 2
        assert words in " ".join(capsys.readouterr().err.split())


def test_help_states_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check-description", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Exit codes: 0 all that could be compared holds; 1 something does not hold" in out
    assert "3 nothing could be compared" in out
