"""Facts → "In short": the answer in a few sentences, the largest difference first.

    of each class the largest significant difference, by size
    one sentence that can go into a paper: what, how much, of how many, by which test
    the class that gets least for its size

If nothing can be told, that is said once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mindshare.facts import evidence
from mindshare.facts.cells import Groups, Key, Number, Numbers, Place, Tables, charts_of
from mindshare.facts.describe import NOTHING
from mindshare.facts.find import Fact, claims, facts_of
from mindshare.facts.sentences import Sentence, count, name, sentence, value, where, wheres, word

MOST = 4  # differences that are said
_TESTS = {"max-T": "paired max-T test, p < 0.05"}


def in_short(tables: Tables, *, groups: Groups | None = None) -> tuple[Sentence, ...]:
    """What a person wants to know of saved class charts, in a few sentences."""
    charts = charts_of(tables, groups=groups)
    facts = [fact for numbers in charts for fact in claims(facts_of(numbers))]
    changes = largest(facts)
    several = len(charts[0].models) > 1
    said = [sentence(fact) for fact in changes[:MOST]]
    said += [for_a_paper(changes[0])] if changes else []
    if not several:
        said += [sentence(fact) for fact in facts if fact.kind in ("lead", "extremes")][:MOST]
    said += [ignored for numbers in charts for ignored in _ignored(numbers)]
    if not said:
        n = charts[0].n_prompts
        few = f"Nothing can be told from chance with {count(n, 'prompt')}."
        said = [Sentence(NOTHING if charts[0].has_intervals else few)]
    return tuple(dict.fromkeys(said))


def largest(facts: Iterable[Fact]) -> list[Fact]:
    """Between models: of each class the largest change, the largest of all first.

    What the mean of the heads does comes before what single heads do, which is always more.
    """
    best: dict[str | None, Fact] = {}
    for fact in facts:
        if fact.kind != "change" or fact.subject.condition is not None:
            continue
        known = best.get(fact.subject.token_class)
        if known is None or _rank(fact) < _rank(known):
            best[fact.subject.token_class] = fact
    return sorted(best.values(), key=_rank)


def _rank(fact: Fact) -> tuple[bool, float]:
    (_, head), number = fact.farthest
    return head is not None, -abs(number.value)


def for_a_paper(fact: Fact) -> Sentence:
    """The claim with n, interval and test, to be copied as it is."""
    place, number = fact.farthest
    subject = fact.subject
    more = "more" if number.value > 0 else "less"
    to = "" if subject.token_class is None else f" to {name(subject.token_class)}"
    text = f"{name(subject.model)} gives {more} attention{to} than {name(subject.against)}"
    if subject.measure != "mass":
        higher = "higher" if number.value > 0 else "lower"
        of = "" if subject.token_class is None else f" of {name(subject.token_class)}"
        text = f"{word(subject.measure)}{of} is {higher} in {name(subject.model)}"
        text = f"{text} than in {name(subject.against)}"
    test = _TESTS.get(fact.test.name if fact.test else "", "paired")
    size = f"{value(number, subject.measure, sign=True)}, n = {number.n_prompts:,}, {test}"
    return Sentence(f"For a paper: in {where(place)}, {text} ({size}).", (number,))


def _ignored(numbers: Numbers) -> Iterator[Sentence]:
    """Of each model, the class that gets less than its size explains in most layers."""
    if numbers.measure != "mass" or numbers.by_head:
        return
    asked = max(1, len(numbers.models) * len(numbers.named) * len(numbers.places))
    for model in numbers.models:
        ignored: dict[str, dict[Place, Number]] = {}
        for token_class in numbers.named:
            series = numbers.series(Key("lift", model, token_class=token_class))
            low = {p: n for p, n in series.items() if evidence.beyond(n, 1, comparisons=asked) < 0}
            if 2 * len(low) > len(series):
                ignored[token_class] = low
        if ignored:
            yield _least(model, ignored, len(numbers.places))


def _least(model: str, ignored: Mapping[str, Mapping[Place, Number]], of: int) -> Sentence:
    lowest = {c: min(low.items(), key=lambda item: item[1].value) for c, low in ignored.items()}
    token_class = min(lowest, key=lambda c: lowest[c][1].value)
    place, number = lowest[token_class]
    at = wheres(list(ignored[token_class]), of)
    text = f"{name(token_class)} gets less than its size explains in {at}"
    return Sentence(
        f"{name(model)}: {text}, least in {where(place)}: {value(number, 'lift')}.", (number,)
    )
