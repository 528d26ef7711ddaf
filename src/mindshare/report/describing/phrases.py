"""Numbers, layers and names → the pieces that sentences are made of.

A number is written with three significant digits and, where it has one, its interval; `reading`
takes the same pieces apart again. Knows no table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from mindshare.report.describing.cells import Number

Valued = Callable[[Number], str]  # a number → `0.12 bits [0.10, 0.14]`
DIGITS, MOST = 3, 6  # significant digits; decimals at most
UNITS = {  # after the number; the others are parts of one or ratios, and their name says so
    "lift": " times",
    "density": " per token",
    "amplitude": " times",
    "peak_ratio": " times",
    "entropy_change": " nats",
    "divergence": " bits",
    "peak_shift": " tokens",
}
SIGNED = ("entropy_change", "peak_shift")  # changes, which have a sign even where they are means
# Words of our own sentences: a name that is one of them is quoted, so that it can be told apart.
_OWN_WORDS = """
a about above adds affine after against alike all alone among amplified amplitude an analysis and
another approximately are around as at attend attended attention axes axis be been before being
below between bits bonferroni bootstrap both brackets brings but by can cancel cause cells chance
change changes chart claim class classes closest compared compares comparisons components condition
conditions corrected correlation could counted damped density depends depth describe described
detailed deviations did differ difference differences different differently differs divergence do
does each effect else entropy evenly evenness every evidence expected factor falls far farthest few
first follows for found from further get gets give gives go goes groups has have head heads higher
highest hold horizontal how in inserted insertion insertions interpretation interval intervals is it
its jensen keeps kept key label labels larger largest last later layer layers lead least left less
lift little looked looks lower lowest many margin mass matters max may mean means measured median
meet middle minus mislead misleads model models more most moves much named nats nearly neither new
next no none nor not nothing number numbers observations of old on once one ones only or order
orders original other others otherwise out over overlap overview p paired part peak per percentile
permutation places power preference prompt prompts queries query random rank ratio reaches receive
reconfigured relative resamples respond responds resting retained rises roughly s said same say says
seed sees set shannon shape share sharpened shift shifts show shown shows signed single sink_slot
six small smallest smoothed so standard stands suggests sum support t table tables tell tenth test
than that the their them there these they this those times to together token tokens told too total
twelve unchanged undecided under uniform up value values version vertical visible ways weight
weights were what where wherever whether which whose why widened with within without would yet zero
"""
OWN_WORDS = frozenset(_OWN_WORDS.split())
_SIMPLE = re.compile(r"[A-Za-z][\w.+-]*")


def decimals(*values: float) -> int:
    """As many as the largest of these needs for three significant digits."""
    size = max(abs(value) for value in values)
    if size == 0 or not math.isfinite(size):
        return DIGITS - 1
    return min(max(DIGITS - 1 - math.floor(math.log10(size)), 0), MOST)


def written(value: float, places: int, *, sign: bool = False) -> str:
    """`0.0260`, `+0.0030`, `−0.0030`; nothing at all is `0`."""
    text = f"{value:{'+' if sign else ''}.{places}f}"
    if float(text) == 0:
        return "0" if value == 0 else text.lstrip("+-")
    return text.replace("-", "−")


def value(number: Number, measure: str, *, sign: bool = False) -> str:
    """`0.12 bits [0.10, 0.14]`"""
    sign = sign or measure in SIGNED
    if number.low is None or number.high is None:
        return written(number.value, decimals(number.value), sign=sign) + UNITS.get(measure, "")
    places = decimals(number.value, number.high - number.low)
    mean, low, high = (
        written(x, places, sign=sign) for x in (number.value, number.low, number.high)
    )
    return f"{mean}{UNITS.get(measure, '')} [{low}, {high}]"


def single(number: float) -> str:
    return written(number, decimals(number))


def effect(size: float) -> str:
    """In standard deviations over the prompts."""
    return written(size, 2, sign=True)


def probability(p: float) -> str:
    return f"{p:.4f}"


def listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun if n == 1 else noun + ('es' if noun.endswith('s') else 's')}"


def spans(numbers: Iterable[int]) -> str:
    """`0 to 4, 7 and 9`"""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    words: list[str] = []
    for run in runs:
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(n) for n in run]
    return listed(words)


def layers(numbers: Sequence[int]) -> str:
    return f"layer{'s' if len(numbers) > 1 else ''} {spans(numbers)}"


def name(word: str) -> str:
    """As it is if it can't be taken for anything else, or in quotes."""
    plain = _SIMPLE.fullmatch(word) and word.lower() not in OWN_WORDS
    return word if plain else f"“{word}”"


def names(words: Iterable[str]) -> str:
    return listed([name(word) for word in words])


def measure_word(measure: str) -> str:
    return measure.replace("_", " ")
