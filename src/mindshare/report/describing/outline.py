"""A text with headings and lists → its lines, each with what the lines above say it is about.

A heading, or a label in bold, or a label with nothing after it, names what follows: `Layer 16`,
then `Qwen-Phys:`. A new layer forgets the model before it. Other labels hold for their own line,
and for the lines that are indented below it. Tables, code, formulas and the sections of a report
that say where it comes from are no description. Knows Markdown, not numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mindshare.report.describing.tokens import Lexer, Token

# A part that is named anew forgets those after it.
ORDER = ("condition", "layer", "head", "model", "kind", "measure")
_HEADING = re.compile(r"\s*(?P<signs>#{1,6})\s+(?P<text>.+)")
_BULLET = re.compile(r"(?P<indent>\s*)(?:[*+•-]|\d{1,2}[.)])\s+(?P<text>.+)")
_LABEL = re.compile(
    r"(?P<bold>\*\*|__)?(?P<label>[^:*][^:]{0,60}?)(?P=bold)?:(?(bold)(?:\*\*|__)?)"
)
_FENCE = re.compile(r"\s*(```|~~~|\$\$\s*$)")
_FOLDED = re.compile(r"<details><summary>(?:How this chart was made|The numbers of this chart)\b")
_NO_WORDS = re.compile(r"\s*(?:\||</?[a-zA-Z!][^>]*>\s*$|\$\$|:?-{3,})")  # tables, tags, formulas
_APART = re.compile(
    r"(?:origin|provenance|models?|model cards?|make it again|the prompts|the numbers|contents|"
    r"how it is measured)\b",
    re.I,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_DECIMAL = re.compile(r"\d\.\d")
_LONGEST = 60  # characters of a title
_DEEPEST = 10  # ranks of headings are below those of list items

Given = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """Words without their markup, and what is given from above; `title` is the last heading."""

    number: int
    text: str
    given: Given
    title: str


@dataclass(frozen=True)
class _Level:
    """A heading or label that names something for the lines below it."""

    rank: int  # headings below 0, the higher the lower; list items by their indent
    given: Given
    stays: bool = True  # not only for lines that are indented below it


def outline(text: str, lexer: Lexer) -> Iterator[Line]:
    """The lines that are no headings, in order."""
    levels: list[_Level] = []
    title = ""
    for number, raw in _told(text):
        heading = _heading(raw)
        if heading is not None:
            rank, words = heading
            named = _clearly(lexer.tokens(words))
            title = title if named else words
            levels = _under(levels, _Level(rank, named))
            continue
        indent, words = _bullet(raw)
        levels = [one for one in levels if one.stays or one.rank < indent]
        label, rest, bold = _label(words)
        named = given_by(lexer.tokens(plain(label))) if _only_names(plain(label), lexer) else {}
        yield Line(number, plain(words), _joined(levels) | named, title)
        if named and "kind" not in named:  # a class is named for its own line only
            levels = _under(levels, _Level(indent, named, bold or not rest))


def _told(text: str) -> Iterator[tuple[int, str]]:
    """The lines that can describe something, numbered from 1."""
    fence, apart, folded = "", 0, False
    for number, raw in enumerate(text.splitlines(), 1):
        found = _FENCE.match(raw)
        if found and fence in ("", found[1].strip()):
            fence = "" if fence else found[1].strip()
            continue
        folded = bool(_FOLDED.match(raw)) or (folded and "</details>" not in raw)
        heading = None if fence else _HEADING.fullmatch(raw)
        if heading and (not apart or len(heading["signs"]) <= apart):
            apart = len(heading["signs"]) if _APART.fullmatch(heading["text"].strip()) else 0
        skipped = fence or apart or folded or _NO_WORDS.match(raw)
        if raw.strip() and raw.strip() != "\\n" and not skipped:
            yield number, raw


def given_by(tokens: list[Token]) -> Given:
    """The parts of a key that these words name."""
    found: Given = {}
    for token in tokens:
        if token.what in ("layer", "head"):
            found[token.what] = token.content[0] if len(token.content) == 1 else token.content
        elif token.what == "name" and token.content.part in ORDER:
            found[token.content.part] = token.content.name
    return found


def _clearly(tokens: list[Token]) -> Given:
    """Of a heading: `A and B compared` is about neither."""
    each = [given_by([token]) for token in tokens]
    found = given_by(tokens)
    return {
        part: value
        for part, value in found.items()
        if all(one.get(part, value) == value for one in each)
    }


def plain(words: str) -> str:
    """Without the marks of bold, code, links and escapes."""
    escaped: list[str] = []

    def hide(m: re.Match[str]) -> str:
        escaped.append(m[1])
        return "\0"

    words = re.sub(r"\*\*|__", "", _ESCAPED.sub(hide, words))
    words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", words)
    words = re.sub(r"`([^`]*)`", r'"\1"', words).strip()
    return re.sub("\0", lambda _: escaped.pop(0), words)


def _heading(raw: str) -> tuple[int, str] | None:
    """(rank, words) of `## Words`, of a line all in bold, or of a title on a line of its own."""
    found = _HEADING.fullmatch(raw)
    if found and not _DECIMAL.search(raw):
        return len(found["signs"]) - _DEEPEST, plain(found["text"])
    bare = raw.strip()
    bold = re.fullmatch(r"\*\*[^*]+\*\*:?", bare)
    title = re.fullmatch(r"[A-Z][A-Za-z /-]*:?", bare) and len(bare) <= _LONGEST
    return (-1, plain(bare).rstrip(":")) if bold or title else None


def _bullet(raw: str) -> tuple[int, str]:
    found = _BULLET.fullmatch(raw)
    if found is None:
        return len(raw) - len(raw.lstrip()), raw.strip()
    return len(found["indent"]), found["text"]


def _label(words: str) -> tuple[str, str, bool]:
    """(the label, what stands after it, whether it is bold)"""
    found = _LABEL.match(words)
    if found is None:
        return "", words, False
    bold = words.startswith(("**", "__"))
    return found["label"], words[found.end() :].strip(" *_"), bold


def _only_names(label: str, lexer: Lexer) -> bool:
    """Nothing but names: `Layer 1 Head 8 (Top-Right)`, not `Layer 20 Drop`."""
    rest = re.sub(r"\([^)]*\)", "", label)
    for token in reversed(lexer.tokens(rest)):
        rest = rest[: token.start] + rest[token.stop :]
    return not re.search(r"\w", rest)


def _joined(levels: list[_Level]) -> Given:
    found: Given = {}
    for level in levels:
        found |= level.given
    return found


def _under(levels: list[_Level], new: _Level) -> list[_Level]:
    """Lower levels are over, and those of the same rank that do not name something larger."""
    kept = [
        one
        for one in levels
        if one.rank < new.rank or (one.rank == new.rank and _first(one) < _first(new))
    ]
    return [*kept, new]


def _first(level: _Level) -> int:
    return min((ORDER.index(part) for part in level.given), default=-1)
