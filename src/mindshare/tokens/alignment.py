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
from mindshare.tokens.bytewalk import BYTE_OF, absent_bytes
from mindshare.tokens.encoded import Encoded, FastTokenizer
from mindshare.tokens.offsets import BYTE_TOKEN, SENTENCEPIECE_SPACE
from mindshare.tokens.spans import char_mask

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
    inserted: tuple[CharRange, ...]

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
    inserted = tuple(with_.spans.get(span, ()))
    where = _Where(char_mask(len(with_.text), inserted))
    _check_same_text(without, with_, where, span)
    pairs = sorted(
        [*_matched_groups(without, with_, where), *_matched_empty(without, with_, where)]
    )
    return Alignment(without, with_, tuple(pairs), _parts(with_, where, pairs), inserted)


@dataclass(frozen=True)
class _Where:
    """Where the characters of the prompt stand once a text is inserted (`mask` flags that text)."""

    mask: NDArray[np.bool_]

    @cached_property
    def kept(self) -> list[int]:
        """The place of every original character."""
        return [int(at) for at in np.flatnonzero(~self.mask)]

    @cached_property
    def upto(self) -> list[int]:
        """How many inserted characters come before each place."""
        return [0, *(int(n) for n in np.cumsum(self.mask))]

    def moved(self, range_: CharRange) -> CharRange | None:
        """The range of these characters; None if the inserted text stands among them."""
        start, end = self.kept[range_[0]], self.kept[range_[1] - 1] + 1
        return (start, end) if end - start == range_[1] - range_[0] else None

    def gap(self, at: int) -> CharRange:
        """The first and last place that lie where this place between two characters was."""
        before = self.kept[at - 1] + 1 if at else 0
        after = self.kept[at] if at < len(self.kept) else len(self.mask)
        return before, after


def _check_same_text(without: Encoded, with_: Encoded, where: _Where, span: str) -> None:
    left, right = without.text, "".join(with_.text[at] for at in where.kept)
    if left == right:
        return
    differ = [mine != other for mine, other in zip(left, right, strict=False)]
    same = [*differ, True].index(True)
    raise PromptError(
        f"the prompt with the span {span!r} taken out is not the prompt without it: at character "
        f"{same} there is {_shown(right, same)}, without it {_shown(left, same)}",
        where=f"prompt {without.prompt.id}",
        next_step="insert elsewhere, or give the prompt as the chat template writes it",
    )


def _shown(text: str, at: int) -> str:
    return repr(text[max(0, at - CONTEXT) : at + CONTEXT])


def _matched_groups(without: Encoded, with_: Encoded, where: _Where) -> Iterator[tuple[int, int]]:
    """Tokens that share characters are matched together or not at all."""
    there = {with_.offsets[group[0]]: group for group in _groups(with_.offsets)}
    for group in _groups(without.offsets):
        wanted = [(where.moved(without.offsets[at]), without.ids[at]) for at in group]
        first = wanted[0][0]
        other = there.get(first, []) if first else []
        if wanted == [(with_.offsets[at], with_.ids[at]) for at in other]:
            yield from zip(group, other, strict=True)


def _groups(offsets: Sequence[CharRange]) -> list[list[int]]:
    """Runs of tokens that overlap, most of them of one token; tokens without characters in none."""
    groups: list[list[int]] = []
    reached = -1
    for at, (start, end) in enumerate(offsets):
        if start == end:
            continue
        if start < reached:
            groups[-1].append(at)
        else:
            groups.append([at])
        reached = max(reached, end)
    return groups


def _matched_empty(without: Encoded, with_: Encoded, where: _Where) -> Iterator[tuple[int, int]]:
    """Tokens without characters are matched by the place between two characters they stand at."""
    theirs = _empty(with_)
    for place, mine in _empty(without).items():
        before, after = where.gap(place)
        others = [at for spot in dict.fromkeys((before, after)) for at in theirs.get(spot, [])]
        yield from _same_ends(mine, others, without.ids, with_.ids)


def _empty(encoded: Encoded) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at, (start, end) in enumerate(encoded.offsets):
        if start == end:
            found.setdefault(start, []).append(at)
    return found


def _same_ends(
    mine: list[int], others: list[int], ids: Sequence[int], other_ids: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Pairs from the front as long as the ids agree, then from the back."""
    mine, others = list(mine), list(others)
    for end in (0, -1):
        while mine and others and ids[mine[end]] == other_ids[others[end]]:
            yield mine.pop(end), others.pop(end)


def _parts(with_: Encoded, where: _Where, pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    matched = {position for _, position in pairs}
    return tuple(
        "original" if at in matched else _part(range_, where)
        for at, range_ in enumerate(with_.offsets)
    )


def _part(range_: CharRange, where: _Where) -> str:
    start, end = range_
    if start == end:  # it stands for nothing: it is there because of what stands beside it
        beside = where.mask[max(0, start - 1) : start + 1]
        return "inserted" if beside.any() else "unmatched"
    number = where.upto[end] - where.upto[start]
    return "unmatched" if number == 0 else "inserted" if number == end - start else "seam"


def check_faithful(encoded: Encoded, tokenizer: FastTokenizer) -> None:
    """Refuse tokens that say something else than the characters they stand for.

    Some tokenizers rewrite a text before they cut it: lower case, NFKC, accents or spaces taken
    away. Where that leaves this text alone nothing is refused, and how a vocabulary writes spaces
    and bytes is no change. An unknown token says nothing, so nothing else.
    """
    raw = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    covered = [encoded.text[start:end] for start, end in encoded.offsets]
    doubtful = [
        at
        for at, (name, text) in enumerate(zip(raw, covered, strict=True))
        if not encoded.special[at] and not _says(name, text)
    ]
    for at in doubtful:
        if not _excused(encoded.ids[at], covered[at], raw[at], tokenizer):
            raise TokenError(
                f"the tokenizer rewrites the text: its token {raw[at]!r}, number {at} of the "
                f"prompt, stands for {covered[at]!r}",
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
    said = _bytes_of(name)
    return _carries(said, covered, absent) or (
        said[:1] == b" " and _carries(said[1:], covered, absent)
    )


def _bytes_of(name: str) -> bytes:
    """The bytes that a byte-fallback or byte-level token stands for; none if it is neither."""
    byte = BYTE_TOKEN.fullmatch(name)
    if byte:
        return bytes.fromhex(byte[1])
    return bytes(BYTE_OF[char] for char in name) if BYTE_OF.keys() >= set(name) else b""


def _carries(said: bytes, covered: str, absent: frozenset[int]) -> bool:
    """Whether these are the bytes of the characters, but for some of the first and the last one.

    Other tokens carry those; `absent` ones no token carries.
    """
    kept = [bytes(byte for byte in char.encode() if byte not in absent) for char in covered]
    if not kept or not said:
        return not kept and not said
    whole, first, last = b"".join(kept), len(kept[0]) or 1, len(kept[-1]) or 1
    ends = (before + len(said) for before in range(first) if whole.startswith(said, before))
    return any(0 <= len(whole) - end < last for end in ends)
