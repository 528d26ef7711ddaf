"""Saved results → what a report says, as plain values: a document of chapters, pictures and parts.

A chapter is about one folder: question, claims, charts in the study's order, limits. The main chart
comes first, two others support it, all further ones stand in a gallery. What was found is said by
`mindshare.facts`; here it is chosen, so that it stays short. How it looks (HTML, Markdown, PDF) is
decided by `writing` and its templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, zip_longest
from pathlib import Path

from mindshare.facts import Fact, largest, sentence
from mindshare.facts.cells import charts_of
from mindshare.facts.describe import NO_CLAIM, described, interpretation
from mindshare.facts.find import claims, facts_of
from mindshare.facts.words import APPROXIMATE, count, listed, word
from mindshare.measures import MEASURES, at_level
from mindshare.report.appendix import again, methods, numbered, origin, prompts_shown
from mindshare.report.blocks import (
    Attached,
    Block,
    Bullets,
    Details,
    Heading,
    Term,
    figure_table,
    overview_tables,
)
from mindshare.report.saved import Picture, SavedResults

ANSWER, CLAIM = 20, 26  # words, intervals not counted: of the answer with its number; of any claim
_INTERVAL = re.compile(r"≈?\[.*?\]")
CARDS, LIMITS, SUPPORTING = 3, 3, 2
ASKED = 12  # words of a question
# What is folded away at the end, once for all chapters: key → title.
TOPICS = {
    "methods": "Methods",
    "prompts": "Prompts",
    "numbers": "Numbers",
    "origin": "Origin",
    "again": "Make it again",
}

ON_PAPER = ("methods", "again")  # the others are many pages that nobody reads there


@dataclass(frozen=True)
class Claim:
    """One sentence of what was found, and the figure that shows it."""

    sentence: str
    words: str  # the sentence without its number
    number: str = ""  # with its interval
    anchor: str = ""


@dataclass(frozen=True)
class Chapter:
    """Everything about one folder of results."""

    name: str  # short, for links
    title: str
    question: str
    claims: tuple[Claim, ...]
    main: Picture
    supporting: tuple[Picture, ...]
    gallery: tuple[Picture, ...]  # shown one at a time
    limits: tuple[str, ...]  # what this can't show
    notes: tuple[str, ...]  # to know before trusting a number
    n_prompts: int
    models: tuple[str, ...]
    date: date
    folded: Mapping[str, tuple[Block, ...]]  # key of `TOPICS` → parts

    @property
    def prompts(self) -> str:
        return count(self.n_prompts, "prompt")

    @property
    def pictures(self) -> tuple[Picture, ...]:
        return (self.main, *self.supporting, *self.gallery)


@dataclass(frozen=True)
class Document:
    title: str
    chapters: tuple[Chapter, ...]
    findings: tuple[str, ...] = ()  # about all chapters, given by whoever ran the studies

    @property
    def _claims(self) -> list[Claim]:
        """Of every chapter its first, then of every chapter its second, …"""
        rounds = zip_longest(*(chapter.claims for chapter in self.chapters))
        return [claim for claim in chain.from_iterable(rounds) if claim is not None]

    @property
    def answer(self) -> str:
        """The first finding, without its number where it would be long; else the question."""
        claims = [*(_claim(text, "") for text in self.findings), *self._claims]
        if not claims:
            return self.chapters[0].question
        words = len(_INTERVAL.sub("", claims[0].sentence).split())
        return claims[0].sentence if words <= ANSWER else claims[0].words

    @property
    def cards(self) -> list[Claim]:
        return [claim for claim in self._claims if claim.sentence != self.answer][:CARDS]

    @property
    def legend(self) -> str:
        """What the brackets behind the numbers are."""
        shown = " ".join((self.answer, *(card.number for card in self.cards)))
        approximate = (
            f"; {APPROXIMATE}: approximate, from few prompts" if APPROXIMATE in shown else ""
        )
        return f"In brackets: interval over the prompts{approximate}." if "[" in shown else ""

    @property
    def chips(self) -> list[str]:
        """How many prompts, which models, when."""
        models = dict.fromkeys(label for chapter in self.chapters for label in chapter.models)
        last = max(chapter.date for chapter in self.chapters)
        sizes = [chapter.n_prompts for chapter in self.chapters]
        prompts = [self.chapters[0].prompts]
        if len(self.chapters) > 1:
            each = count(max(sizes), "prompt")
            if min(sizes) < max(sizes):
                each = f"{min(sizes):,} to {each}"
            prompts = [f"{len(self.chapters)} studies", f"{each} each"]
        return [*prompts, *models, f"{last.day} {last:%B %Y}"]

    @property
    def pictures(self) -> list[Picture]:
        return [picture for chapter in self.chapters for picture in chapter.pictures]

    @property
    def appendix(self) -> dict[str, list[Block]]:
        """Topic → parts of all chapters; a definition that two chapters share is said once."""
        return {topic: list(self._topic(topic)) for topic in TOPICS}

    def _topic(self, topic: str) -> Iterator[Block]:
        defined: set[Block] = set()
        if topic == "numbers" and self.findings:
            yield Bullets(self.findings)
        for chapter in self.chapters:
            if len(self.chapters) > 1:
                yield Heading(chapter.title)
            for part in chapter.folded.get(topic, ()):
                if not isinstance(part, Term):
                    yield part
                elif part not in defined:
                    defined.add(part)
                    yield part

    @property
    def parts(self) -> list[Block]:
        """Everything that is folded away, in order, what is inside of details too."""
        return list(_walk(chain.from_iterable(self.appendix.values())))


def _walk(parts: Iterable[Block]) -> Iterator[Block]:
    for part in parts:
        yield part
        if isinstance(part, Details):
            yield from _walk(part.parts)


# From folders to chapters.


def document(
    results: Sequence[SavedResults],
    *,
    title: str | None = None,
    findings: Sequence[str] = (),
    ready: Mapping[Path, Chapter] | None = None,
) -> Document:
    """All chapters, in the order of the folders."""
    several, made = len(results) > 1, ready or {}
    chapters = tuple(
        made.get(saved.path) or chapter(saved, number=i if several else None)
        for i, saved in enumerate(results, 1)
    )
    if title is None:
        models = list(dict.fromkeys(label for saved in results for label in saved.models))
        of_all = f"Attention of {listed(models)}: {len(results)} studies"
        title = of_all if several else chapters[0].title
    return Document(title, tuple(_said_once(chapters)), tuple(findings))


def _said_once(chapters: Sequence[Chapter]) -> Iterator[Chapter]:
    """What one chapter says about limits, the next ones do not repeat."""
    said: set[str] = set()
    for one in chapters:
        yield replace(one, limits=tuple(limit for limit in one.limits if limit not in said))
        said |= set(one.limits)


def chapter(saved: SavedResults, *, number: int | None = None) -> Chapter:
    """`number` is its place among the chapters of a report; None: it is the only one."""
    from mindshare.folders import reading

    with reading(saved.path):
        return _chapter(saved, number)


def _chapter(saved: SavedResults, number: int | None) -> Chapter:
    end = "" if number is None else f"-{number}"
    pictures = [replace(one, anchor=f"figure-{one.name}{end}") for one in saved.figures]
    charts = [(numbers, facts_of(numbers)) for numbers in charts_of(saved.tables)]
    found = claims([fact for _, facts in charts for fact in facts])
    first = largest(found)  # of each class, by size
    facts = [*first, *(fact for fact in found if fact not in first)]
    main, supporting, gallery = _arranged(pictures, _shows(facts[0], pictures) if facts else "")
    few = _few(saved)
    # A folder can hold several charts: what one of them claims, the others do not deny.
    limits = dict.fromkeys(limit for one, _ in charts for limit in interpretation(one, found))
    if few:  # which says it already
        limits.pop(NO_CLAIM, None)
    return Chapter(
        name=saved.path.name.replace("_", " "),
        title=title_of(saved),
        question=question(saved),
        claims=_claims(saved, facts, (main, *supporting, *gallery)),
        main=main,
        supporting=supporting,
        gallery=gallery,
        limits=(*few, *list(limits)[:LIMITS]),
        notes=tuple(str(note) for note in saved.manifest.get("notes", ())),
        n_prompts=saved.n_prompts,
        models=tuple(saved.models),
        date=saved.date,
        folded={
            "methods": tuple(methods(saved)),
            "prompts": tuple(prompts_shown(saved)),
            "numbers": (
                *_numbers(saved),
                Attached(numbered("description.md", number), described(charts).markdown),
            ),
            "origin": tuple(origin(saved)),
            "again": tuple(again(saved, number=number)),
        },
    )


def _claims(
    saved: SavedResults, facts: Sequence[Fact], pictures: Sequence[Picture]
) -> tuple[Claim, ...]:
    """What was found, the most important first, each in one short sentence."""
    several = len(saved.models) > 1
    sentences = [(str(sentence(fact, several=several)), _shows(fact, pictures)) for fact in facts]
    short = (each for each in sentences if len(_INTERVAL.sub("", each[0]).split()) <= CLAIM)
    return tuple(_claim(text, at) for text, at in short)


def _claim(text: str, anchor: str) -> Claim:
    """A number with its interval that ends the sentence stands by itself."""
    words, _, number = text.rstrip(".").rpartition(": ")
    if words and number.endswith("]"):
        return Claim(text, f"{words}.", number, anchor)
    return Claim(text, text, "", anchor)


def _shows(fact: Fact, pictures: Sequence[Picture]) -> str:
    """The figure that a fact is seen in: of its class, of its measure, by head if it has heads."""
    token_class, by_head = (
        fact.subject.token_class,
        any(head is not None for _, head in fact.places),
    )

    def fits(one: Picture) -> tuple[bool, bool, bool, bool]:
        of_class = token_class is None or token_class in _classes(one)
        # Differences are seen best where they are drawn.
        difference = bool(fact.subject.against) == ("difference" in one.numbers.column_names)
        return of_class, fact.subject.measure in one.measures, one.is_map == by_head, difference

    return max(pictures, key=fits).anchor


def title_of(saved: SavedResults) -> str:
    models = listed(list(saved.models))
    if saved.kind == "insertion":
        texts = _insertions(saved)
        more = [f"{len(texts) - 2} more"] if len(texts) > 2 else []
        return f"What inserting {listed([*texts[:2], *more])} does to the attention of {models}"
    measured, measure = set(saved.summary["class"].to_pylist()), saved.about("measure", "mass")
    if measured == {None}:  # a measure of heads
        return f"{word(measure).capitalize()} of the heads of {models}"
    classes = [name for name, _ in saved.study_definition.get("classes", ())]
    tokens = listed([c for c in classes if c in measured] or classes)
    if measure in at_level("effect"):
        return f"What hiding {tokens} does to the answer of {models}"
    return f"Attention of {models} to {tokens}"


_ASKED = {
    "mass": "Where does attention go in {}",
    "share": "How is attention divided in {}",
    "density": "How much attention does one token get in {}",
    "expected": "What would an even spread of attention give in {}",
    "lift": "Which tokens get more than their even share in {}",
    "contribution": "Which tokens do the heads of {} draw on",
    "delta_logprob": "What does the answer of {} lose when tokens are hidden",
    "delta_logit": "What does the answer's lead lose in {} when tokens are hidden",
    "first_order": "What would the answer of {} lose when tokens are hidden",
    "kl": "How far does hiding tokens move the prediction of {}",
    "flip": "How many answers of {} change when tokens are hidden",
    "correct": "How many answers of {} are right when tokens are hidden",
}


def question(saved: SavedResults) -> str:
    """Short, as it is a heading: what does not fit is left out, or counted."""
    models = list(saved.models)
    differ = ", and do they differ" if len(models) > 1 else ""
    if saved.kind == "insertion":
        texts = _insertions(saved)
        few = f"inserting {listed(texts)}" if len(texts) < 3 else count(len(texts), "insertion")
        asked = f"What {'does' if len(texts) < 3 else 'do'} {few} change in {{}}"
    else:
        measure = saved.about("measure", "mass")
        asked = _ASKED.get(measure) or f"What is the {word(measure)} of each head of {{}}"
    whose = (listed(models), "the models" if len(models) > 1 else "the model")
    wordings = [asked.format(who) + more for who in whose for more in (differ, "")]
    return next((w for w in wordings if len(w.split()) <= ASKED), wordings[-1]) + "?"


def _insertions(saved: SavedResults) -> list[str]:
    """What was inserted; what it stands against is not counted."""
    names = [one["name"] for one in saved.study_definition.get("insertions", ())]
    names = names or list(dict.fromkeys(saved.summary["condition"].to_pylist()))
    return [f"“{name.replace(chr(10), '↵')}”" for name in names]


def _few(saved: SavedResults) -> list[str]:
    """What too few prompts can't show."""
    if saved.has_intervals:
        return []
    if saved.n_prompts == 1:
        return ["One prompt: there are no intervals, and nothing is said about other prompts."]
    return [f"{count(saved.n_prompts, 'prompt')} are too few for intervals."]


