"""Tables of saved results → a description in five sections.

What is shown, how it is to be read, the numbers layer by layer, what they support, and what they
can't show. Every sentence carries the numbers it states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from mindshare.facts.cells import (
    OVERALL,
    Cell,
    Groups,
    Key,
    Number,
    Numbers,
    Place,
    Tables,
    charts_of,
)
from mindshare.facts.find import (
    BY_LAYER,
    LAYERED,
    RESPONDS,
    Fact,
    claims,
    facts_of,
    largest,
    results,
    top_heads,
)
from mindshare.facts.sentences import Sentence, for_a_paper, sentence
from mindshare.facts.words import (
    APPROXIMATE,
    asked,
    count,
    listed,
    name,
    names,
    together,
    value,
    where,
    wheres,
    word,
)
from mindshare.measures import MEASURES, at_level
from mindshare.naming import UNNAMED, layer_ranges
from mindshare.tables import DROP_FIRST, LABELS, ONE_BASED

IN_SHORT = 4  # differences that are said
CLOSELY = 12  # layers whose numbers are listed; heads that are named
BY_HEAD = ("divergence", "amplitude", "shape", "entropy_change", "attention_left")
NOTHING = "Nothing can be told from chance here: no difference is shown, and none is ruled out."
NO_CLAIM = "These numbers support no claim."
LIMITS = (
    "Attention shows where a model looks, not why, nor what it does with what it sees.",
    "What is not significant may differ or not: these numbers can't tell.",
)
# Of knock-outs, in place of the first.
EFFECT_LIMIT = (
    "Hiding tokens shows what the answer loses without them, not what other layers and heads make "
    "good; the attention they got goes elsewhere."
)


@dataclass(frozen=True)
class Description:
    sections: Mapping[str, tuple[str, ...]]  # title → sentences; a `Sentence` if it states numbers

    @property
    def markdown(self) -> str:
        parts = [
            f"## {title}\n\n" + "\n".join(f"- {one}" for one in said)
            for title, said in self.sections.items()
        ]
        return "\n\n".join(parts) + "\n"


def describe(tables: Tables) -> Description:
    """What the tables of a folder of results say, and what can be told from it.

    `summary` is enough, but differences between models, lift and differences between insertions
    need the other tables. Several charts are joined section by section; what they share is said
    once.
    """
    return described([(numbers, facts_of(numbers)) for numbers in charts_of(tables)])


def described(charts: Sequence[tuple[Numbers, Sequence[Fact]]]) -> Description:
    """The same of charts whose facts were found already."""
    claimed = claims([fact for _, facts in charts for fact in facts])
    every = [_sections(numbers, facts, claimed) for numbers, facts in charts]
    return Description(
        {
            title: tuple(dict.fromkeys(said for sections in every for said in sections[title]))
            for title in every[0]
        }
    )


def in_short(tables: Tables, *, groups: Groups | None = None) -> tuple[Sentence, ...]:
    """The answer of class charts in a few sentences, the largest difference first.

    Of each class the largest significant difference, one of them with n and test for a paper, and
    the class that gets least for its size. If nothing can be told, that is said once.
    """
    charts = charts_of(tables, groups=groups)
    facts = [fact for numbers in charts for fact in claims(facts_of(numbers))]
    changes, several = largest(facts), len(charts[0].models) > 1
    said = [sentence(fact) for fact in changes[:IN_SHORT]]
    said += [for_a_paper(fact) for fact in changes[:1]]
    if not several:
        said += [sentence(f) for f in facts if f.kind in ("lead", "extremes")][:IN_SHORT]
    for model in charts[0].models:
        ignored = (f for f in facts if f.kind == "ignored" and f.subject.model == model)
        said += [sentence(fact, several=True) for fact in ignored][:1]
    return tuple(dict.fromkeys(said or [_nothing(charts[0])]))


def _nothing(numbers: Numbers) -> Sentence:
    few = f"Nothing can be told from chance with {count(numbers.n_prompts, 'prompt')}."
    return Sentence(NOTHING if numbers.has_intervals else few)


def insertion_findings(
    tables: Tables, *, groups: Groups | None = None, **options: Any
) -> tuple[Sentence, ...]:
    """What each insertion did, in one line per fact; `options` are those of `find.results`."""
    numbers = charts_of(tables, groups=groups)[0]
    several = len(numbers.models) > 1
    return tuple(sentence(fact, several=several) for fact in results(numbers, **options))


def alignment_notes(tables: Tables) -> tuple[Sentence, ...]:
    """Original tokens that could not be matched, of all models and insertions: `conditions`."""
    numbers: list[Number] = []
    versions, matched = [], 0
    for table, content in tables.items():
        start, _, model = table.partition("_")
        if start != "conditions":
            continue
        sums = [("n_unmatched", "sum"), ("n_matched", "sum"), ("prompt", "count")]
        for row in content.group_by("condition", use_threads=False).aggregate(sums).to_pylist():
            if row["n_unmatched_sum"]:
                versions.append(f"{f'{model}, ' if model else ''}{name(row['condition'])}")
                matched += row["n_matched_sum"]
                cell = Cell(table, (("condition", row["condition"]),), "n_unmatched")
                lost = row["n_unmatched_sum"]
                numbers.append(Number(lost, n_prompts=row["prompt_count"], cell=cell))
    if not numbers:
        return ()
    lost = int(sum(number.value for number in numbers))
    which = versions[0] if len(versions) == 1 else f"{len(versions)} insertions"
    cut = "original tokens are tokenized differently next to the insertion, and left out"
    return (Sentence(f"{which}: {lost:,} of {lost + matched:,} {cut}.", numbers),)


def _sections(
    numbers: Numbers, facts: Sequence[Fact], claimed: Sequence[Fact]
) -> dict[str, list[str]]:
    """Title → sentences, for one chart or one insertion; `claimed` by all charts together."""
    several = len(numbers.models) > 1
    # Where a class does change elsewhere, the layers in which it can't be told are not listed.
    changed = {fact.subject for fact in facts if fact.kind == "change"}
    observations: list[str] = [
        sentence(fact, several=several)
        for fact in facts
        if fact.kind != "not_significant" or fact.subject not in changed
    ]
    if not claimed:
        observations.insert(0, _nothing(numbers))
    overview, components, details = (
        (_insertion_overview, _insertion_components, _insertion_details)
        if numbers.conditions
        else (_class_overview, _class_components, _class_details)
    )
    return {
        "Overview": [*overview(numbers), *_how(numbers)],
        "Components and axes": list(components(numbers)),
        "Detailed analysis": list(details(numbers)),
        "Key observations": observations,
        "Interpretation": list(interpretation(numbers, claimed)),
    }


def _how(numbers: Numbers) -> Iterator[str]:
    """What the intervals are, and when something is called significant: said once."""
    about = numbers.about
    if not numbers.has_intervals:
        few = "One prompt has" if numbers.n_prompts == 1 else f"{numbers.n_prompts} prompts have"
        yield f"{few} no intervals: the numbers say nothing about other prompts."
        return
    level = 100 * float(about.get("mindshare.confidence", "0.95"))
    over = "groups of prompts" if about.get("mindshare.unit") == "group" else "prompts"
    yield f"In brackets: {level:.4g} % {about.get('mindshare.interval', 'interval')} over {over}."
    if any(key.against for key in numbers.cells):
        yield "Paired differences count at p < 0.05, corrected for all cells of a table."
    apart = "Two means are said to differ only where their margins, which hold for all means"
    yield f"{apart} of a table at once, do not meet."
    if not all(number.reliable for number in numbers.cells.values() if number.has_interval):
        yield f"{APPROXIMATE}: approximate, from few prompts."
    yield from _absent(numbers)


def _absent(numbers: Numbers) -> Iterator[str]:
    """Classes that some prompts do not have."""
    for token_class in numbers.named:
        key = Key(numbers.measure, numbers.models[0], token_class=token_class)
        number = next(iter(numbers.series(key).values()), None)
        if number is not None and number.n_absent:
            every = count(number.n_prompts + number.n_absent, "prompt")
            have = f"{number.n_prompts:,} of {every} have {name(token_class)}"
            yield f"{have}; its numbers are about those."


def interpretation(numbers: Numbers, claimed: Sequence[Fact]) -> Iterator[str]:
    """What the numbers and the claims made from them can't show."""
    if not claimed:
        yield NO_CLAIM
    effects = numbers.measure in at_level("effect")
    if not (numbers.by_head or numbers.conditions or effects):
        yield "Single heads can do what their mean does not show."
    which = "these prompts" if numbers.n_prompts > 1 else "this prompt"
    what = "these insertions" if numbers.conditions else "this query set"
    yield f"All of this is about {which} and {what}."
    first = EFFECT_LIMIT if effects else LIMITS[0]
    yield from (first, *LIMITS[1:]) if numbers.has_intervals else (first,)


