"""Facts → titles of charts: what the findings say of the same numbers, in fewer words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa

from mindshare.facts.cells import OVERALL, Place
from mindshare.facts.find import EFFECTS, Fact, find, largest
from mindshare.facts.words import count, together, wheres
from mindshare.measures import MEASURES

WORDS = 12  # of a title


def title_of_differences(
    differences: pa.Table,
    called: Callable[[str], str],
    *,
    layers: Sequence[int | None] | None = None,
) -> str | None:
    """The largest significant difference of a table, where it is; None: there is nothing to say.

    `called` gives the words for a class or model; `layers` are those that are drawn.
    """
    changes = [fact for fact in find({"differences": differences}) if fact.kind == "change"]
    facts = [_within(fact, layers) for fact in changes]
    found = largest(fact for fact in facts if fact.places)
    if not found or found[0].subject.measure in EFFECTS:
        return None
    first = found[0]
    other = next((fact for fact in found if fact.side != first.side), None)
    if other is not None and first.subject.measure == "mass" and first.places != (OVERALL,):
        title = f"{_claim(first, called)}{_opposed(first, other, called)}"
    else:
        title = f"{_claim(first, called)} {_where(first, facts)}"
    return title if len(title.split()) <= WORDS else None


def _opposed(first: Fact, other: Fact, called: Callable[[str], str]) -> str:
    """` (11 layers), more at maps (8)`: which layers is seen in the picture."""
    noun = "head" if first.places[0][1] is not None else "layer"
    more, tokens = "more" if other.side > 0 else "less", called(other.subject.token_class or "")
    return f" ({count(len(first.places), noun)}), {more} at {tokens} ({len(other.places)})"


def title_of_effects(
    summary: pa.Table,
    called: Callable[[str], str],
    *,
    layers: Sequence[int | None] | None = None,
) -> str | None:
    """The largest effect of hiding a class, where it is; None: nothing can be told from 0."""
    effects = [fact for fact in find({"summary": summary}) if fact.kind == "effect"]
    first = next((f for f in (_within(e, layers) for e in effects) if f.places), None)
    if first is None or first.subject.measure not in _COSTS:
        return None
    subject, claims = first.subject, _COSTS[first.subject.measure]
    words = {"model": called(subject.model), "tokens": called(subject.token_class or "")}
    there = f"in {together(first.together)}" if first.together else _where(first, [first])
    there = there.replace("in layer", "around layer") if first.window > 1 else there
    title = f"{claims[first.side > 0].format(**words)} {there}"
    return title if len(title.split()) <= WORDS else None


_COSTS = {  # what an effect below 0 says, and one above
    "delta_logprob": ("{model} needs {tokens}", "{model} answers better without {tokens}"),
    "delta_logit": ("{model} needs {tokens}", "{model} answers better without {tokens}"),
    "kl": ("Hiding {tokens} changes what {model} predicts",) * 2,
    "flip": ("Hiding {tokens} changes answers of {model}",) * 2,
}


def _within(fact: Fact, layers: Sequence[int | None] | None) -> Fact:
    """The fact at these layers."""
    if layers is None:
        return fact
    at = [i for i, (layer, _) in enumerate(fact.places) if layer in layers]
    places, numbers = [fact.places[i] for i in at], [fact.numbers[i] for i in at]
    return replace(fact, places=tuple(places), numbers=tuple(numbers))


def _claim(fact: Fact, called: Callable[[str], str]) -> str:
    subject, up = fact.subject, fact.side > 0
    model, tokens = called(subject.model), called(subject.token_class or "")
    if subject.measure == "mass":
        return f"{model} looks {'more' if up else 'less'} at {tokens}"
    if subject.measure == "share":
        return f"{model} gives {tokens} a {'larger' if up else 'smaller'} share"
    of = f" of {tokens}" if subject.token_class else ""
    what = f"{MEASURES[subject.measure].title}{of}"
    return f"{what} is {'higher' if up else 'lower'} in {model}"


def _where(fact: Fact, facts: Sequence[Fact]) -> str:
    """`in layers 16–19 and 21`; of heads, how many, and how many go the other way."""
    if fact.places == (OVERALL,):
        return "on average"
    if fact.places[0][1] is None:
        return f"in {wheres(_sorted(fact.places), fact.of)}"
    others = (f for f in facts if f.subject == fact.subject and f.side == -fact.side)
    less = len(next((other.places for other in others), ()))
    words = ("more", "less") if fact.subject.measure == "mass" else ("higher", "lower")
    if less:
        return f"in {len(fact.places)} heads, {words[fact.side > 0]} in {less}"
    return f"in {len(fact.places)} of {fact.of} heads"


def _sorted(places: Sequence[Place]) -> list[Place]:
    return sorted(places, key=lambda place: (place[0] is None, place[0] or 0))
