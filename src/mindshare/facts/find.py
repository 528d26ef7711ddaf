"""Numbers → facts: what they support, and where. None of it is in words yet.

Each claim has passed a test (`evidence`) that holds for all that it was picked from; what passes
none is not found. A few prompts support nothing. A fact that makes no claim (a mean, a count of
labels) is not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from mindshare.facts.cells import (
    EVENNESS,
    OVERALL,
    Cell,
    Key,
    Number,
    Numbers,
    Place,
    Tables,
    charts_of,
    study_of,
)
from mindshare.facts.evidence import (
    ALPHA,
    apart,
    beyond,
    correlation,
    differs,
    equivalent,
    rivals,
    testable,
)
from mindshare.measures import MEASURES, at_level
from mindshare.stats import Thresholds
from mindshare.stats.response import thresholds_of

FEW = 4  # rivals that an extreme can have and still stand out
# Of an insertion: compared with no change over all layers; looked at by layer; over depth.
COMPARED = ("amplitude", "peak_ratio", "entropy_change")
BY_LAYER = ("retained", "divergence", "amplitude", "affine_r2")
OVER_DEPTH = ("retained", "divergence")
RESPONDS = "divergence"  # what heads are ranked by
LAYERED = 2  # conditions whose layers are looked at
TOP = 6  # heads that are looked at
# Of a knock-out: 0 says that hiding a class changes nothing. An accuracy is no change.
EFFECTS = ("delta_logprob", "delta_logit", "first_order", "kl", "flip")


@dataclass(frozen=True)
class Fact:
    kind: str  # which form of `sentences` says it
    subject: Key
    side: int = 0  # 1: more, −1: less
    places: tuple[Place, ...] = ()  # where it holds
    numbers: tuple[Number, ...] = ()  # at these places, or the two that are compared
    of: int = 0  # places that were looked at
    rivals: tuple[tuple[Place, ...], ...] = ()  # of each extreme: what it can't be told from
    tested: bool = False  # whether a test could support a claim
    usual: bool = True  # of labels: drawn from the usual thresholds
    among: tuple[str, ...] = ()  # the classes that a share is of, or that one leads
    window: int = 1  # layers around a place that are changed with it
    together: tuple[Place, ...] = ()  # heads that a class was hidden from at once, if only some

    @property
    def farthest(self) -> tuple[Place, Number]:
        """The largest difference, whichever its sign: one rule for layers and heads."""
        found = zip(self.places, self.numbers, strict=True)
        return max(found, key=lambda item: abs(item[1].value - self.neutral))

    @property
    def neutral(self) -> float:
        """The value that says that nothing changes."""
        measure = MEASURES.get(self.subject.measure)
        return 0.0 if self.subject.against or measure is None else measure.neutral or 0.0

    def stands_out(self, end: int) -> bool:
        """Of the highest (0) or the lowest (1): told from most others, and from all but a few."""
        return len(self.rivals[end]) <= min(FEW, (self.of - 1) // 2)


def find(tables: Tables) -> list[Fact]:
    """What the tables of saved results support, the most important first."""
    return [fact for numbers in charts_of(tables) for fact in facts_of(numbers)]


def facts_of(numbers: Numbers) -> list[Fact]:
    if numbers.conditions:
        return _insertion_facts(numbers)
    if numbers.measure in EFFECTS:
        found = _effect_facts(numbers) if numbers.has_intervals else []
        return _hidden(numbers, found)
    if numbers.measure in at_level("effect"):
        return _hidden(numbers, _changes(numbers, numbers.named))
    facts = _class_facts(numbers) if numbers.has_intervals else []
    if numbers.measure == "share":
        facts = [replace(fact, among=tuple(numbers.named)) for fact in facts]
    return facts


def claims(facts: Sequence[Fact]) -> list[Fact]:
    """Those that say that something is so, not that it could not be told."""
    return [fact for fact in facts if fact.tested and fact.kind != "not_significant"]


def largest(facts: Iterable[Fact]) -> list[Fact]:
    """Between models: of each class the largest change, the largest of all first.

    What the mean of the heads does comes before what single heads do, which is always more.
    """
    changes = [f for f in facts if f.kind == "change" and f.subject.condition is None]
    changes.sort(key=lambda f: (f.farthest[0][1] is not None, -abs(f.farthest[1].value)))
    best: dict[str | None, Fact] = {}
    for fact in changes:
        best.setdefault(fact.subject.token_class, fact)
    return list(best.values())


def _fact(kind: str, subject: Key, found: Mapping[Place, Number], side: int, *, of: int) -> Fact:
    """A claim that holds at these places."""
    return Fact(kind, subject, side, tuple(found), tuple(found.values()), of, tested=True)


# Tests that both kinds of study use.


def extremes(subject: Key, series: Mapping[Place, Number]) -> Iterator[Fact]:
    """The highest and the lowest of a series, if at least these two differ."""
    if len(series) < 2:
        return
    ends = tuple(choose(series, key=lambda p: series[p].value) for choose in (max, min))
    high, low = (series[place] for place in ends)
    if apart(high, low):
        close = tuple(tuple(rivals(series, place)) for place in ends)
        yield Fact("extremes", subject, 0, ends, (high, low), len(series), close, tested=True)


def _trend(subject: Key, series: Mapping[Place, Number], comparisons: int) -> Iterator[Fact]:
    """Whether a series rises or falls with the layer."""
    found = correlation([number.value for number in series.values()])
    if found is None or found[1] * comparisons >= ALPHA:
        return
    rank_correlation, p_value = found
    cells = [number.cell for number in series.values() if number.cell is not None]
    cell = replace(cells[0], column="rank correlation with the layer") if cells else None
    rho = Number(rank_correlation, p_family=p_value, cell=cell)
    side = 1 if rank_correlation > 0 else -1
    yield Fact("trend", subject, side, tuple(series), (rho,), len(series), tested=True)


def contrasted(key: Key, number: Number) -> Fact:
    """What the test says of one paired difference; `untested` where there are too few prompts."""
    untested = Fact("untested", key, 0, (key.place,), (number,), 1)
    return next(_by_result(key, {key.place: number}, len(EVENNESS)), untested)


def _sides(kind: str, subject: Key, series: Mapping[Place, Number], middle: float) -> list[Fact]:
    """The places whose means lie below the middle, and those whose means lie above it."""
    sides = {p: beyond(n, middle) for p, n in series.items()}
    return [
        _fact(kind, subject, found, side, of=len(series))
        for side in (-1, 1)
        if (found := {p: n for p, n in series.items() if sides[p] == side})
    ]


# Token classes.


def _class_facts(numbers: Numbers) -> list[Fact]:
    classes: Sequence[str | None] = numbers.named or [None]
    subjects = [Key(numbers.measure, m, token_class=c) for m in numbers.models for c in classes]
    highest = [f for s in subjects for f in extremes(s, numbers.series(s))]
    changes: dict[str, list[Fact]] = {"change": [], "equivalent": [], "not_significant": []}
    for fact in _changes(numbers, classes):
        changes[fact.kind].append(fact)
    facts = [*sorted(changes["change"], key=lambda f: -abs(f.farthest[1].value)), *highest]
    if not numbers.by_head:
        facts += _leads(numbers)
        for fact in highest:  # only where the highest and the lowest layer can be told apart
            series = numbers.series(fact.subject)
            layers = {p: n for p, n in series.items() if p[0] is not None}
            facts += _trend(fact.subject, layers, len(subjects))
        facts += _ignored(numbers) if numbers.measure == "mass" else []
    return [*facts, *changes["equivalent"], *changes["not_significant"]]


def _changes(numbers: Numbers, classes: Sequence[str | None]) -> Iterator[Fact]:
    """How model b differs from model a in each class: more, less, by little, or not to be told."""
    comparisons = len(numbers.pairs) * len(classes) * len(numbers.places)
    for (a, b), token_class in product(numbers.pairs, classes):
        subject = Key(numbers.measure, b, token_class=token_class, against=a)
        yield from _by_result(subject, numbers.series(subject), comparisons)


def _by_result(subject: Key, series: Mapping[Place, Number], comparisons: int) -> Iterator[Fact]:
    """Paired differences, by what the test says of them."""
    results: dict[tuple[str, int], dict[Place, Number]] = {}
    for place, number in series.items():
        if differs(number):  # however small: titles, dots and tables count the same cells
            result = ("change", 1 if number.value > 0 else -1)
        elif subject.condition is None and equivalent(number, comparisons=comparisons):
            result = ("equivalent", 0)
        elif not number.has_interval:  # too few prompts, or all equal: nothing is said
            continue
        else:
            result = ("not_significant", 0)
        results.setdefault(result, {})[place] = number
    for (kind, side), found in results.items():
        yield _fact(kind, subject, found, side, of=len(series))


def _leads(numbers: Numbers) -> Iterator[Fact]:
    """Places of a model where one class has clearly more than every other."""
    models, places = numbers.models, numbers.places
    for model in models:
        leads: dict[str, dict[Place, Number]] = {}
        for place in places:
            means = numbers.among(
                {c: Key(numbers.measure, model, *place, token_class=c) for c in numbers.named}
            )
            first = max(means, key=lambda c: means[c].value, default="")
            if len(means) > 1 and not rivals(means, first):
                leads.setdefault(first, {})[place] = means[first]
        for token_class, found in leads.items():
            subject = Key(numbers.measure, model, token_class=token_class)
            lead = _fact("lead", subject, found, 1, of=len(places))
            yield replace(lead, among=tuple(numbers.named))


def _ignored(numbers: Numbers) -> Iterator[Fact]:
    """The classes that get less than their size in most layers, each model's least first.

    One that leads may be among them: it has many tokens.
    """
    for model in numbers.models:
        keys = [Key("lift", model, token_class=c) for c in numbers.named]
        found = [f for key in keys for f in _sides("ignored", key, numbers.series(key), 1.0)]
        most = [f for f in found if f.side < 0 and 2 * len(f.places) > f.of]
        yield from sorted(most, key=lambda fact: min(number.value for number in fact.numbers))


# Knock-outs.


def _effect_facts(numbers: Numbers) -> list[Fact]:
    """Where hiding a class changes the answer, where nothing can be told, and models in pairs."""
    keys = [Key(numbers.measure, m, token_class=c) for m in numbers.models for c in numbers.named]
    facts: list[Fact] = []
    for key in keys:
        series = numbers.series(key)
        tested = {p: n for p, n in series.items() if testable(n)}
        none = _fact("no_effect", key, tested, 0, of=len(tested))
        facts += _sides("effect", key, series, 0.0) or ([none] if tested else [])
    facts.sort(key=lambda f: (f.kind == "no_effect", -abs(f.farthest[1].value)))
    changes = list(_changes(numbers, numbers.named))
    return [*facts, *sorted(changes, key=lambda f: f.kind != "change")]


def _hidden(numbers: Numbers, facts: Iterable[Fact]) -> list[Fact]:
    """The facts with what was hidden from at once: layers around each, or heads."""
    window = int(study_of(numbers.about).get("window", 1))
    return [replace(fact, window=window, together=numbers.together) for fact in facts]


def largest_effects(numbers: Numbers) -> list[Fact]:
    """Of each class the place where hiding it does most: a number, not a claim."""
    if numbers.measure not in EFFECTS:
        return []
    facts = []
    for model, token_class in product(numbers.models, numbers.named):
        key = Key(numbers.measure, model, token_class=token_class)
        series = numbers.series(key)
        if series:
            place = max(series, key=lambda p: abs(series[p].value))
            number, side = series[place], (series[place].value > 0) - (series[place].value < 0)
            facts.append(Fact("largest_effect", key, side, (place,), (number,), len(series)))
    return _hidden(numbers, facts)


# Insertions.


def _insertion_facts(numbers: Numbers) -> list[Fact]:
    every = [Key("", m, condition=c) for m, c in product(numbers.models, numbers.conditions)]
    layered = [key for key in every if key.condition in numbers.conditions[:LAYERED]]
    levels = [level(numbers, replace(k, measure=m)) for k, m in product(every, COMPARED)]
    # The first condition against each of the others, over all heads.
    compared = dict.fromkeys(replace(k, layer=None, head=None) for k in numbers.cells if k.against)
    changes = [f for k in compared for f in _by_result(k, numbers.series(k), len(EVENNESS))]
    return [
        *(fact for fact in levels if fact is not None and fact.side),
        *(fact for fact in changes if fact.kind == "change"),
        *_layers(numbers, layered),
        *(fact for key in layered for fact in _responding(numbers, key)),
        *_models(numbers),
        *(fact for fact in changes if fact.kind == "not_significant"),
        *(fact for key in every for fact in labels(numbers, key)),
    ]


def level(numbers: Numbers, subject: Key) -> Fact | None:
    """A mean at one place, and on which side of no change it lies."""
    number = numbers.get(subject)
    if number is None:
        return None
    side = beyond(number, MEASURES[subject.measure].neutral or 0.0)
    place = (subject.place,)
    return Fact("level", subject, side, place, (number,), 1, tested=testable(number))


def levels(numbers: Numbers, subject: Key, middle: float) -> list[Fact]:
    """The layers whose means lie below, and those whose means lie above the middle."""
    return _sides("levels", subject, numbers.series(subject, heads=False), middle)


def _layers(numbers: Numbers, keys: Sequence[Key]) -> Iterator[Fact]:
    """The layers where a measure is highest or lowest, if one stands out; what rises or falls."""
    for key, measure in product(keys, BY_LAYER):
        subject = replace(key, measure=measure)
        series = numbers.series(subject, heads=False)
        for fact in extremes(subject, series):
            if fact.stands_out(0) or fact.stands_out(1):
                yield fact
            if measure in OVER_DEPTH:
                yield from _trend(subject, series, len(keys) * len(OVER_DEPTH))


def top_heads(numbers: Numbers, subject: Key, heads: Sequence[Place] | None = None) -> Fact:
    """These heads, or those with the largest mean response: numbers, not a claim."""
    series = numbers.series(subject, heads=True)
    chosen = sorted(series, key=lambda p: -series[p].value)[:TOP] if heads is None else heads
    top = {place: series[place] for place in chosen if place in series}
    return Fact("top_heads", subject, 0, tuple(top), tuple(top.values()), len(series))


def _responding(numbers: Numbers, key: Key) -> Iterator[Fact]:
    """The heads that can be told to respond more than the median head does."""
    subject = replace(key, measure=RESPONDS)
    series = numbers.series(subject, heads=True)
    if len(series) < 2:
        return
    median = sorted(series.values(), key=lambda number: number.value)[len(series) // 2]
    top = {p: series[p] for p in top_heads(numbers, subject).places}
    more = {p: n for p, n in top.items() if apart(n, median)}
    if more:
        yield _fact("responding", subject, more, 1, of=len(series))


def _models(numbers: Numbers) -> Iterator[Fact]:
    """The same insertion in two models, over all heads."""
    compared = list(product(numbers.conditions, OVER_DEPTH, combinations(numbers.models, 2)))
    for condition, measure, pair in compared:
        means = numbers.among({m: Key(measure, m, condition=condition) for m in pair})
        if len(means) < 2 or not apart(*means.values()):
            continue
        high, low = sorted(means, key=lambda model: -means[model].value)
        subject = Key(measure, high, condition=condition, against=low)
        ends = (means[high], means[low])
        yield Fact("models", subject, 1, (OVERALL, OVERALL), ends, len(compared), tested=True)


def labels(numbers: Numbers, subject: Key) -> Iterator[Fact]:
    """How many heads have each label, the most frequent first: counts, not a claim."""
    heads: dict[Place, str] = {}  # a head has a row for each of its numbers
    for key, number in numbers.cells.items():
        if (key.model, key.condition) == (subject.model, subject.condition) and number.label:
            heads[key.place] = number.label
    keys = (("model", subject.model), ("condition", subject.condition))
    counts = tuple(
        Number(n, label=label, cell=Cell("summary", (*keys, ("label", label)), "heads"))
        for label, n in Counter(heads.values()).most_common()
    )
    if counts:
        usual = thresholds_of(numbers.about) == Thresholds()
        yield Fact("labels", subject, 0, (), counts, len(heads), usual=usual)


def results(
    numbers: Numbers,
    *,
    against: str | None = None,
    top: Mapping[str, Iterable[Place]] | None = None,
    by: str = RESPONDS,
) -> list[Fact]:
    """What every insertion did, for each model: numbers first, tested where they can be.

    `against` is the condition that the first one's evenness is compared with; `top` are the heads
    that change most `by` some measure.
    """
    facts: list[Fact] = []
    first = numbers.conditions[0]
    for model in numbers.models:
        for condition in numbers.conditions:
            facts += _result(numbers, Key("", model, condition=condition))
        if against is not None:
            key = Key(EVENNESS[0], model, condition=first, against=against)
            number = numbers.get(key)
            facts.append(Fact("missing", key) if number is None else contrasted(key, number))
    for model, heads in (top or {}).items():
        facts.append(top_heads(numbers, Key(by, model, condition=first), tuple(heads)))
    return facts


def _result(numbers: Numbers, key: Key) -> Iterator[Fact]:
    """Weights, what is retained, rescaling, labels."""
    amplitude, retained, rescaled = (
        replace(key, measure=name) for name in ("amplitude", "retained", "affine_r2")
    )
    found = level(numbers, amplitude) or Fact("missing", amplitude)
    if (
        found.kind == "missing" or found.numbers[0].n_prompts > 1
    ):  # of one, what is retained says it
        yield found
    number = numbers.get(retained)
    if number is not None:
        yield Fact("retained", retained, 0, (OVERALL,), (number,), 1)
    layers, whole = numbers.series(rescaled, heads=False), numbers.get(rescaled)
    if whole is None or not layers:
        yield Fact("missing", rescaled)
    else:
        least = min(layers, key=lambda place: layers[place].value)
        yield Fact("rescaling", rescaled, 0, (OVERALL, least), (whole, layers[least]), len(layers))
    yield from labels(numbers, key)
