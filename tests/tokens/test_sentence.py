"""Random sentences of exactly so many tokens, found with few counts."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mindshare.errors import TokenError
from mindshare.models import load_tokenizer
from mindshare.prompts import Prompt, insert
from mindshare.study import encode_for
from mindshare.tokens import encode, random_sentence
from mindshare.tokens.sentence import SMALL_WORDS, TRIES, WORDS

from .conftest import KEEPS_ALL, LAW, build

PROMPT = Prompt.from_text("Be brief. What is the capital of France?", {"question": [10, 40]})


class Counting:
    """A count of tokens that says how often it was asked."""

    def __init__(self, count):
        self.count, self.asked = count, 0

    def __call__(self, text):
        self.asked += 1
        return self.count(text)


def tokens_with(name):
    return lambda text: len(encode(insert(PROMPT, text, "between"), build(name)))


@pytest.mark.parametrize("name", KEEPS_ALL)
def test_the_prompt_gets_exactly_so_many_tokens_with_few_counts(name):
    alone, asked = len(encode(PROMPT, build(name))), []
    for more in (3, 5, 8, 10, 25, 40, 55, 70, 120):
        for seed in (0, 1, 2):
            count = Counting(tokens_with(name))
            sentence = random_sentence(alone + more, count=count, seed=seed, like="/ ")
            assert tokens_with(name)(sentence) == alone + more
            asked.append(count.asked)
    assert median(asked) <= 8
    assert max(asked) <= 40


@pytest.mark.parametrize("more", [2, 3, 10, 25, 55, 70, 200])
def test_a_real_tokenizer_takes_few_counts(more):
    reader = load_tokenizer("smollm2")
    chat = Prompt.from_chat(
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is it?"}]
    )

    def tokens(text):
        return len(encode_for(reader, insert(chat, text, "between")))

    count, alone = Counting(tokens), len(encode_for(reader, chat))
    sentence = random_sentence(alone + more, count=count, seed=3, like="/ / ")
    assert tokens(sentence) == alone + more
    assert count.asked <= 25


def test_it_is_a_sentence_of_words_with_the_space_of_the_other_text():
    sentence = random_sentence(40, count=lambda text: len(text.split()), seed=5, like="\n / / \n\n")
    assert re.fullmatch(r"\n [A-Z][a-z]*( [a-z]+){39}\. \n\n", sentence)
    words = sentence.strip().rstrip(".").lower().split()
    assert set(words) <= {*WORDS, *SMALL_WORDS}
    assert set(words) & set(SMALL_WORDS)
    assert words[-1] in WORDS
    assert all(one != other for one, other in pairwise(words))


@pytest.mark.parametrize(
    ("like", "pattern"),
    [("", r"[A-Z].*\."), ("/", r"[A-Z].*\."), (" /", r" [A-Z].*\."), ("\n\n\n", r"[A-Z].*\.\n")],
)
def test_space_around(like, pattern):
    found = random_sentence(9, count=lambda text: len(text.split()), seed=0, like=like)
    assert re.fullmatch(pattern, found)


def test_the_seed_decides_and_a_longer_one_begins_alike():
    def sentence(n, seed):
        return random_sentence(n, count=lambda text: len(text.split()), seed=seed)

    assert sentence(30, 7) == sentence(30, 7)
    assert len({sentence(30, seed) for seed in range(50)}) == 50
    assert sentence(60, 7).split()[:25] == sentence(30, 7).split()[:25]


def test_the_same_sentence_for_ever():
    found = random_sentence(8, count=lambda text: len(text.split()), seed=0)
    assert found == "Sun house with high fine olive low pie."


@LAW
@given(st.integers(2, 80), st.integers(0, 10**9), st.lists(st.integers(1, 4), min_size=9))
@example(7, 28055, [4, 2, 2, 2, 2, 2, 2, 2, 2])  # only small words make an odd number
@example(2, 56, [1, 1, 1, 1, 1, 1, 3, 1, 1])  # a short word costs three, and long ones one
def test_whatever_words_cost(more, seed, costs):
    """Words of prices that have nothing to do with their length; small ones cost 1."""

    def count(text):
        words = re.findall(r"[a-z]+", text.lower())
        return 30 + sum(1 if w in SMALL_WORDS else costs[sum(map(ord, w)) % 9] for w in words)

    assert count(random_sentence(30 + more, count=count, seed=seed)) == 30 + more


@LAW
@given(st.integers(3, 200), st.integers(0, 10**9))
def test_one_token_a_character(letters, seed):
    count = Counting(len)
    assert len(random_sentence(letters, count=count, seed=seed)) == letters
    assert count.asked <= 60


def test_too_few_tokens_for_a_sentence():
    count = Counting(lambda text: 62 + len(text.split()) + text.count("."))
    with pytest.raises(TokenError, match="63 tokens long") as refused:
        random_sentence(63, count=count, seed=0)
    assert "the nearest make it 64" in refused.value.what
    assert refused.value.next_step == "ask for 1 token more"
    assert count.asked < 30


@pytest.mark.parametrize("count", [lambda text: 2 * len(text.split()), lambda _text: 12])
def test_a_number_that_cannot_be_met_ends_with_what_was_reached(count):
    counting = Counting(count)
    with pytest.raises(TokenError, match="no random sentence was found") as refused:
        random_sentence(31, count=counting, seed=0)
    reached = {count("a b"), count("a " * 15), count("a " * 16)}
    assert set(map(int, re.findall(r"make it (\d+)", refused.value.what))) <= reached
    assert "another seed" in refused.value.next_step
    assert counting.asked <= TRIES


def test_the_words_are_plain_different_and_of_many_lengths():
    assert len(WORDS) >= 400
    assert len({*WORDS, *SMALL_WORDS}) == len(WORDS) + len(SMALL_WORDS)
    assert all(word.isascii() and word.isalpha() and word.islower() for word in WORDS)
    assert {len(word) for word in WORDS} >= set(range(3, 10))
    assert max(map(len, SMALL_WORDS)) <= 5
