"""The offsets a tokenizer reports become exact character ranges.

Reported offsets are right about characters that several tokens share, and wrong in four ways that
are put right here from the raw token strings:

- byte-level tokenizers may trim spaces off (`Ġworld` reported without its space);
- a space the tokenizer put before the text (`▁`, `Ġ`) is reported as covering the first character;
- a run of byte-fallback tokens (`<0xC3>`, `<0xA9>`, …) may be reported as one range for all;
- tokens it added itself are reported at (0, 0) wherever they stand.

A byte-level vocabulary may also lack some bytes (SmolLM2's lacks 21: control characters, starts of
rare code points). The tokenizer then leaves such bytes out without a word, and reports the tokens
after them, up to the next word, too far to the left. Walking the bytes of the tokens along the
bytes of the text places them exactly. This module knows strings, bytes and ranges, not prompts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mindshare.prompts import CharRange

BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
BYTE_LEVEL_SPACE = "Ġ"
SENTENCEPIECE_SPACE = "▁"


def exact_ranges(
    text: str, raw: Sequence[str], reported: Sequence[CharRange], added: Sequence[bool]
) -> list[CharRange]:
    """The characters each token stands for. `raw` are the vocabulary's own token strings."""
    ranges = [(int(start), int(end)) for start, end in reported]
    of_text = [index for index, is_added in enumerate(added) if not is_added]
    _empty_dummy_prefixes(raw, ranges, of_text)
    _fill_gaps(text, raw, ranges, of_text)
    _split_byte_runs(text, raw, ranges, of_text)
    place_added(ranges, added)
    return ranges


def uncovered_ranges(length: int, ranges: Sequence[CharRange]) -> tuple[CharRange, ...]:
    """The stretches of a text of that length that no range covers; `ranges` in order."""
    gaps, cursor = [], 0
    for start, end in ranges:
        if start > cursor:
            gaps.append((cursor, start))
        cursor = max(cursor, end)
    if cursor < length:
        gaps.append((cursor, length))
    return tuple(gaps)


def char_mask(length: int, ranges: Iterable[CharRange]) -> NDArray[np.bool_]:
    """Which characters of a text of that length lie in any of the ranges."""
    mask = np.zeros(length, dtype=bool)
    for start, end in ranges:
        mask[start:end] = True
    return mask


def is_space_marker(raw: str) -> bool:
    """Whether a token is nothing but space markers."""
    return bool(raw) and all(map(_is_marker, raw))


def _empty_dummy_prefixes(raw: Sequence[str], ranges: list[CharRange], of_text: list[int]) -> None:
    """A token of nothing but space markers shares no character with the token after it."""
    for index, after in pairwise(of_text):
        start, end = ranges[index]
        next_start, next_end = ranges[after]
        if next_start < end <= next_end and is_space_marker(raw[index]):
            ranges[index] = (min(start, next_start), next_start)


def _fill_gaps(text: str, raw: Sequence[str], ranges: list[CharRange], of_text: list[int]) -> None:
    """Give characters between two tokens to the one whose space markers stand for them."""
    cursor, previous = 0, -1
    for index in of_text:
        start, end = ranges[index]
        if start > cursor and previous >= 0:
            cursor = _grow_right(text, raw[previous], ranges, previous, start)
        if start > cursor:
            start = _grown_left(text, raw[index], (start, end), cursor)
            ranges[index] = (start, end)
        cursor, previous = max(cursor, end), index
    if cursor < len(text) and previous >= 0:
        _grow_right(text, raw[previous], ranges, previous, len(text))


def _grow_right(text: str, raw: str, ranges: list[CharRange], index: int, limit: int) -> int:
    """Give a token back the spaces trimmed off its end; the position it reaches."""
    start, end = ranges[index]
    missing = _markers(raw[::-1]) - _spaces(text[start:end][::-1], raw)
    if not raw.endswith(SENTENCEPIECE_SPACE):
        while missing > 0 and end < limit and text[end].isspace():
            end, missing = end + 1, missing - 1
    ranges[index] = (start, end)
    return end


def _grown_left(text: str, raw: str, range_: CharRange, limit: int) -> int:
    """Where a token starts once it has back what its leading markers stand for."""
    start, end = range_
    if raw.startswith(SENTENCEPIECE_SPACE):  # one ▁ may stand for a whole collapsed run
        while start > limit and text[start - 1].isspace():
            start -= 1
        return start
    # The trimmer counts the markers, so it may even have trimmed a letter after a dummy prefix.
    missing = _markers(raw) - _spaces(text[start:end], raw)
    return max(limit, start - max(0, missing))


