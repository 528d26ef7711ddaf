"""What an insertion did → key observations and an interpretation, in sentences.

Says only what a test supports that counts how many layers, heads, measures and conditions it was
picked from. Knows what such numbers can't show, and says that too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.class_meaning import LIMITS, over_depth
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
    "entropy_change": (0.0, "more evenly than before", "less evenly than before"),
}
_SAID = {
    "amplitude": "the original tokens receive",
    "entropy_change": "the original tokens are attended to",
}
_OVER_DEPTH = ("retained", RESPONDS)


def observations(view: InsertionView) -> list[str]:
    counted = [s for told in view.every for s in [*_labels(view, told), *_largest(view, told)]]
    found = [*_found(view)]
    if not found:
        return [*counted, _nothing(view)]
    return [*counted, *found]


def interpretation(view: InsertionView) -> list[str]:
    return [*(list(_meaning(view)) or [_no_claim()]), _scope(view), LIMITS]


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


def _largest(view: InsertionView, told: Told) -> Iterator[str]:
    """The head with the largest mean, where it can't be told that it responds more than others."""
    series = view.series(told, RESPONDS, heads=True)
    if len(series) > 1 and told in view.layered and not view.responding(told):
        top = view.top(told)[0]
        yield (
            f"{about(told)}: the largest mean {RESPONDS} of a head is that of {where(top)} "
            f"({phrases.value(series[top], RESPONDS)}); whether it responds more than the others "
            "can't be told from so few prompts."
        )


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


def _layers(view: InsertionView, told: Told) -> Iterator[str]:
    for measure in BY_LAYER:
        series = view.series(told, measure)
        if len(series) < 2:
            continue
        high = max(series, key=lambda p: series[p].value)
        low = min(series, key=lambda p: series[p].value)
        tried = telling.pairs(len(series)) * len(BY_LAYER) * len(view.layered)
        if telling.apart(series[high], series[low], comparisons=tried):
            yield (
                f"{about(told)}: {phrases.measure_word(measure)} is highest in {where(high)} "
                f"({phrases.value(series[high], measure)}) and lowest in {where(low)} "
                f"({phrases.value(series[low], measure)})."
            )


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
            f"{about(told)}: heads with a larger {RESPONDS} than the middle head, the largest "
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
        return "Nothing else: with one prompt, nothing can be told from chance."
    return (
        "Nothing else: over these prompts no layer, head or condition can be told from the next, "
        "once it is counted how many were compared."
    )


def _meaning(view: InsertionView) -> Iterator[str]:
    for told in view.layered:
        if list(_overall(view, told)):
            yield (
                f"{about(told)}: the insertion changes what the original tokens receive, over all "
                "heads together."
            )
        if view.responding(told):
            yield f"{about(told)}: heads do not all respond alike."
        if list(_layers(view, told)):
            yield f"{about(told)}: what the insertion does depends on the layer."
    for key, number in view.differences.items():
        if telling.differs(number):
            yield (
                f"{phrases.name(key.model)}: for {phrases.measure_word(key.measure)} it matters "
                f"what is inserted, {phrases.name(key.condition or '')} or "
                f"{phrases.name(key.against or '')}."
            )


def _no_claim() -> str:
    return "These numbers support no claim about what the insertion does."


def _scope(view: InsertionView) -> str:
    which = "these prompts" if view.several else "this prompt"
    return f"All of this is about {which} and these insertions at their places."
