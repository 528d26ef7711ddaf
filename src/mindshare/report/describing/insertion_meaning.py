"""What an insertion did → key observations and an interpretation, in sentences.

Says only what a test supports that counts how many layers, heads, measures and conditions it was
picked from, and each thing once. Knows what such numbers can't show, and says that too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, product

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.class_findings import ends
from mindshare.report.describing.class_meaning import LIMITS, UNDECIDED, extremes, over_depth
from mindshare.report.describing.class_words import too_few
from mindshare.report.describing.insertion_view import (
    BY_LAYER,
    RESPONDS,
    InsertionView,
    Told,
)
from mindshare.report.describing.insertion_words import about, difference, minus
from mindshare.report.describing.places import where

_MIDDLE = {  # what says that nothing changed, and the words for above and below
    "amplitude": (1.0, "more than before", "less than before"),
    "peak_ratio": (1.0, "higher than before", "lower than before"),
    "entropy_change": (0.0, "more evenly than before", "less evenly than before"),
}
OVERALL = tuple(_MIDDLE)
_SAID = {
    "amplitude": "the original tokens receive",
    "peak_ratio": "the highest peak of the original tokens is",
    "entropy_change": "the original tokens are attended to",
}
_OVER_DEPTH = ("retained", RESPONDS)


def observations(view: InsertionView) -> list[str]:
    counted = [s for told in view.every for s in _labels(view, told)]
    return [*(list(_found(view)) or [_nothing(view)]), *_undecided(view), *counted]


def interpretation(view: InsertionView) -> list[str]:
    claims = [] if any(_found(view)) else [_no_claim()]
    told = [UNDECIDED] if view.several else []
    return [*claims, *told, _scope(view), LIMITS]


def _found(view: InsertionView) -> Iterator[str]:
    for told in view.every:
        yield from _overall(view, told)
    yield from _against(view)
    for told in view.layered:
        yield from _layers(view, told)
        yield from _trends(view, told)
        yield from _heads(view, told)
    yield from _models(view)


def _labels(view: InsertionView, told: Told) -> Iterator[str]:
    """How many heads have each label: a count of the table, not a claim."""
    labels = view.labels(told)
    if labels:
        words = ", ".join(f"{label} {n}" for label, n in labels.items())
        yield f"Heads by label, {about(told)}: {words}."


def _overall(view: InsertionView, told: Told) -> Iterator[str]:
    for measure, (middle, more, less) in _MIDDLE.items():
        number = view.at(told, measure)
        tried = len(view.every) * len(_MIDDLE)
        side = 0 if number is None else telling.beyond(number, middle, comparisons=tried)
        if number is not None and side:
            yield (
                f"All layers, {about(told)}: {_SAID[measure]} {more if side > 0 else less} "
                f"({phrases.measure_word(measure)} {phrases.value(number, measure)})."
            )


def _against(view: InsertionView) -> Iterator[str]:
    for key, number in view.differences.items():
        if telling.differs(number):
            word = "higher" if number.value > 0 else "lower"
            yield (
                f"All layers, {phrases.name(key.model)}, {minus(key.condition, key.against)}: "
                f"{phrases.measure_word(key.measure)} is {word} ({difference(key, number)})."
            )


def _undecided(view: InsertionView) -> Iterator[str]:
    """Conditions that may differ, and how large a difference would have been found."""
    for key, number in view.differences.items():
        size = number.detectable_family
        if view.several and size is not None and not telling.differs(number):
            could = f"{phrases.single(size)}{phrases.UNITS.get(key.measure, '')}"
            yield (
                f"All layers, {phrases.name(key.model)}, {minus(key.condition, key.against)}: "
                f"{phrases.measure_word(key.measure)} is undecided, where a difference of {could} "
                "could have been found with 80 % power."
            )


def _layers(view: InsertionView, told: Told) -> Iterator[str]:
    for measure in BY_LAYER:
        series = view.series(told, measure)
        if len(series) < 2:
            continue
        found = ends(series, telling.pairs(len(series)) * len(BY_LAYER) * len(view.layered))
        words = extremes(*found, partial(phrases.value, measure=measure)) if found else ""
        if words:
            yield f"{about(told)}: {phrases.measure_word(measure)} {words}."


def _trends(view: InsertionView, told: Told) -> Iterator[str]:
    for measure in _OVER_DEPTH:
        series = view.series(told, measure)
        found = telling.trend([number.value for number in series.values()])
        tried = len(view.layered) * len(_OVER_DEPTH)
        if found is None or found.p_value * tried >= telling.ALPHA:
            continue
        ends = [choose(series.values(), key=lambda n: n.value) for choose in (max, min)]
        if telling.apart(*ends, comparisons=telling.pairs(len(series)) * tried):
            word = "rises" if found.correlation > 0 else "falls"
            what = phrases.measure_word(measure)
            yield f"{about(told)}: {what} {word} with depth {over_depth(found)}."


def _heads(view: InsertionView, told: Told) -> Iterator[str]:
    series = view.series(told, RESPONDS, heads=True)
    heads = view.responding(told)
    if heads:
        words = "; ".join(f"{where(p)} ({phrases.value(series[p], RESPONDS)})" for p in heads)
        yield (
            f"{about(told)}: heads with a larger {RESPONDS} than the median head, the largest "
            f"first: {words}."
        )


def _models(view: InsertionView) -> Iterator[str]:
    """The same insertion in two models, over all heads."""
    both = list(combinations(view.numbers.models, 2))
    asked = list(product(view.numbers.conditions, _OVER_DEPTH, both))
    for condition, measure, pair in asked:
        found = [(model, view.at(Told(model, condition), measure)) for model in pair]
        there = [(model, number) for model, number in found if number is not None]
        if len(there) < 2 or not telling.apart(there[0][1], there[1][1], comparisons=len(asked)):
            continue
        high, low = sorted(there, key=lambda one: -one[1].value)
        yield (
            f"All layers, {phrases.name(condition)}: {phrases.measure_word(measure)} is higher in "
            f"{phrases.name(high[0])} ({phrases.value(high[1], measure)}) than in "
            f"{phrases.name(low[0])} ({phrases.value(low[1], measure)})."
        )


def _nothing(view: InsertionView) -> str:
    if not view.several:
        return f"{too_few(view.numbers)}."
    return "Over these prompts all is undecided: no layer, head or condition differs from another."


def _no_claim() -> str:
    return "These numbers support no claim about what the insertion does."


def _scope(view: InsertionView) -> str:
    which = "these prompts" if view.numbers.n_prompts > 1 else "this prompt"
    return f"All of this is about {which} and these insertions at their places."
