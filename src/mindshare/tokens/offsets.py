"""The offsets a tokenizer reports become exact character ranges.

Reported offsets are right about characters that several tokens share, and wrong in four ways that
are put right here from the raw token strings:

- byte-level tokenizers may trim spaces off (`Ġworld` reported without its space);
- a space the tokenizer put before the text (`▁`, `Ġ`) is reported as covering the first character;
- a run of byte-fallback tokens (`<0xC3>`, `<0xA9>`, …) may be reported as one range for all;
- tokens it added itself are reported at (0, 0) wherever they stand.

This module knows strings and ranges, not prompts or tokenizers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise, takewhile

from mindshare.prompts import CharRange

BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
BYTE_LEVEL_SPACE = "Ġ"
SENTENCEPIECE_SPACE = "▁"


def exact_ranges(
    text: str, raw: Sequence[str], reported: Sequence[CharRange], added: Sequence[bool]
) -> list[CharRange]:
    """The characters each token stands for. `raw` are the vocabulary's own token strings."""
    ranges = [(int(start), int(end)) for start, end in reported]
    own = [index for index, is_added in enumerate(added) if not is_added]
    _empty_dummy_prefixes(raw, ranges, own)
    _fill_gaps(text, raw, ranges, own)
    _split_byte_runs(text, raw, ranges, own)
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


def is_space_marker(raw: str) -> bool:
    """Whether a token is nothing but space markers."""
    return bool(raw) and all(map(_is_marker, raw))


def _empty_dummy_prefixes(raw: Sequence[str], ranges: list[CharRange], own: list[int]) -> None:
    """A token of nothing but space markers shares no character with the token after it."""
    for index, after in pairwise(own):
        start, end = ranges[index]
        next_start, next_end = ranges[after]
        if next_start < end <= next_end and is_space_marker(raw[index]):
            ranges[index] = (min(start, next_start), next_start)


def _fill_gaps(text: str, raw: Sequence[str], ranges: list[CharRange], own: list[int]) -> None:
    """Give characters between two tokens to the one whose space markers stand for them."""
    cursor, previous = 0, -1
    for index in own:
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
    text: str, raw: Sequence[str], ranges: list[CharRange], own: list[int]
) -> None:
    """Give each byte token of a run that covers several characters its own character."""
    for (start, end), run in groupby(own, key=lambda index: ranges[index]):
        tokens = list(run)
        found = [BYTE_TOKEN.fullmatch(raw[index]) for index in tokens]
        run_bytes = bytes(int(match[1], 16) for match in found if match)
        if end - start < 2 or len(run_bytes) != len(tokens):
            continue
        if run_bytes != text[start:end].encode():
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
