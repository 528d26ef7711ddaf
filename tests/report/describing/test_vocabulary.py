from __future__ import annotations

import re

import pytest

from mindshare.report.describing.numbers import numbers_of
from mindshare.report.describing.vocabulary import Name, Vocabulary, aliases, vocabulary_of

from .made import Made, class_tables


def found(vocabulary: Vocabulary, text: str) -> list[str]:
    matches = re.finditer(vocabulary.pattern, text, re.IGNORECASE)
    return [name.name for m in matches if (name := vocabulary.find(m[0]))]


def names(*words: str) -> Vocabulary:
    return Vocabulary({word: Name("kind", word) for word in words})


def test_names_of_a_table() -> None:
    made = Made(models=("Qwen", "Qwen-Phys"), classes=("hash", "star", "other"))
    vocabulary = vocabulary_of(numbers_of(class_tables(made)))
    text = "Qwen-Phys and Qwen: `# (Hash)`, Star (blue) and “other”; lift, mass"
    expected = ["Qwen-Phys", "Qwen", "hash", "star", "other", "lift", "mass"]
    assert found(vocabulary, text) == expected


def test_letters_in_their_own_case_first() -> None:
    assert found(names("base", "Base"), "Base base BASE") == ["Base", "base", "base"]


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("every other head", []),
        ("other 0.4", ["other"]),
        ("Other (~0.4)", ["other"]),
        ("“other” heads", ["other"]),
    ],
)
def test_ordinary_words_are_names_in_quotes_or_before_a_number(text: str, there: list) -> None:
    assert found(names("other"), text) == there


@pytest.mark.parametrize("word", ["layer 3", "mass", "7", "to"])
def test_what_stands_before_numbers_anyway_must_be_quoted(word: str) -> None:
    assert found(names(word), f"{word} 0.5") == []
    assert found(names(word), f"“{word}” 0.5") == [word]


def test_signs_are_names_only_where_they_are_quoted_or_explained() -> None:
    assert found(names("#", "*"), "# a * b `#` * (Star) '*'") == ["#", "*", "*"]


def test_other_words_for_the_same_class() -> None:
    assert aliases(["space"])["whitespace"] == "space"
    assert aliases(["Whitespace"])["spaces"] == "Whitespace"
    assert aliases(["space", "whitespace"]) == {}  # both are used
    assert aliases(["hash"])["# (hash)"] == "hash"


def test_nothing_is_found_without_names() -> None:
    assert found(Vocabulary(), "Anything 0.5") == []
