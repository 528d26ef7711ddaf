from __future__ import annotations

from mindshare.report.describing.learning import learn

from .readings import FIRST, TEXTS


def named(part: str, *texts: str) -> set[str]:
    return {one.name for one in learn(texts).names.values() if one.part == part}


def test_models_and_classes_of_the_three_readers() -> None:
    for text in TEXTS.values():
        assert named("model", text) == {"Qwen-Phys", "Qwen-Instruct"}
        assert named("kind", text) == {"hash", "star", "whitespace"}


def test_labels_without_numbers_are_no_models() -> None:
    assert "Trend" in FIRST
    assert "Trend" not in named("model", FIRST)


def test_texts_without_numbers_teach_nothing() -> None:
    assert learn(["**Layer 0:**\n* **A:** grows.", ""]).names == {}
