"""Facts → sentences: one form for each kind of fact, the claim first, its number behind it.

A sentence says one thing, with at most two numbers and one interval, and carries the numbers it
states, each with its cell. Whether something is so was decided in `find`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from mindshare.facts.cells import OVERALL, Key, Number, Place
from mindshare.facts.find import Fact
from mindshare.measures import MEASURES
from mindshare.naming import BEFORE_NUMBERS, ORDINARY, layer_ranges

APPROXIMATE = "≈"  # before an interval that few prompts stand behind
DIGITS, MOST = 3, 6  # significant digits; decimals at most
UNITS = {  # after the number; the others are parts of one, and their name says so
    name: " times" if measure.unit == "ratio" else f" {measure.unit}"
    for name, measure in MEASURES.items()
    if measure.unit
}
SIGNED = (  # changes, which have a sign even where they are means
    *("entropy_change", "peak_shift", "delta_logprob", "delta_logit", "first_order"),
)
RUNS = 3  # runs of layers that are listed; more are counted
WORDS = {  # what a reader calls it; the others are called by their column's words
    "mass": "attention share",
    "share": "relative share",
    "density": "attention per token",
    "expected": "uniform share",
    "amplitude": "attention received",
    "peak_ratio": "highest peak",
    "entropy_change": "change in evenness",
    "retained": "attention retained",
    "delta_logprob": "change in log-probability",
    "delta_logit": "change in lead",
    "first_order": "first-order effect",
    "kl": "shift of the prediction",
    "flip": "share of changed answers",
    "correct": "accuracy",
    "affine_r2": "attention explained by one factor per query",
    "affine_r2_after": "attention explained by one factor after the insertion",
    "weight_evenness": "evenness of attention inside",
    "value_evenness": "evenness of values inside",
}
_SIMPLE = re.compile(r"[A-Za-z][\w.+-]*")  # a name that can't be taken for anything else


class Sentence(str):
    """Text that carries the numbers it states."""

    numbers: tuple[Number, ...]

    def __new__(cls, text: str, numbers: Iterable[Number] = ()) -> Sentence:
        made = super().__new__(cls, text)
        made.numbers = tuple(numbers)
        return made


# The pieces: numbers, names, layers.


def decimals(size: float, digits: int = DIGITS) -> int:
    """As many as a number of this size needs for so many significant digits."""
    if size == 0 or not math.isfinite(size):
        return DIGITS - 1
    return max(digits - 1 - math.floor(math.log10(abs(size))), 0)


def written(value: float, places: int, *, sign: bool = False) -> str:
    """`0.0260`, `+0.0030`, `−0.0030`, `1.2e−08`; nothing at all is `0`."""
    plus = "+" if sign else ""
    text = f"{value:{plus}.{places}f}" if places <= MOST else f"{value:{plus}.1e}"
    if float(text) == 0:
        return "0" if value == 0 else text.lstrip("+-")
    return text.replace("-", "−")


def value(
    number: Number, measure: str, *, sign: bool = False, interval: bool = True, behind: str = ""
) -> str:
    """`0.12 bits [0.10, 0.14]`; words `behind` the unit: `0.9 times as much [0.8, 1.0]`"""
    sign, unit = sign or measure in SIGNED, UNITS.get(measure, "") + behind
    if number.low is None or number.high is None or not interval:
        return written(number.value, decimals(number.value), sign=sign) + unit
    width = number.high - number.low
    places = decimals(max(abs(number.value), width))
    if width > 0:  # its first two digits say how sure the number is: no more are worth reading
        places = min(places, decimals(width, DIGITS - 1))
        if decimals(width, 1) == places + 1:  # one more digit, if that tells its ends apart
            places += 1
    ends = (number.value, number.low, number.high)
    mean, low, high = (written(x, places, sign=sign) for x in ends)
    return f"{mean}{unit} {'' if number.reliable else APPROXIMATE}[{low}, {high}]"


def single(number: float) -> str:
    return written(number, decimals(number))


def listed(words: Sequence[str]) -> str:
    """`a, b and c`"""
    return "".join(words) if len(words) < 2 else f"{', '.join(words[:-1])} and {words[-1]}"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun if n == 1 else noun + ('es' if noun.endswith('s') else 's')}"


def name(word: str | None) -> str:
    """As it is if it is a word of its own, or in quotes; `other` is our own name."""
    if word == "other":
        return word
    taken = f"{BEFORE_NUMBERS} {ORDINARY}".split()
    plain = word and _SIMPLE.fullmatch(word) and word.casefold() not in taken
    return str(word) if plain else f"“{word}”"


def names(words: Iterable[str]) -> str:
    return listed([name(word) for word in words])


def measure_word(measure: str) -> str:
    return measure.replace("_", " ")


def word(measure: str) -> str:
    """What a reader calls it."""
    return WORDS.get(measure, measure_word(measure))


def where(place: Place) -> str:
    """`layer 3, head 5`"""
    layer, head = place
    words = "all layers" if layer is None else f"layer {layer}"
    return words if head is None else f"{words}, head {head}"


def wheres(places: Sequence[Place], of: int) -> str:
    """`layers 0–4 and 7`; where there are too many runs, how many: `17 of 30 layers`."""
    if len(places) == 1:
        return where(places[0])
    noun = "heads" if any(head is not None for _, head in places) else "layers"
    if len(places) == of:
        return f"both {noun}" if of == 2 else f"all {of} {noun}"
    if noun == "layers":
        runs = layer_ranges(layer for layer, _ in places if layer is not None).split(", ")
        if len(runs) <= RUNS:
            return f"layers {listed(runs)}"
    return f"{len(places)} of {of} {noun}"


# The forms, one per kind of fact.

FORMS: dict[str, Callable[[Fact], Sentence]] = {}


def _form(form: Callable[[Fact], Sentence]) -> Callable[[Fact], Sentence]:
    """Registers `_kind` as the form of facts of that kind."""
    FORMS[form.__name__.removeprefix("_")] = form
    return form


def sentence(fact: Fact, *, several: bool = False) -> Sentence:
    """A fact in words; with `several` models, the one it is about is named."""
    text = FORMS[fact.kind](fact)
    subject, model = fact.subject, name(fact.subject.model)
    between_models = subject.against and (subject.condition is None or fact.kind == "models")
    words = f"{model}: {text}" if several and not between_models else text
    capital = words if words.startswith(model) else words[0].upper() + words[1:]
    return Sentence(f"{capital}.", text.numbers)


def _what(subject: Key) -> str:
    """`the attention share of star`, or `attention retained by the original tokens`"""
    what = word(subject.measure)
    if subject.token_class is None:
        return _OF_WHAT.get(subject.measure, what)
    return f"the {what} of {name(subject.token_class)}"


_OF_WHAT = {  # of an insertion, where the word alone leaves open what of what
    "amplitude": "attention received by the original tokens",
    "retained": "attention retained by the original tokens",
    "divergence": "the change of attention (Jensen–Shannon divergence)",
}
_BEHIND = {"amplitude": " what they receive without"}  # what so many times is meant of
_ALL = {"mass": " of all attention"}  # where the sentence does not say that it is a share


def _given(subject: Key) -> str:
    """`after inserting “/ ×55”, ` before what that does."""
    return "" if subject.condition is None else f"after inserting {name(subject.condition)}, "


def _between(subject: Key) -> str:
    other = subject.model if subject.condition is None else subject.condition
    return f"between {name(other)} and {name(subject.against)}"


def _at(fact: Fact) -> str:
    return "" if fact.places == (OVERALL,) else f" in {wheres(fact.places, fact.of)}"


def _nowhere(fact: Fact) -> str:
    """Behind a `not`, which "in all layers" would leave open: not in all, or not in any?"""
    if len(fact.places) < fact.of or fact.of < 2:
        return _at(fact)
    noun = "head" if any(head is not None for _, head in fact.places) else "layer"
    return f" in either {noun}" if fact.of == 2 else f" in any of {fact.of} {noun}s"


def _most(fact: Fact) -> str:
    """Which of several places the number is of."""
    return f", most strongly in {where(fact.farthest[0])}" if len(fact.places) > 1 else ""


@_form
def _change(fact: Fact) -> Sentence:
    subject, (_, number) = fact.subject, fact.farthest
    more, higher = ("more", "higher") if fact.side > 0 else ("less", "lower")
    a, b, c = (name(one) for one in (subject.against, subject.model, subject.condition))
    if subject.measure == "weight_evenness":
        text = f"attention inside {c} is {more} even than inside {a} (evenness 0 to 1)"
    elif subject.condition is not None:
        text = f"{_what(subject)} is {higher} with {c} than with {a}"
    elif subject.measure in ("mass", "share"):
        what = f"{more} attention" if subject.measure == "mass" else f"a {higher} relative share"
        text = f"{b} gives {name(subject.token_class)} {what} than {a}"
    else:
        text = f"{_what(subject)} is {higher} in {b} than {a}"
    behind = (_BEHIND | _ALL).get(subject.measure, "")
    size = f"{value(number, subject.measure, sign=True, behind=behind)}{_disagreeing(number)}"
    return Sentence(f"{text}{_at(fact)}{_most(fact)}: {size}", (number,))


def _disagreeing(number: Number) -> str:
    """A mean that most prompts do not follow: both are said."""
    if number.n_same_sign is None or 2 * number.n_same_sign >= number.n_prompts:
        return ""
    return f", yet only {number.n_same_sign:,} of {count(number.n_prompts, 'prompt')} go that way"


@_form
def _equivalent(fact: Fact) -> Sentence:
    number = max(fact.numbers, key=lambda n: max(abs(n.low or 0.0), abs(n.high or 0.0)))
    if not any(n.has_interval or n.value for n in fact.numbers):
        return Sentence(
            f"{_what(fact.subject)} does not differ {_between(fact.subject)}{_nowhere(fact)}"
        )
    what, small = _what(fact.subject), f"differs by less than 10 % {_between(fact.subject)}"
    most = value(number, fact.subject.measure, sign=True)
    return Sentence(f"{what} {small}{_at(fact)}: at most {most}", (number,))


@_form
def _not_significant(fact: Fact) -> Sentence:
    subject = fact.subject
    text = f"{_what(subject)} does not differ significantly {_between(subject)}{_nowhere(fact)}"
    if len(fact.numbers) == 1:
        return Sentence(f"{text}: {value(*fact.numbers, subject.measure, sign=True)}", fact.numbers)
    if any(number.detectable_family is None for number in fact.numbers):
        return Sentence(text)
    largest = max(fact.numbers, key=lambda number: number.detectable_family or 0.0)
    if subject.measure in ("mass", "share") and (largest.detectable_family or 0.0) > 1:
        return Sentence(text)  # more than there is: nothing could have been found
    size = f"{single(largest.detectable_family or 0.0)}{UNITS.get(subject.measure, '')}"
    return Sentence(f"{text}; a difference of {size} would probably show", (largest,))


@_form
def _untested(fact: Fact) -> Sentence:
    (number,), subject = fact.numbers, fact.subject
    differs = f"differs by {value(number, subject.measure, sign=True)} {_between(subject)}"
    prompts = count(number.n_prompts, "prompt")
    few = f"with {prompts} this can't be tested"
    if number.sd == 0 and number.n_units > 1:
        few = f"{prompts} without any spread can't be tested"
    return Sentence(f"{_what(subject)} {differs}; {few}", (number,))


@_form
def _extremes(fact: Fact) -> Sentence:
    measure, (high, low) = fact.subject.measure, fact.numbers
    what = f"{_given(fact.subject)}{_what(fact.subject)}"
    what += " among the classes" if measure == "share" else ""
    at = [where(place) for place in fact.places]
    plain = [value(number, measure, interval=False) for number in fact.numbers]
    place = "head" if fact.places[0][1] is not None else "layer"
    if not any(fact.rivals):
        highest = f"{what} is highest in {at[0]} ({plain[0]})"
        return Sentence(f"{highest} and lowest in {at[1]} ({plain[1]})", (high, low))
    ends = [end for end in (0, 1) if fact.stands_out(end)]
    if not ends:
        gets = f"{name(fact.subject.token_class)} gets {plain[1]} to {plain[0]}"
        text = {
            "lift": f"depending on the {place}, {gets} the attention that {_SHARE} would give it",
            "share": f"depending on the {place}, {gets} of the attention on the named classes",
        }.get(measure, f"{what} differs between {place}s, from {plain[1]} to {plain[0]}")
        return Sentence(text, (low, high))
    end = min(ends, key=lambda end: len(fact.rivals[end]))
    (highest, high_too), close = (("highest", "high"), ("lowest", "low"))[end], fact.rivals[end]
    more = f"; {count(len(close), f'other {place}')} may be as {high_too}" if close else ""
    size = value(fact.numbers[end], measure, behind=_BEHIND.get(measure, ""))
    return Sentence(f"{what} is {highest} in {at[end]}: {size}{more}", (fact.numbers[end],))


_HIDING = {  # what hiding a class does: above and below 0, and what it does not do
    "delta_logprob": (
        "raises the answer's log-probability",
        "lowers the answer's log-probability",
        "does not change the answer's log-probability",
    ),
    "delta_logit": (
        "widens the answer's lead over its rival",
        "narrows the answer's lead over its rival",
        "does not change the answer's lead over its rival",
    ),
    "kl": ("moves the prediction", "moves the prediction", "does not move the prediction"),
    "flip": ("changes answers", "changes answers", "does not change answers"),
}
_HIDING["first_order"] = _HIDING["delta_logprob"]


@_form
def _effect(fact: Fact) -> Sentence:
    subject, (_, number) = fact.subject, fact.farthest
    raises, lowers, _ = _HIDING[subject.measure]
    claim = f"hiding {name(subject.token_class)} {raises if fact.side > 0 else lowers}"
    size = value(number, subject.measure, sign=subject.measure not in ("kl", "flip"))
    return Sentence(f"{claim}{_at(fact)}{_most(fact)}: {size}", (number,))


@_form
def _no_effect(fact: Fact) -> Sentence:
    """An honest null: how large the largest mean is, and that it is not told from 0."""
    subject, (place, number) = fact.subject, fact.farthest
    claim = f"hiding {name(subject.token_class)} {_HIDING[subject.measure][2]} significantly"
    size = value(number, subject.measure, sign=subject.measure not in ("kl", "flip"))
    most = f"at most {size} in {where(place)}" if len(fact.places) > 1 else size
    return Sentence(f"{claim}{_nowhere(fact)}: {most}", (number,))


@_form
def _lead(fact: Fact) -> Sentence:
    subject, (place, number) = fact.subject, fact.farthest
    token_class, what = name(subject.token_class), word(subject.measure)
    claim = f"of the named classes' attention, {token_class} gets the largest {what}"
    if subject.measure != "share":
        more = "more attention" if subject.measure == "mass" else f"a larger {what}"
        claim = f"{token_class} gets {more} than any other named class"
    most = f", most in {where(place)}" if len(fact.places) > 1 else ""
    size = value(number, subject.measure, behind=_ALL.get(subject.measure, ""))
    return Sentence(f"{claim}{_at(fact)}{most}: {size}", (number,))


@_form
def _trend(fact: Fact) -> Sentence:
    (rho,), verb = fact.numbers, "rises" if fact.side > 0 else "falls"
    what = f"{_given(fact.subject)}{_what(fact.subject)}"
    correlation = written(rho.value, 2, sign=True)
    return Sentence(f"{what} {verb} with depth (rank correlation {correlation})", (rho,))


@_form
def _misleading(fact: Fact) -> Sentence:
    _, number = fact.farthest
    most, only, to = ("most", "only", "down to") if fact.side < 0 else ("least", "still", "up to")
    leads = f"in {wheres(fact.places, fact.of)}, {name(fact.subject.token_class)} gets the {most}"
    size = value(number, "lift", behind=f" {_SHARE}")
    yet = f"yet {only if len(fact.places) == 1 else to} {size}"
    return Sentence(f"{leads} attention of the classes, {yet}", (number,))


_SHARE = "its share of the tokens"  # what lift compares with, in the same words everywhere


@_form
def _ignored(fact: Fact) -> Sentence:
    """The farthest below 1 is the lowest: all of them are below."""
    place, number = fact.farthest
    claim = f"{name(fact.subject.token_class)} gets less attention than {_SHARE}{_at(fact)}"
    least = f", least in {where(place)}" if len(fact.places) > 1 else ""
    return Sentence(f"{claim}{least}: {value(number, 'lift', behind=' that')}", (number,))


_TESTS = {"max-T": "paired max-T test, p < 0.05"}


def for_a_paper(fact: Fact) -> Sentence:
    """A change between models with n, interval and test, to be copied as it is."""
    subject, (place, number) = fact.subject, fact.farthest
    more, higher = ("more", "higher") if number.value > 0 else ("less", "lower")
    a, b = name(subject.against), name(subject.model)
    to = "" if subject.token_class is None else f" to {name(subject.token_class)}"
    claim = f"{b} gives {more} attention{to} than {a}"
    if subject.measure != "mass":
        claim = f"{_what(subject)} is {higher} in {b} than in {a}"
    test = _TESTS.get(fact.test.name if fact.test else "", "paired")
    size = f"{value(number, subject.measure, sign=True)}, n = {number.n_prompts:,}, {test}"
    return Sentence(f"For a paper: in {where(place)}, {claim} ({size}).", (number,))


_LEVELS = {  # the claim; above, below and at no change; what stands behind the number
    "amplitude": (
        "the original tokens {} attention",
        ("receive more", "receive less", "do not receive significantly more or less"),
        " as much",
    ),
    "peak_ratio": (
        "the most attended original token receives {} attention",
        ("more", "less", "not significantly more or less"),
        " as much",
    ),
    "entropy_change": (
        "attention to the original tokens is {}",
        ("more even", "less even", "not significantly more or less even"),
        " of entropy",
    ),
}


@_form
def _level(fact: Fact) -> Sentence:
    (number,), subject = fact.numbers, fact.subject
    form, (more, less, neither), behind = _LEVELS[subject.measure]
    without = " as without it" if behind.startswith(" as") and fact.side else ""
    mean = value(number, subject.measure, behind=behind + without)
    if not fact.test:
        what = f"{word(subject.measure)} by the original tokens"
        return Sentence(f"{_given(subject)}{what}{_at(fact)}: {mean}", (number,))
    claim = form.format({1: more, -1: less, 0: neither}[fact.side])
    outside = not (number.low or 0.0) <= fact.neutral <= (number.high or 0.0)
    corrected = " after correction" if outside and not fact.side else ""
    return Sentence(f"{_given(subject)}{claim}{_at(fact)}{corrected}: {mean}", (number,))


@_form
def _levels(fact: Fact) -> Sentence:
    form, (more, less, _), _ = _LEVELS[fact.subject.measure]
    claim = form.format(more if fact.side > 0 else less)
    return Sentence(f"{_given(fact.subject)}{claim}{_at(fact)}")


@_form
def _responding(fact: Fact) -> Sentence:
    first, heads = fact.numbers[0], f"{len(fact.places)} of {fact.of} heads"
    claim = f"inserting {name(fact.subject.condition)} changes {heads} more than the median head"
    size = f"{word(fact.subject.measure)} {value(first, fact.subject.measure)}"
    return Sentence(f"{claim}, most {where(fact.places[0])}: {size}", (first,))


@_form
def _models(fact: Fact) -> Sentence:
    subject, (high, low) = fact.subject, fact.numbers
    higher = f"is higher in {name(subject.model)} than in {name(subject.against)}"
    means = value(high, subject.measure), value(low, subject.measure, interval=False)
    text = f"{_given(subject)}{_what(subject)} {higher}: {means[0]} against {means[1]}"
    return Sentence(text, (high, low))


_LABELS = {  # what a head with this label does
    "smoothed": "spreading attention over more tokens",
    "sharpened": "gathering attention on fewer tokens",
    "amplified": "giving the original tokens more, in the same pattern",
    "damped": "giving the original tokens less, in the same pattern",
    "reconfigured": "attending to different original tokens",
}


@_form
def _labels(fact: Fact) -> Sentence:
    inserting = f"inserting {name(fact.subject.condition)} changes"
    changed = [n for n in fact.numbers if n.label not in ("unchanged", "resting", "inactive")]
    if not changed:
        return Sentence(f"{inserting} none of {fact.of} heads")
    heads, first, label = sum(int(n.value) for n in changed), changed[0], changed[0].label or ""
    many = "all" if 1 < heads == first.value else f"{first.value:.0f}"
    most = f"{many} {'is' if first.value == 1 else 'are'} {label} ({_LABELS[label]})"
    return Sentence(f"{inserting} {heads} of {fact.of} heads; {most}", changed)


@_form
def _retained(fact: Fact) -> Sentence:
    share = value(fact.numbers[0], "retained")
    kept = f"later tokens still give the original tokens {share} of their attention"
    return Sentence(f"{_given(fact.subject)}{kept}", fact.numbers)


@_form
def _rescaling(fact: Fact) -> Sentence:
    whole, first = fact.numbers
    one = "scaling the old attention once per query"
    explained = f"{one} explains {value(whole, 'affine_r2')} of the new one's variance"
    there = f"{value(first, 'affine_r2', interval=False)} in {where(fact.places[1])}"
    return Sentence(f"{_given(fact.subject)}{explained}, {there}", (whole, first))


@_form
def _top_heads(fact: Fact) -> Sentence:
    heads = listed([f"{layer}.{head}" for layer, head in fact.places])
    return Sentence(
        f"the heads that change most, by {word(fact.subject.measure)} (layer.head): {heads}"
    )


@_form
def _missing(fact: Fact) -> Sentence:
    condition, against = name(fact.subject.condition), fact.subject.against
    if against is not None:
        return Sentence(f"too few tokens stand inside {condition} or {name(against)}")
    if fact.subject.measure == "affine_r2":
        return Sentence(f"no original token stands after {condition}: nothing can be rescaled")
    return Sentence(f"{_given(fact.subject)}too few original tokens are left to be compared")
