"""Saved results → a `Document`: what to read, in which order.

    question ─► definition ─► prompts ─► charts ─► description ─► numbers ─► models ─► origin

One chapter a folder. Decides nothing about how it looks.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindshare.report.coloured import prompts_shown
from mindshare.report.describing import Description, describe
from mindshare.report.numbers import figure_table, overview_tables
from mindshare.report.origin import model_cards, provenance, reproduction
from mindshare.report.parts import (
    Chapter,
    Details,
    Document,
    Heading,
    Paragraph,
    Part,
    Picture,
    Section,
)
from mindshare.report.question import definition, folded, listed, notes, question, title_of
from mindshare.report.saved import Saved, SavedFigure

_ALT = 300  # characters of a picture's alternative text
_SENTENCES = 16  # of a section of the description that are not folded away
_WORDS = 500  # … and of what stands beside it


def document(results: Sequence[Saved], *, title: str | None = None) -> Document:
    several = len(results) > 1
    chapters = tuple(
        chapter(saved, number=i if several else None) for i, saved in enumerate(results, 1)
    )
    return Document(title or (_title(results) if several else chapters[0].title), chapters)


def _title(results: Sequence[Saved]) -> str:
    """Of several results: whose attention they are about."""
    models = dict.fromkeys(label for saved in results for label in saved.models)
    return f"Attention of {listed(list(models))}: {len(results)} studies"


def chapter(saved: Saved, *, number: int | None = None) -> Chapter:
    described = described_by(saved)
    sections = (
        Section("The question", (*question(saved), *_answer(saved, described), *notes(saved))),
        Section("How it is measured", tuple(definition(saved))),
        Section("The prompts", tuple(prompts_shown(saved))),
        Section("Charts", tuple(_charts(saved))),
        Section("Description", tuple(_description(described))),
        Section("The numbers", tuple(overview_tables(saved))),
        Section("Models", tuple(model_cards(saved))),
        Section("Origin", tuple(provenance(saved))),
        Section("Make it again", tuple(reproduction(saved, number=number))),
    )
    kept = tuple(one for one in sections if one.parts)
    return Chapter(title_of(saved), kept, summary=described.short)


def described_by(saved: Saved) -> Description:
    """The results in words, made from their tables."""
    return describe(saved.tables, kind=saved.kind)


def _answer(saved: Saved, described: Description) -> list[Part]:
    """What was found, before how."""
    found: list[Part] = [Heading("In short"), Paragraph(described.short)]
    findings = [str(one) for one in saved.manifest.get("findings", ())]
    return [*found, *folded(findings, "findings")] if findings else found


def _charts(saved: Saved) -> list[Part]:
    return [part for figure in saved.figures for part in _chart(figure)]


def _chart(figure: SavedFigure) -> list[Part]:
    picture = Picture(
        name=figure.name,
        title=figure.title,
        alt=shortened(figure.description, _ALT),
        spec=figure.spec,
        png=figure.file("png"),
        svg=figure.file("svg"),
        size=figure.size,
        beside=tuple(_beside(figure)),
    )
    return [Heading(figure.title), picture]


def _beside(figure: SavedFigure) -> list[Part]:
    """What the picture shows, how it was made, and its numbers."""
    short = shortened(figure.description, _WORDS)
    rest = figure.description.removeprefix(short.rstrip("…")).strip()
    found: list[Part] = [Paragraph(short)]
    if rest:
        found.append(Details("More of this chart in words", (Paragraph(rest),)))
    made = figure.definition.partition(" Models: ")[0]  # those have a section of their own
    return [
        *found,
        Details("How this chart was made", (Paragraph(made),)),
        Details("The numbers of this chart", (figure_table(figure),)),
    ]


def _description(described: Description) -> list[Part]:
    found: list[Part] = []
    for section in described.sections:
        sentences = folded(section.sentences, "sentences", shown=_SENTENCES)
        found += [Heading(section.title), *sentences]
    return found


def shortened(text: str, length: int) -> str:
    """Whole sentences, as many as fit; a long first one is cut at a word."""
    kept = ""
    for sentence in text.replace(". ", ".\n").splitlines():
        longer = f"{kept} {sentence}".strip()
        if len(longer) > length:
            break
        kept = longer
    return kept or text[: length - 1].rsplit(" ", 1)[0] + "…"
