"""Byte-level vocabularies that lack bytes: the tokens after a dropped byte stay in place."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from mindshare.errors import TokenError
from mindshare.prompts import Prompt
from mindshare.tokens import classify, encode, parse_classes
from mindshare.tokens.bytewalk import absent_bytes, walked_ranges

from .conftest import ABSENT, LACKING, LAW, build, texts
from .test_offsets import ranges_by_bytes


@pytest.mark.parametrize("name", LACKING)
@LAW
@given(text=texts())
def test_ranges_are_those_of_the_bytes_that_are_left(name, text):
    assume(set(text.encode()) - ABSENT)
    tokenizer = build(name)
    encoded = encode(Prompt.from_text(text), tokenizer)
    raw = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    expected = ranges_by_bytes(text, raw, name)
    found = [range_ for range_ in encoded.offsets if range_[0] < range_[1]]
    assert found == [range_ for range_ in expected if range_[0] < range_[1]]
    for start, end in encoded.uncovered:
        assert set(text[start:end].encode()) <= ABSENT


def test_a_dropped_character_moves_nothing():
    encoded = encode(Prompt.from_text("*## a"), build("lacking"))
    assert encoded.uncovered == ((0, 1),)
    assert "".join(encoded.pieces) == "## a"
    labels = classify(encoded, parse_classes({"hash": "#"})).labels()
    assert all(
        (label == "hash") == ("#" in piece)
        for piece, label in zip(encoded.pieces, labels, strict=True)
    )


def test_special_tokens_keep_their_place():
    encoded = encode(Prompt.from_text("*<s>*##</s>*#"), build("lacking"))
    assert [encoded.pieces[at] for at in (0, -2, -1)] == ["<s>", "</s>", "#"]
    assert encoded.offsets[0] == (1, 4)
    assert encoded.uncovered == ((0, 1), (4, 5), (11, 12))


def test_absent_bytes_are_those_of_the_text_without_a_token():
    assert absent_bytes(build("lacking"), "a*b") == {ord("*")}
    assert absent_bytes(build("lacking"), "ab") == set()
    assert absent_bytes(build("bytes"), "a*b") == set()
    assert absent_bytes(build("llama"), "中") == set()


def test_bytes_that_are_not_those_of_the_text_cannot_be_walked():
    assert walked_ranges("ab", ["a"], [(0, 1)], fixed=[False], absent=frozenset()) is None
    assert walked_ranges("ab", ["b", "a"], [(0, 1)] * 2, fixed=[False] * 2, absent=ABSENT) is None


def test_a_tokenizer_that_rewrites_and_drops_is_refused():
    with pytest.raises(TokenError, match=r"rewrites the text and drops bytes \(0x2a\)"):
        encode(Prompt.from_text("e\u0301 *#"), build("lacking-nfc"))
