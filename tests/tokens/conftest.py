"""Small real tokenizers of every family, trained here, wrapped as transformers wraps them."""

from __future__ import annotations

import json
import os
from functools import cache

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "Hello world, the map is:\n####\n#  *#\n## *\n\n#\n  #\n",
    "Paris is the capital of France. Hello again!  two   spaces",
    "def f(x):\n    return x\n\n# a *bold* and **strong** ## 123 4242 café naïve 🙂 🙂",
] * 20


def _byte_alphabet() -> dict[str, int]:
    """How byte-level vocabularies write bytes: printable as themselves, others from U+0100 on."""
    same = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = [byte for byte in range(256) if byte not in same]
    return {chr(byte): byte for byte in same} | {
        chr(256 + place): byte for place, byte in enumerate(moved)
    }


BYTE_OF = _byte_alphabet()
SPECIAL = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]

LAW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


ABSENT = frozenset([0x04, 0x1D, 0x2A, 0xF0, 0xF1])


def _byte_level(
    *, trim: bool, prefix: bool = False, absent: frozenset[int] = frozenset()
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = [c for c in pre_tokenizers.ByteLevel.alphabet() if BYTE_OF[c] not in absent]
    corpus = [text.replace("*", "").replace("🙂", "") for text in CORPUS] if absent else CORPUS
    tokenizer.train_from_iterator(corpus, _bpe_trainer(SPECIAL, alphabet))
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=prefix, trim_offsets=trim)
    return tokenizer


def _spaces_kept(*, trim: bool) -> Tokenizer:
    """Byte-level without words: tokens may end in spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(CORPUS, _bpe_trainer(SPECIAL, alphabet))
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=trim)
    return tokenizer


def _byte_fallback_bpe(normalizer=None, pre_tokenizer=None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS, _bpe_trainer([*SPECIAL, *BYTES], []))
    return _without_added_bytes(tokenizer)


def _unigram(*, byte_fallback: bool = True, normalizer=None) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, show_progress=False, unk_token="<unk>", special_tokens=SPECIAL
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    state = json.loads(tokenizer.to_str())
    if byte_fallback:
        state["model"]["vocab"] += [[byte, -30.0] for byte in BYTES]
        state["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(state))


def _bpe_trainer(special, alphabet):
    return trainers.BpeTrainer(
        vocab_size=300 + len(special) + len(alphabet) // 2,
        initial_alphabet=alphabet,
        special_tokens=special,
        show_progress=False,
    )


def _without_added_bytes(tokenizer: Tokenizer) -> Tokenizer:
    """Byte tokens are ordinary tokens of the vocabulary, as in the models that have them."""
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["content"] not in BYTES]
    return Tokenizer.from_str(json.dumps(state))


def _template(tokenizer: Tokenizer, template: str) -> Tokenizer:
    ids = [(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    bos = processors.TemplateProcessing(single=template, special_tokens=ids)
    if tokenizer.post_processor is not None:
        bos = processors.Sequence([tokenizer.post_processor, bos])
    tokenizer.post_processor = bos
    return tokenizer


def _llama_normalizer():
    return normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


BUILDERS = {
    "bytes": lambda: _byte_level(trim=False),
    "bytes-trimmed": lambda: _byte_level(trim=True),
    "bytes-prefixed": lambda: _byte_level(trim=False, prefix=True),
    "bytes-prefixed-trimmed": lambda: _byte_level(trim=True, prefix=True),
    "bytes-spaces": lambda: _spaces_kept(trim=False),
    "bytes-spaces-trimmed": lambda: _spaces_kept(trim=True),
    "bytes-bos": lambda: _template(_byte_level(trim=True), "<s> $A"),
    "bytes-bos-eos": lambda: _template(_byte_level(trim=False), "<s> $A </s>"),
    "lacking": lambda: _byte_level(trim=False, absent=ABSENT),
    "lacking-trimmed": lambda: _byte_level(trim=True, absent=ABSENT),
    "lacking-prefixed": lambda: _byte_level(trim=True, prefix=True, absent=ABSENT),
    "lacking-nfc": lambda: _nfc(_byte_level(trim=True, absent=ABSENT)),
    "llama": lambda: _template(_byte_fallback_bpe(_llama_normalizer()), "<s> $A"),
    "llama-metaspace": lambda: _byte_fallback_bpe(
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    ),
    "gemma": lambda: _byte_fallback_bpe(normalizers.Replace(" ", "▁")),
    "unigram": lambda: _unigram(),
    "unigram-unk": lambda: _unigram(byte_fallback=False),
    "stripping": lambda: _unigram(
        normalizer=normalizers.Sequence(
            [
                normalizers.NFKD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.Strip(),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        )
    ),
    "nfc": lambda: _nfc(_byte_level(trim=False)),
}
LACKING = ["lacking", "lacking-trimmed", "lacking-prefixed"]
KEEPS_ALL = [n for n in BUILDERS if n not in ("stripping", "nfc") and not n.startswith("lacking")]
BY_BYTES = [name for name in KEEPS_ALL if name != "unigram-unk"]


def _nfc(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


@cache
def build(name: str) -> PreTrainedTokenizerFast:
    """The tokenizer of that name, built once a session."""
    return PreTrainedTokenizerFast(
        tokenizer_object=BUILDERS[name](),
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        clean_up_tokenization_spaces=False,
    )


def texts(special: bool = False) -> st.SearchStrategy[str]:
    """Any Unicode text, with more of what tokenizers trip over than chance would bring."""
    anything = st.characters(exclude_categories=["Cs"])
    awkward = [
        *" \t\n\r#*a1é中🙂▁Ġ.",
        "  ",
        "\u0301",
        "\u200b",
        "\x00",
        "\u00a0",
        "\u2028",
        "👩‍👩‍👧",
    ]
    words = ["Hello", " world", "<0xE2>", "####", "ﬁ", "\x1c", "😀😀", "e\u0301\u0302", " the"]
    if special:
        words += ["<s>", "</s>", "<|im_start|>", "<unk>"]
    return st.lists(st.one_of(st.sampled_from([*awkward, *words]), anything), min_size=1).map(
        "".join
    )
