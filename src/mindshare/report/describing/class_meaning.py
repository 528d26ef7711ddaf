"""Findings of a class chart → key observations and an interpretation, in sentences.

Says what was found and nothing else, each thing once: the interpretation adds what such numbers
can't show. Knows findings; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mindshare.report.describing import phrases
from mindshare.report.describing.cells import Number
from mindshare.report.describing.class_findings import (
    Change,
    End,
    Findings,
    Leads,
    Misleading,
    OverDepth,
)
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.class_words import minus, too_few, valued
from mindshare.report.describing.places import FEW_HEADS, Place, where, wheres
from mindshare.report.describing.telling import Trend

LIMITS = (
    "Attention shows where a model looks, not why, nor what it does with what it sees: none of "
    "this is evidence of a cause."
)
_SMALL = "differs by less than 10 % of the larger mean"
UNDECIDED = "What is undecided may differ or not: these numbers can't tell."


def observations(view: ClassView, found: Findings) -> list[str]:
    if not found.anything:
        return [_nothing(view), *(s for one in found.changes for s in _undecided(view, one))]
    return [
        *_all_extremes(view, found),
        *(s for one in found.leads for s in _leads(view, one)),
        *(s for one in found.changes for s in _change(view, one)),
        *(_trend(one) for one in found.trends),
        *(_misleading(one) for one in found.misleading),
    ]


def headlines(view: ClassView, found: Findings) -> list[str]:
    """What differs, the largest differences between models first; never that something does not."""
    if not found.anything:
        return [_nothing(view)]
    changes = [side for one in found.changes for side in _decided(view, one)]
    return [
        *(said for _, said in sorted(changes, key=lambda side: -side[0])),
        *_all_extremes(view, found),
        *(s for one in found.leads for s in _leads(view, one)),
        *(_trend(one) for one in found.trends),
    ]


def interpretation(view: ClassView, found: Findings) -> list[str]:
    claims = [] if found.anything else [_no_claim(view)]
    told = [UNDECIDED] if view.several else []
    return [*claims, *_compared_with_uniform(found), *told, *_scope(view), LIMITS]


def _nothing(view: ClassView) -> str:
    if not view.several:
        return f"{too_few(view.numbers)}."
    return "Over these prompts all is undecided: no layer, class or model differs from another."


def _all_extremes(view: ClassView, found: Findings) -> Iterator[str]:
    for model in view.models:
        own = [one for one in found.extremes if one.model == model]
        number = partial(valued, view=view)
        said = {one.kind: extremes(one.highest, one.lowest, number) for one in own}
        for kind, words in said.items():
            if words:
                yield f"{phrases.name(model)}: {phrases.name(kind)} {words}."
        yield from _somewhere(view, model, [kind for kind, words in said.items() if not words])


def _somewhere(view: ClassView, model: str, kinds: list[str]) -> Iterator[str]:
    """Classes of which it is known only that not all places are alike."""
    if kinds:
        verb, what = "differs" if len(kinds) == 1 else "differ", "head" if view.by_head else "layer"
        which = f"which {what} is highest or lowest is undecided"
        yield f"{phrases.name(model)}: {phrases.names(kinds)} {verb} between {what}s; {which}."


def extremes(highest: End, lowest: End, valued: phrases.Valued) -> str:
    """`is highest in layer 3 (0.5) and lowest in layer 0 (0.1)`, if it is; else what is known.

    An end with many rivals says nothing and is left out; nothing at all is an empty string.
    """
    high, low = (f"{where(end.place)} ({valued(end.number)})" for end in (highest, lowest))
    if not highest.beside and not lowest.beside:
        return f"is highest in {high} and lowest in {low}"
    parts = [
        f"its {word} mean is in {at}{_beside(end)}"
        for word, at, end in (("largest", high, highest), ("smallest", low, lowest))
        if end.stands_out
    ]
    what = "heads" if highest.place[1] is not None else "layers"
    return f"differs between {what}; {'; '.join(parts)}" if parts else ""


def _beside(end: End) -> str:
    return f", undecided against {wheres(end.beside)}" if end.beside else ""


def _leads(view: ClassView, one: Leads) -> Iterator[str]:
    if not one.by_class:
        return
    what = "most mass" if view.measure == "mass" else f"largest {view.measure}"
    parts = [
        f"{phrases.name(kind)} has the {what} in {wheres(places)}"
        for kind, places in one.by_class.items()
    ]
    if one.nobody:
        parts.append(f"undecided in {wheres(one.nobody)}")
    yield f"{phrases.name(one.model)}, of the named classes: {'; '.join(parts)}."


def _change(view: ClassView, one: Change) -> Iterator[str]:
    yield from (said for _, said in _decided(view, one))
    if one.close and not view.by_head:
        yield f"{_lead(one)}: {_SMALL} in {_close(view, one.close)}."
    yield from _undecided(view, one)


def _lead(one: Change) -> str:
    return f"{minus(one.pair)}, {phrases.name(one.kind)}"


def _decided(view: ClassView, one: Change) -> Iterator[tuple[float, str]]:
    """What is said of each side, with the largest difference there."""
    for word, places in (("more", one.more), ("less", one.less)):
        if places:
            said = _by_effect(view, places) if view.by_head else _most(view, places)
            largest = max(abs(number.value) for number in places.values())
            yield largest, f"{_lead(one)}: {word} in {said}."


def _undecided(view: ClassView, one: Change) -> Iterator[str]:
    """Where it is, and how large a difference would have been found."""
    if view.several and view.by_head:
        yield from _other_heads(view, one)
    elif view.several and one.undecided:
        sizes = power(list(one.undecided.values()))
        yield f"{_lead(one)}: undecided in {wheres(list(one.undecided))}{sizes}."


def _other_heads(view: ClassView, one: Change) -> Iterator[str]:
    """All heads of which no difference can be told, too many to be named."""
    at = "the other heads" if one.decided else "every head"
    if one.undecided:
        small = f", or {_SMALL}," if one.close else ""
        sizes = power(list(view.differences(one.pair, one.kind).values()))
        yield f"{_lead(one)}: undecided{small} in {at}{sizes}."
    elif one.close:
        yield f"{_lead(one)}: {_SMALL} in {at}."


def power(numbers: Sequence[Number]) -> str:
    """How large a difference all of these would have shown, four times of five."""
    known = [n.detectable_family for n in numbers if n.detectable_family is not None]
    if len(known) < len(numbers) or not known:
        return ""
    which = "where" if len(numbers) == 1 else "in each of which"
    size = phrases.single(max(known))
    return f", {which} a difference of {size} could have been found with 80 % power"


def _most(view: ClassView, places: dict[Place, Number]) -> str:
    """Where it is, and where it is most, with the number."""
    top = max(places, key=lambda p: abs(places[p].value))
    number = f"{where(top)} ({valued(places[top], view, sign=True)})"
    return number if len(places) == 1 else f"{wheres(list(places))}, of these most in {number}"


def _by_effect(view: ClassView, places: dict[Place, Number]) -> str:
    """Heads by the size of their effects: what is steady over the prompts comes first."""
    order = sorted(places, key=lambda p: _rank(places[p]))
    some = "; ".join(f"{where(p)} ({_with_effect(places[p], view)})" for p in order[:FEW_HEADS])
    more = "; and in further heads" if len(order) > FEW_HEADS else ""
    return f"{some}{more}; the largest effect first" if len(order) > 1 else some


def _rank(number: Number) -> tuple[bool, float, float]:
    """As `stats.ranked` does, which knows tables: those without an effect come last."""
    return number.effect is None, -abs(number.effect or 0.0), -abs(number.value)


def _with_effect(number: Number, view: ClassView) -> str:
    effect = "" if number.effect is None else f", effect {phrases.effect(number.effect)}"
    return f"{valued(number, view, sign=True)}{effect}"


def _close(view: ClassView, places: dict[Place, Number]) -> str:
    widest = max(places, key=lambda p: _reach(places[p]))
    number = valued(places[widest], view, sign=True)
    if len(places) == 1:
        return f"{where(widest)} ({number})"
    return f"{wheres(list(places))}; the interval reaches farthest in {where(widest)} ({number})"


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


def _compared_with_uniform(found: Findings) -> Iterator[str]:
    if found.misleading:
        kinds = dict.fromkeys(one.kind for one in found.misleading)
        yield (
            f"Mass alone would mislead about {phrases.names(kinds)}: their lift says otherwise."
            if len(kinds) > 1
            else f"Mass alone would mislead about {phrases.names(kinds)}: its lift says otherwise."
        )


def _no_claim(view: ClassView) -> str:
    compared = "layers, classes or models" if len(view.models) > 1 else "layers or classes"
    return f"These numbers support no claim about differences between {compared}."


def _scope(view: ClassView) -> Iterator[str]:
    which = "these prompts" if view.numbers.n_prompts > 1 else "this prompt"
    yield f"All of this is about {which} and this query set."
    if not view.by_head:
        yield "Single heads can do what their mean does not show."
