"""Text with marks, `look at <<map>>###<</map>> now`, becomes clean text and named spans.

Marks nest; a name may be marked several times. Only `<<name>>` and `<</name>>` with a name of a
letter and then letters, digits, `_` or `-` are marks: anything else stays text. There is no
escape: text that holds such marks for its own sake is read without marks and given its spans as
character ranges. This module does not know prompts or files.
"""

from __future__ import annotations

import re

from mindshare.errors import PromptError

MARK = re.compile(r"<<(?P<close>/?)(?P<name>[A-Za-z][\w-]*)>>")


def parse_marks(
    text: str, *, where: str | None = None
) -> tuple[str, dict[str, tuple[tuple[int, int], ...]]]:
    """The text without its marks, and per name the ranges it marked in that clean text."""
    clean: list[str] = []
    length = copied = 0
    opened: list[tuple[str, int, int]] = []  # name, start in the clean text, position of the mark
    spans: dict[str, list[tuple[int, int]]] = {}
    for mark in MARK.finditer(text):
        clean.append(text[copied : mark.start()])
        length += mark.start() - copied
        copied = mark.end()
        if not mark["close"]:
            opened.append((mark["name"], length, mark.start()))
            continue
        name, start, position = _matching(mark, opened, text, where)
        if start == length:
            raise _mark_error(f"mark <<{name}>> encloses nothing", text, position, where)
        spans.setdefault(name, []).append((start, length))
    if opened:
        name, _, position = opened[-1]
        raise _mark_error(f"mark <<{name}>> is never closed", text, position, where)
    return "".join(clean) + text[copied:], {name: tuple(sorted(r)) for name, r in spans.items()}


def _matching(
    mark: re.Match[str], opened: list[tuple[str, int, int]], text: str, where: str | None
) -> tuple[str, int, int]:
    """Take the innermost open mark off the stack: it must be the one this mark closes."""
    if not opened:
        raise _mark_error(f"{mark[0]} closes nothing", text, mark.start(), where)
    if opened[-1][0] != mark["name"]:
        raise _mark_error(
            f"{mark[0]} stands where <</{opened[-1][0]}>> is due", text, mark.start(), where
        )
    return opened.pop()


def _mark_error(what: str, text: str, position: int, where: str | None) -> PromptError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return PromptError(
        f"{what}, at character {position} (line {line}, column {column})",
        where=where,
        allowed="<<name>>…<</name>>, well nested and not empty",
    )
