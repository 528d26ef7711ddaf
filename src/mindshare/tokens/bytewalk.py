"""Tokens become character ranges by their bytes, for byte-level tokenizers that drop bytes.

A byte-level vocabulary may lack some bytes (SmolLM2's lacks 21: control characters, starts of rare
code points). The tokenizer then leaves such bytes out without a word, and reports the tokens after
them, up to the next word, too far to the left. Walking the bytes of the tokens along the bytes of
the text places them exactly. This module knows strings and bytes, not prompts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mindshare.prompts import CharRange


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

    `fixed` tokens (special ones, written in the text or added) keep their reported range.
    """
    walk = _Walk(text, absent)
    return walk.ranges(raw, reported, fixed) or replace(walk, prefix=True).ranges(
        raw, reported, fixed
    )


@dataclass(frozen=True)
class _Walk:
    """A walk along the bytes of a text; `prefix`: stretches that start with no space get one."""

    text: str
    absent: frozenset[int]
    prefix: bool = False

    def ranges(
        self, raw: Sequence[str], reported: Sequence[CharRange], fixed: Sequence[bool]
    ) -> list[CharRange] | None:
        data = self.text.encode()
        owner = [at for at, char in enumerate(self.text) for _ in char.encode()]
        owner.append(len(self.text))
        ranges, at, fresh = list(reported), 0, True
        for token, (name, is_fixed) in enumerate(zip(raw, fixed, strict=True)):
            start, end = reported[token]
            if is_fixed and start == end:
                continue
            if is_fixed:
                if not self.absent.issuperset(data[at : bisect_left(owner, start)]):
                    return None
                at, fresh = bisect_left(owner, end), True
                continue
            invented = self.prefix and fresh and name[:1] == "Ġ" and data[at : at + 1] != b" "
            taken = self._taken(data, at, name[invented:])
            if taken is None:
                return None
            at, fresh = taken[-1] + 1 if taken else at, False
            ranges[token] = (owner[taken[0]], owner[at - 1] + 1) if taken else (owner[at],) * 2
        return ranges if self.absent.issuperset(data[at:]) else None

    def _taken(self, data: bytes, at: int, name: str) -> list[int] | None:
        """The places of a token's bytes, from `at` on; None if others are in the way."""
        taken = []
        for char in name:
            while at < len(data) and data[at] in self.absent:
                at += 1
            if at == len(data) or data[at] != BYTE_OF.get(char):
                return None
            taken.append(at)
            at += 1
        return taken
