"""A prompt as tokens: pieces, special tokens, BOS, and what cannot be encoded."""

from __future__ import annotations

import pickle

import pytest

from mindshare.errors import PromptError, TokenError
from mindshare.prompts import Message, Prompt
from mindshare.tokens import BosReport, encode

from .conftest import build

ADDED = "added: the model's own files ask for it"


def encoded(text, name, **options):
    return encode(Prompt.from_text(text), build(name), **options)


def test_a_word_keeps_its_space_though_the_tokenizer_trims_it():
    for name in ("bytes", "bytes-trimmed"):
        result = encoded("Hello world", name)
        assert result.pieces == ("Hello", " world")
        assert result.offsets == ((0, 5), (5, 11))
        assert result.text == "Hello world"
        assert len(result) == 2


def test_tokens_of_one_character_share_its_range():
    result = encoded("a中b", "bytes")
    assert result.offsets == ((0, 1), (1, 2), (1, 2), (1, 2), (2, 3))
    assert result.pieces == ("a", "中", "中", "中", "b")


def test_an_invented_space_has_no_character():
    result = encoded("中", "llama")
    assert result.pieces[:3] == ("<s>", "▁", "中")
    assert result.offsets[:3] == ((0, 0), (0, 0), (0, 1))
    assert result.special[:3] == (True, False, False)


def test_named_spans_come_along():
    prompt = Prompt.from_text("see <<map>>###<</map>>", marked=True)
    assert encode(prompt, build("bytes")).spans == {"map": ((4, 7),)}


def test_special_tokens_in_the_text_have_their_range():
    result = encoded("a<|im_start|>b", "bytes")
    assert result.pieces == ("a", "<|im_start|>", "b")
    assert result.special == (False, True, False)
    assert result.offsets[1] == (1, 13)


def test_an_unknown_token_is_text_unless_it_is_written_out():
    result = encoded("a🙃<unk>", "unigram-unk")
    by_piece = dict(zip(result.pieces, result.special, strict=True))
    assert by_piece["🙃"] is False
    assert by_piece["<unk>"] is True
    assert encoded("a\x1f", "unigram-unk").special[-1] is False  # unknown whitespace is text too


def test_dropped_characters_are_reported():
    result = encoded("the e\u0301nd  ", "stripping")
    assert result.uncovered == ((5, 6), (8, 10))


@pytest.mark.parametrize(
    ("name", "text", "add_bos", "present", "origin"),
    [
        ("bytes", "Hello", None, False, "none asked for"),
        ("bytes", "Hello", False, False, "none asked for"),
        ("bytes", "Hello", True, True, ADDED),
        ("bytes", "<s>Hello", None, True, "in the text"),
        ("bytes", "<s>Hello", True, True, "in the text"),
        ("bytes", "<s>Hello", False, True, "in the text"),
        ("bytes-bos", "Hello", None, True, "tokenizer"),
        ("bytes-bos", "Hello", True, True, "tokenizer"),
        ("bytes-bos", "Hello", False, False, "none asked for"),
        ("bytes-bos", "<s>Hello", None, True, "in the text"),
        ("bytes-bos", "<s>Hello", True, True, "in the text"),
        ("llama", "Hello", None, True, "tokenizer"),
        ("gemma", "Hello", True, True, ADDED),
    ],
)
def test_bos_is_there_once_or_not_at_all(name, text, add_bos, present, origin):
    result = encoded(text, name, add_bos=add_bos)
    assert result.bos == BosReport("<s>", present, origin)
    assert result.ids.count(build(name).bos_token_id) == int(present)
    assert (result.pieces[0] == "<s>") is present
    if present:
        assert result.special[0]
        assert result.offsets[0] == ((0, 3) if origin == "in the text" else (0, 0))


def test_an_end_token_stands_at_the_end():
    result = encoded("Hello", "bytes-bos-eos")
    assert result.pieces == ("<s>", "Hello", "</s>")
    assert result.offsets == ((0, 0), (0, 5), (5, 5))
    assert result.special == (True, False, True)


def test_a_tokenizer_without_bos():
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=build("bytes").backend_tokenizer)
    prompt = Prompt.from_text("Hello")
    assert encode(prompt, tokenizer).bos == BosReport(None, False, "none asked for")
    with pytest.raises(TokenError, match="the tokenizer has none"):
        encode(prompt, tokenizer, add_bos=True)


def test_a_chat_is_given_no_bos_beyond_its_template():
    chat = Prompt.from_chat([Message("user", "Hello")])
    for template, origin in [("{{ bos_token }}", "in the text"), ("", "none asked for")]:
        tokenizer = build("bytes-bos")
        tokenizer.chat_template = template + "{{ messages[0]['content'] }}"
        result = encode(chat, tokenizer)
        assert result.bos.origin == origin
        assert result.ids.count(tokenizer.bos_token_id) == int(origin == "in the text")
    assert encode(chat, tokenizer, add_bos=True).bos.origin == ADDED


def test_a_text_that_makes_no_tokens():
    with pytest.raises(PromptError, match="makes no tokens of"):
        encoded("   ", "stripping")


def test_slow_tokenizers_are_refused():
    from transformers import ByT5Tokenizer

    with pytest.raises(TokenError, match=r"ByT5Tokenizer cannot say which characters[\s\S]*fast"):
        encode(Prompt.from_text("Hello"), ByT5Tokenizer())


def test_a_tokenizer_that_returns_no_offsets():
    class Mute:
        is_fast = True
        bos_token = bos_token_id = chat_template = None
        all_special_ids = ()

        def __call__(self, text, **_options):
            return {"input_ids": [ord(char) for char in text]}

    with pytest.raises(TokenError, match="Mute returned no character offsets"):
        encode(Prompt.from_text("Hello"), Mute())


def test_encoded_prompts_survive_pickling():
    result = encoded("Hello", "llama")
    assert pickle.loads(pickle.dumps(result)) == result
