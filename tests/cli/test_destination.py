"""Where results go by default, and that checking leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

from mindshare.cli.destination import check_folder, default_folder
from mindshare.prompts import Prompt

PROMPT = Prompt.from_text("a ## b")


def test_the_same_command_names_the_same_folder() -> None:
    first = default_folder("models/my model", [PROMPT], study="1", adapter=None)
    assert first == default_folder("models/my model", [PROMPT], study="1", adapter=None)
    assert first.parent == Path("results")
    assert first.name.startswith("my-model-")


def test_whatever_decides_the_numbers_names_another() -> None:
    named = Prompt.from_text("another text", id=PROMPT.id)  # the same id, other content
    folders = {
        default_folder("m", [PROMPT], study="1"),
        default_folder("x/m", [PROMPT], study="1"),
        default_folder("m", [PROMPT], study="2"),
        default_folder("m", [named], study="1"),
        default_folder("m", [PROMPT, named], study="1"),
        default_folder("m", [PROMPT], study="1", adapter="lora"),
    }
    assert len(folders) == 6


def test_checking_leaves_nothing_behind(place: Path) -> None:
    check_folder(Path("deep/down/out"), replace=False)
    check_folder(place / "out", replace=True)
    assert list(place.iterdir()) == []


def test_results_may_be_replaced() -> None:
    Path("out").mkdir()
    (Path("out") / "manifest.json").write_text("{}")
    check_folder(Path("out"), replace=True)
