"""Which tokens and characters lie in ranges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mindshare.prompts import Prompt
from mindshare.tokens import encode, token_mask
from mindshare.tokens.spans import char_mask

from .conftest import LAW, build, texts


def test_tokens_without_characters_lie_in_no_range():
    encoded = encode(Prompt.from_text("Hello world"), build("bytes-bos-eos"))
    assert list(token_mask(encoded, [(0, 11)])) == [False, True, True, False]
    assert list(token_mask(encoded, [(0, 1), (5, 6)])) == [False, True, True, False]
    assert not token_mask(encoded, []).any()


def test_characters_in_ranges():
    assert list(char_mask(4, [(0, 1), (2, 4)])) == [True, False, True, True]


@LAW
@given(texts(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=3))
def test_a_token_is_in_a_range_when_one_of_its_characters_is(text, ranges):
    encoded = encode(Prompt.from_text(text), build("llama"))
    inside = {at for start, end in ranges for at in range(start, end)}
    expected = [any(at in inside for at in range(*range_)) for range_ in encoded.offsets]
    assert list(token_mask(encoded, [r for r in ranges if r[0] < r[1]])) == expected
