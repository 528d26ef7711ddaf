"""What an insertion did → its overview, its components and its detailed analysis, in sentences.

Every number stands in a cell of the tables. Knows how sentences are put together, not what they
mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.cells import Key, Number
from mindshare.report.describing.class_words import prompts, spread_words, test_words
from mindshare.report.describing.insertion_view import (
    BY_HEAD,
    BY_LAYER,
    LAYERED,
    RESPONDS,
    InsertionView,
    Told,
)
from mindshare.report.describing.places import Place, group_word, leading, rule, where
from mindshare.table import DROP_FIRST

MEANING = {
    "amplitude": "what the original tokens receive in all, relative to that without the insertion",
    "shape": "correlation of what the original tokens receive without and with it; one where it "
    "keeps its shape",
    "entropy_change": "how much more evenly the original tokens are attended to, in nats",
    "divergence": "how different what they receive is without and with it (Jensen–Shannon), in "
    "bits",
    "peak_shift": "mean signed shift of the highest peak, in original tokens; later is +, and "
    "shifts both ways cancel out",
    "peak_ratio": "the highest peak of the original tokens, relative to that without it",
    "attention_left": "the part of later tokens' attention that goes to the original tokens "
    "compared; where it is small, the other numbers say little",
    "weight_evenness": "how evenly the inserted tokens are attended to; one is all alike",
    "retained": "the part of later tokens' attention that does not go to the inserted tokens",
    "factor": "for each token after the insertion, the one factor that brings its old weights "
    "closest to its new ones; the mean over these tokens",
    "affine_r2": "how much of these tokens' new weights is their old ones times that one factor",
    "affine_r2_after": "the same, of the weights that they give each other: what stands before "
    "the insertion is left out",
    "value_evenness": "how alike the values of the inserted tokens are; one is all alike",
}


def overview(view: InsertionView) -> list[str]:
    numbers = view.numbers
    return [
        f"What {_some(numbers.conditions, 'insertion')} did to the attention of "
        f"{_some(numbers.models, 'model')}, over {prompts(numbers)}.",
        *_sizes(view),
        "Every number compares a version with an insertion to the same prompt without it; what is "
        f"compared are the original tokens{_but_the_first(view)}.",
        spread_words(numbers, several=view.several),
        *(test_words(numbers) if view.several else ()),
    ]


def _but_the_first(view: InsertionView) -> str:
    left_out = view.numbers.about.get(DROP_FIRST) == "true"
    return ", without the prompt's first token" if left_out else ""


def components(view: InsertionView) -> list[str]:
    known = [m for m in view.numbers.measures if m in MEANING]
    return [
        "Layers and heads are counted from zero; “all layers” is the mean over layers and heads, a "
        "layer without a head the mean over its heads.",
        *(f"{phrases.measure_word(m).capitalize()}: {MEANING[m]}." for m in known),
        *_not_by_layer(view),
    ]


def details(view: InsertionView) -> list[str]:
    sentences: list[str] = []
    for told in view.every:
        sentences += _of(view, told, (None, None), tuple(view.numbers.measures))
    sentences += differences(view)
    every = [place for told in view.layered for place in view.closely(told)]
    if any(view.groups(told) for told in view.layered):
        sentences.append(rule(every))
    for told in view.layered:
        for place in view.closely(told):
            sentences += _of(view, told, place, BY_LAYER)
        for group in view.groups(told):
            sentences += _range(view, told, group)
    if any(len(view.top(told)) > 1 for told in view.layered):
        sentences.append(f"Of the heads, at most six: those with the largest mean {RESPONDS}.")
    for told in view.layered:
        for place in view.top(told):
            sentences += _head(view, told, place)
    return sentences


def differences(view: InsertionView) -> list[str]:
    """The conditions against each other, one sentence a model and pair."""
    found: dict[tuple[str, str | None, str | None], list[str]] = {}
    for key, number in view.differences.items():
        what = f"{phrases.measure_word(key.measure)} {difference(key, number)}"
        found.setdefault((key.model, key.condition, key.against), []).append(what)
    return [
        f"All layers, {phrases.name(model)}, {minus(b, a)}: {', '.join(parts)}."
        for (model, b, a), parts in found.items()
    ]


def difference(key: Key, number: Number) -> str:
    told = "" if number.low is None or telling.differs(number) else " (undecided)"
    return phrases.value(number, key.measure, sign=True) + told


def minus(b: str | None, a: str | None) -> str:
    return f"{phrases.name(b or '')} minus {phrases.name(a or '')}"


def about(told: Told) -> str:
    return f"{phrases.name(told.model)}, {phrases.name(told.condition)}"


def numbered(found: Mapping[str, Number]) -> str:
    return ", ".join(
        f"{phrases.measure_word(measure)} {phrases.value(number, measure)}"
        for measure, number in found.items()
    )


def _some(names: Sequence[str], noun: str) -> str:
    return f"{phrases.count(len(names), noun)} ({phrases.names(names)})"


def _sizes(view: InsertionView) -> Iterator[str]:
    layers, heads = view.numbers.layers, view.numbers.heads
    if layers:
        words = f"{phrases.count(len(layers), 'layer')} ({phrases.spans(layers)})"
        more = f" and {phrases.count(len(heads), 'head')} ({phrases.spans(heads)})" if heads else ""
        yield f"Measured: {words}{more}."


def _not_by_layer(view: InsertionView) -> Iterator[str]:
    rest = view.numbers.conditions[LAYERED:]
    if rest:
        yield (
            f"Described over all layers only, single layers being in the table: "
            f"{phrases.names(rest)}."
        )


def _of(view: InsertionView, told: Told, place: Place, measures: Iterable[str]) -> Iterator[str]:
    there = view.measures(told, place)
    found = {measure: there[measure] for measure in measures if measure in there}
    if found:
        yield f"{leading(place)}, {about(told)}: {numbered(found)}."


def _head(view: InsertionView, told: Told, place: Place) -> Iterator[str]:
    there = view.measures(told, place)
    found = {measure: there[measure] for measure in BY_HEAD if measure in there}
    label = there[RESPONDS].label if RESPONDS in there else None
    more = f"; {label}" if label else ""
    yield f"{leading(place)}, {about(told)}: {numbered(found)}{more}."


def _range(view: InsertionView, told: Told, group: Sequence[Place]) -> Iterator[str]:
    parts = []
    for measure in BY_LAYER:
        series, inside = view.series(told, measure), set(group)
        found = {p: n for p, n in series.items() if p in inside}
        if found:
            parts.append(f"{phrases.measure_word(measure)} {from_to(found, measure)}")
    if parts:
        yield f"{group_word(group)}, {about(told)}: {'; '.join(parts)}."


def from_to(found: Mapping[Place, Number], measure: str) -> str:
    """`lowest in layer 3 (0.1), highest in layer 7 (0.4)`"""
    low = min(found, key=lambda p: found[p].value)
    high = max(found, key=lambda p: found[p].value)
    if low == high:
        return f"in {where(low)} ({phrases.value(found[low], measure)})"
    return (
        f"lowest in {where(low)} ({phrases.value(found[low], measure)}), "
        f"highest in {where(high)} ({phrases.value(found[high], measure)})"
    )
