"""Tokens matched through their characters: examples, and laws over every kind of tokenizer."""

from __future__ import annotations

import time
import unicodedata
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from mindshare.errors import PromptError, SystemRoleError, TokenError
from mindshare.models import load_tokenizer
from mindshare.prompts import Message, Prompt, fold_system_message, insert
from mindshare.tokens import align, encode
from mindshare.tokens.alignment import check_faithful

from .conftest import KEEPS_ALL, LACKING, LAW, build, texts
from .families import FAMILIES, family, rewriting, taking_spaces

FAITHFUL = [*KEEPS_ALL, *LACKING]


def both(text, inserted, at, name):
    """The two versions of a text, the second with the inserted text before character `at`."""
    prompt = Prompt.from_text(text, {"head": [0, at]} if at else None)
    other = insert(prompt, inserted, "after:head" if at else "start")
    return encode(prompt, build(name)), encode(other, build(name))


def aligned(text, inserted, at, name="bytes"):
    without, with_ = both(text, inserted, at, name)
    return align(without, with_, tokenizer=build(name))


def read(text, name):
    """The text as tokens; texts of which a tokenizer keeps nothing are no matter here."""
    try:
        return encode(Prompt.from_text(text), build(name))
    except PromptError:
        reject()


def shown(alignment, part):
    pieces = alignment.with_.pieces
    return [piece for piece, found in zip(pieces, alignment.parts, strict=True) if found == part]


def lost(alignment):
    return [alignment.without.pieces[at] for at in alignment.unmatched]


versions = st.tuples(texts(), texts(), st.integers(0, 1000), st.sampled_from(FAITHFUL))
runs = st.tuples(
    texts(),
    st.sampled_from(["/", " /", "/ ", "\n", "  ", "中", "🙂", "he", "the ", "\u0301"]),
    st.integers(1, 12),
).map(lambda given: (given[0], given[1] * given[2]))


def labels(encoded, inserted):
    """What each token stands for, character by character: (from the prompt?, which one)."""
    taken = [any(start <= at < end for start, end in inserted) for at in range(len(encoded.text))]
    names = [(not gone, taken[:at].count(gone)) for at, gone in enumerate(taken)]
    return [frozenset(names[start:end]) for start, end in encoded.offsets]


def linked(sets):
    """Tokens that share a character, or share one with a token that does, and so on."""
    bundles = []
    for at, held in enumerate(sets):
        if held:
            near = [b for b in bundles if any(sets[other] & held for other in b)]
            joined = sorted([at, *(other for bundle in near for other in bundle)])
            bundles = [*(b for b in bundles if b not in near), joined]
    return bundles


def brute_pairs(without, with_, inserted):
    mine, theirs = labels(without, ()), labels(with_, inserted)
    pairs = []
    for bundle in linked(mine):
        wanted = [(mine[at], without.ids[at]) for at in bundle]
        for other in linked(theirs):
            if wanted == [(theirs[at], with_.ids[at]) for at in other]:
                pairs += zip(bundle, other, strict=True)
    return sorted(pairs)


def empty_at(encoded, inserted, place):
    """Ids of the tokens without characters that stand after so many characters of the prompt."""
    return [
        (at, encoded.ids[at])
        for at, (start, end) in enumerate(encoded.offsets)
        if start == end
        and place == sum(1 for c in range(start) if not any(a <= c < b for a, b in inserted))
    ]


def inserted_in(alignment):
    return tuple(alignment.with_.spans.get("inserted", ()))


