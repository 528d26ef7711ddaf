"""What a report is made of: headings, paragraphs, tables, pictures, as plain values.

A `Document` says what is to be read and in which order. How it looks (HTML, Markdown, PDF) is
decided elsewhere; where it comes from (saved results) too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Heading:
    """A heading inside a section; `name` is what links lead to."""

    text: str
    name: str = ""


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Formula:
    """The same formula twice: for pages and for Markdown."""

    mathml: str
    latex: str


@dataclass(frozen=True)
class Column:
    name: str
    definition: str | None = None
    numeric: bool = True


@dataclass(frozen=True)
class NumberTable:
    """Cells are written as they are shown; `csv` is the file that has all rows and digits."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    csv: Path | None = None


@dataclass(frozen=True)
class Picture:
    """A saved figure: its spec, its drawn files and its words."""

    name: str
    title: str
    alt: str  # what it shows, in a sentence or two
    spec: dict[str, Any]
    png: Path
    svg: Path
    size: tuple[int, int]  # in units of the screen
    beside: tuple[Part, ...] = ()  # what is to be read with it


@dataclass(frozen=True)
class Colour:
    """A line of a legend: what stands on this colour, and how much of it."""

    name: str
    colour: str
    note: str = ""


@dataclass(frozen=True)
class ColouredText:
    """Tokens with the name of their colour; a legend names every colour."""

    label: str  # which text it is; nothing where a heading says it
    tokens: tuple[tuple[str, str], ...]  # (characters, name in the legend)
    legend: tuple[Colour, ...]
    left_out: int = 0  # tokens that are not shown


@dataclass(frozen=True)
class Code:
    text: str
    language: str = ""


@dataclass(frozen=True)
class Attached:
    """A small text file that travels with the report."""

    name: str
    text: str


@dataclass(frozen=True)
class Facts:
    """name → value"""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Details:
    """Parts that are folded away until they are asked for."""

    summary: str
    parts: tuple[Part, ...]


Part: TypeAlias = (
    Heading
    | Paragraph
    | Bullets
    | Formula
    | NumberTable
    | Picture
    | ColouredText
    | Code
    | Attached
    | Facts
    | Details
)


@dataclass(frozen=True)
class Section:
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Chapter:
    """Everything about one folder of results."""

    title: str
    sections: tuple[Section, ...]
    summary: str = ""  # a sentence or two, for whoever reads no further


@dataclass(frozen=True)
class Document:
    title: str
    chapters: tuple[Chapter, ...]
    findings: tuple[str, ...] = ()  # of all chapters, for whoever reads no further

    @property
    def summary(self) -> str:
        return " ".join(chapter.summary for chapter in self.chapters if chapter.summary)

    @property
    def sections(self) -> list[tuple[Chapter, Section]]:
        return [(chapter, section) for chapter in self.chapters for section in chapter.sections]

    def pictures(self) -> list[Picture]:
        return [part for part in every_part(self) if isinstance(part, Picture)]


def every_part(document: Document) -> list[Part]:
    """All parts in order, those inside of details too."""
    found: list[Part] = []

    def walk(parts: tuple[Part, ...]) -> None:
        for part in parts:
            found.append(part)
            if isinstance(part, Details):
                walk(part.parts)
            if isinstance(part, Picture):
                walk(part.beside)

    for _, section in document.sections:
        walk(section.parts)
    return found
