"""Saved results → a `Document`: what to read, in which order.

    question ─► definition ─► prompts ─► charts ─► description ─► numbers ─► models ─► origin

One chapter a folder. Decides nothing about how it looks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from mindshare.report.alternative import alternative, shortened
from mindshare.report.coloured import prompts_shown
from mindshare.report.describing import Description, describe
from mindshare.report.numbers import figure_table, overview_tables
from mindshare.report.origin import model_cards, provenance, reproduction
from mindshare.report.parts import (
    Chapter,
    Details,
    Document,
    Heading,
    NumberTable,
    Paragraph,
    Part,
    Picture,
    Section,
)
from mindshare.report.question import definition, folded, listed, notes, question, title_of
from mindshare.report.saved import Saved, SavedFigure

_LABELS = re.compile(r"Labels, by thresholds on .*? (?=Layers and heads are labelled)")
_SENTENCES = 16  # of a section of the description that are not folded away
_ROWS = 40  # … and of a table
_WORDS = 500  # … and of what stands beside it


def document(
    results: Sequence[Saved],
    *,
    title: str | None = None,
    findings: Sequence[str] = (),
    ready: Mapping[Path, Chapter] | None = None,
) -> Document:
    """`findings` are sentences about all results, which stand before everything else.

    `ready` are chapters that were made earlier, by the folder they are about.
    """
    several, there = len(results) > 1, ready or {}
    chapters = tuple(
        there.get(saved.path) or chapter(saved, number=i if several else None)
        for i, saved in enumerate(results, 1)
    )
    called = title or (_title(results) if several else chapters[0].title)
    return Document(called, chapters, tuple(findings))


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
        Section("Charts", tuple(_charts(saved, number))),
        Section("Description", tuple(_description(described))),
        Section("The numbers", tuple(map(_folded_table, overview_tables(saved)))),
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


def _folded_table(table: NumberTable) -> Part:
    return Details(table.caption, (table,)) if len(table.rows) > _ROWS else table


def _charts(saved: Saved, number: int | None) -> list[Part]:
    suffix = "" if number is None else f"-{number}"
    return [
        part
        for figure in saved.figures
        for part in _chart(saved, figure, name=f"chart-{figure.name}{suffix}")
    ]


def _chart(saved: Saved, figure: SavedFigure, *, name: str) -> list[Part]:
    picture = Picture(
        name=figure.name,
        title=figure.title,
        alt=alternative(saved, figure),
        spec=figure.spec,
        png=figure.file("png"),
        svg=figure.file("svg"),
        size=figure.size,
        beside=tuple(_beside(figure)),
    )
    return [Heading(figure.title, name), picture]


def _beside(figure: SavedFigure) -> list[Part]:
    """What the picture shows, how it was made, and its numbers."""
    short = shortened(figure.description, _WORDS)
    rest = figure.description.removeprefix(short.rstrip("…")).strip()
    found: list[Part] = [Paragraph(short)]
    if rest:
        found.append(Details("More of this chart in words", (Paragraph(rest),)))
    made = figure.definition.partition(" Models: ")[0]  # those have a section of their own
    made = _LABELS.sub("", made)  # and so have these
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
