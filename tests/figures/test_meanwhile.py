"""Figures that a second process draws are the same, and its mistakes are not lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.figures import ClassBarsOptions, class_bars, save_figures
from mindshare.figures.meanwhile import drawing_meanwhile, helper_at_hand
from mindshare.folders import read_folder

from .samples import reading


def test_a_helper_draws_the_same_bytes_in_a_process_of_its_own(tmp_path: Path) -> None:
    figure = class_bars(reading(), ClassBarsOptions(name="bars"))
    here = save_figures([figure], tmp_path / "here", tables={"summary": reading()})
    with drawing_meanwhile() as helper:
        there = save_figures([figure], tmp_path / "there", tables={"summary": reading()})
        assert helper.ask(os.getpid).result() != os.getpid()
    assert sorted(p.name for p in there.iterdir()) == sorted(p.name for p in here.iterdir())
    for file in here.iterdir():
        if file.suffix != ".pdf":
            assert (there / file.name).read_bytes() == file.read_bytes(), file.name
    assert helper_at_hand() is None


def test_what_goes_wrong_in_the_helper_is_told(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    with (
        pytest.raises(OutputError, match="not a folder of mindshare results") as caught,
        drawing_meanwhile(),
    ):
        save_figures([], precious, replace=True)
    assert caught.value.next_step == "choose another folder"
    assert helper_at_hand() is None


def test_names_are_refused_at_once(tmp_path: Path) -> None:
    figure = class_bars(reading(), ClassBarsOptions(name="bars"))
    with drawing_meanwhile(), pytest.raises(OutputError, match="can't both be called"):
        save_figures([figure, figure], tmp_path / "x")


def test_without_semaphores_a_thread_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("mindshare.figures.meanwhile.ProcessPoolExecutor", refuse)
    with drawing_meanwhile():
        folder = save_figures([], tmp_path / "r", manifest={"n": 1})
    assert read_folder(folder)[1]["n"] == 1