def _split_byte_runs(
    text: str, raw: Sequence[str], ranges: list[CharRange], of_text: list[int]
) -> None:
    """Give each byte token of a run that covers several characters its own character."""
    for (start, end), run in groupby(of_text, key=lambda index: ranges[index]):
        tokens = list(run)
        matches = [BYTE_TOKEN.fullmatch(raw[index]) for index in tokens]
        run_bytes = bytes(int(match[1], 16) for match in matches if match)
        all_bytes = len(run_bytes) == len(tokens) and run_bytes == text[start:end].encode()
        if end - start < 2 or not all_bytes:
            continue
        owners = [start + at for at, char in enumerate(text[start:end]) for _ in char.encode()]
        for index, owner in zip(tokens, owners, strict=True):
            ranges[index] = (owner, owner + 1)


def place_added(ranges: list[CharRange], added: Sequence[bool]) -> None:
    """A token the tokenizer added stands, empty, where the token before it ends."""
    cursor = 0
    for index, is_added in enumerate(added):
        if is_added:
            ranges[index] = (cursor, cursor)
        cursor = max(cursor, ranges[index][1])


def _is_marker(char: str) -> bool:
    return char in (BYTE_LEVEL_SPACE, SENTENCEPIECE_SPACE) or char.isspace()


def _markers(raw: str) -> int:
    """How many space markers come first."""
    return sum(1 for _ in takewhile(_is_marker, raw))


def _spaces(shown: str, raw: str) -> int:
    """How many characters that a marker of this token can stand for come first."""

    def stands_for(char: str) -> bool:
        return char == " " or (char.isspace() and char in raw)

    return sum(1 for _ in takewhile(stands_for, shown))


def _alphabet() -> dict[str, int]:
    """How byte-level vocabularies write a byte: printable as itself, the rest from U+0100 on."""
    same = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    moved = (byte for byte in range(256) if byte not in same)
    return {chr(byte): byte for byte in same} | {chr(256 + n): byte for n, byte in enumerate(moved)}


BYTE_OF = _alphabet()


def absent_bytes(tokenizer: Any, text: str) -> frozenset[int]:
    """The bytes of the text that a byte-level tokenizer has no token for; none for other kinds."""
    decoder = getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", None)
    if "ByteLevel" not in str(decoder):
        return frozenset()
    present = set(text.encode())
    known = tokenizer.backend_tokenizer.token_to_id
    return frozenset(b for char, b in BYTE_OF.items() if b in present and known(char) is None)


def walked_ranges(
    text: str,
    raw: Sequence[str],
    reported: Sequence[CharRange],
    *,
    fixed: Sequence[bool],
    absent: frozenset[int],
) -> list[CharRange] | None:
    """The range of every token by its bytes; None if they are not the text's bytes less `absent`.

    `fixed` tokens (special ones, written in the text or added) keep their reported range. Tried
    twice: as the bytes are, and with a space before each stretch that begins with none.
    """
    for prefix in (False, True):
        ranges = _walk(text, raw, reported, fixed, absent, prefix=prefix)
        if ranges is not None:
            return ranges
    return None


def _walk(
    text: str,
    raw: Sequence[str],
    reported: Sequence[CharRange],
    fixed: Sequence[bool],
    absent: frozenset[int],
    *,
    prefix: bool,
) -> list[CharRange] | None:
    data = text.encode()
    owner = [index for index, char in enumerate(text) for _ in char.encode()]  # byte → character
    owner.append(len(text))
    ranges, at, fresh = list(reported), 0, True  # at: the next byte
    for token, (name, is_fixed) in enumerate(zip(raw, fixed, strict=True)):
        start, end = reported[token]
        if is_fixed and start == end:
            continue
        if is_fixed:
            if not absent.issuperset(data[at : bisect_left(owner, start)]):
                return None
            at, fresh = bisect_left(owner, end), True
            continue
        invented = prefix and fresh and name[:1] == "Ġ" and data[at : at + 1] != b" "
        taken = _taken(data, at, name[invented:], absent)
        if taken is None:
            return None
        at, fresh = taken[-1] + 1 if taken else at, False
        ranges[token] = (owner[taken[0]], owner[at - 1] + 1) if taken else (owner[at],) * 2
    return ranges if absent.issuperset(data[at:]) else None


def _taken(data: bytes, at: int, name: str, absent: frozenset[int]) -> list[int] | None:
    """The places of a token's bytes, from `at` on; None if others are in the way."""
    taken = []
    for char in name:
        while at < len(data) and data[at] in absent:
            at += 1
        if at == len(data) or data[at] != BYTE_OF.get(char):
            return None
        taken.append(at)
        at += 1
    return taken