def _numbers(saved: SavedResults) -> list[Block]:
    """What was found at length, the main numbers, and those of each figure."""
    findings = tuple(str(one) for one in saved.manifest.get("findings", ()))
    tables = [*overview_tables(saved), *map(figure_table, saved.figures)]
    parts: list[Block] = [Details(table.caption, (table,)) for table in tables]
    return [Bullets(findings), *parts] if findings else parts


def _arranged(
    pictures: Sequence[Picture], answer: str
) -> tuple[Picture, tuple[Picture, ...], tuple[Picture, ...]]:
    """Main, supporting, gallery. The main chart fills the page, so one drawn that wide is taken:
    the one that shows the `answer`, if it can be."""
    flat = [one for one in pictures if not one.is_map] or list(pictures)
    wide = [one for one in flat if one.wide] or flat
    main = next((one for one in wide if one.anchor == answer), wide[0])
    # Of charts of the same kind and numbers (all layers, four of them), the widest is enough.
    widest = {_what(one): one for one in sorted(flat, key=lambda one: one.wide)}
    several = (one for one in flat if one is widest[_what(one)] and _what(one) != _what(main))
    supporting = list(several)[:SUPPORTING]
    seen = {_what(one) for one in (main, *supporting)}
    rest = [one for one in pictures if one is not main and one not in supporting]
    gallery = sorted(rest, key=lambda one: _what(one) in seen)
    return main, tuple(supporting), _labelled(gallery)


