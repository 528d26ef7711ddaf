"""Laws of character ranges: every character is accounted for, on arbitrary Unicode."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given

from mindshare.errors import TokenError
from mindshare.prompts import Prompt
from mindshare.tokens import classify, encode, parse_classes
from mindshare.tokens.offsets import absent_bytes, exact_ranges, uncovered_ranges, walked_ranges

from .conftest import ABSENT, BUILDERS, BY_BYTES, BYTE_OF, KEEPS_ALL, LACKING, LAW, build, texts


def bytes_of(raw: str, name: str) -> bytes:
    if name.startswith(("bytes", "lacking")):
        return bytes(BYTE_OF[char] for char in raw)
    if len(raw) == 6 and raw.startswith("<0x") and raw.endswith(">"):
        return bytes([int(raw[3:5], 16)])
    return raw.replace("▁", " ").encode()


def ranges_by_bytes(text: str, raw: list[str], name: str) -> list[tuple[int, int]]:
    """Independent of reported offsets: walk the bytes of the tokens along those of the text."""
    shown = text if name.startswith(("bytes", "lacking")) else text.replace("▁", " ")
    absent = ABSENT if name.startswith("lacking") else ()
    kept = [(b, at) for at, c in enumerate(shown) for b in c.encode() if b not in absent]
    plain, owner = bytes(b for b, _ in kept), [at for _, at in kept]
    found = b"".join(bytes_of(token, name) for token in raw)
    dummy = len(found) - len(plain)
    assert found == b" " * dummy + plain
    assert dummy in (0, 1)
    ranges, at = [], -dummy
    for token in raw:
        first, at = max(at, 0), at + len(bytes_of(token, name))
        covered = owner[first:at]
        ranges.append((covered[0], covered[-1] + 1) if covered else (0, 0))
    return ranges


@pytest.mark.parametrize("name", BY_BYTES)
@LAW
@given(text=texts())
def test_ranges_are_those_of_the_tokens_bytes(name, text):
    if name.startswith(("unigram", "llama", "gemma")):
        text = text.replace("<0xE2>", "<")  # there it is one token that looks like a byte
    tokenizer = build(name)
    encoded = encode(Prompt.from_text(text), tokenizer)
    own = [place for place, special in enumerate(encoded.special) if not special]
    raw = tokenizer.convert_ids_to_tokens([encoded.ids[place] for place in own])
    expected = ranges_by_bytes(text, raw, name)
    assert [encoded.offsets[place] for place in own] == expected
    assert encoded.uncovered == ()


@pytest.mark.parametrize("name", KEEPS_ALL)
@LAW
@given(text=texts(special=True))
def test_every_character_is_accounted_for_once(name, text):
    encoded = encode(Prompt.from_text(text), build(name))
    owners: list[list[int]] = [[] for _ in text]
    for token, (start, end) in enumerate(encoded.offsets):
        for char in range(start, end):
            owners[char].append(token)
    assert encoded.uncovered == ()
    for char, tokens in zip(text, owners, strict=True):
        assert tokens == list(range(tokens[0], tokens[-1] + 1))
        assert len(tokens) <= len(char.encode())  # shared only by tokens that carry its bytes


@pytest.mark.parametrize("name", [name for name in BUILDERS if name != "lacking-nfc"])
@LAW
@given(text=texts(special=True))
def test_ranges_never_go_backwards_and_the_rest_is_reported(name, text):
    if name == "stripping" or name.startswith("lacking"):
        text = f"a{text}b"  # or nothing might be left of it
    encoded = encode(Prompt.from_text(text), build(name))
    for before, after in pairwise(encoded.offsets):
        assert before[0] <= after[0]
        assert before[1] <= after[1]
    covered = {char for start, end in encoded.offsets for char in range(start, end)}
    dropped = {char for start, end in encoded.uncovered for char in range(start, end)}
    assert covered | dropped == set(range(len(text)))
    assert not covered & dropped
    for piece, (start, end) in zip(encoded.pieces, encoded.offsets, strict=True):
        assert piece == text[start:end] or start == end


@pytest.mark.parametrize(
    "name", ["bytes", "bytes-trimmed", "bytes-spaces-trimmed", "bytes-bos-eos"]
)
@LAW
@given(text=texts())
def test_byte_level_ids_decode_to_the_text(name, text):
    tokenizer = build(name)
    ids = encode(Prompt.from_text(text), tokenizer).ids
    assert tokenizer.decode(list(ids), skip_special_tokens=True) == text


@pytest.mark.parametrize(
    ("raw", "text", "reported", "expected"),
    [
        # A trimmed word, a trimmed run of spaces, a trimmed newline.
        (["a", "Ġb"], "a b", [(0, 1), (2, 3)], [(0, 1), (1, 3)]),
        (["a", "ĠĠ", "Ġb"], "a   b", [(0, 1), (3, 3), (4, 5)], [(0, 1), (1, 3), (3, 5)]),
        (["Ċ", "ĠĊ"], "\n \n", [(0, 1), (2, 3)], [(0, 1), (1, 3)]),
        # Spaces trimmed off an end belong to that token, not to the next.
        (["aĠ", "Ġb"], "a  b", [(0, 1), (3, 4)], [(0, 2), (2, 4)]),
        (["aĠĠ"], "a  ", [(0, 1)], [(0, 3)]),
        # A space the tokenizer invented is empty; trimming must not cost the letter after it.
        (["▁", "a"], "a", [(0, 1), (0, 1)], [(0, 0), (0, 1)]),
        (["</s>", "Ġx"], "</s>x", [(0, 4), (5, 5)], [(0, 4), (4, 5)]),
        # One ▁ for a collapsed run of spaces.
        (["▁a", "▁b"], "a   b", [(0, 1), (4, 5)], [(0, 1), (1, 5)]),
        # A byte run reported as a whole.
        (["<0xC3>", "<0xA9>", "<0x41>"], "éA", [(0, 2)] * 3, [(0, 1), (0, 1), (1, 2)]),
        # Whitespace nobody has a marker for stays uncovered.
        (["a", "b"], "a b", [(0, 1), (2, 3)], [(0, 1), (2, 3)]),
    ],
)
def test_reported_offsets_are_put_right(raw, text, reported, expected):
    assert exact_ranges(text, raw, reported, [False] * len(raw)) == expected


def test_added_tokens_stand_empty_where_they_are():
    ranges = exact_ranges(
        "ab", ["<s>", "ab", "</s>"], [(0, 0), (0, 2), (0, 0)], [True, False, True]
    )
    assert ranges == [(0, 0), (0, 2), (2, 2)]


def test_uncovered_ranges_are_the_gaps():
    assert uncovered_ranges(6, [(1, 2), (1, 2), (3, 5)]) == ((0, 1), (2, 3), (5, 6))
    assert uncovered_ranges(0, []) == ()


# Byte-level vocabularies that lack bytes: the tokens after a dropped byte stay in place.


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
