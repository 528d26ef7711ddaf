"""Folders of results are read whole; anything else is refused with the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.folders import write_folder
from mindshare.report.saved import Saved, read_saved


def test_both_kinds_are_told_apart(saved: dict[str, Saved]) -> None:
    assert saved["shares"].kind == saved["single"].kind == "classes"
    assert saved["insert"].kind == "insertion"
    assert list(saved["shares"].models) == ["Base", "Tuned"]


def test_a_figure_knows_its_size_and_its_numbers(saved: dict[str, Saved]) -> None:
    figure = saved["shares"].figures[0]
    width, height = figure.size
    assert 250 < width < 400
    assert 150 < height < 900
    assert figure.table().num_rows > 0
    assert figure.spec["$schema"].endswith("v6.json")


def test_tables_of_a_model_are_found_by_its_label(saved: dict[str, Saved]) -> None:
    tokens = saved["shares"].own("tokens", "Tuned")
    assert tokens is not None
    assert tokens.equals(saved["shares"].tables["tokens_Tuned"])
    assert saved["insert"].own("places", "Base") is not None
    assert saved["insert"].own("nothing", "Base") is None


def test_figures_of_an_insertion_stand_in_reading_order(saved: dict[str, Saved]) -> None:
    names = [figure.name for figure in saved["insert"].figures]
    assert names[0] == "text"
    assert names.index("profiles_top") < names.index("map_amplitude")
    assert names[-1] == "retained_by_layer"


def test_the_study_travels_along(saved: dict[str, Saved]) -> None:
    assert saved["shares"].study is not None
    assert saved["shares"].study.startswith('command = "shares"')
    assert saved["shares"].prompts is not None
    assert saved["shares"].prompts.count("\n") == 2


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _: None, "does not exist"),
        (lambda p: p.write_text("x"), "is not a folder"),
        (lambda p: p.mkdir(), "there is no manifest.json"),
        (lambda p: _manifest(p, "no JSON"), "is not a folder of mindshare results"),
        (lambda p: _manifest(p, '{"tables": [], "report": {}}'), "is a report, not results"),
        (lambda p: _manifest(p, '{"tables": []}'), "no report can be made of"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, make: object, reason: str) -> None:
    path = tmp_path / "x"
    make(path)  # type: ignore[operator]
    with pytest.raises(OutputError, match=reason) as caught:
        read_saved(path)
    assert caught.value.next_step


def test_tables_of_measure_are_told_from_charts(tmp_path: Path, saved: dict[str, Saved]) -> None:
    write_folder(
        tmp_path / "x", {"mass": saved["single"].tables["mass_Base"]}, {"tables": ["mass"]}
    )
    with pytest.raises(OutputError, match="holds the tables of `mindshare measure`") as caught:
        read_saved(tmp_path / "x")
    assert "mindshare shares" in str(caught.value.next_step)


def _manifest(path: Path, text: str) -> None:
    path.mkdir()
    (path / "manifest.json").write_text(text)


@pytest.mark.parametrize("ending", ["json", "png", "svg", "csv", "parquet"])
def test_a_missing_file_is_named(results: dict[str, Path], tmp_path: Path, ending: str) -> None:
    folder = shutil.copytree(results["single"], tmp_path / "copy")
    name = next(iter(json.loads((folder / "manifest.json").read_text())["figures"]))
    (folder / f"{name}.{ending}").unlink()
    with pytest.raises(OutputError, match=rf"{name}\.{ending}"):
        read_saved(folder)


def test_a_broken_file_is_named(results: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(results["single"], tmp_path / "copy")
    figure = read_saved(folder).figures[0]
    figure.file("png").write_bytes(b"not a picture")
    figure.file("parquet").write_bytes(b"not a table")
    with pytest.raises(OutputError, match="is not a PNG"):
        _ = figure.size
    with pytest.raises(OutputError, match=rf"{figure.name}\.parquet"):
        figure.table()
