"""Class rules are read as the grammar says, or refused; and which characters they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import ClassRuleError
from mindshare.tokens.rules import (
    KINDS,
    NEWLINES,
    Rule,
    TokenClass,
    matching_characters,
    parse_class,
    parse_rule,
)

from .conftest import LAW


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("whitespace", Rule("word", "whitespace")),
        ("bos", Rule("word", "bos")),
        ("role:user", Rule("span", "role:user")),
        ("role:tool", Rule("span", "role:tool")),
        ("span:map", Rule("span", "map")),
        ("span:role:user", Rule("span", "role:user")),
        ("#", Rule("chars", "#")),
        ("#*", Rule("chars", "#*")),
        ("_", Rule("chars", "_")),
        (" ", Rule("chars", " ")),
        ("🙂", Rule("chars", "🙂")),
        (":", Rule("chars", ":")),
        ("//", Rule("chars", "//")),
        ("chars:abc", Rule("chars", "abc")),
        ("chars:@", Rule("chars", "@")),
        ("re:[a-z]+", Rule("re", "[a-z]+")),
        ("/[a-z]+/", Rule("re", "[a-z]+")),
        ("re:a:b", Rule("re", "a:b")),
        ("ids:1, 20,3", Rule("ids", "1, 20,3", (1, 20, 3))),
    ],
)
def test_rules_are_read(text, rule):
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hash=#", TokenClass("hash", "#")),
        (" hash = # ", TokenClass("hash", "#")),
        ("equals==", TokenClass("equals", "=")),
        ("gap= ", TokenClass("gap", " ")),
        ("hash=#@map", TokenClass("hash", "#", "map")),
        ("gap=whitespace@role:user", TokenClass("gap", "whitespace", "role:user")),
        ("at=chars:@", TokenClass("at", "chars:@")),
        ("at=chars:ab@", TokenClass("at", "chars:ab@")),
        ("sp=chars: a", TokenClass("sp", "chars: a")),
        ("word=/a@b/", TokenClass("word", "/a@b/")),
        ("word=/a@b/@map", TokenClass("word", "/a@b/", "map")),
        (r"mail=re:a\@b", TokenClass("mail", r"re:a\@b")),
        (r"mail=re:\w+@\w+", TokenClass("mail", r"re:\w+@\w+")),
        ("word=re:ab@map", TokenClass("word", "re:ab", "map")),
        ("tok=ids:1,2@map", TokenClass("tok", "ids:1,2", "map")),
    ],
)
def test_classes_are_read(text, expected):
    assert parse_class(text) == expected
    assert parse_class(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hash", r"'hash' is not a class[\s\S]*NAME=RULE"),
        ("hash=", r"the rule is empty \(in class 'hash'\)"),
        ("s=whitspace", r"'whitspace' is no rule; did you mean 'whitespace'\?"),
        ("s=Letter", "did you mean 'letter'"),
        ("s=hello", r"'hello' is no rule \(in class 's'\)[\s\S]*chars:hello[\s\S]*re:hello"),
        ("s=#a", "'#a' is no rule"),
        ("s=rol:user", "did you mean 'role:'"),
        ("s=re:", "'re:' says nothing"),
        ("s=span:", "'span:' says nothing"),
        ("s=chars:@map", "'chars:' says nothing"),
        ("s=re:a(b", r"'a\(b' is invalid: .* at position 1"),
        ("s=/*/", "invalid: nothing to repeat at position 0"),
        ("s=re:a{99999999999999999999}", "invalid: a number of repeats is too large"),
        (f"s=re:{'(' * 3_000}{')' * 3_000}", "invalid: it is nested too deeply"),
        ("s=ids:1,x", "not a list of token ids"),
        ("s=ids:-1", "not a list of token ids"),
        ("s=#@", r"ends in @, but names no span[\s\S]*chars:@"),
        ("s=@", "ends in @"),
        ("other=#", "'other' is reserved"),
        ("sink_slot=#", "'sink_slot' is reserved"),
        ("1a=#", "'1a' cannot name a class"),
        ("=#", "'' cannot name a class"),
        (f"{'a' * 1_001}=#", "cannot name a class"),
    ],
)
def test_what_cannot_be_read_is_explained(text, message):
    with pytest.raises(ClassRuleError, match=message):
        parse_class(text)


# Which characters a rule takes.


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
