from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.theme import (
    OTHER,
    PALETTES,
    Style,
    class_colours,
    every,
    text_width,
    wrapped,
)

SEED = PALETTES["seed"]
RED, BLUE, GREY = SEED.classes[:3]


def test_the_published_colours() -> None:
    assert class_colours(("hash", "star", "space"), SEED) == {
        "hash": RED,
        "star": BLUE,
        "space": GREY,
    }
    assert class_colours(("a", "b", "c"), SEED) == {"a": RED, "b": BLUE, "c": GREY}


def test_whitespace_is_grey_wherever_it_stands() -> None:
    found = class_colours(("Whitespace", "hash", "star", "digit"), SEED)
    assert found["Whitespace"] == GREY
    assert (found["hash"], found["star"]) == (RED, BLUE)
    assert found["digit"] not in (RED, BLUE, GREY)


@pytest.mark.parametrize("name", PALETTES)
def test_no_two_classes_look_alike(name: str) -> None:
    classes = [*"abcdefgh", "other", "sink_slot"]
    assert len(set(class_colours(classes, PALETTES[name]).values())) == len(classes)
    assert class_colours(classes, PALETTES[name])["other"] == OTHER


def test_too_many_classes_are_refused() -> None:
    with pytest.raises(SelectionError, match="9 classes are more than can be told apart"):
        class_colours("abcdefghi", SEED)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"palette": "sede"}, "did you mean 'seed'"),
        ({"labels": "one_based"}, "did you mean 'one-based'"),
        ({"width": "collumn"}, "did you mean 'column'"),
    ],
)
def test_an_unknown_word_is_named_with_its_neighbour(wrong: dict, hint: str) -> None:
    with pytest.raises(SelectionError, match=hint):
        Style(**wrong)


def test_lines_fit_and_words_stay_whole() -> None:
    text = "the quick brown fox jumps over the lazy dog and p\xa0<\xa00.05 is kept together"
    lines = wrapped(text, 90)
    assert " ".join(lines) == text
    assert max(text_width(line) for line in lines) <= 90
    assert any("p\xa0<\xa00.05" in line for line in lines)


def test_labels_are_thinned_to_round_numbers() -> None:
    assert [every(x) for x in (1.2, 1.0, 0.6, 0.3, 0.01)] == [1, 1, 2, 5, 100]
