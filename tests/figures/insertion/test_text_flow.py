from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.figures.insertion.text_flow import Box, Piece, advance, drawable, flow


def lines(boxes: list[Box]) -> list[str]:
    found: dict[int, str] = {}
    for box in boxes:
        found[box.line] = found.get(box.line, "") + box.text.replace("\u00a0", " ")
    return [found[i] for i in sorted(found)]


def laid(tokens: list[str], width: float = 100) -> list[str]:
    return lines(flow([Piece(token) for token in tokens], width, 10))


def test_words_of_several_tokens_stay_whole() -> None:
    assert laid(["The", " help", "ful", " assist", "ant"], 60) == ["The helpful", " assistant"]


def test_line_ends_are_shown_and_end_the_line() -> None:
    assert laid(["a", ".\n", "\n\n", "b", " \n c"]) == ["a.¶", "¶", "¶", "b ¶", " c"]


def test_a_token_longer_than_a_line_is_cut() -> None:
    found = laid(["x" * 50], 100)
    assert "".join(found) == "x" * 50
    assert len(found) > 1


def test_what_cannot_be_drawn_is_escaped() -> None:
    assert drawable("\t\x00 a") == "→\\x00\u00a0a"


def test_bytes_of_one_character_are_drawn_once() -> None:
    boxes = flow([Piece("🤯"), Piece("🤯", continues=True), Piece("x")], 100, 10)
    assert [box.text for box in boxes] == ["🤯", "", "x"]
    assert all(box.width > 0 for box in boxes)


@pytest.mark.parametrize(
    ("text", "ems"), [("iiii", 0.888), ("MM", 1.666), ("é", 0.556), ("e\u0301", 0.556)]
)
def test_widths_are_those_of_the_font(text: str, ems: float) -> None:
    assert advance(text, 10) == pytest.approx(10 * ems)


@given(st.lists(st.text("ab /.\n\t日é😀\x00", max_size=30), max_size=30), st.integers(40, 300))
def test_every_character_stands_somewhere_and_no_two_boxes_meet(
    tokens: list[str], width: int
) -> None:
    boxes = flow([Piece(token) for token in tokens], width, 10)
    for number, token in enumerate(tokens):
        own = "".join(box.text for box in boxes if box.token == number)
        assert own == drawable(token)
        assert any(box.token == number for box in boxes)
    for one, other in itertools.pairwise(boxes):
        assert one.line < other.line or one.x + one.width <= other.x + 0.02
    assert all(box.x + box.width <= width + 0.02 or len(box.text) <= 1 for box in boxes)
