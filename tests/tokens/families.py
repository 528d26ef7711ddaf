"""Tokenizers as model families ship them with a chat template, and tokenizers that rewrite text."""

from __future__ import annotations

import copy
from functools import cache

from tokenizers import AddedToken, Regex, Tokenizer, normalizers
from transformers import PreTrainedTokenizerFast

from .conftest import build
from .test_encoding import DEFAULT_SYSTEM, NO_SYSTEM

LLAMA_CHAT = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n\n' + message['content'] | trim + '<|im_end|>' }}"
    "{% endfor %}"
)

# Byte-level with BOS; byte-level with NFC and no BOS; SentencePiece with bytes, no system role.
FAMILIES = {
    "llama-like": ("bytes-bos", LLAMA_CHAT),
    "qwen-like": ("nfc", DEFAULT_SYSTEM),
    "gemma-like": ("gemma", NO_SYSTEM),
    "unigram-like": ("unigram", LLAMA_CHAT),
}


def family(name: str) -> PreTrainedTokenizerFast:
    base, template = FAMILIES[name]
    tokenizer = copy.copy(build(base))
    tokenizer.chat_template = template
    return tokenizer


REWRITING = {
    "nfc": ("bytes", normalizers.NFC()),
    "nfkc": ("bytes", normalizers.NFKC()),
    "lower case": ("bytes", normalizers.Lowercase()),
    "dashes": ("bytes", normalizers.Replace("–", "-")),
    "no accents": (
        "unigram",
        normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]),
    ),
    "one space": ("unigram", normalizers.Replace(Regex(" {2,}"), " ")),
    "no newline": ("unigram", normalizers.Replace("\n", " ")),
}


@cache
def rewriting(name: str) -> PreTrainedTokenizerFast:
    """A tokenizer with that normaliser in front."""
    base, normalizer = REWRITING[name]
    tokenizer = Tokenizer.from_str(build(base).backend_tokenizer.to_str())
    tokenizer.normalizer = normalizer
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


@cache
def taking_spaces() -> PreTrainedTokenizerFast:
    """A tokenizer with a token that takes in the spaces before it."""
    tokenizer = Tokenizer.from_str(build("bytes").backend_tokenizer.to_str())
    tokenizer.add_tokens([AddedToken("[here]", lstrip=True, normalized=False)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
