from __future__ import annotations

import re

import pytest

from mindshare.report.describing import describe, phrases
from mindshare.report.describing.cells import Number

from .made import Made, class_tables, insertion_tables


@pytest.mark.parametrize(
    ("number", "sign", "text"),
    [
        (Number(0.026, 0.0241, 0.0279), False, "0.0260 [0.0241, 0.0279]"),
        (Number(0.0031, -0.0012, 0.0074), True, "+0.00310 [−0.00120, +0.00740]"),
        (Number(0.0), False, "0"),
        (Number(0.0, 0.0, 0.00055), False, "0 [0, 0.000550]"),
        (Number(123.456, 100.0, 150.0), False, "123 [100, 150]"),
        (Number(-0.00012345), False, "−0.000123"),
        (Number(1e-9), False, "0.000000"),
    ],
)
def test_three_digits_and_an_interval(number: Number, sign: bool, text: str) -> None:
    assert phrases.value(number, "mass", sign=sign) == text


def test_units_stand_behind_the_number() -> None:
    assert phrases.value(Number(0.12, 0.1, 0.14), "divergence") == "0.120 bits [0.100, 0.140]"
    assert phrases.value(Number(1.5), "lift") == "1.50 times"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3], "3"), ([0, 1], "0 and 1"), ([0, 1, 2, 7, 9, 10, 11], "0 to 2, 7 and 9 to 11")],
)
def test_runs_of_layers(numbers: list[int], text: str) -> None:
    assert phrases.spans(numbers) == text


@pytest.mark.parametrize("word", ["hash", "Qwen2.5-7B", "SmolLM2-135M", "x_1"])
def test_unmistakable_names_stand_as_they_are(word: str) -> None:
    assert phrases.name(word) == word


@pytest.mark.parametrize("word", ["other", "Layer", "#", "/ ×55", "random sentence", "0.5", "mass"])
def test_names_that_could_be_words_or_numbers_are_quoted(word: str) -> None:
    assert phrases.name(word) == f"“{word}”"


def test_every_word_of_our_sentences_is_known() -> None:
    """A name that is one of them would be taken for it if it were not quoted."""
    made = Made(
        models=("aa", "bb"), classes=("cc", "dd", "ee"), trend={"cc": 0.1}, effect={"dd": 0.1}
    )
    texts = [
        describe(class_tables(made), kind="classes").text,
        describe(class_tables(Made(prompts=1, noise=0.3)), kind="classes").text,
        describe(class_tables(Made(layered=False, noise=0.3)), kind="classes").text,
        describe(class_tables(Made(prompts=3)), kind="classes").text,
        describe(class_tables(Made(layers=range(30))), kind="classes").text,
        describe(class_tables(Made(heads=range(9), effect={"star": 0.2})), kind="classes").text,
        describe(class_tables(Made(heads=range(9))), kind="classes").text,
        describe(insertion_tables(Made(heads=(0, 1)), ["ff", "gg", "hh"]), kind="insertion").text,
    ]
    names = set(re.findall(r"\w+", "aa bb cc dd ee ff gg hh base tuned hash star space r"))
    words = set(re.findall(r"[a-z_]+", " ".join(texts).lower()))
    assert words - names <= phrases.OWN_WORDS, sorted(words - names - phrases.OWN_WORDS)
