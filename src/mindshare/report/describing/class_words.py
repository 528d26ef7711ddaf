"""What a class chart shows → its overview, its components and its detailed analysis, in sentences.

Every number stands in a cell of the tables, or is the sum of the cells beside it. Knows how
sentences are put together, not what they mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.numbers import ADDITIVE, UNNAMED, Key, Number, Numbers
from mindshare.report.describing.places import Place, group_word, leading, where, wheres

MEANING = {
    "mass": "the part of the queries' attention that goes to the tokens of a class",
    "share": "the mass of a class relative to that of all named classes",
    "density": "the mass of a class for each of its tokens",
    "expected": "the mass that uniform attention over the visible tokens would give a class",
    "lift": "the mass of a class relative to that under uniform attention; one is no preference",
}


def overview(view: ClassView) -> list[str]:
    numbers = view.numbers
    what = phrases.measure_word(view.measure).capitalize()
    sentences = [
        f"{what} of {_some(view.classes, 'token class')} in {_places(view)} of "
        f"{_some(view.models, 'model')}, over {prompts(numbers)}.",
        f"{what} is {MEANING.get(view.measure, 'the measure of the table')}.",
    ]
    if numbers.queries:
        first, *rest = numbers.queries
        more = f"; the table also has {phrases.names(rest)}, not described here" if rest else ""
        sentences.append(f"Query set: {phrases.name(first)}{more}.")
    return [*sentences, spread_words(numbers, several=view.several), *_ends(view)]


def prompts(numbers: Numbers) -> str:
    counts = [number.n_prompts for number in numbers.cells.values()]
    low, high = min(counts), max(counts)
    return phrases.count(high, "prompt") if low == high else f"{low:,} to {high:,} prompts"


def spread_words(numbers: Numbers, *, several: bool) -> str:
    about = numbers.about
    if not several:
        return (
            "There is one prompt, so there are no intervals: the numbers describe this prompt "
            "and no other."
        )
    level = 100 * float(about.get("mindshare.confidence", "0.95"))
    words = f"In brackets: {level:.4g} % {about.get('mindshare.interval', 'interval')} over prompts"
    if "mindshare.resamples" not in about:
        return f"{words}."
    resamples, seed = int(about["mindshare.resamples"]), about.get("mindshare.seed", "0")
    return f"{words} ({resamples:,} resamples, seed {seed})."


def components(view: ClassView) -> list[str]:
    what = phrases.measure_word(view.measure)
    adds = ", which adds up over classes" if view.measure in ADDITIVE else ""
    axes = ["Horizontal axis: layers, counted from zero.", f"Vertical axis: {what}{adds}."]
    if view.by_head:
        axes = [f"Shown: {what}{adds}, by layer and head, both counted from zero."]
    return [
        *axes,
        *_left_out(view),
        *_missing(view),
    ]


def details(view: ClassView) -> list[str]:
    sentences = []
    for place in view.closely:
        sentences += [s for model in view.models for s in _bar(view, model, place)]
        sentences += [s for pair in view.pairs for s in _difference(view, pair, place)]
    for group in view.groups:
        sentences += [s for model in view.models for s in _range(view, model, group)]
    return sentences


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
    told = [phrases.name(k) for k, n in there.items() if telling.differs(n)]
    verdict = f"; told from zero: {phrases.listed(told)}" if told else "; none told from zero"
    yield f"{leading(place)}, {minus(pair)}: {parts}{verdict if view.several else ''}."


def minus(pair: tuple[str, str]) -> str:
    a, b = pair
    return f"{phrases.name(b)} minus {phrases.name(a)}"


def _range(view: ClassView, model: str, group: Sequence[Place]) -> Iterator[str]:
    parts = []
    for kind in view.classes:
        found = {p: n for p, n in view.series(model, kind).items() if p in set(group)}
        if found:
            parts.append(f"{phrases.name(kind)} {_from_to(found, view)}")
    if not parts:
        return
    yield f"{group_word(group)}, {phrases.name(model)}: {'; '.join(parts)}."


def _from_to(found: dict[Place, Number], view: ClassView) -> str:
    low = min(found, key=lambda p: found[p].value)
    high = max(found, key=lambda p: found[p].value)
    if low == high:
        return f"in {where(low)} ({valued(found[low], view)})"
    return (
        f"lowest in {where(low)} ({valued(found[low], view)}), "
        f"highest in {where(high)} ({valued(found[high], view)})"
    )
