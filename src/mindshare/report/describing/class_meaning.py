"""Findings of a class chart → key observations and an interpretation, in sentences.

Says what was found and nothing else. The interpretation adds what such numbers can't show. Knows
findings; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from mindshare.report.describing import phrases
from mindshare.report.describing.class_findings import (
    Change,
    Extremes,
    Findings,
    Leads,
    Misleading,
    OverDepth,
)
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.class_words import minus, valued
from mindshare.report.describing.numbers import Number
from mindshare.report.describing.places import Place, in_order, where, wheres
from mindshare.report.describing.telling import Trend

LIMITS = (
    "Attention shows where a model looks, not why, nor what it does with what it sees: none of "
    "this is evidence of a cause."
)


def observations(view: ClassView, found: Findings) -> list[str]:
    if not found.anything:
        return [_nothing(view)]
    return [
        *(_extremes(view, one) for one in found.extremes),
        *_alike(view, found),
        *(s for one in found.leads for s in _leads(view, one)),
        *(s for one in found.changes for s in _change(view, one)),
        *(_trend(one) for one in found.trends),
        *(_misleading(one) for one in found.misleading),
    ]


def headlines(view: ClassView, found: Findings) -> list[str]:
    """The observations, the largest differences between models first."""
    between = [s for one in found.largest_first for s in _change(view, one)]
    decided = [s for s in between if "can be told" not in s]
    return [*decided, *(s for s in observations(view, found) if s not in between)]


def interpretation(view: ClassView, found: Findings) -> list[str]:
    return [*(list(_meaning(view, found)) or [_no_claim(view)]), _scope(view), LIMITS]


def _nothing(view: ClassView) -> str:
    if not view.several:
        return "None: with one prompt, nothing can be told from chance."
    return (
        "None: over these prompts no layer, class or model can be told from the next, once it is "
        "counted how many were compared."
    )


def _extremes(view: ClassView, one: Extremes) -> str:
    (high, highest), (low, lowest) = one.highest, one.lowest
    return (
        f"{phrases.name(one.model)}: {phrases.name(one.kind)} is highest in {where(high)} "
        f"({valued(highest, view)}) and lowest in {where(low)} ({valued(lowest, view)})."
    )


def _alike(view: ClassView, found: Findings) -> Iterator[str]:
    for model in view.models:
        kinds = [kind for name, kind in found.alike if name == model]
        if kinds:
            what = "head" if view.by_head else "layer"
            yield (
                f"{phrases.name(model)}: for {phrases.names(kinds)} no {what} can be told to be "
                "the highest or lowest."
            )


def _leads(view: ClassView, one: Leads) -> Iterator[str]:
    if not one.by_class:
        return
    what = phrases.measure_word(view.measure)
    parts = [
        f"{phrases.name(kind)} has the most {what} in {wheres(places)}"
        for kind, places in one.by_class.items()
    ]
    if one.nobody:
        parts.append(f"in {wheres(one.nobody)} no class can be told to lead")
    yield f"{phrases.name(one.model)}: {'; '.join(parts)}."


def _change(view: ClassView, one: Change) -> Iterator[str]:
    lead = f"{minus(one.pair)}, {phrases.name(one.kind)}"
    for word, places in (("more", one.more), ("less", one.less)):
        if places:
            yield f"{lead}: {word} in {_most(view, places)}."
    if one.close:
        yield f"{lead}: within a tenth of the larger mean in {_close(view, one.close)}."
    if one.undecided:
        at = wheres(one.undecided)
        yield f"{lead}: neither a difference nor that it is small can be told in {at}."


def _most(view: ClassView, places: dict[Place, Number]) -> str:
    """Where it is, and where it is most, with the number."""
    top = max(places, key=lambda p: abs(places[p].value))
    number = f"{where(top)} ({valued(places[top], view, sign=True)})"
    if len(places) == 1:
        return number
    if not view.by_head:
        return f"{wheres(list(places))}, most in {number}"
    rest = {place: n for place, n in places.items() if place != top}
    return f"{number} most, and in {_farthest_first(rest)}"


def _close(view: ClassView, places: dict[Place, Number]) -> str:
    widest = max(places, key=lambda p: _reach(places[p]))
    number = valued(places[widest], view, sign=True)
    if len(places) == 1:
        return f"{where(widest)} ({number})"
    return f"{_farthest_first(places)}; the interval reaches farthest in {where(widest)} ({number})"


def _farthest_first(places: dict[Place, Number]) -> str:
    """Where only some can be named, those with the largest differences."""
    return wheres(sorted(places, key=lambda p: -abs(places[p].value)))


def _reach(number: Number) -> float:
    return max(abs(number.low or 0.0), abs(number.high or 0.0))


def _trend(one: OverDepth) -> str:
    word = "rises" if one.trend.correlation > 0 else "falls"
    return (
        f"{phrases.name(one.model)}: {phrases.name(one.kind)} {word} with depth "
        f"{over_depth(one.trend)}."
    )


def over_depth(trend: Trend) -> str:
    rho = phrases.written(trend.correlation, 2, sign=True)
    p = phrases.probability(trend.p_value)
    return f"(rank correlation with the layer {rho}; p {p} among random orders)"


def _misleading(one: Misleading) -> str:
    top = max(one.places, key=lambda p: abs(one.places[p].value - 1))
    number = phrases.value(one.places[top], "lift")
    order, side = ("most", "less") if one.most else ("least", "more")
    return (
        f"{phrases.name(one.model)}: {phrases.name(one.kind)} has the {order} mass of the named "
        f"classes in {wheres(list(one.places))}, yet {side} than uniform attention would give it; "
        f"farthest in {where(top)} (lift {number})."
    )


def _meaning(view: ClassView, found: Findings) -> Iterator[str]:
    for change in found.changes:
        if change.more or change.less:
            at = wheres(in_order([*change.more, *change.less]))
            a, b = change.pair
            yield (
                f"{phrases.name(b)} and {phrases.name(a)} attend to {phrases.name(change.kind)} "
                f"differently in {at}."
            )
    for change in found.changes:
        if change.close and not (change.more or change.less or change.undecided):
            a, b = change.pair
            yield (
                f"For {phrases.name(change.kind)}, {phrases.name(b)} and {phrases.name(a)} are "
                "within a tenth of each other wherever both were measured."
            )
    for one in found.misleading:
        word = "less" if one.most else "more"
        yield (
            f"{phrases.name(one.model)}, {wheres(list(one.places))}: mass alone would mislead "
            f"about {phrases.name(one.kind)}, which is looked at {word} than its number of tokens "
            "suggests."
        )
    for model in dict.fromkeys(one.model for one in found.extremes):
        kinds = [one.kind for one in found.extremes if one.model == model]
        what = "head" if view.by_head else "layer"
        yield f"{phrases.name(model)}: the {what} matters for {phrases.names(kinds)}."


def _no_claim(view: ClassView) -> str:
    compared = "layers, classes or models" if len(view.models) > 1 else "layers or classes"
    return f"These numbers support no claim about differences between {compared}."


def _scope(view: ClassView) -> str:
    which = "these prompts" if view.several else "this prompt"
    heads = "" if view.by_head else "; single heads can do what their mean does not show"
    return f"All of this is about {which} and this query set{heads}."
