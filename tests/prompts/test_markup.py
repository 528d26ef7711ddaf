"""Marks come out of the text, and what they enclosed is found again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts import parse_marks


def test_marks_nest_and_repeat():
    text, spans = parse_marks("a<<x>>b<<y>>c<</y>><</x>>d<<x>>e<</x>>")
    assert text == "abcde"
    assert spans == {"x": ((1, 3), (4, 5)), "y": ((2, 3),)}


def test_a_name_may_nest_in_itself():
    assert parse_marks("<<x>>a<<x>>b<</x>>c<</x>>") == ("abc", {"x": ((0, 3), (1, 2))})


@pytest.mark.parametrize("text", ["a << b >> c", "<<1>>", "<< x>>", "<x>", "<<>>", "1 <<2", ""])
def test_what_is_no_mark_stays(text):
    assert parse_marks(text) == (text, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ab<<x>>c", r"<<x>> is never closed, at character 2 \(line 1, column 3\)"),
        ("a\nb<</x>>", r"<</x>> closes nothing, at character 3 \(line 2, column 2\)"),
        ("<<x>>a<<y>>b<</x>>", "<</x>> stands where <</y>> is due, at character 12"),
        ("a<<x>><</x>>", "<<x>> encloses nothing, at character 1"),
    ],
)
def test_broken_marks_name_their_position(text, message):
    with pytest.raises(PromptError, match=message):
        parse_marks(text)


plain = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.tuples(st.sampled_from(["a", "b-2", ""]), plain), min_size=1))
def test_marking_pieces_and_parsing_gives_the_pieces_back(pieces):
    marked = "".join(f"<<{name}>>{part}<</{name}>>" if name else part for name, part in pieces)
    text, spans = parse_marks(marked)
    assert text == "".join(part for _, part in pieces)
    for name in {name for name, _ in pieces if name}:
        assert [text[start:end] for start, end in spans[name]] == [
            part for given_name, part in pieces if given_name == name
        ]