def check(alignment):
    without, with_, inserted = alignment.without, alignment.with_, inserted_in(alignment)
    pairs, parts = alignment.pairs, alignment.parts
    # Pairs ascend in both; partners have the same id and the same characters.
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert all(without.ids[a] == with_.ids[b] for a, b in pairs)
    mine, theirs = labels(without, ()), labels(with_, inserted)
    assert all(mine[a] == theirs[b] for a, b in pairs)
    # Every token is one thing.
    assert len(parts) == len(with_)
    assert {at for at, part in enumerate(parts) if part == "original"} == {b for _, b in pairs}
    assert sorted([*alignment.unmatched, *(a for a, _ in pairs)]) == list(range(len(without)))
    # Every character is matched or not, and whoever holds an inserted one says so.
    matched = {label for a, _ in pairs for label in mine[a]}
    unmatched = {label for a in alignment.unmatched for label in mine[a]}
    assert not matched & unmatched
    for held, part in zip(theirs, parts, strict=True):
        if held:
            run, own = any(not of for of, _ in held), any(of for of, _ in held)
            assert part in {(True, True): {"seam"}, (True, False): {"inserted"}}.get(
                (run, own), {"original", "unmatched"}
            )
    # The same by comparing sets of characters.
    by_characters = [(a, b) for a, b in pairs if mine[a]]
    assert by_characters == brute_pairs(without, with_, inserted)
    for place in range(len(without.text) + 1):
        here, there = empty_at(without, (), place), empty_at(with_, inserted, place)
        found = [(a, b) for a, b in pairs if a in dict(here)]
        assert {b for _, b in found} <= set(dict(there))
        common = Counter(dict(here).values()) & Counter(dict(there).values())
        assert len(found) == common.total()


@settings(LAW, max_examples=300)
@given(versions)
@example(("a中b", "中", 1, "bytes"))
@example(("😀😀", "/", 1, "unigram-unk"))  # one unknown token, with the text among its characters
def test_tokens_are_matched_by_characters_and_id(given_):
    text, inserted, at, name = given_
    read(text, name)
    check(aligned(text, inserted, at % (len(text) + 1), name))


@settings(LAW, max_examples=200)
@given(runs, st.integers(0, 1000), st.sampled_from(FAITHFUL))
def test_runs_are_too(run, at, name):
    text, inserted = run
    read(text, name)
    check(aligned(text, inserted, at % (len(text) + 1), name))


@settings(LAW, max_examples=200)
@given(texts(special=True), st.sampled_from(FAITHFUL))
def test_no_text_is_refused_by_a_tokenizer_that_changes_none(text, name):
    encoded = read(text, name)
    check_faithful(encoded, build(name))
    assert len(encoded) > 0


# Examples: what is matched, what is not.


def test_a_text_between_two_words_leaves_them_alone():
    found = aligned("Hello world", " again", 5)
    assert found.pairs == ((0, 0), (1, 2))
    assert found.parts == ("original", "inserted", "original")
    assert (found.unmatched, inserted_in(found)) == ((), ((5, 11),))


def test_what_merges_with_the_inserted_text_is_a_seam_and_what_is_cut_otherwise_unmatched():
    found = aligned("Hello world", "the", 6)
    assert shown(found, "seam") == [" the"]
    assert shown(found, "unmatched") == ["wo", "rld"]
    assert lost(found) == [" world"]
    assert found.pairs == ((0, 0),)


def test_the_same_text_twice_is_matched_by_its_place():
    assert aligned("the map", "the", 0).pairs == ((0, 2), (1, 3), (2, 4))
    assert aligned("the map", "the", 3).pairs[:2] == ((0, 0), (1, 1))


def test_the_same_characters_with_another_id_are_unmatched():
    found = aligned("the map", "the", 0, "llama")  # ▁the▁ was the first token, now it is the▁
    assert lost(found) == ["the "]
    assert shown(found, "unmatched") == ["the "]


def test_nothing_inserted_matches_everything():
    without = encode(Prompt.from_text("Hello 中 world"), build("llama"))
    found = align(without, without, tokenizer=build("llama"))
    assert found.pairs == tuple((at, at) for at in range(len(without)))
    assert set(found.parts) == {"original"}
    assert (found.unmatched, inserted_in(found)) == ((), ())


def test_tokens_at_both_ends_keep_their_partners():
    at_start = aligned("Hello", "the ", 0, "bytes-bos-eos")
    assert at_start.parts[0] == at_start.parts[-1] == "original"
    assert at_start.pairs[0] == (0, 0)
    at_end = aligned("Hello", " the", 5, "bytes-bos-eos")
    assert at_end.pairs == ((0, 0), (1, 1), (2, 3))
    assert shown(at_end, "inserted") == [" the"]


def test_an_invented_space_before_the_same_place_is_the_same():
    found = aligned("中", "🙃", 0, "llama")
    assert found.without.pieces[:2] == found.with_.pieces[:2] == ("<s>", "▁")
    assert found.pairs[:2] == ((0, 0), (1, 1))
    assert set(shown(found, "inserted")) == {"🙃"}


