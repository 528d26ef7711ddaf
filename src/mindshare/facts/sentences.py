"""Facts → sentences: one form for each kind of fact, the claim first, its number behind it.

A sentence says one thing, with at most two numbers and one interval, and carries the numbers it
states, each with its cell. Whether something is so was decided in `find`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from mindshare.facts.cells import OVERALL, Key, Number
from mindshare.facts.find import Fact
from mindshare.facts.words import (
    HIDDEN,
    SIGNED,
    UNITS,
    count,
    decimals,
    inserted,
    listed,
    name,
    names,
    phrase,
    single,
    together,
    value,
    where,
    wheres,
    written,
)
from mindshare.measures import MEASURES

LEAST_SAID = 0.001  # a p below it is said to be so
FEW_CLASSES = 3  # that are named where a share is of their attention
_LONG = ("share", "lift")  # measures that take many words already


class Sentence(str):
    """Text that carries the numbers it states."""

    numbers: tuple[Number, ...]

    def __new__(cls, text: str, numbers: Iterable[Number] = ()) -> Sentence:
        made = super().__new__(cls, text)
        made.numbers = tuple(numbers)
        return made


# The forms, one per kind of fact.

FORMS: dict[str, Callable[[Fact], Sentence]] = {}


def _form(form: Callable[[Fact], Sentence]) -> Callable[[Fact], Sentence]:
    """Registers `_kind` as the form of facts of that kind."""
    FORMS[form.__name__.removeprefix("_")] = form
    return form


def sentence(fact: Fact, *, several: bool = False) -> Sentence:
    """A fact in words; with `several` models, the one it is about is named."""
    text = FORMS[fact.kind](fact)
    text = Sentence(f"{_of_what(fact)}{text}", text.numbers)
    subject, model = fact.subject, name(fact.subject.model)
    between_models = subject.against and (subject.condition is None or fact.kind == "models")
    words = f"{model}: {text}" if several and not between_models else text
    capital = words if words.startswith(model) else words[0].upper() + words[1:]
    return Sentence(f"{capital}.", text.numbers)


def _of_what(fact: Fact) -> str:
    """`of the attention to hash and star, ` before what is said of a share."""
    return f"of the attention to {_among(fact)}, " if fact.subject.measure == "share" else ""


def _among(fact: Fact) -> str:
    """The classes that were compared, by name if they are few."""
    if 0 < len(fact.among) <= FEW_CLASSES:
        return names(fact.among)
    return f"the {len(fact.among)} compared classes" if fact.among else "the compared classes"


_BEHIND = {  # the number and its unit: of what
    "mass": " of all attention",
    "amplitude": " its level before",
    "peak_ratio": " its level before",
    "entropy_change": " of entropy",
    "retained": " of later tokens' attention",
    "affine_r2": " on average",
    "delta_logit": " logits",
    "kl": " of divergence",
    "divergence": " (Jensen–Shannon)",
    "flip": " of the prompts",
}


_CHANGED = (" times its level before", " times")  # behind a number; a change of it has no unit
_RATIOS = ("amplitude", "peak_ratio")  # to what there was before
_THAN = {  # what one insertion does more, or less, than another, and where
    "retained": "leaves the rest of the prompt {more} attention{at}",
    "divergence": "makes attention on original tokens{at} diverge {more} from before",
}
RESCALED = "later tokens keep their pattern of attention to original tokens"


def _what(subject: Key) -> str:
    return phrase(subject.measure, subject.token_class)


def _compared(subject: Key) -> str:
    """What differs between two insertions or models."""
    ratio = ", relative to before," if subject.measure in _RATIOS else ""
    return f"{_what(subject)}{ratio}"


def _size(number: Number, measure: str, **how: bool) -> str:
    behind = "" if how.get("sign") and measure == "divergence" else _BEHIND.get(measure, "")
    text = value(number, measure, behind=behind, **how)
    text = (
        text.replace(" per token", " of all attention per token") if measure == "density" else text
    )
    if not how.get("sign"):
        return text
    for times in _CHANGED:
        text = text.replace(times, "")
    return text


def _given(subject: Key) -> str:
    """`after inserting 55 copies of “/”, ` before what that does."""
    return "" if subject.condition is None else f"after inserting {inserted(subject.condition)}, "


def _two(subject: Key) -> tuple[str, str]:
    """What is compared: two insertions, or two models."""
    if subject.condition is None:
        return name(subject.model), name(subject.against)
    b, a = inserted(subject.condition), inserted(subject.against)
    if b == f"{a} {HIDDEN}":
        return b, "the same, visible to them"
    if HIDDEN in b and HIDDEN not in a:
        a = f"{a} in sight"
    return b, a


def _hiding_inserted(subject: Key) -> str | None:
    """`hiding the inserted 55 copies of “/” from later tokens`, if that is all that differs."""
    a = inserted(subject.against) if subject.condition and subject.against else ""
    if not a or inserted(subject.condition) != f"{a} {HIDDEN}":
        return None
    return f"hiding the inserted {a.removeprefix('a ')} {HIDDEN.removeprefix('hidden ')}"


def _at(fact: Fact) -> str:
    if fact.places == (OVERALL,):
        return f" in {together(fact.together)}" if fact.together else ""
    return f" in {wheres(fact.places, fact.of)}"


def _first(fact: Fact, claim: str) -> str:
    """`in layer 0, …`: where the place behind the claim would seem to be that of its last words."""
    return f"{_at(fact).removeprefix(' ')}, {claim}" if _at(fact) else claim


def _nowhere(fact: Fact) -> str:
    """Behind a `not`, which "in all layers" would leave open: not in all, or not in any?"""
    if len(fact.places) < fact.of or fact.of < 2:
        return _at(fact).replace(" in layers ", " in any of layers ")
    noun = "head" if any(head is not None for _, head in fact.places) else "layer"
    return f" in either {noun}" if fact.of == 2 else f" in any of {fact.of} {noun}s"


def _farthest(fact: Fact, most: str, **how: bool) -> Sentence:
    """The number that is largest, and of several places the one where it is."""
    place, number = fact.farthest
    there = f"; {most} in {where(place)}" if len(fact.places) > 1 else ""
    return Sentence(f"{there}: {_size(number, fact.subject.measure, **how)}", (number,))


def _hiding(fact: Fact) -> str:
    """`hiding star tokens at any of layers 3–5`: each of them alone; `around`: with others."""
    hiding = f"hiding {name(fact.subject.token_class)} tokens"
    at = "around" if fact.window > 1 else "at"
    if fact.places == (OVERALL,):
        return f"{hiding} at {together(fact.together)}" if fact.together else hiding
    if len(fact.places) == 1:
        return f"{hiding} {at} {where(fact.places[0])}"
    there = wheres(fact.places, fact.of)
    if not there.startswith("layers"):
        noun = "head" if fact.places[0][1] is not None else "layer"
        of = f" (of {fact.of})" if len(fact.places) < fact.of else ""
        there = f"{len(fact.places)} {noun}s{of}"
    return f"{hiding} {at} any of {there}"


@_form
def _change(fact: Fact) -> Sentence:
    subject, number = fact.subject, fact.farthest[1]
    more, higher = ("more", "higher") if fact.side > 0 else ("less", "lower")
    larger = "larger" if fact.side > 0 else "smaller"
    if len(fact.places) > 1 and subject.measure not in _LONG:  # others may go that way, too
        more, higher, larger = (f"significantly {word}" for word in (more, higher, larger))
    (b, a), tokens = _two(subject), name(subject.token_class)
    if subject.measure == "weight_evenness":
        evenly = f"attention is spread {more} evenly over {b} than over {a}"
        claim = f"{evenly}, by normalised entropy"
    elif subject.condition is not None and subject.measure in _THAN:
        does = _THAN[subject.measure].format(more=more, at=_at(fact))
        hiding = _hiding_inserted(subject)
        claim = f"{hiding} {does}" if hiding else f"inserting {b} {does} than inserting {a}"
    elif subject.condition is not None:
        claim = f"{_compared(subject)} is {higher} after inserting {b} than after {a}"
    elif subject.measure == "mass":
        claim = f"{b} looks {more} at {tokens} tokens than {a}"
    elif subject.measure == "share":
        claim = f"{b} gives {tokens} a {larger} share than {a}"
    elif subject.measure in _HIDING:  # a loss is a number below 0
        (lowers, _), of = _HIDING[subject.measure]
        further = "more" if (fact.side > 0) == (lowers == "changes") else "less"
        place = fact.farthest[0]
        there = f" in {where(place)}" if len(fact.places) > 1 else ""
        claim = f"{_hiding(fact)} {lowers} {of} {further} in {b} than in {a}"
        size = f"change in {b} minus change in {a}{there}: "
        size += _size(number, subject.measure, sign=True)
        return Sentence(f"{claim}; {size}", (number,))
    else:
        claim = f"{_compared(subject)} is {higher} in {b} than in {a}"
    size = _farthest(fact, "largest" if subject.measure in _LONG else "largest of these", sign=True)
    few = ""
    if number.n_same_sign is not None and 2 * number.n_same_sign < number.n_prompts:
        prompts = count(number.n_prompts, "prompt")  # a mean that most do not follow
        few = f", yet only {number.n_same_sign:,} of {prompts} go that way"
    if subject.condition is None:
        claim = f"{claim}{_at(fact)}"
    elif subject.measure not in _THAN:  # whose claims say where
        claim = _first(fact, claim)
    return Sentence(f"{claim}{size}{few}", (number,))


@_form
def _equivalent(fact: Fact) -> Sentence:
    subject, near = fact.subject, ": less than 10 % apart"
    same = "nearly the same"
    if not any(number.has_interval or number.value for number in fact.numbers):
        same, near = "exactly the same", ""
    b, a = _two(subject)
    return Sentence(f"{_compared(subject)} is {same} in {b} and {a}{_at(fact)}{near}")


@_form
def _not_significant(fact: Fact) -> Sentence:
    subject, (b, a) = fact.subject, _two(fact.subject)
    between = f" between {'inserting ' if subject.condition else ''}{b} and {a}"
    if subject.measure in _HIDING:
        of = _HIDING[subject.measure][1].removesuffix(" over its best rival")
        says = f"{_hiding(fact)} has an effect on {of} that does not differ significantly"
        there = ""
    elif hiding := _hiding_inserted(subject):
        says, between = f"{hiding} does not significantly change {_what(subject)}", ""
        there = _nowhere(fact)
    else:
        says, there = f"{_compared(subject)} does not differ significantly", _nowhere(fact)
    text = f"{says}{between}{there}"
    if len(fact.numbers) == 1:
        (number,) = fact.numbers
        corrected, size = "", _size(number, subject.measure, sign=True)
        if not _around(number, 0.0):
            corrected = " after correction"  # for all comparisons
            size = re.sub(r" (?=≈?\[)", ", uncorrected ", size)
        order = ", first minus second" if between else ""
        if fact.together or (corrected and subject.measure in ("share", "lift")):
            order = ""  # these take many words already
        return Sentence(f"{says}{corrected}{between}{there}: {size}{order}", (number,))
    if any(number.detectable_family is None for number in fact.numbers):
        return Sentence(text)
    largest = max(fact.numbers, key=lambda number: number.detectable_family or 0.0)
    if subject.measure == "share":  # which takes many words already
        return Sentence(text)
    if subject.measure == "mass" and (largest.detectable_family or 0.0) > 1:
        return Sentence(text)  # more than there is: nothing could have been found
    unit = UNITS.get(subject.measure, "") + _BEHIND.get(subject.measure, "")
    size = f"{single(largest.detectable_family or 0.0)}{unit}"
    return Sentence(f"{text}; a difference of {size} would probably show", (largest,))


_CORRECTED = " after correction; uncorrected"  # for all comparisons: what follows is the number


def _around(number: Number, middle: float) -> bool:
    """Whether its interval holds the middle."""
    return (number.low or 0.0) <= middle <= (number.high or 0.0)


@_form
def _untested(fact: Fact) -> Sentence:
    (number,), subject = fact.numbers, fact.subject
    why = " without any spread" if number.sd == 0 and number.n_units > 1 else ""
    untested = f"untested: {count(number.n_prompts, 'prompt')}{why}"
    size, pair = _size(number, subject.measure, sign=True), " minus ".join(_two(subject))
    return Sentence(f"{_what(subject)} differs by {size} ({pair}; {untested})", (number,))


@_form
def _extremes(fact: Fact) -> Sentence:
    measure, (high, low) = fact.subject.measure, fact.numbers
    what = f"{_given(fact.subject)}{_what(fact.subject)}"
    at = [where(place) for place in fact.places]
    place = "head" if fact.places[0][1] is not None else "layer"
    inserting = fact.subject.condition is not None  # which takes many words already
    highest = (value if inserting else _size)(high, measure, interval=False)
    lowest = written(low.value, decimals(high.value), sign=measure in SIGNED)
    if not any(fact.rivals):
        both = f"highest in {at[0]} ({highest}) and lowest in {at[1]} ({lowest})"
        return Sentence(f"{what} is {both}", (high, low))
    ends = [end for end in (0, 1) if fact.stands_out(end)]
    if not ends:
        both = f"from {lowest} to {highest}"
        return Sentence(f"{what} ranges {both}, depending on the {place}", (low, high))
    end = min(ends, key=lambda end: len(fact.rivals[end]))
    close, number = len(fact.rivals[end]), fact.numbers[end]
    size = _size(number, measure)
    if close:
        size += f"; {count(close, f'other {place}')} may be as {('high', 'low')[end]}"
    return Sentence(f"{what} is {('highest', 'lowest')[end]} in {at[end]}: {size}", (number,))


_HIDING = {  # what hiding a class does: below and above 0, to what
    "delta_logprob": (("lowers", "raises"), "the answer's log-probability"),
    "delta_logit": (("narrows", "widens"), "the answer's lead over its best rival"),
    "kl": (("changes", "changes"), "the prediction"),
    "flip": (("changes", "changes"), "the answer"),
}
_HIDING["first_order"] = (
    ("lowers", "raises"),
    "the answer's log-probability (first-order estimate)",
)


@_form
def _effect(fact: Fact) -> Sentence:
    """Of `no_effect`, too, an honest null: how large the largest mean is."""
    verbs, of = _HIDING[fact.subject.measure]
    does = f"{verbs[fact.side > 0]} {of}"
    if not fact.side:
        corrected = "" if _around(fact.farthest[1], 0.0) else " after correction"
        does = f"has no significant effect on {of}{corrected}"
    most = "largest of these" if fact.side else "largest effect"
    size = _farthest(fact, most, sign=verbs[0] != verbs[1])
    return Sentence(f"{_hiding(fact)} {does}{size}", size.numbers)


FORMS["no_effect"] = _effect


@_form
def _largest_effect(fact: Fact) -> Sentence:
    """Of too few prompts for a test: where the answer loses or gains most."""
    (number,), measure = fact.numbers, fact.subject.measure
    verbs, of = _HIDING[measure]
    untested = "one prompt" if number.n_prompts == 1 else count(number.n_prompts, "prompt")
    if not fact.side:
        tokens = _hiding(fact) if fact.together else _hiding(replace(fact, places=(OVERALL,)))
        return Sentence(f"{tokens} leaves {of} as it is ({untested}: not tested)", (number,))
    size = f"{_size(number, measure, sign=verbs[0] != verbs[1])} ({untested}: not tested)"
    most = " most" if fact.of > 1 else ""
    return Sentence(f"{_hiding(fact)} {verbs[fact.side > 0]} {of}{most}: {size}", (number,))


_MOST = {  # what a class has that gets more than every other, where it is attention
    "mass": "most attention",
    "density": "most attention per token",
    "lift": "most attention per token",
}


@_form
def _lead(fact: Fact) -> Sentence:
    token_class, size = name(fact.subject.token_class), _farthest(fact, "highest")
    if fact.subject.measure == "lift":
        text = size.replace(" times", " times the average token's attention")
        size = Sentence(text, size.numbers)
    gets = f"{token_class} gets"
    if len(fact.places) > 1 and fact.subject.measure not in _LONG:  # it may lead elsewhere, too
        gets = f"{gets} significantly"
    if fact.subject.measure == "share":
        return Sentence(f"{gets} the largest share{_at(fact)}{size}", size.numbers)
    most = f"{_what(fact.subject)} is largest"
    if fact.subject.measure in _MOST:
        most = f"{gets} the {_MOST[fact.subject.measure]}"
    claim = _first(fact, f"of {_among(fact)}, {most}")
    return Sentence(f"{claim}{size}", size.numbers)


@_form
def _trend(fact: Fact) -> Sentence:
    (rho,), verb = fact.numbers, "rises" if fact.side > 0 else "falls"
    what = f"{_given(fact.subject)}{_what(fact.subject)}"
    correlation = f"Spearman correlation with the layer {written(rho.value, 2, sign=True)}"
    return Sentence(f"{what} {verb} with depth ({correlation})", (rho,))


@_form
def _ignored(fact: Fact) -> Sentence:
    """The farthest below 1 is the lowest: all of them are below."""
    tokens, size = f"{name(fact.subject.token_class)} tokens", _farthest(fact, "least of these")
    claim = f"{tokens} get less attention than the average token{_at(fact)}"
    return Sentence(f"{claim}{size}", size.numbers)


def for_a_paper(fact: Fact) -> Sentence:
    """A change between models with n, interval and test, to be copied as it is."""
    subject, (place, number) = fact.subject, fact.farthest
    claim = _of_what(fact) + _change(replace(fact, places=(place,), numbers=(number,)))
    claim, _, _ = claim.rpartition(": ")
    size = f"{_size(number, subject.measure, sign=True)}, n = {count(number.n_prompts, 'prompt')}"
    p = number.p_family or 0.0
    chance = "p < 0.001" if p < LEAST_SAID else f"p = {written(p, 3)}"
    return Sentence(f"For a paper: {claim} ({size}, paired max-T {chance}).", (number,))


_LEVELS = {  # what an insertion does: below, above and at no change
    "amplitude": (
        "lowers the attention on the original tokens",
        "raises the attention on the original tokens",
        "does not significantly change the attention on the original tokens",
    ),
    "peak_ratio": (
        "lowers the attention on the most attended token",
        "raises the attention on the most attended token",
        "does not significantly change the attention on the most attended token",
    ),
    "entropy_change": (
        "spreads attention less evenly over the original prompt",
        "spreads attention more evenly over the original prompt",
        "does not significantly change how evenly attention spreads over the original prompt",
    ),
}


@_form
def _level(fact: Fact) -> Sentence:
    (number,), subject = fact.numbers, fact.subject
    size = _size(number, subject.measure)
    if not fact.tested:
        what = f"{_given(subject)}{_what(subject)}{_at(fact) or ', averaged over layers,'}"
        return Sentence(f"{what} is {size}; too few prompts for a test", (number,))
    does = _LEVELS[subject.measure][{-1: 0, 1: 1, 0: 2}[fact.side]]
    corrected = "" if fact.side or _around(number, fact.neutral) else _CORRECTED
    claim = f"inserting {inserted(subject.condition)} {does}{_at(fact)}{corrected}"
    return Sentence(f"{claim}: {size}", (number,))


@_form
def _levels(fact: Fact) -> Sentence:
    does = _LEVELS[fact.subject.measure][fact.side > 0]
    return Sentence(f"inserting {inserted(fact.subject.condition)} {does}{_at(fact)}")


@_form
def _responding(fact: Fact) -> Sentence:
    head, number = f"{_given(fact.subject)}{where(fact.places[0])}", fact.numbers[0]
    size = _size(number, fact.subject.measure)
    return Sentence(f"{head} changes its attention more than the median head: {size}", (number,))


@_form
def _models(fact: Fact) -> Sentence:
    subject, (high, low) = fact.subject, fact.numbers
    higher = f"is higher in {name(subject.model)} than in {name(subject.against)}"
    means = _size(high, subject.measure), written(low.value, decimals(high.value))
    text = f"{_given(subject)}{_what(subject)} {higher}: {means[0]} against {means[1]}"
    return Sentence(text, (high, low))


_LABELS = {  # what happens in a head with this label, by the usual thresholds: 1.2 and 1 / 1.2
    "smoothed": "attention among original tokens spreads out, "
    "with its highest peak at least a sixth lower",
    "sharpened": "attention among original tokens gathers, "
    "with its highest peak at least a fifth higher",
    "amplified": "original tokens get at least a fifth more attention, the pattern kept",
    "damped": "original tokens get at least a sixth less attention, the pattern kept",
    "reconfigured": "attention spreads over the original tokens in another pattern",
}
_SIZES = re.compile(r" at least a (?:fifth|sixth)")


@_form
def _labels(fact: Fact) -> Sentence:
    changed = [n for n in fact.numbers if n.label not in ("unchanged", "resting", "inactive")]
    inserting = f"inserting {inserted(fact.subject.condition)}"
    if not changed:
        return Sentence(f"{inserting} changes none of {fact.of} heads")
    first = changed[0]
    said = _LABELS[first.label or ""] if fact.usual else _SIZES.sub("", _LABELS[first.label or ""])
    heads = f"{first.value:.0f} of {fact.of} heads"
    claim = f"the commonest effect of {inserting}, in {heads}"
    if len(changed) == 1:
        claim = f"{inserting} changes {heads}"
    return Sentence(f"{claim}: {said}", (first,))


@_form
def _retained(fact: Fact) -> Sentence:
    kept = f"the rest of the prompt still gets {_size(fact.numbers[0], 'retained')}"
    return Sentence(f"{_given(fact.subject)}{kept}", fact.numbers)


@_form
def _rescaling(fact: Fact) -> Sentence:
    whole, least = fact.numbers
    explained = f"{RESCALED}, with R² {_size(whole, 'affine_r2')}"
    if fact.of == 1:
        return Sentence(f"{_given(fact.subject)}{explained}", (whole,))
    there = f"lowest in {where(fact.places[1])}: {value(least, 'affine_r2', interval=False)}"
    return Sentence(f"{_given(fact.subject)}{explained}; {there}", (whole, least))


@_form
def _top_heads(fact: Fact) -> Sentence:
    (layer, head), *others = fact.places
    first = f"heads L{layer}H{head} (layer {layer}, head {head})"
    heads = listed([first, *(f"L{layer}H{head}" for layer, head in others)])
    heads = heads if others else where(fact.places[0])
    scale = MEASURES[fact.subject.measure].scale
    most = {"falling": "is lowest", "diverging": "changes most"}.get(scale, "is largest")
    return Sentence(f"{_given(fact.subject)}{_what(fact.subject)} {most} in {heads}")


@_form
def _missing(fact: Fact) -> Sentence:
    condition, against = inserted(fact.subject.condition), fact.subject.against
    if against is not None:
        return Sentence(f"too few tokens stand inside {condition} or {inserted(against)}")
    if fact.subject.measure == "affine_r2":
        return Sentence(f"no token of the prompt stands after {condition}: nothing is rescaled")
    return Sentence(f"{_given(fact.subject)}too little of the original prompt is left to compare")
