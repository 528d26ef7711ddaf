"""Two encodings of one prompt, without and with an inserted text, become pairs of tokens.

Through characters only: a token of one version is matched with a token of the other if both have
the same id and stand for the same characters of the prompt. What the tokenizer merged with the
inserted text is a seam, what it cut differently is unmatched; nothing is guessed. This module does
not know attention or how a text was inserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from mindshare.errors import PromptError, TokenError
from mindshare.prompts import CharRange
from mindshare.tokens.encoding import Encoded, FastTokenizer
from mindshare.tokens.offsets import (
    BYTE_OF,
    BYTE_TOKEN,
    SENTENCEPIECE_SPACE,
    absent_bytes,
    char_mask,
)

CONTEXT = 20  # characters shown around a difference


@dataclass(frozen=True)
class Alignment:
    """Which tokens of a prompt are the same ones with and without an inserted text.

    `pairs` are (position without, position with), ascending in both. `parts` says of every token
    of `with_` what it is: `original` (it has a partner), `unmatched` (characters of the prompt, no
    partner), `inserted` or `seam` (characters of both).
    """

    without: Encoded
    with_: Encoded
    pairs: tuple[tuple[int, int], ...]
    parts: tuple[str, ...]

    @property
    def unmatched(self) -> tuple[int, ...]:
        """The positions in `without` that have no partner."""
        matched = {position for position, _ in self.pairs}
        return tuple(at for at in range(len(self.without)) if at not in matched)


def align(
    without: Encoded,
    with_: Encoded,
    *,
    span: str = "inserted",
    tokenizer: FastTokenizer | None = None,
) -> Alignment:
    """Match the tokens of a prompt with those of the same prompt with a text in its span.

    With its `tokenizer`, tokens that say something else than the characters they stand for are
    refused.
    """
    if tokenizer is not None:
        check_faithful(without, tokenizer)
        check_faithful(with_, tokenizer)
    layout = _Layout(char_mask(len(with_.text), with_.spans.get(span, ())))
    _check_same_text(without, with_, layout, span)
    pairs = sorted(
        [*_matched_groups(without, with_, layout), *_matched_empty(without, with_, layout)]
    )
    matched = {position for _, position in pairs}
    parts = tuple(
        "original" if token in matched else layout.part(range_)
        for token, range_ in enumerate(with_.offsets)
    )
    return Alignment(without, with_, tuple(pairs), parts)


@dataclass(frozen=True)
class _Layout:
    """Where the characters of the prompt stand in the text with the insertion.

    `mask` flags the inserted characters of that text.
    """

    mask: NDArray[np.bool_]

    @cached_property
    def originals(self) -> list[int]:
        """The place of every original character."""
        return [int(at) for at in np.flatnonzero(~self.mask)]

    @cached_property
    def inserted_before(self) -> list[int]:
        """How many inserted characters come before each place."""
        return [0, *(int(n) for n in np.cumsum(self.mask))]

    def moved(self, range_: CharRange) -> CharRange | None:
        """The range of these characters; None if the inserted text stands among them."""
        start, end = self.originals[range_[0]], self.originals[range_[1] - 1] + 1
        return (start, end) if end - start == range_[1] - range_[0] else None

    def gap(self, at: int) -> CharRange:
        """The first and last place that lie where this place between two characters was."""
        before = self.originals[at - 1] + 1 if at else 0
        after = self.originals[at] if at < len(self.originals) else len(self.mask)
        return before, after

    def part(self, range_: CharRange) -> str:
        """What a token without a partner is, by its characters."""
        start, end = range_
        if start == end:  # it stands for nothing: it is there because of what stands beside it
            beside = self.mask[max(0, start - 1) : start + 1]
            return "inserted" if beside.any() else "unmatched"
        number = self.inserted_before[end] - self.inserted_before[start]
        return "unmatched" if number == 0 else "inserted" if number == end - start else "seam"


def _check_same_text(without: Encoded, with_: Encoded, layout: _Layout, span: str) -> None:
    left, right = without.text, "".join(with_.text[at] for at in layout.originals)
    if left == right:
        return
    characters = enumerate(zip(left, right, strict=False))
    at = next((i for i, (a, b) in characters if a != b), min(len(left), len(right)))
    shown = slice(max(0, at - CONTEXT), at + CONTEXT)
    raise PromptError(
        f"the prompt with the span {span!r} taken out is not the prompt without it: at character "
        f"{at} there is {right[shown]!r}, without it {left[shown]!r}",
        where=f"prompt {without.prompt.id}",
        next_step="insert elsewhere, or give the prompt as the chat template writes it",
    )


def _matched_groups(without: Encoded, with_: Encoded, layout: _Layout) -> Iterator[tuple[int, int]]:
    """Tokens that share characters are matched together or not at all."""
    groups_at = {with_.offsets[group[0]]: group for group in _groups(with_.offsets)}
    for group in _groups(without.offsets):
        wanted = [(layout.moved(without.offsets[token]), without.ids[token]) for token in group]
        first = wanted[0][0]
        other = groups_at.get(first, []) if first else []
        if wanted == [(with_.offsets[token], with_.ids[token]) for token in other]:
            yield from zip(group, other, strict=True)


def _groups(offsets: Sequence[CharRange]) -> list[list[int]]:
    """Runs of tokens that overlap, most of them of one token; tokens without characters in none."""
    groups: list[list[int]] = []
    reached = -1
    for token, (start, end) in enumerate(offsets):
        if start == end:
            continue
        if start < reached:
            groups[-1].append(token)
        else:
            groups.append([token])
        reached = max(reached, end)
    return groups


def _matched_empty(without: Encoded, with_: Encoded, layout: _Layout) -> Iterator[tuple[int, int]]:
    """Tokens without characters are matched by the place between two characters they stand at.

    From the front as long as the ids agree, then from the back.
    """
    with_at = _empty_tokens(with_)
    for place, tokens in _empty_tokens(without).items():
        gap = dict.fromkeys(layout.gap(place))  # one place, if nothing was inserted there
        others = [token for at in gap for token in with_at.get(at, [])]
        for end in (0, -1):
            while tokens and others and without.ids[tokens[end]] == with_.ids[others[end]]:
                yield tokens.pop(end), others.pop(end)


def _empty_tokens(encoded: Encoded) -> dict[int, list[int]]:
    """Place → the tokens without characters that stand there."""
    tokens: dict[int, list[int]] = {}
    for token, (start, end) in enumerate(encoded.offsets):
        if start == end:
            tokens.setdefault(start, []).append(token)
    return tokens


def check_faithful(encoded: Encoded, tokenizer: FastTokenizer) -> None:
    """Refuse tokens that say something else than the characters they stand for.

    Some tokenizers rewrite a text before they cut it: lower case, NFKC, accents or spaces taken
    away. Where that leaves this text alone nothing is refused, and how a vocabulary writes spaces
    and bytes is no change. An unknown token says nothing, so nothing else.
    """
    raw = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    for token, (name, (start, end)) in enumerate(zip(raw, encoded.offsets, strict=True)):
        covered = encoded.text[start:end]
        if encoded.special[token] or _says(name, covered):
            continue
        if not _excused(encoded.ids[token], covered, name, tokenizer):
            raise TokenError(
                f"the tokenizer rewrites the text: its token {name!r}, number {token} of the "
                f"prompt, stands for {covered!r}",
                where=f"prompt {encoded.prompt.id}",
                next_step="write the prompt and the insertion as the tokenizer rewrites them",
            )


def _excused(token: int, covered: str, name: str, tokenizer: FastTokenizer) -> bool:
    """Whether a token is unknown, takes in the spaces around its name, or lost absent bytes."""
    if token == getattr(tokenizer, "unk_token_id", None):
        return True
    if token in getattr(tokenizer, "added_tokens_decoder", ()):
        return covered.strip() == name.strip()
    return _says(name, covered, absent_bytes(tokenizer, covered))


@lru_cache(maxsize=2**16)  # a vocabulary has few tokens, a study many prompts
def _says(name: str, covered: str, absent: frozenset[int] = frozenset()) -> bool:
    """Whether a token of that name says these characters, or some bytes of them.

    It may begin with a space that has no character: one that the tokenizer put there.
    """
    shown = covered.replace(SENTENCEPIECE_SPACE, " ")
    plain = name.replace(SENTENCEPIECE_SPACE, " ")
    if plain in (shown, f" {shown}", f"##{shown}", f"{shown}</w>"):
        return True
    data = _bytes_of(name)
    return _carries(data, covered, absent) or (
        data[:1] == b" " and _carries(data[1:], covered, absent)
    )


def _bytes_of(name: str) -> bytes:
    """The bytes that a byte-fallback or byte-level token stands for; none if it is neither."""
    byte = BYTE_TOKEN.fullmatch(name)
    if byte:
        return bytes.fromhex(byte[1])
    return bytes(BYTE_OF[char] for char in name) if BYTE_OF.keys() >= set(name) else b""


def _carries(data: bytes, covered: str, absent: frozenset[int]) -> bool:
    """Whether these are the bytes of the characters, but for some of the first and the last one.

    Other tokens carry those; `absent` ones no token carries.
    """
    chars = [bytes(byte for byte in char.encode() if byte not in absent) for char in covered]
    if not chars or not data:
        return not chars and not data
    whole, first, last = b"".join(chars), len(chars[0]) or 1, len(chars[-1]) or 1
    ends = (before + len(data) for before in range(first) if whole.startswith(data, before))
    return any(0 <= len(whole) - end < last for end in ends)
