"""Folders of results are read whole; anything else, and what leads outside, is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.figures import redraw
from mindshare.folders import write_folder
from mindshare.report import write_report
from mindshare.report.saved import SavedResults, read_saved, shortened
from mindshare_checker import read_tables


@pytest.fixture
def copy(results: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(results["single"], tmp_path / "copy"))


def changed(folder: Path, **fields: object) -> Path:
    """The folder with other fields in its manifest."""
    file = folder / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))
    return folder


def test_both_kinds_are_told_apart(saved: dict[str, SavedResults]) -> None:
    assert saved["shares"].kind == saved["single"].kind == "classes"
    assert saved["insert"].kind == "insertion"
    assert list(saved["shares"].models) == ["Base", "Tuned"]
    assert [one.n_prompts for one in saved.values()] == [2, 1, 2]
    assert saved["single"].date == date.today()


def test_a_figure_knows_its_size_and_its_numbers(saved: dict[str, SavedResults]) -> None:
    figure = saved["shares"].figures[0]
    width, height = figure.size
    assert 250 < width < 400
    assert 150 < height < 900
    assert figure.numbers.num_rows > 0
    assert figure.spec["$schema"].endswith("v6.json")


def test_maps_are_told_from_other_charts(saved: dict[str, SavedResults]) -> None:
    maps = {figure.name for figure in saved["insert"].figures if figure.is_map}
    assert maps == {f.name for f in saved["insert"].figures if f.name.startswith("map_")}
    assert not saved["shares"].figures[0].is_map


def test_tables_of_a_model_are_found_by_its_label(saved: dict[str, SavedResults]) -> None:
    tokens = saved["shares"].model_table("tokens", "Tuned")
    assert tokens is not None
    assert tokens.equals(saved["shares"].tables["tokens_Tuned"])
    assert saved["insert"].model_table("places", "Base") is not None
    assert saved["insert"].model_table("nothing", "Base") is None


def test_figures_stand_in_the_order_of_the_study(
    saved: dict[str, SavedResults], results: dict[str, Path]
) -> None:
    names = [figure.name for figure in saved["insert"].figures]
    known = json.loads((results["insert"] / "manifest.json").read_text())
    assert names == known["figure_order"] != sorted(names)
    assert names[0] == "profiles_top"


def test_an_order_that_names_other_figures_loses_none(copy: Path) -> None:
    assert [f.name for f in read_saved(changed(copy, figure_order=["x"])).figures] == [
        "class_bars_mass"
    ]


def test_a_folder_of_an_earlier_version_is_read(copy: Path, tmp_path: Path) -> None:
    """Those kept the spec and the table of each figure, and not what it was drawn of."""
    now = read_saved(copy)
    redraw(copy, {}, formats=["json", "parquet"])
    known = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    for entry in known["figures"].values():
        del entry["drawn"], entry["tables"]
    for name in known.pop("figure_tables"):
        (copy / f"{name}.parquet").unlink()
    (copy / "manifest.json").write_text(json.dumps(known), encoding="utf-8")
    earlier = read_saved(copy)
    assert [one.spec for one in earlier.figures] == [one.spec for one in now.figures]
    assert earlier.figures[0].numbers.equals(now.figures[0].numbers)
    assert write_report([copy], tmp_path / "report")
    assert set(read_tables(copy)) == set(now.tables)


def test_the_study_travels_along(saved: dict[str, SavedResults]) -> None:
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
        (lambda p: _manifest(p, "no JSON"), "are damaged or not complete"),
        (lambda p: _manifest(p, '{"tables": [], "report": {}}'), "is a report, not results"),
        (lambda p: _manifest(p, '{"tables": []}'), "no report can be made of"),
    ],
)
def test_anything_else_is_refused(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "x"
    make(path)
    with pytest.raises(OutputError, match=reason) as caught:
        read_saved(path)
    assert caught.value.next_step


def _manifest(path: Path, text: str) -> None:
    path.mkdir()
    (path / "manifest.json").write_text(text)


def test_tables_of_measure_are_told_from_charts(
    tmp_path: Path, saved: dict[str, SavedResults]
) -> None:
    tables = {"mass": saved["single"].tables["mass_Base"]}
    write_folder(tmp_path / "x", tables, {"tables": ["mass"]})
    with pytest.raises(OutputError, match="holds the tables of `mindshare measure`") as caught:
        read_saved(tmp_path / "x")
    assert "mindshare shares" in str(caught.value.next_step)


@pytest.mark.parametrize("ending", ["png", "svg", "csv"])
def test_a_missing_file_is_named(copy: Path, ending: str) -> None:
    (copy / f"class_bars_mass.{ending}").unlink()
    with pytest.raises(OutputError, match=rf"class_bars_mass\.{ending}"):
        read_saved(copy)


@pytest.mark.parametrize("ending", ["class_bars_mass.png"])
def test_a_broken_file_is_named(copy: Path, ending: str) -> None:
    (copy / ending).write_bytes(b"not a picture, nor a table")
    with pytest.raises(OutputError, match=ending):
        read_saved(copy)


@pytest.mark.parametrize("name", ["../other/x", "/etc/passwd", "a/b", ".."])
def test_no_name_leads_outside(copy: Path, name: str) -> None:
    figures = json.loads((copy / "manifest.json").read_text())["figures"]
    words = next(iter(figures.values()))
    with pytest.raises(OutputError, match="leads out of the folder"):
        read_saved(changed(copy, figures={name: words}))
    with pytest.raises(OutputError, match="leads out of the folder"):
        read_saved(changed(copy, tables=[name]))


@pytest.mark.parametrize("name", ["class_bars_mass.csv", "prompts.jsonl", "summary.parquet"])
def test_no_link_leads_outside(copy: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    shutil.move(copy / name, outside)
    (copy / name).symlink_to(outside)
    with pytest.raises(OutputError, match=f"'{name}' leads out of the folder"):
        read_saved(copy)


@pytest.mark.parametrize(
    "inside",
    ['<image href="file:///etc/x.png"/>', "<style>@import url(http://x)</style>",
     "<script>x</script>", '<rect fill="url(http://x)"/>', "<!ENTITY x>",
     '<g xml:base="http://x/"/>', '<rect style="fill:url(http://x)"/>',
     "<?xml-stylesheet href='x'?>",
     "<foreignObject/>", '<use href="#a"/>',
     '<a xmlns:l="http://www.w3.org/1999/xlink" l:href="x"/>',
     '<x:image xmlns:x="http://www.w3.org/2000/svg" x="0"/>', '<rect fill="u\\72l(http://x)"/>',
     '<animate attributeName="href" to="http://x"/>', '<rect onload="x"/>',
     '<rect filter="url(#a)"/>',
     '<rect fill="URL( http://x)"/>', "<svg:g/>"],
)  # fmt: skip
def test_a_picture_that_loads_something_is_refused(copy: Path, inside: str) -> None:
    file = copy / "class_bars_mass.svg"
    file.write_text(file.read_text().replace("</svg>", f"{inside}</svg>"))
    with pytest.raises(OutputError, match=r"class_bars_mass\.svg is not a chart"):
        read_saved(copy)


def test_a_spec_does_not_say_how_it_is_embedded(copy: Path) -> None:
    assert "usermeta" not in read_saved(copy).figures[0].spec


def test_long_words_are_cut_at_sentences_or_words() -> None:
    assert shortened("One is 0.5. Two is 0.6. Three.", 24) == "One is 0.5. Two is 0.6."
    assert shortened("short", 24) == "short"
    assert shortened("a long sentence without an end", 12) == "a long…"
    assert shortened("a, b, c d", 2, by_word=True) == "a, b…"
    assert shortened("", 2, by_word=True) == ""