def _size(numbers: Numbers) -> str:
    """`12 prompts`, `10 to 12 prompts`"""
    counts = [number.n_prompts for number in numbers.cells.values()]
    low, high = min(counts), max(counts)
    return count(high, "prompt") if low == high else f"{low:,} to {high:,} prompts"


def _counted(numbers: Numbers) -> str:
    one = numbers.about.get(LABELS) == ONE_BASED
    return f"counted from {'one' if one else 'zero'}"


def _layers(numbers: Numbers) -> str:
    if not numbers.layers:
        hidden = together(numbers.together, most=CLOSELY)
        return hidden if numbers.together else "the mean of the layers"
    runs = listed(layer_ranges(numbers.layers).split(", "))
    words = f"{count(len(numbers.layers), 'layer')} ({runs})"
    return f"{words} and {count(len(numbers.heads), 'head')}" if numbers.heads else words


def _defined(measures: Iterable[str]) -> list[str]:
    """What each measure is, by the registry."""
    return [f"{word(m).capitalize()}: {MEASURES[m].short}." for m in measures if m in MEASURES]


def _line(lead: str, values: Sequence[tuple[str, Number, str]], more: str = "") -> Sentence:
    """`Layer 3, Base: hash 0.012 [0.010, 0.014], star 0.3` from (name, number, written)."""
    parts = ", ".join(f"{called} {written}".strip() for called, _, written in values)
    text = f"{lead[0].upper()}{lead[1:]}: {parts}{more}."
    return Sentence(text, (number for _, number, _ in values))


