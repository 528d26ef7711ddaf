from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Mindshare

CLASSES = ("--class", "hash=#", "--class", "star=*")
TEXT = ("--text", "see ## and ** here")
ENDINGS = ("png", "svg", "pdf", "html", "csv", "parquet", "json")


@pytest.fixture
def data(place: Path) -> Path:
    rows = [{"id": i, "text": text} for i, text in enumerate(["a # b *", "c ## *", "# d **"])]
    path = place / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_one_command_writes_the_chart_and_its_tables(
    mindshare: Mindshare, llama: Path, data: Path, place: Path
) -> None:
    ran = mindshare(
        "shares", llama, f"Same={llama}", "--data", data, *CLASSES, "--layers", "0,2", "--out", "c"
    )
    assert ran.code == 0, ran.err
    files = {file.name for file in (place / "c").iterdir()}
    assert {f"class_bars_mass.{end}" for end in ENDINGS} < files
    assert {"summary.parquet", "Same_minus_tiny-llama.parquet", "manifest.json"} < files
    assert "every difference is exactly 0" in ran.err
    assert "Each bar stacks, from the bottom: hash and star" in ran.out
    assert "Figures and tables: c" in ran.out


def test_the_same_command_names_the_same_folder(
    mindshare: Mindshare, llama: Path, place: Path
) -> None:
    first = mindshare("shares", llama, *TEXT, *CLASSES, "--quiet")
    assert first.code == 0, first.err
    assert (place / first.out.strip() / "manifest.json").is_file()
    again = mindshare("shares", llama, *TEXT, *CLASSES, "--quiet")
    assert again.code == 2
    assert "exists already" in again.err
    assert mindshare("shares", llama, *TEXT, *CLASSES, "--quiet", "--replace").code == 0
    other = mindshare("shares", llama, *TEXT, *CLASSES, "--quiet", "--measure", "lift")
    assert other.code == 0
    assert other.out != first.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--measure", "weight"), "'weight' can't be drawn by class"),
        (("--palette", "sage"), "unknown palette 'sage'; did you mean 'safe'?"),
        (("--labels", "one"), "unknown way to label layers and heads 'one'"),
        (("--width", "wide"), "unknown width 'wide'"),
        (("--layers", "0,9"), "layer 9 does not exist: tiny-llama has 3 layers"),
        (("--heads", "7"), "head 7 does not exist"),
        (("--class", "tilde=~"), "class 'tilde' (~) matches no token of the prompt"),
        (("--class", "all=punctuation"), "class 'all' (punctuation) has no token left"),
        (("--class", "map=span:map"), "has no span 'map', which class 'map'"),
        (("--queries", "span:map"), "there is no span 'map'"),
        (("--queries", "first"), "'first' is no query set"),
    ],
)
def test_mistakes_are_refused_and_nothing_is_written(
    mindshare: Mindshare, llama: Path, place: Path, arguments: tuple[str, ...], says: str
) -> None:
    ran = mindshare("shares", llama, *TEXT, *CLASSES, *arguments)
    assert ran.code == 2
    assert says in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert not list(place.iterdir())


def test_two_models_of_one_name_are_refused(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("shares", f"A={llama}", f"A={llama}", *TEXT, *CLASSES)
    assert ran.code == 2
    assert "2 models are called 'A'" in ran.err


def test_without_a_class_there_is_nothing_to_draw(mindshare: Mindshare, llama: Path) -> None:
    ran = mindshare("shares", llama, *TEXT)
    assert ran.code == 2
    assert "no token class to draw" in ran.err
