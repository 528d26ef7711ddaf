"""Tokens → where their characters stand: lines that fit a width, broken where the text breaks.

A token becomes one box, or several if it holds a line end or is longer than a line. Widths are
those of the font that pictures are drawn in. Knows characters, nothing about numbers or colours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NEWLINE, TAB = "¶", "→"
_BLANK = 0.45  # em of a box without characters
# Liberation Sans, which has the widths of Arial, in thousandths of an em: ASCII from the space on.
_ASCII = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
_OTHERS = {NEWLINE: 537, TAB: 1000, "\u00a0": 278, "…": 1000, "–": 556, "—": 1000, "·": 333}


@dataclass(frozen=True)
class Piece:
    """What is shown of one token."""

    text: str
    continues: bool = False  # more bytes of the character that the token before it began


@dataclass(frozen=True)
class Box:
    """A token, or a part of it, in pixels."""

    token: int  # which of the pieces
    text: str
    x: float
    line: int
    width: float


def advance(text: str, size: float) -> float:
    """How wide the text is drawn."""
    return size * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32] / 1000
    if character in _OTHERS:
        return _OTHERS[character] / 1000
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    base = unicodedata.normalize("NFD", character)[0]
    if base != character:
        return _em(base)
    wide = unicodedata.east_asian_width(character) in "WF"
    return 1.1 if wide else 0.78 if character.isupper() else 0.66


def drawable(text: str) -> str:
    """Characters that a picture can show; spaces that no drawing collapses."""
    shown = {" ": "\u00a0", "\t": TAB, "\n": NEWLINE}
    return "".join(shown.get(c) or (c if _is_drawn(c) else _escaped(c)) for c in text)


def _is_drawn(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) in ("Cf", "Zs")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def flow(pieces: Sequence[Piece], width: float, size: float) -> list[Box]:
    """Boxes in order; words stay whole if they fit into a line."""
    boxes: list[Box] = []
    pen = _Pen(width, size)
    for word, ends in _words(pieces):
        pen.start(sum(pen.width_of(text) for _, text in word))
        for token, text in word:
            boxes += pen.put(token, text)
        if ends:
            pen.newline()
    return boxes


def _words(pieces: Sequence[Piece]) -> Iterator[tuple[list[tuple[int, str]], bool]]:
    """Parts of tokens up to the next space or line end, and whether a line ends there."""
    word: list[tuple[int, str]] = []
    for token, piece in enumerate(pieces):
        text = "" if piece.continues else piece.text
        if text[:1].isspace() and word:
            yield word, False
            word = []
        lines = text.split("\n")
        for line in lines[:-1]:
            yield [*word, (token, drawable(line + "\n"))], True
            word = []
        if lines[-1] or len(lines) == 1:
            word.append((token, drawable(lines[-1])))
    if word:
        yield word, False


@dataclass
class _Pen:
    """Where the next character goes."""

    width: float
    size: float
    x: float = 0.0
    line: int = 0

    def width_of(self, text: str) -> float:
        return advance(text, self.size) or _BLANK * self.size

    def newline(self) -> None:
        self.x, self.line = 0.0, self.line + 1

    def start(self, width: float) -> None:
        """A word begins: on the next line if it fits there and not here."""
        if self.x and self.x + width > self.width:
            self.newline()

    def put(self, token: int, text: str) -> Iterator[Box]:
        """A part of a word; cut only if it is longer than a line by itself."""
        whole = self.width_of(text)
        if self.x and self.x + whole > self.width:
            self.newline()
        while whole > self.width and len(text) > 1:
            n = self._fitting(text)
            yield self._box(token, text[:n])
            self.newline()
            text = text[n:]
            whole = self.width_of(text)
        yield self._box(token, text)

    def _fitting(self, text: str) -> int:
        n = 1
        while n < len(text) and advance(text[: n + 1], self.size) <= self.width:
            n += 1
        return n

    def _box(self, token: int, text: str) -> Box:
        width = self.width_of(text)
        box = Box(token, text, round(self.x, 2), self.line, round(width, 2))
        self.x += width
        return box
