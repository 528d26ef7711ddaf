"""What stands in for a picture: the generated description where there is one, short and whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mindshare.figures import ClassBarsOptions, class_bars, save_figures
from mindshare.report.alternative import alternative, shortened
from mindshare.report.describing import describe
from mindshare.report.saved import Saved, SavedFigure

from .describing.made import Made, class_tables


def _told(folder: Path, tables: dict, layers: tuple[int, ...]) -> str:
    drawn = class_bars(tables["summary"], ClassBarsOptions(name="bars", layers=layers))
    save_figures([drawn], folder, tables=tables)
    words = (drawn.title, drawn.definition, drawn.description)
    figure = SavedFigure("bars", *words, spec=drawn.spec, folder=folder)
    return alternative(Saved(folder, "classes", {}, tables, (figure,), None, None), figure)


def test_bars_are_told_by_their_largest_difference(tmp_path: Path) -> None:
    tables = class_tables(Made(effect={"star": 0.2}, prompts=12))
    text = _told(tmp_path / "all", tables, (0, 1, 2, 3))
    assert text.startswith("Stacked bars: Mass of 3 token classes (hash, star and space) in 4")
    assert "Tuned minus Base, star: more in" in text
    assert len(text) <= 300
    assert text.removeprefix("Stacked bars: ") in describe(tables, kind="classes").short


def test_only_what_is_drawn_is_told(tmp_path: Path) -> None:
    tables = class_tables(Made(effect={"star": 0.2}, prompts=12))
    text = _told(tmp_path / "two", tables, (1, 2))
    assert "2 layers (1 and 2)" in text
    assert "layer 0" not in text
    assert "layer 3" not in text


def test_without_intervals_a_chart_speaks_for_itself(tmp_path: Path) -> None:
    text = _told(tmp_path / "one", class_tables(Made(prompts=1)), (0, 1))
    assert text.startswith("Stacked bars of 2 models (Base and Tuned), over 1 prompt.")
    assert "highest total" in text


def test_other_charts_speak_for_themselves(saved: dict[str, Saved]) -> None:
    for figure in saved["insert"].figures:
        assert alternative(saved["insert"], figure) == shortened(figure.description, 300)
    long = replace(saved["insert"].figures[0], description="word " * 100)
    assert len(alternative(saved["insert"], long)) <= 300


def test_long_words_are_cut_at_sentences() -> None:
    assert shortened("One is 0.5. Two is 0.6. Three.", 24) == "One is 0.5. Two is 0.6."
    assert shortened("short", 24) == "short"
    assert shortened("a long sentence without an end", 12) == "a long…"