def _classes(picture: Picture) -> frozenset[str]:
    there = "class" in picture.numbers.column_names
    return frozenset(picture.numbers["class"].to_pylist() if there else ())


def _what(picture: Picture) -> tuple[object, ...]:
    """What a picture is of; one of tokens is like no other."""
    if not picture.kind or "received" in picture.measures:
        return (picture.title,)
    return picture.kind, picture.is_map, picture.measures, _classes(picture)


def _labelled(pictures: Sequence[Picture]) -> tuple[Picture, ...]:
    """Short words for a switch, as short as tells them apart: `Shape`, `Shape by layer`."""
    steps = [(_measured(one), _of_model(one), _by(one), one.title) for one in pictures]
    unlike = [{w for w in step if step.count(w) == 1} for step in zip(*steps, strict=True)]
    labels = [
        next((word for word, own in zip(step, unlike, strict=True) if word in own), step[-1])
        for step in steps
    ]
    return tuple(replace(one, label=label) for one, label in zip(pictures, labels, strict=True))


def _measured(picture: Picture) -> str:
    known = [MEASURES[name].title for name in picture.measures if name in MEASURES]
    return known[0] if len(known) == 1 else picture.title


def _of_model(picture: Picture) -> str:
    model = picture.title.rpartition(": ")
    return f"{_measured(picture)}: {model[2]}" if model[1] else _measured(picture)


def _by(picture: Picture) -> str:
    return f"{_measured(picture)} by {'head' if picture.is_map else 'layer'}"
