"""Prompts with and without an insertion, as tokenizers of several kinds read them."""

from __future__ import annotations

from typing import Any

import pytest

from mindshare.errors import MindshareError, PromptError, TokenError
from mindshare.models import ModelTokenizer
from mindshare.prompts import Prompt
from mindshare.study import EncodedPrompt, build_insertion_study
from mindshare.study.encoding import encode_versions
from tests.tokens.conftest import build
from tests.tokens.families import FAMILIES, family, rewriting

TEXT = "Hello world. Why is it?"
QUESTION = Prompt.from_text(TEXT, {"question": (13, len(TEXT))}, id="q")
CHAT = Prompt.from_chat(
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is it?"}], id="c"
)
KINDS = ("bytes", "bytes-bos", "bytes-spaces", "llama", "llama-metaspace", "gemma", "unigram")


def read(
    tokenizer: Any, prompt: Prompt, insert: Any, limit: int | None = None, **parts: Any
) -> EncodedPrompt:
    reader = ModelTokenizer(tokenizer, "tiny", None, limit)
    return encode_versions(reader, prompt, build_insertion_study(insert, **parts))


def inserted(versions: EncodedPrompt) -> list[list[str]]:
    """By version, the characters that its span covers."""
    return [
        [one.encoded.text[start:end] for start, end in one.encoded.spans["inserted"]]
        for one in versions.versions
    ]


def test_the_prompt_as_it_is_and_each_condition() -> None:
    found = read(build("bytes"), QUESTION, ["/ *2", "#"], at=["between", "start"])
    assert found.prompt == QUESTION
    assert found.encoded.text == TEXT
    assert found.notes == ()
    assert {one.condition: one.encoded.text for one in found.versions} == {
        "/ ×2 at between": "Hello world. / / Why is it?",
        "/ ×2 at start": "/ / Hello world. Why is it?",
        "# at between": "Hello world. #Why is it?",
        "# at start": "#Hello world. Why is it?",
    }
    assert inserted(found) == [["/ / "], ["/ / "], ["#"], ["#"]]


def test_which_tokens_hold_what() -> None:
    found = read(build("bytes"), QUESTION, "/ *2")
    one = found.versions[0]
    pieces = one.encoded.pieces
    assert "".join(pieces[i] for i in one.holding("inserted", "seam")) == "/ / "
    assert "".join(pieces[i] for i in one.holding("original")) == TEXT
    assert len(one.holding("unmatched")) == 0
    assert [pieces[b] for _, b in one.alignment.pairs] == list(found.encoded.pieces)


def test_tokens_that_merge_at_the_seam() -> None:
    found = read(build("bytes"), Prompt.from_text("a ## b", {"x": (3, 6)}), "##", at="before:x")
    one = found.versions[0]
    assert one.encoded.text == "a #### b"
    assert [one.encoded.pieces[i] for i in one.holding("seam")] == [" ##", "##"]
    assert len(one.holding("inserted")) == 0
    assert [found.encoded.pieces[i] for i in one.alignment.unmatched] == [" ##"]


# Chats.


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "gemma-like"])
def test_the_run_stands_before_the_users_words(name: str) -> None:
    found = read(family(name), CHAT, "/ *3")
    assert found.notes == ()
    assert found.prompt == CHAT
    text = found.versions[0].encoded.text
    assert "/ / / Why is it?" in text
    assert text.replace("/ / / ", "") == found.encoded.text
    assert text.index("system") < text.index("Be brief.") < text.index("user")


def test_a_template_without_system_role_gets_its_text_in_the_users_message() -> None:
    found = read(family("gemma-like"), CHAT, "/ *3", against="random-sentence")
    assert found.notes == (
        "tiny's chat template takes no system message: its text stands at the start of the first "
        "user message",
    )
    assert found.encoded.text == "<s><start>user\nBe brief.\n\nWhy is it?<end>\n"
    run, other = found.versions
    assert run.encoded.text == "<s><start>user\nBe brief.\n\n/ / / Why is it?<end>\n"
    assert f"\n\n{other.text}Why is it?<end>" in other.encoded.text
    assert found.prompt.id == CHAT.id


