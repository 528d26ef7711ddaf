from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mindshare.errors import OutputError, SelectionError
from mindshare.figures import ClassBarsOptions, class_bars, redraw, save_figures
from mindshare.folders import read_folder

from .samples import reading


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    figure = class_bars(reading(), ClassBarsOptions(name="bars", label={"star": "Star"}))
    return save_figures([figure], tmp_path / "r", tables={"summary": reading()})


def svg(folder: Path) -> str:
    return (folder / "bars.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "inches"), [("8.5cm", 8.5 / 2.54), ("17cm", 17 / 2.54)])
@pytest.mark.parametrize("points", [7.0, 9.0])
def test_a_picture_is_as_wide_as_promised(
    saved: Path, width: str, inches: float, points: float
) -> None:
    redraw(saved, {"width": width, "font_size": points})
    assert float(re.search(r'width="([\d.]+)in"', svg(saved))[1]) == pytest.approx(inches, rel=1e-4)
    page = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", (saved / "bars.pdf").read_bytes())
    assert float(page[1]) == pytest.approx(72 * inches, rel=1e-4)


def test_words_and_colours_are_set_afterwards(saved: Path) -> None:
    style = {"title": "", "y_title": "Total Attention (Sum)", "colour": {"hash": "#123456"}}
    (figure,) = redraw(saved, style | {"label": {"hash": "# (Hash)"}})
    for word in ("Total Attention (Sum)", "# (Hash)", "#123456", ">Star<"):
        assert word in svg(saved), word
    assert f">{figure.title}</text>" not in svg(saved)
    redraw(saved, {"bare": True})  # what was set before stays
    assert "# (Hash)" in svg(saved)
    assert "subtitle" not in svg(saved)


def test_words_that_are_asked_for_later_are_shown(saved: Path) -> None:
    redraw(saved, {"bare": True, "title": "Mine"})
    assert ">Mine</text>" not in svg(saved)
    redraw(saved, {"title": "Yours"})
    assert ">Yours</text>" in svg(saved)


def test_formats_are_added(saved: Path) -> None:
    redraw(saved, {}, formats=["json"])
    assert (saved / "bars.json").is_file()
    assert read_folder(saved)[1]["figures"]["bars"]["files"][-1] == "bars.json"


@pytest.mark.parametrize(
    ("style", "what"),
    [
        ({"label": {"hsh": "x"}}, "did you mean 'hash'"),
        ({"colour": {"hash": "red"}}, "is no colour"),
        ({"width": "8.5furlongs"}, "unknown width"),
        ({"font_size": 3}, "text of 3 pt"),
        ({"width": "3cm", "font_size": 20}, "does not go with"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_touched(saved: Path, style: dict, what: str) -> None:
    before = svg(saved)
    with pytest.raises(SelectionError, match=what):
        redraw(saved, style)
    assert svg(saved) == before


def test_figures_without_their_source_are_refused(saved: Path) -> None:
    manifest = (saved / "manifest.json").read_text(encoding="utf-8").replace("class_bars", "pie")
    (saved / "manifest.json").write_text(manifest, encoding="utf-8")
    with pytest.raises(OutputError, match="without what they were drawn of"):
        redraw(saved, {"bare": True})


def test_no_model_is_needed(saved: Path) -> None:
    code = "import sys; from mindshare.figures import redraw\n"
    code += f"redraw({str(saved)!r}, {{'bare': True}}); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
