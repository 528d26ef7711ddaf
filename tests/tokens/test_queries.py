"""Query sets pick the tokens they name, or say what is there."""

from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.prompts import Prompt
from mindshare.tokens import QuerySet, classify, encode, parse_classes, parse_queries, query_mask

from .conftest import build

TEXT = "<<a>>Hello<</a>> world ##<<b>> the<</b>> map<<a>>.<</a>> # #"


def picked(words, text=TEXT, tokenizer="bytes-bos"):
    encoded = encode(Prompt.from_text(text, marked=True), build(tokenizer))
    classed = classify(encoded, parse_classes({"hash": "#", "star": "*"}))
    mask = query_mask(parse_queries(words), encoded, classed)
    assert mask.dtype == bool
    assert mask.shape == (len(encoded),)
    return "|".join(piece for piece, flag in zip(encoded.pieces, mask, strict=True) if flag)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("last", " #"),
        ("span:b", " the"),
        ("span:a", "Hello|."),
        ("after:a", " #| #"),
    ],
)
def test_sets_of_tokens(words, expected):
    assert picked(words) == expected


def test_all_is_every_token_and_class_those_of_the_class():
    assert picked("all").replace("|", "") == "<s>Hello world ## the map. # #"
    assert picked("class:hash").replace(" ", "").replace("|", "") == "####"
    assert "#" not in picked("class:other")


def test_tokens_that_overlap_a_span_belong_to_it():
    assert picked("span:x", "Hel<<x>>lo wo<</x>>rld") == "Hello| world"
    assert picked("after:x", "<<x>>Hel<</x>>lo world") == " world"


def test_an_end_token_comes_after_everything():
    assert picked("after:x", "<<x>>Hello<</x>>", "bytes-bos-eos") == "</s>"


@pytest.mark.parametrize("words", ["last", "all", "span:a", "span:role:user", "class:c", "after:a"])
def test_words_read_and_written(words):
    assert str(parse_queries(f" {words} ")) == words


def test_a_query_set_is_a_kind_and_a_name():
    assert parse_queries("span:role:user") == QuerySet("span", "role:user")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("lst", r"'lst' is no query set; did you mean 'last'\?"),
        ("spam:a", "did you mean 'span'"),
        ("", "'' is no query set"),
        ("span:", "names nothing"),
        ("after", "names nothing"),
        ("generated", "not available yet"),
        ("span:c", r"no span 'c'[\s\S]*Allowed: a, b"),
        ("after:c", r"no span 'c'"),
        ("class:hsh", r"no class 'hsh'; did you mean 'hash'[\s\S]*hash, star, other"),
        ("class:star", "class:star holds no token"),
    ],
)
def test_what_is_not_there(words, message):
    with pytest.raises(SelectionError, match=message):
        picked(words)


def test_a_prompt_without_spans_says_so():
    with pytest.raises(SelectionError, match="this prompt has no span"):
        picked("span:a", "Hello")


def test_nothing_after_the_end():
    with pytest.raises(SelectionError, match="after:x holds no token of this prompt"):
        picked("after:x", "Hello<<x>> world<</x>>")