def test_a_template_that_takes_away_what_stands_between_is_refused() -> None:
    prompt = Prompt.from_chat([{"role": "user", "content": "Why? "}])  # its last space is trimmed
    with pytest.raises(PromptError, match="is not the prompt without it: at character 19"):
        read(family("gemma-like"), prompt, "/ *3", at="end")


# Random sentences.


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_a_random_sentence_has_exactly_as_many_tokens(kind: str, seed: int) -> None:
    found = read(build(kind), QUESTION, "/ *9", against="random-sentence", seed=seed)
    run, other = found.versions
    assert len(run.encoded.ids) == len(other.encoded.ids) > len(found.encoded.ids) + 8
    assert other.text[0].isupper()
    assert other.text.endswith(". ")  # the space that the run ends in
    assert other.text.replace(" ", "").rstrip(".").isalpha()
    assert other.encoded.text == f"Hello world. {other.text}Why is it?"


@pytest.mark.parametrize("kind", KINDS)
def test_a_random_sentence_of_a_number_of_tokens(kind: str) -> None:
    found = read(build(kind), QUESTION, "random-sentence*12,23")
    lengths = [len(one.encoded.ids) - len(found.encoded.ids) for one in found.versions]
    assert lengths == [12, 23]


def test_random_sentences_go_by_their_seed() -> None:
    said = [
        read(build("gemma"), QUESTION, "random-sentence*30", seed=seed).versions[0].text
        for seed in (1, 1, 2)
    ]
    assert said[0] == said[1] != said[2]


def test_nothing_inserted_is_the_prompt_itself() -> None:
    found = read(build("llama"), QUESTION, "/ *0,2")
    nothing, run = found.versions
    assert nothing.text == ""
    assert nothing.encoded == found.encoded
    assert nothing.alignment.pairs == tuple((i, i) for i in range(len(found.encoded)))
    assert len(nothing.holding("inserted", "seam")) == 0 < len(run.holding("inserted"))


# What is refused, with the insertion it is about.


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"insert": "/ *55", "limit": 40}, PromptError, "more than the 40 that tiny can hold"),
        ({"insert": "/ *5", "at": "before:qestion"}, PromptError, "did you mean 'question'"),
        ({"insert": "random-sentence"}, PromptError, "needs a length"),
        ({"insert": "random-sentence*1"}, TokenError, "no random sentence was found"),
        ({"insert": "random-sentence*90", "limit": 50}, PromptError, "more than the 50"),
    ],
)
def test_refused(parts: dict[str, Any], error: type[MindshareError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        read(build("bytes"), QUESTION, **parts)
    assert (caught.value.where or "").startswith("insertion '")
    assert "prompt q" in (caught.value.where or "")


def test_a_prompt_that_is_too_long_by_itself() -> None:
    with pytest.raises(PromptError, match="prompt q has 11 tokens, more than the 10") as caught:
        read(build("bytes"), QUESTION, "/ *5", limit=10)
    assert "insertion" not in str(caught.value)


def test_a_place_that_is_not_there_is_refused_even_if_nothing_goes_there() -> None:
    with pytest.raises(PromptError, match="no span 'map'"):
        read(build("bytes"), QUESTION, "/ *0", at="before:map")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nfc", "Cafe\u0301 is it"),
        ("nfkc", "ﬁne it is"),
        ("lower case", "Hello It is"),
        ("dashes", "a – b"),
        ("no accents", "café is"),
        ("no newline", "a\nb"),
    ],
)
def test_a_tokenizer_that_rewrites_the_text_is_refused(name: str, text: str) -> None:
    with pytest.raises(TokenError, match="the tokenizer rewrites the text"):
        read(rewriting(name), Prompt.from_text(text), "/ *3")
    plain = read(rewriting(name), Prompt.from_text("it is so"), "/ *3")
    assert len(plain.versions[0].alignment.pairs) > 0  # nothing to rewrite here