def test_a_last_token_keeps_its_partner_behind_an_invented_space():
    without, with_ = both("Hello", " the", 5, "bytes-bos-eos")
    end = (with_.offsets[-1][1],) * 2
    more = replace(
        with_,
        ids=(*with_.ids[:-1], 0, with_.ids[-1]),
        offsets=(*with_.offsets, end),
        pieces=(*with_.pieces[:-1], "▁", with_.pieces[-1]),
    )
    found = align(without, more)
    assert found.pairs == ((0, 0), (1, 1), (2, 4))
    assert found.parts == ("original", "original", "inserted", "inserted", "original")


def test_an_invented_space_that_only_the_inserted_text_has_is_inserted():
    found = aligned("the map", "the", 0, "llama")
    assert shown(found, "inserted") == ["▁", "t", "h", "e"]


def test_bytes_of_one_character_are_matched_together_or_not_at_all():
    without, with_ = both("a中b", "the\n", 0, "bytes")
    first = with_.pieces.index("中")
    for at in range(first, first + 3):
        ids = (*with_.ids[:at], with_.ids[at] + 1, *with_.ids[at + 1 :])
        found = align(without, replace(with_, ids=ids))
        assert lost(found) == ["中", "中", "中"]
        assert shown(found, "unmatched") == ["中", "中", "中"]


def test_another_span_can_be_the_inserted_one():
    without = encode(Prompt.from_text("Hello world"), build("bytes"))
    with_ = encode(Prompt.from_text("Hello again world", {"extra": [5, 11]}), build("bytes"))
    assert align(without, with_, span="extra").pairs == ((0, 0), (1, 2))
    with pytest.raises(PromptError, match="span 'inserted' taken out is not the prompt without"):
        align(without, with_)


# Texts that are not the same, and tokenizers that rewrite them.


def test_the_first_difference_is_shown():
    without = encode(Prompt.from_text("Hello world"), build("bytes"))
    with_ = encode(insert(Prompt.from_text("Hello moon"), "/ ", "start"), build("bytes"))
    with pytest.raises(PromptError, match=r"at character 6 there is 'Hello moon', .*'Hello world'"):
        align(without, with_)
    longer = encode(insert(Prompt.from_text("Hello worlds"), "/ ", "start"), build("bytes"))
    with pytest.raises(PromptError, match="at character 11"):
        align(without, longer)


def test_a_template_that_trims_one_version_only_is_refused():
    chat, tokenizer = Prompt.from_chat([Message("user", "Hello \n")]), family("gemma-like")
    with_ = encode(insert(chat, "/ /", "end"), tokenizer)
    with pytest.raises(PromptError, match=r"there is '.*Hello \\n<end>.*without it '.*Hello<end>"):
        align(encode(chat, tokenizer), with_)


@pytest.mark.parametrize(
    ("name", "text", "token", "covered"),
    [
        ("nfkc", "ﬁne", "f", "ﬁ"),
        ("nfkc", "x½", "1", "½"),
        ("lower case", "the Map", "Ġmap", " Map"),
        ("dashes", "a–b", "-", "–"),
        ("no accents", "the é", "e", "é"),
        ("one space", "a  b", "▁", "  "),
        ("no newline", "a\nb", "▁", "\n"),
    ],
)
def test_a_token_that_says_something_else_is_named(name, text, token, covered):
    tokenizer = rewriting(name)
    without = encode(Prompt.from_text(text), tokenizer)
    with pytest.raises(TokenError) as refused:
        align(without, without, tokenizer=tokenizer)
    assert f"its token {token!r}" in refused.value.what
    assert refused.value.what.endswith(f"stands for {covered!r}")


@pytest.mark.parametrize(
    "name", ["nfkc", "lower case", "dashes", "no accents", "one space", "no newline"]
)
def test_a_text_that_is_left_alone_is_accepted(name):
    tokenizer = rewriting(name)
    prompt = Prompt.from_text("the map is here", {"map": [4, 7]})
    with_ = encode(insert(prompt, "/ / ", "before:map"), tokenizer)
    found = align(encode(prompt, tokenizer), with_, tokenizer=tokenizer)
    check(found)
    assert found.unmatched == () or shown(found, "seam")


