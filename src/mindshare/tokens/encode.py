"""A prompt and a tokenizer become an `Encoded`: ids, exact character ranges, spans, BOS.

The tokenizer is any transformers fast tokenizer, handed in. This module does not know models,
classes or where a tokenizer comes from; whoever loads the model says whether its files ask for BOS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NoReturn, cast

from mindshare.errors import PromptError, TokenError
from mindshare.prompts import CharRange, Prompt
from mindshare.tokens.bytewalk import absent_bytes, walked_ranges
from mindshare.tokens.chat import render_chat
from mindshare.tokens.encoded import (
    DUMMY_PREFIX,
    BosOrigin,
    BosReport,
    Encoded,
    FastTokenizer,
)
from mindshare.tokens.offsets import exact_ranges, is_space_marker, place_added, uncovered_ranges

FAST_NEEDED = "load the model's fast tokenizer (AutoTokenizer with a tokenizer.json in the folder)"


def encode(
    prompt: Prompt,
    tokenizer: FastTokenizer,
    *,
    add_bos: bool | None = None,
    add_generation_prompt: bool = False,
) -> Encoded:
    """Tokenise a prompt.

    `add_bos` None leaves the begin-of-sequence token to the tokenizer (for a chat: to its
    template); True adds it where it is missing, False removes one the tokenizer added. A BOS that
    is written in the text stays, and is never doubled.
    """
    if prompt.messages is None:
        text = prompt.text or ""
        spans = {name: cast(tuple[CharRange, ...], r) for name, r in prompt.spans.items()}
    else:
        text, spans = render_chat(prompt, tokenizer, add_generation_prompt=add_generation_prompt)
    # A rendered chat already holds the special tokens its template wants.
    found = _tokenised(text, tokenizer, add_special_tokens=prompt.messages is None)
    tokens, bos = _with_bos(found, tokenizer, add_bos)
    return Encoded(
        prompt=prompt,
        text=text,
        ids=tuple(tokens.ids),
        offsets=tuple(tokens.ranges),
        pieces=tuple(map(_piece, tokens.raw, _covered(text, tokens.ranges), tokens.added)),
        special=tuple(tokens.special),
        spans=spans,
        bos=bos,
        uncovered=uncovered_ranges(len(text), tokens.ranges),
    )


@dataclass(frozen=True)
class _Tokens:
    """Parallel lists, one entry a token; `added` are those with no text of their own."""

    ids: list[int]
    raw: list[str]
    ranges: list[CharRange]
    added: list[bool]
    special: list[bool]


def _tokenised(text: str, tokenizer: FastTokenizer, *, add_special_tokens: bool) -> _Tokens:
    ids, reported = _ask(text, tokenizer, add_special_tokens)
    raw = tokenizer.convert_ids_to_tokens(ids)
    known, unknown = _special_ids(tokenizer), getattr(tokenizer, "unk_token_id", None)
    shown = _covered(text, reported)
    added = [token in known and not covered for token, covered in zip(ids, shown, strict=True)]
    if all(added):
        raise PromptError(
            f"the tokenizer makes no tokens of {text[:40]!r}",
            allowed="text with at least one character the tokenizer keeps",
        )
    # An unknown token stands for characters of the text: it is special only as its own name.
    special = [
        token in known and (token != unknown or covered.strip() == name or not covered)
        for token, name, covered in zip(ids, raw, shown, strict=True)
    ]
    tokens = _Tokens(ids, raw, reported, added, special)
    # Where an unknown token stands in for what the vocabulary lacks, nothing is dropped.
    stands_in = any(i == unknown and not own for i, own in zip(ids, special, strict=True))
    absent = frozenset[int]() if stands_in else absent_bytes(tokenizer, text)
    return replace(tokens, ranges=_exact(text, tokens, absent))


def _exact(text: str, tokens: _Tokens, absent: frozenset[int]) -> list[CharRange]:
    if not absent:
        ranges = exact_ranges(text, tokens.raw, tokens.ranges, tokens.added)
    else:
        ranges = walked_ranges(
            text, tokens.raw, tokens.ranges, fixed=tokens.special, absent=absent
        ) or _unplaceable(absent)
        place_added(ranges, tokens.added)
    if any(a[0] > b[0] or a[1] > b[1] for a, b in pairwise(ranges)):
        raise TokenError(
            "the tokenizer's character offsets go backwards, so its tokens cannot be placed",
            next_step=FAST_NEEDED,
        )
    return ranges


def _unplaceable(absent: frozenset[int]) -> NoReturn:
    dropped = ", ".join(f"0x{byte:02x}" for byte in sorted(absent))
    raise TokenError(
        f"the tokenizer rewrites the text and drops bytes ({dropped}): its tokens cannot be placed",
        next_step="take the characters with these bytes out of the prompt",
    )


def _ask(
    text: str, tokenizer: FastTokenizer, add_special_tokens: bool
) -> tuple[list[int], list[CharRange]]:
    if not getattr(tokenizer, "is_fast", False):
        raise TokenError(
            f"{type(tokenizer).__name__} cannot say which characters its tokens come from",
            allowed="a fast tokenizer, which reports character offsets",
            next_step=FAST_NEEDED,
        )
    answer = tokenizer(
        text,
        add_special_tokens=add_special_tokens,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,  # the caller compares the length with the model's context
    )
    reported: Any = answer.get("offset_mapping")
    ids = [int(token) for token in answer["input_ids"]]
    if reported is None or len(reported) != len(ids):
        raise TokenError(
            f"{type(tokenizer).__name__} returned no character offsets", next_step=FAST_NEEDED
        )
    return ids, [(int(start), int(end)) for start, end in reported]


def _special_ids(tokenizer: FastTokenizer) -> frozenset[int]:
    """The ids of all control tokens, also of those that have no role such as BOS or EOS."""
    listed = getattr(tokenizer, "added_tokens_decoder", {})
    marked = (int(i) for i, token in listed.items() if getattr(token, "special", False))
    return frozenset({*map(int, tokenizer.all_special_ids), *marked})


def _with_bos(
    tokens: _Tokens, tokenizer: FastTokenizer, wanted: bool | None
) -> tuple[_Tokens, BosReport]:
    bos_id, name = tokenizer.bos_token_id, tokenizer.bos_token
    if bos_id is None:
        if wanted:
            raise TokenError(
                "a begin-of-sequence token is asked for, but the tokenizer has none",
                next_step="set tokenizer.bos_token, or pass add_bos=False",
            )
        return tokens, BosReport(None, False, "none asked for")
    is_bos = [i == bos_id for i in tokens.ids[:2]] + [False]
    written = is_bos[0] and not tokens.added[0]
    doubled = is_bos[0] and is_bos[1] and not tokens.added[1]
    added = is_bos[0] and tokens.added[0]
    if added and (doubled or wanted is False):
        tokens = _tail(tokens)
    elif wanted and not is_bos[0]:
        tokens = _prepended(tokens, int(bos_id), str(name))
    return tokens, BosReport(name, *_bos_state(written or doubled, added, wanted))


def _bos_state(written: bool, added: bool, wanted: bool | None) -> tuple[bool, BosOrigin]:
    if written:
        return True, "in the text"
    if added and wanted is not False:
        return True, "tokenizer"
    if wanted:
        return True, "added: the model's own files ask for it"
    return False, "none asked for"


def _tail(tokens: _Tokens) -> _Tokens:
    return replace(tokens, **{name: values[1:] for name, values in vars(tokens).items()})


def _prepended(tokens: _Tokens, bos_id: int, name: str) -> _Tokens:
    return _Tokens(
        [bos_id, *tokens.ids],
        [name, *tokens.raw],
        [(0, 0), *tokens.ranges],
        [True, *tokens.added],
        [True, *tokens.special],
    )


def _covered(text: str, ranges: Sequence[CharRange]) -> list[str]:
    return [text[start:end] for start, end in ranges]


def _piece(raw: str, covered: str, added: bool) -> str:
    if covered or added:
        return covered or raw
    return DUMMY_PREFIX if is_space_marker(raw) else raw