def _closely(series: Iterable[dict[Place, Number]]) -> list[Place]:
    """All places; of many, the first, the last and where a series is highest or lowest."""
    series = [one for one in series if one]
    places = list(dict.fromkeys(place for one in series for place in one))
    if len(places) <= CLOSELY:
        return places
    ends = [choose(one, key=lambda p: one[p].value) for one in series for choose in (max, min)]
    chosen = set(list(dict.fromkeys([places[0], places[-1], *ends]))[:CLOSELY])
    return [place for place in places if place in chosen]


# Token classes.


def _class_overview(numbers: Numbers) -> tuple[str, str]:
    what = word(numbers.measure).capitalize()
    of = f" of {names(numbers.named)}" if numbers.named else ""
    said, over = "attention of", "" if numbers.by_head else ", mean over the heads"
    if numbers.measure in at_level("effect"):
        of, said, over = f" with {names(numbers.named)} hidden,", "hidden from", ""
    queries = f"; {said} {asked(numbers.queries[0])}" if numbers.queries else ""
    return (
        f"{what}{of} in {_layers(numbers)} of {names(numbers.models)}.",
        f"Over {_size(numbers)}{queries}{over}.",
    )


def _class_components(numbers: Numbers) -> Iterator[str]:
    if numbers.by_head:
        yield f"Layers and heads, both {_counted(numbers)}."
    else:
        if not numbers.together:
            yield f"Horizontal axis: layers, {_counted(numbers)}."
        yield f"Vertical axis: {word(numbers.measure)}."
    yield from _defined([numbers.measure])
    unnamed = [one for one in numbers.classes if one in UNNAMED and one not in numbers.named]
    if unnamed:
        yield f"In the tables, not described: {names(unnamed)}."
    if len(numbers.queries) > 1:
        yield f"In the tables, not described: the query sets {names(numbers.queries[1:])}."
    for model, token_class in product(numbers.models, numbers.named):
        series = numbers.series(Key(numbers.measure, model, token_class=token_class))
        lacking = [place for place in numbers.places if place not in series]
        if lacking:
            at = wheres(lacking, len(numbers.places))
            yield f"No number: {name(token_class)}, {name(model)}, {at}."


