"""Which characters a rule takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.tokens import parse_rule
from mindshare.tokens.characters import KINDS, NEWLINES, matching_characters

from .conftest import LAW


def taken(rule, text, spans=None):
    flags = matching_characters(text, parse_rule(rule), spans or {})
    return "".join(char for char, flag in zip(text, flags, strict=True) if flag)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("whitespace", " \t\n\u00a0\u2028"),
        ("newline", "\n\u2028"),
        ("punctuation", "#*+。`$_"),
        ("digit", "1٣"),
        ("letter", "aé中e\u0301कि"),
        ("#*", "#*"),
        ("chars:a1", "a1"),
        ("re:[#*]+", "#*"),
        ("re:x?", ""),
        ("span:s", " a"),
        ("span:gone", ""),
    ],
)
def test_kinds_of_characters(rule, expected):
    text = " a\t\n\u00a0\u2028#*+。`$_1٣é中e\u0301कि🙂❤\ufe0f→²\u200b"
    assert taken(rule, text, {"s": ((0, 2),)}) == expected


def test_a_pattern_sees_the_whole_text():
    assert taken("re:(?<=a)b", "ab b") == "b"
    assert taken("/^b$/", "ab b") == ""


def test_all_newlines_are_whitespace_and_end_lines():
    assert all(char.isspace() for char in NEWLINES)
    assert all(len(f"a{char}b".splitlines()) == 2 for char in NEWLINES)


@LAW
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_kinds_exclude_each_other_but_for_newlines(text):
    for char in text:
        kinds = [name for name, belongs in KINDS.items() if belongs(char)]
        assert len(kinds) <= 1 or kinds == ["whitespace", "newline"]
        for name in KINDS:
            assert taken(name, char) == (char if name in kinds else "")
