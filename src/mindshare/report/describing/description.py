"""Sections of sentences → a description as plain text, as Markdown, or short.

Knows sentences, nothing about where they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

TITLES = (
    "Overview",
    "Components and axes",
    "Detailed analysis",
    "Key observations",
    "Interpretation",
)
SHORT = 300  # characters of a text that stands in for a picture


@dataclass(frozen=True)
class Section:
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """Five sections, each a list of sentences; `short` stands in for the picture."""

    overview: Section
    components: Section
    details: Section
    observations: Section
    interpretation: Section
    summary: tuple[str, ...]  # what `short` says, the most important first

    @property
    def sections(self) -> tuple[Section, ...]:
        return (
            self.overview,
            self.components,
            self.details,
            self.observations,
            self.interpretation,
        )

    @property
    def text(self) -> str:
        """Plain text: a title, then a sentence a line."""
        parts = ["\n".join([part.title, *part.sentences]) for part in self.sections]
        return "\n\n".join(parts) + "\n"

    @property
    def markdown(self) -> str:
        parts = [
            "\n".join([f"### {part.title}", "", *(f"- {_plain(s)}" for s in part.sentences)])
            for part in self.sections
        ]
        return "\n\n".join(parts) + "\n"

    @property
    def short(self) -> str:
        """As many sentences of the summary as fit, at most 300 characters."""
        kept = ""
        for sentence in self.summary:
            longer = f"{kept} {sentence}".strip()
            if len(longer) > SHORT:
                break
            kept = longer
        return kept or _cut(self.summary[0])

    def __str__(self) -> str:
        return self.text

    def __iter__(self) -> Iterator[Section]:
        return iter(self.sections)


def described(*sections: list[str], summary: list[str]) -> Description:
    """The sentences of the five sections, in order."""
    made = (Section(t, tuple(s)) for t, s in zip(TITLES, sections, strict=True))
    overview, components, details, observations, interpretation = made
    return Description(overview, components, details, observations, interpretation, tuple(summary))


def joined(parts: Sequence[Description], lead: str) -> Description:
    """Several descriptions, section by section, under one first sentence; none says it twice."""
    sections = [
        list(dict.fromkeys(s for part in parts for s in part.sections[i].sentences))
        for i in range(len(TITLES))
    ]
    sections[0].insert(0, lead)
    return described(*sections, summary=list(parts[0].summary))


def _plain(sentence: str) -> str:
    """No character of a name may begin or end emphasis or code."""
    for sign in ("\\", "*", "_", "`", "<"):
        sentence = sentence.replace(sign, "\\" + sign)
    return sentence


def _cut(sentence: str) -> str:
    if len(sentence) <= SHORT:
        return sentence
    return sentence[: SHORT - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"