def _class_details(numbers: Numbers) -> Iterator[str]:
    classes: Sequence[str | None] = numbers.named or [None]
    keys = {name(m): Key(numbers.measure, m) for m in numbers.models} | {
        f"{name(b)} minus {name(a)}": Key(numbers.measure, b, against=a) for a, b in numbers.pairs
    }
    close = _closely(
        numbers.series(replace(k, token_class=c)) for k in keys.values() for c in classes
    )
    if len(close) < len(numbers.places):
        yield f"{len(close)} of {len(numbers.places)}: the ends, and where a number is extreme."
    # A folder can hold charts of several measures of the same classes.
    measured = "" if numbers.measure == "mass" else f", {word(numbers.measure)}"
    for place, (lead, key) in product(close, keys.items()):
        signed = key.against is not None
        values = [
            (name(token_class) if token_class else "", n, value(n, numbers.measure, sign=signed))
            for token_class in classes
            if (n := numbers.get(replace(key, token_class=token_class).at(place))) is not None
        ]
        if values:
            there = together(numbers.together) if numbers.together else where(place)
            yield _line(f"{there}, {lead}{measured}", values)


# Insertions.


def _insertion_overview(numbers: Numbers) -> tuple[str, str]:
    first = "" if numbers.about.get(DROP_FIRST) != "true" else ", without the prompt's first"
    conditions, models = names(numbers.conditions), names(numbers.models)
    return (
        f"What inserting {conditions} does to the attention of {models}, over {_size(numbers)}.",
        f"Each prompt is compared with itself without the insertion: its original tokens{first}.",
    )


def _insertion_components(numbers: Numbers) -> Iterator[str]:
    layers = _layers(numbers)
    mean = "“all layers” is the mean over layers and heads"
    yield f"{layers[0].upper()}{layers[1:]}, {_counted(numbers)}; {mean}."
    yield from _defined(numbers.measures)
    if len(numbers.conditions) > LAYERED:
        yield f"By layer in the tables only: {names(numbers.conditions[LAYERED:])}."


def _insertion_details(numbers: Numbers) -> Iterator[str]:
    every = [Key("", m, condition=c) for m, c in product(numbers.models, numbers.conditions)]
    for key in every:
        yield from _measured(numbers, key, OVERALL, numbers.measures)
    for key, number in numbers.cells.items():
        if key.against is not None:
            lead = f"all layers, {name(key.model)}, {name(key.condition)} minus {name(key.against)}"
            difference = value(number, key.measure, sign=True)
            yield _line(lead, [(word(key.measure), number, difference)])
    for key in every:
        if key.condition not in numbers.conditions[:LAYERED]:
            continue
        series = (numbers.series(replace(key, measure=m), heads=False) for m in BY_LAYER)
        for place in _closely(series):
            yield from _measured(numbers, key, place, BY_LAYER)
        for place in top_heads(numbers, replace(key, measure=RESPONDS)).places:
            yield from _measured(numbers, key, place, BY_HEAD)


def _measured(
    numbers: Numbers, key: Key, place: Place, measures: Iterable[str]
) -> Iterator[Sentence]:
    """The numbers of one place; of a head, its label too."""
    found = numbers.among({m: replace(key, measure=m).at(place) for m in measures})
    labels = list(dict.fromkeys(number.label for number in found.values() if number.label))
    if found:
        yield _line(
            f"{where(place)}, {name(key.model)}, {name(key.condition)}",
            [(word(m), number, value(number, m)) for m, number in found.items()],
            f"; {listed(labels)}" if labels else "",
        )