@LAW
@given(st.lists(st.sampled_from(["e", "é", "\u0301", "A", "Å", "\u030a", " ", "中"]), min_size=1))
def test_composing_is_refused_exactly_where_something_is_composed(characters):
    text, tokenizer = "".join(characters), rewriting("nfc")
    encoded = encode(Prompt.from_text(text), tokenizer)
    if unicodedata.is_normalized("NFC", text):
        check_faithful(encoded, tokenizer)
        assert "".join(dict(zip(encoded.offsets, encoded.pieces, strict=True)).values()) == text
    else:
        with pytest.raises(TokenError, match="rewrites the text"):
            check_faithful(encoded, tokenizer)


def test_bytes_that_no_token_has_are_left_out_not_rewritten():
    encoded = encode(Prompt.from_text("#\x04#"), build("lacking"))
    assert encoded.pieces == ("#\x04#",)  # the token ##, around a byte that the vocabulary lacks
    check(aligned("#\x04#", "the ", 0, "lacking"))


@pytest.mark.parametrize("text", ["the é!", "the 中!"])
@pytest.mark.parametrize("extra", [(-1, 0), (0, 1), (-2, 1)])
def test_tokens_that_stand_for_more_than_they_say_are_refused(text, extra):
    encoded = encode(Prompt.from_text(text), build("bytes"))
    last = next(at for at, piece in enumerate(encoded.pieces) if piece in "é中")
    start, end = encoded.offsets[last]
    wider = list(encoded.offsets)
    wider[last] = (start + extra[0], end + extra[1])
    check_faithful(encoded, build("bytes"))
    with pytest.raises(TokenError, match="rewrites the text"):
        check_faithful(replace(encoded, offsets=tuple(wider)), build("bytes"))


def test_a_token_may_take_in_the_spaces_around_it():
    tokenizer = taking_spaces()
    encoded = encode(Prompt.from_text("go   [here] now"), tokenizer)
    assert "   [here]" in encoded.pieces
    check_faithful(encoded, tokenizer)


# Chats of every family, and a real tokenizer.

CHAT = Prompt.from_chat(
    [Message("system", "Be brief."), Message("user", "What is the map? Hello world")]
)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("text", ["/ / / ", " / /", "#", "the é\n\n"])
def test_chats_of_every_family(name, text):
    tokenizer, chat = family(name), CHAT
    if name == "gemma-like":
        with pytest.raises(SystemRoleError):
            encode(CHAT, tokenizer)
        chat = fold_system_message(CHAT)
    found = align(
        encode(chat, tokenizer),
        encode(insert(chat, text, "between"), tokenizer),
        tokenizer=tokenizer,
    )
    check(found)
    ((start, end),) = inserted_in(found)
    assert found.with_.text[start:end].strip() == text.strip()
    assert found.with_.text[end:].lstrip().startswith("What is the map?")
    assert len(found.pairs) >= len(found.without) - 3


@pytest.fixture(scope="module")
def reader():
    return load_tokenizer("smollm2")


def test_a_run_of_slashes_in_a_real_tokenizer(reader):
    prompt = Prompt.from_text("Be brief. What is it?", {"question": [10, 21]})
    without = encode(prompt, reader.tokenizer)
    apart = align(without, encode(insert(prompt, "/ " * 55, "between"), reader.tokenizer))
    assert apart.parts.count("inserted") == 54
    assert shown(apart, "seam") == [" /", " What"]
    assert lost(apart) == [" What"]
    brief = Prompt.from_text("Be brief.")
    with_ = encode(insert(brief, "/ /", "end"), reader.tokenizer)
    stop = align(encode(brief, reader.tokenizer), with_, tokenizer=reader.tokenizer)
    assert (shown(stop, "seam"), lost(stop), shown(stop, "inserted")) == (["./"], ["."], [" /"])


def test_it_takes_about_a_millisecond(reader):
    prompt = Prompt.from_text("Natalia sold clips to 48 of her friends in April. " * 5)
    without = encode(prompt, reader.tokenizer)
    with_ = encode(insert(prompt, "/ " * 55, "random"), reader.tokenizer)
    taken = []
    for _ in range(20):
        began = time.perf_counter()
        align(without, with_, tokenizer=reader.tokenizer)
        taken.append(time.perf_counter() - began)
    assert len(with_) > 110
    assert min(taken) < 0.01  # about a tenth of that on an idle machine
