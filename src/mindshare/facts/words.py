"""Numbers, names and places as sentences, lines and tables write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from mindshare.facts.cells import Number, Place
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
PAIR = 2  # heads hidden from together that are named; more are counted
ASKED = {  # query sets; others are called by their own words
    "last": "the last token",
    "all": "all tokens",
    "both": "all tokens",
    "original": "the original tokens",
    "answer": "the last token and the answer's tokens",
    "later": "every token after the class",
}
_PHRASES = {  # a measure in a sentence, which needs no glossary; {} is a class of tokens
    "mass": "attention to {} tokens",
    "share": "the share of {}",
    "density": "attention per {} token",
    "expected": "what an even spread of attention would give {} tokens",
    "lift": "attention per {} token, in multiples of the average token's,",
    "contribution": "the part of the heads' output that comes from {} tokens",
    "entropy": "the entropy of attention",
    "first_token": "attention to the first token",
    "delta_logprob": "the effect of hiding {} tokens on the answer's log-probability",
    "delta_logit": "the effect of hiding {} tokens on the answer's lead over its best rival",
    "kl": "the effect of hiding {} tokens on the prediction",
    "flip": "the effect of hiding {} tokens on the answer",
    "correct": "the accuracy with {} tokens hidden",
    "amplitude": "attention per original token",
    "shape": "the likeness to the pattern before",
    "retained": "attention not given to inserted tokens",
    "peak_ratio": "the most attention on any original token",
    "divergence": "the divergence of attention on original tokens from before",
    "affine_r2": "the part of attention explained by rescaling",
    "weight_evenness": "the evenness of attention over the inserted tokens",
    "value_evenness": "the likeness of the inserted tokens' value vectors",
}
_PHRASES["first_order"] = _PHRASES["delta_logprob"]
_INSERTED = re.compile(
    r"(?P<text>.*?)(?: ×(?P<times>\d+))?"
    r"(?: at (?P<place>start|end|between|random|(?:before|after):.+?))?(?P<hidden>, hidden)?",
    re.DOTALL,
)
_INSERTED_AT = {
    "start": "at the start",
    "end": "at the end",
    "between": "between the messages",
    "random": "at a random place",
}
HIDDEN = "hidden from later tokens"
_SIMPLE = re.compile(r"[A-Za-z][\w.+-]*")  # a name that can't be taken for anything else


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


def inserted(condition: str | None) -> str:
    """`55 copies of “/”`, `a random sentence at the start`, from `/ ×55` and the like."""
    m = _INSERTED.fullmatch(condition or "")
    assert m is not None
    text, times, place = m["text"], m["times"], m["place"] or ""
    said = f"{times} copies of {name(text)}" if times else name(text)
    if text == "random sentence":
        said = f"a random sentence of {times} tokens" if times else "a random sentence"
    at = _INSERTED_AT.get(place) or place.replace(":", " ")
    hidden = HIDDEN if m["hidden"] else ""
    return " ".join(filter(None, (said, at, hidden)))


def names(words: Iterable[str]) -> str:
    return listed([name(word) for word in words])


def word(measure: str) -> str:
    """What a reader calls it."""
    return MEASURES[measure].word if measure in MEASURES else measure.replace("_", " ")


def asked(queries: str) -> str:
    """Whose attention it is."""
    return ASKED.get(queries, f"the query set {name(queries)}")


def phrase(measure: str, token_class: str | None = None) -> str:
    """`attention to star tokens`"""
    of = f" of {name(token_class)} tokens" if token_class else ""
    known = _PHRASES.get(measure, f"the {word(measure)}{of}")
    return known.format(name(token_class))


def where(place: Place) -> str:
    """`layer 3, head 5`"""
    layer, head = place
    words = "all layers" if layer is None else f"layer {layer}"
    return words if head is None else f"{words}, head {head}"


def together(heads: Sequence[Place], *, most: int = PAIR) -> str:
    """`heads L17H4 and L18H6 together`; of many, how many; one alone is `layer 17, head 4`."""
    if len(heads) == 1:
        return where(heads[0])
    if len(heads) > most:
        return f"{len(heads)} heads together"
    return f"heads {listed([f'L{layer}H{head}' for layer, head in heads])} together"


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
