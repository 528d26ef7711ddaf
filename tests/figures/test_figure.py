from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from mindshare.errors import OutputError
from mindshare.figures import ClassBarsOptions, Figure, class_bars, head_map, save_figures
from mindshare.figures.figure import FILES, FORMATS
from mindshare.figures.saving import _background, drawing_in_background
from mindshare.folders import read_folder

from .drawing import png_size
from .samples import contrasted, reading


@pytest.fixture(scope="module")
def figure() -> Figure:
    return class_bars(reading(), ClassBarsOptions(name="bars"))


@pytest.fixture(scope="module")
def saved(figure: Figure, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return figure.save(
        tmp_path_factory.mktemp("out") / "one", manifest={"made_by": "a test"}, formats=FILES
    )


def test_every_file_is_there(saved: Path) -> None:
    names = {f"bars.{ending}" for ending in FILES} | {"manifest.json", "bars_summary.parquet"}
    assert {file.name for file in saved.iterdir()} == names
    assert min(file.stat().st_size for file in saved.iterdir()) > 500


def test_the_pictures_are_pictures(saved: Path) -> None:
    width, height = png_size((saved / "bars.png").read_bytes())
    assert 900 < width < 1_050  # 3.4 inches at 288 pixels an inch
    assert height > 800
    assert (saved / "bars.pdf").read_bytes().startswith(b"%PDF-")
    svg = (saved / "bars.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    for word in ("hash", "star", "space", "Qwen-Phys", "Layer 16", "<desc>Stacked bars"):
        assert word in svg, word


def test_the_numbers_are_beside_the_picture(saved: Path, figure: Figure) -> None:
    assert pq.read_table(saved / "bars.parquet").equals(figure.table)
    means = csv.read_csv(saved / "bars.csv")["mean"].to_pylist()
    assert means == figure.table["mean"].to_pylist()
    assert json.loads((saved / "bars.json").read_text(encoding="utf-8")) == figure.spec


def test_the_page_loads_nothing_from_outside(saved: Path) -> None:
    page = (saved / "bars.html").read_text(encoding="utf-8")
    found: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda _, attrs: found.extend(name for name, _ in attrs)  # type: ignore[method-assign]
    parser.feed(page)
    assert {"src", "href", "xlink:href", "srcset"}.isdisjoint(found)
    assert "@import" not in page
    assert "vegaEmbed" in page


def test_the_manifest_says_what_is_there(saved: Path, figure: Figure) -> None:
    tables, manifest = read_folder(saved)
    assert not list(tables)
    assert list(read_folder(saved, of_figures=True)[0]) == ["bars_summary"]  # what it is drawn of
    assert manifest["made_by"] == "a test"
    assert manifest["figures"]["bars"]["definition"] == figure.definition
    assert manifest["figures"]["bars"]["description"] == figure.description


def test_the_same_figure_gives_the_same_bytes(saved: Path, figure: Figure, tmp_path: Path) -> None:
    again = figure.save(tmp_path / "again", formats=FILES)
    for ending in set(FILES) - {"pdf"}:  # the order of a PDF's fonts is its writer's secret
        name = f"bars.{ending}"
        assert (again / name).read_bytes() == (saved / name).read_bytes(), name


def test_several_figures_share_a_folder_with_their_tables(figure: Figure, tmp_path: Path) -> None:
    other = head_map(contrasted(4, 3), "star")
    folder = save_figures([figure, other], tmp_path / "two", tables={"summary": reading()})
    files = {file.name for file in folder.iterdir()}
    assert {f"{one.name}.{ending}" for one in (figure, other) for ending in FORMATS} <= files
    assert not any(name.endswith((".html", ".json")) for name in files - {"manifest.json"})
    assert read_folder(folder)[0]["summary"].equals(reading())


def test_names_that_meet_are_refused(figure: Figure, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="can't both be called 'bars'"):
        save_figures([figure, figure], tmp_path / "x")
    with pytest.raises(OutputError, match="can't both be called 'bars'"):
        save_figures([figure], tmp_path / "x", tables={"bars": reading()})
    assert not (tmp_path / "x").exists()


def test_what_exists_is_replaced_only_when_asked(figure: Figure, tmp_path: Path) -> None:
    folder = save_figures([], tmp_path / "r", manifest={"n": 1})
    with pytest.raises(OutputError, match="exists already"):
        figure.save(folder)
    save_figures([], folder, manifest={"n": 2}, replace=True)
    assert read_folder(folder)[1]["n"] == 2
    precious = tmp_path / "precious"
    precious.mkdir()
    with pytest.raises(OutputError, match="not a folder of mindshare results"):
        save_figures([], precious, replace=True)


@pytest.mark.parametrize("name", ["one.pdf", "one.svg", "one.PNG"])
def test_a_folder_is_not_named_as_a_picture(figure: Figure, tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="named as a file, and results are a folder"):
        figure.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_nothing_behind(
    figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mindshare.figures.render.Drawn.pdf", full)
    with pytest.raises(OutputError, match="No space left on device"):
        figure.save(tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "two words"])
def test_a_name_must_be_a_file_name(figure: Figure, name: str) -> None:
    with pytest.raises(OutputError, match="can't be the name of files"):
        Figure(name, figure.spec, figure.table, "t", "d", "d")


def test_notebooks_and_altair_get_the_same_chart(figure: Figure) -> None:
    shown = figure._repr_mimebundle_(include=None)
    assert shown["application/vnd.vegalite.v6+json"] == figure.spec
    assert shown["image/svg+xml"].startswith("<svg")
    assert figure.description in shown["text/plain"]
    assert figure.to_altair().to_dict()["description"] == figure.description


# In a second process.


def test_a_helper_draws_the_same_bytes_in_a_process_of_its_own(tmp_path: Path) -> None:
    figure = class_bars(reading(), ClassBarsOptions(name="bars"))
    here = save_figures([figure], tmp_path / "here", tables={"summary": reading()})
    with drawing_in_background() as process:
        there = save_figures([figure], tmp_path / "there", tables={"summary": reading()})
        assert process.submit(os.getpid).result() != os.getpid()
    assert sorted(p.name for p in there.iterdir()) == sorted(p.name for p in here.iterdir())
    for file in here.iterdir():
        if file.suffix != ".pdf":
            assert (there / file.name).read_bytes() == file.read_bytes(), file.name
    assert _background.get() is None


def test_what_goes_wrong_in_the_helper_is_told(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    with (
        pytest.raises(OutputError, match="not a folder of mindshare results") as caught,
        drawing_in_background(),
    ):
        save_figures([], precious, replace=True)
    assert caught.value.next_step == "choose another folder"
    assert _background.get() is None


def test_names_are_refused_at_once(tmp_path: Path) -> None:
    figure = class_bars(reading(), ClassBarsOptions(name="bars"))
    with drawing_in_background(), pytest.raises(OutputError, match="can't both be called"):
        save_figures([figure, figure], tmp_path / "x")


def test_without_semaphores_a_thread_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("mindshare.figures.saving.ProcessPoolExecutor", refuse)
    with drawing_in_background():
        folder = save_figures([], tmp_path / "r", manifest={"n": 1})
    assert read_folder(folder)[1]["n"] == 1
