"""The recipes as commands, on little data."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.cli import run_command
from mindshare_recipes.cli import command


def recipes(*arguments: object) -> int:
    return run_command(command, [str(a) for a in arguments], name="mindshare-recipes")


def test_data_are_written_and_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("building-blocks", "data", "--out", tmp_path / "maps", "--n", 18, "--n-test", 9)
    assert recipes(*asked) == 0
    assert len((tmp_path / "maps" / "train.jsonl").read_text().splitlines()) == 18
    assert len((tmp_path / "maps" / "test.jsonl").read_text().splitlines()) == 9
    capsys.readouterr()
    assert recipes(*asked) == 2
    assert "exists already" in capsys.readouterr().err


def test_too_many_samples_are_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert recipes("building-blocks", "data", "--out", tmp_path / "m", "--n", 999_999) == 2
    assert "no 999,999 train samples" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_an_unknown_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert recipes("building-blocks", "accuracy", "no/such-model", "--n", 9) == 2
    assert "no/such-model" in capsys.readouterr().err


def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    recipes("building-blocks", "--help")
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("data", "train", "accuracy", "card", "study"))
