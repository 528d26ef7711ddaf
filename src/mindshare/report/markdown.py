"""A document → Markdown with the same content; pictures and tables are files beside it.

Written so that GitHub, editors and plain eyes can read it: pictures as PNG, formulas as LaTeX,
token classes in brackets instead of colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from mindshare.report.parts import (
    Attached,
    Bullets,
    Code,
    ColouredText,
    Details,
    Document,
    Facts,
    Formula,
    Heading,
    NumberTable,
    Paragraph,
    Part,
    Picture,
)

_ROWS = 60  # of a table
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")


@dataclass(frozen=True)
class _Look:
    level: int  # of headings
    file_name: Callable[[Path], str]


def markdown(
    document: Document, *, file_name: Callable[[Path], str] = lambda path: path.name
) -> str:
    """The whole text; `file_name` says what the files beside it are called."""
    several = len(document.chapters) > 1
    blocks = [f"# {plain(document.title)}"]
    if document.findings:
        found = (f"{i}. {plain(one)}" for i, one in enumerate(document.findings, 1))
        blocks += ["## Findings", "\n".join(found)]
    look = _Look(4 if several else 3, file_name)
    for chapter in document.chapters:
        if several:
            blocks.append(f"## {plain(chapter.title)}")
        for section in chapter.sections:
            blocks.append(f"{'#' * (look.level - 1)} {plain(section.title)}")
            blocks += [_part(part, look) for part in section.parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain(text: str) -> str:
    """No character of the text is taken for markup; one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _part(part: Part, look: _Look) -> str:
    match part:
        case Heading():
            return f"{'#' * look.level} {plain(part.text)}"
        case Paragraph():
            return plain(part.text)
        case Bullets():
            return "\n".join(f"- {plain(item)}" for item in part.items)
        case Formula():
            return f"$$\n{part.latex}\n$$"
        case NumberTable():
            return _table(part, look)
        case Picture():
            return _picture(part, look)
        case ColouredText():
            return _tokens(part)
        case Code():
            return fenced(part.text, part.language)
        case Attached():
            return f"[{plain(part.name)}](<{part.name}>)"
        case Facts():
            return "\n".join(f"- {plain(name)}: {plain(value)}" for name, value in part.items)
        case Details():
            return _details(part, look)


def _picture(part: Picture, look: _Look) -> str:
    shown = f"![{plain(part.alt)}](<{look.file_name(part.png)}>)"
    return "\n\n".join([shown, *(_part(one, look) for one in part.beside)])


def _details(part: Details, look: _Look) -> str:
    """Folded away where HTML is shown; blank lines let Markdown go on inside."""
    inside = "\n\n".join(_part(one, look) for one in part.parts)
    return f"<details><summary>{escape(part.summary)}</summary>\n\n{inside}\n\n</details>"


def _table(part: NumberTable, look: _Look) -> str:
    shown = part.rows[:_ROWS]
    head = [plain(column.name) for column in part.columns]
    rule = ["---:" if column.numeric else "---" for column in part.columns]
    lines = [head, rule, *([plain(cell) for cell in row] for row in shown)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{plain(part.caption)}{_cut(part, len(shown), look)}\n\n{text}"


def _cut(part: NumberTable, shown: int, look: _Look) -> str:
    rows = "" if shown == len(part.rows) else f" The first {shown:,} of {len(part.rows):,} rows."
    if part.csv is None:
        return f".{rows}"
    name = look.file_name(part.csv)
    return f".{rows} All digits and columns: [{plain(name)}](<{name}>)."


def _tokens(part: ColouredText) -> str:
    """Tokens of a plain colour as they are, every other as `[class:token]`."""
    unmarked = {colour.name for colour in part.legend if colour.colour == "#ffffff"}
    text = "".join(
        piece if kind in unmarked else _framed(piece, kind) for piece, kind in part.tokens
    )
    rest = f"\n… and {part.left_out:,} more tokens" if part.left_out else ""
    legend = "\n".join(f"- {plain(c.name)}: {plain(c.note)}" for c in part.legend)
    label = f"**{plain(part.label)}**\n\n" if part.label else ""
    return f"{label}{legend}\n\n{fenced(text + rest, '')}"


def _framed(piece: str, kind: str) -> str:
    """The line break of a token stays outside of its bracket."""
    shown = piece.rstrip("\n")
    return f"[{kind}:{shown}]{piece[len(shown) :]}"


def fenced(text: str, language: str) -> str:
    """A block of code whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
