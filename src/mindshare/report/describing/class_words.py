"""What a class chart shows → its overview, its components and its detailed analysis, in sentences.

Every number stands in a cell of the tables, or is the sum of the cells beside it. Knows how
sentences are put together, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.numbers import ADDITIVE, Numbers
from mindshare.report.describing.places import Place, group_word, leading, rule, where, wheres
from mindshare.report.describing.sets import UNNAMED

MEANING = {
    "mass": "the part of the queries' attention that goes to the tokens of a class",
    "share": "the mass of a class relative to that of all named classes",
    "density": "the mass of a class for each of its tokens",
    "expected": "the mass that uniform attention over the visible tokens would give a class",
    "lift": "the mass of a class relative to that under uniform attention; one is no preference",
}
_QUERIES = {"last": "the last token", "all": "all tokens"}


def overview(view: ClassView) -> list[str]:
    numbers = view.numbers
    what = phrases.measure_word(view.measure).capitalize()
    sentences = [
        f"{what} of {_some(view.classes, 'token class')} in {_places(view)} of "
        f"{_some(view.models, 'model')}, over {prompts(numbers)}{_of_queries(numbers)}.",
        f"{what} is {MEANING.get(view.measure, 'the measure of the table')}.",
    ]
    if len(numbers.queries) > 1:
        sentences.append(f"Also in the table: query sets {phrases.names(numbers.queries[1:])}.")
    tests = [*test_words(numbers)] if view.several else []
    found = aside(view, list(_ends(view)))
    return [*sentences, spread_words(numbers, several=view.several), *tests, *found]


def _of_queries(numbers: Numbers) -> str:
    """Whose attention it is."""
    if not numbers.queries:
        return ""
    first = numbers.queries[0]
    return f"; attention of {_QUERIES.get(first, f'the query set {phrases.name(first)}')}"


def prompts(numbers: Numbers) -> str:
    counts = [number.n_prompts for number in numbers.cells.values()]
    low, high = min(counts), max(counts)
    return phrases.count(high, "prompt") if low == high else f"{low:,} to {high:,} prompts"


def spread_words(numbers: Numbers, *, several: bool) -> str:
    about = numbers.about
    if not several:
        return _no_intervals(numbers)
    level = 100 * float(about.get("mindshare.confidence", "0.95"))
    over = "groups of prompts" if about.get("mindshare.unit") == "group" else "prompts"
    words = f"In brackets: {level:.4g} % {about.get('mindshare.interval', 'interval')} over {over}"
    if "mindshare.resamples" not in about:
        return f"{words}."
    resamples, seed = int(about["mindshare.resamples"]), about.get("mindshare.seed", "0")
    return f"{words} ({resamples:,} resamples, seed {seed})."


def test_words(numbers: Numbers) -> Iterator[str]:
    """When something is said to differ, and how it is corrected: said once."""
    paired = [n for key, n in numbers.cells.items() if key.against and n.p is not None]
    family = any(number.p_family is not None for number in paired)
    how = "all cells of the table, max-T" if family else "false discoveries in the table"
    if paired:
        yield (
            f"Said to differ from zero: paired differences with p < 0.05 (permutation test, "
            f"corrected for {how}); the others are undecided."
        )
    yield (
        "Said to differ: means of one model whose intervals do not meet, corrected for the number "
        "of comparisons (Bonferroni)."
    )


def _no_intervals(numbers: Numbers) -> str:
    if numbers.n_prompts < 2:
        return (
            "There is one prompt, so there are no intervals: the numbers describe this prompt "
            "and no other."
        )
    return (
        f"{numbers.units} are too few for intervals: the numbers describe these "
        "prompts and no others."
    )


def too_few(numbers: Numbers) -> str:
    """Why nothing is claimed where there are no intervals."""
    which = "one prompt" if numbers.n_prompts < 2 else numbers.units
    return f"Nothing can be told from chance with {which}"


def components(view: ClassView) -> list[str]:
    what = phrases.measure_word(view.measure)
    adds = ", which adds up over classes" if view.measure in ADDITIVE else ""
    axes = ["Horizontal axis: layers, counted from zero.", f"Vertical axis: {what}{adds}."]
    if view.by_head:
        axes = [f"Shown: {what}{adds}, by layer and head, both counted from zero."]
        if view.pairs and view.several:
            axes.append("Effect: a mean difference in standard deviations over the prompts.")
    return [
        *axes,
        *_left_out(view),
        *_missing(view),
    ]


def details(view: ClassView) -> list[str]:
    sentences = [rule(view.places)] if view.groups else []
    told = len(sentences)
    for place in view.closely:
        sentences += [s for model in view.models for s in _bar(view, model, place)]
        sentences += [s for pair in view.pairs for s in _difference(view, pair, place)]
    for group in view.groups:
        sentences += [s for model in view.models for s in _range(view, model, group)]
    return sentences[:told] + aside(view, sentences[told:])


def valued(number: Number, view: ClassView, *, sign: bool = False) -> str:
    return phrases.value(number, view.measure, sign=sign)


def _some(names: Sequence[str], noun: str) -> str:
    return f"{phrases.count(len(names), noun)} ({phrases.names(names)})"


def _places(view: ClassView) -> str:
    layers = view.numbers.layers
    if not layers:
        return "the mean of the layers"
    words = f"{phrases.count(len(layers), 'layer')} ({phrases.spans(layers)})"
    if view.by_head:
        heads = view.numbers.heads
        return f"{words} and {phrases.count(len(heads), 'head')} ({phrases.spans(heads)})"
    return f"{words}, mean over the heads,"


def _ends(view: ClassView) -> Iterator[str]:
    cells = {
        key: view.numbers.cells[key]
        for key in view.numbers.keys(measure=view.measure)
        if key.kind in view.classes
    }
    if not cells:
        return
    for word, choose in (("Smallest", min), ("Largest", max)):
        key = choose(cells, key=lambda k: cells[k].value)
        yield f"{word} number: {_cell(key)} {valued(cells[key], view)}."


def _cell(key: Key) -> str:
    kind = phrases.name(key.kind or "")
    return f"{where((key.layer, key.head))}, {phrases.name(key.model)}, {kind}"


def _left_out(view: ClassView) -> Iterator[str]:
    unnamed = [name for name in view.numbers.classes if name in UNNAMED]
    if unnamed and unnamed[0] not in view.classes:
        yield f"Not described, but in the table: {phrases.names(unnamed)}."


def _missing(view: ClassView) -> Iterator[str]:
    for model in view.models:
        for kind in view.classes:
            lacking = [p for p in view.places if view.at(model, kind, p) is None]
            if lacking and len(lacking) < len(view.places):
                yield f"No number: {phrases.names([model, kind])}, {wheres(lacking)}."
            elif lacking:
                yield f"No number at all: {phrases.names([model, kind])}."


def _bar(view: ClassView, model: str, place: Place) -> Iterator[str]:
    there = {k: n for k in view.classes if (n := view.at(model, k, place)) is not None}
    if not there:
        return
    parts = ", ".join(f"{phrases.name(k)} {valued(n, view)}" for k, n in there.items())
    total = view.numbers.total(Key(view.measure, model, *place))
    together = "" if total is None or len(there) < 2 else f"; together {phrases.single(total)}"
    yield f"{leading(place)}, {phrases.name(model)}: {parts}{together}."


def _difference(view: ClassView, pair: tuple[str, str], place: Place) -> Iterator[str]:
    there = {k: n for k in view.classes if (n := view.difference(pair, k, place)) is not None}
    if not there:
        return
    parts = ", ".join(f"{phrases.name(k)} {valued(n, view, sign=True)}" for k, n in there.items())
    yield f"{leading(place)}, {minus(pair)}: {parts}{_verdict(there) if view.several else ''}."


def _verdict(there: dict[str, Number]) -> str:
    told = [phrases.name(k) for k, n in there.items() if telling.differs(n)]
    return f"; differs from zero: {phrases.listed(told)}" if told else "; undecided"


def minus(pair: tuple[str, str]) -> str:
    a, b = pair
    return f"{phrases.name(b)} minus {phrases.name(a)}"


def _range(view: ClassView, model: str, group: Sequence[Place]) -> Iterator[str]:
    parts = []
    for kind in view.classes:
        found = {p: n for p in group if (n := view.at(model, kind, p)) is not None}
        if found:
            parts.append(f"{phrases.name(kind)} {_from_to(found, view)}")
    if not parts:
        return
    yield f"{group_word(group)}, {phrases.name(model)}: {'; '.join(parts)}."


def _from_to(found: dict[Place, Number], view: ClassView) -> str:
    low = min(found, key=lambda p: found[p].value)
    high = max(found, key=lambda p: found[p].value)
    smallest, largest = (f"{where(place)} ({valued(found[place], view)})" for place in (low, high))
    if low == high:
        return f"in {smallest}"
    if view.by_head:  # "further heads" does not say which: nobody could check a highest
        return f"from {smallest} to {largest}"
    return f"lowest in {smallest}, highest in {largest}"


def aside(view: ClassView, sentences: Sequence[str]) -> list[str]:
    """With the measure in front, where it is not the one that is meant without saying."""
    if not view.aside:
        return list(sentences)
    lead = phrases.measure_word(view.measure).capitalize()
    return [f"{lead}: {_lower(sentence)}" for sentence in sentences]


def _lower(sentence: str) -> str:
    ours = sentence.startswith(("All", "Further", "Largest", "Layer", "Smallest"))
    return sentence[0].lower() + sentence[1:] if ours else sentence
