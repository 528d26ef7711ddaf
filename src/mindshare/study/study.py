"""One frozen object says what to measure; its hash stands in everything that comes of it.

A `Study` measures prompts by token class; an `InsertionStudy` compares a prompt with versions of it
that have something inserted; a `KnockoutStudy` hides classes of tokens, and sees what the answer
loses. The command line, files and Python all build these. They name no model
and no prompt: the same study can be run on any. They are serialisable and run nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias, TypedDict

from mindshare.attention.jobs import (
    KNOCKOUT_METHODS,
    Knockout,
    Layers,
    Request,
    check_chunk,
    check_near,
)
from mindshare.errors import (
    SelectionError,
    nearest,
    require_all_known,
    require_types,
    whole_number,
)
from mindshare.measures import MEASURES
from mindshare.naming import WITHOUT
from mindshare.prompts import Insertion, parse_insertions
from mindshare.prompts.prompt import check_label
from mindshare.tokens import Classes, TokenClass, parse_classes, parse_queries

Head: TypeAlias = tuple[int, int]
"""(layer, head), 0-based."""
_HEAD = re.compile(r"\s*(\d{1,5})\s*\.\s*(\d{1,5})\s*", re.ASCII)
BOTH = "both"  # query sets of an insertion: `all` for its charts, `original` to compare
INSERTION_QUERIES = (BOTH, "all", "original")
# Query sets of knock-outs beside those of a study: the queries that give the answer (the last token
# of the prompt, and the answer's but its last), and every token after the class's last one.
KNOCKOUT_QUERIES = ("answer", "later")
WHILE_ANSWERING = ("answer", "later", "all")
# What a study by token class can be asked for → the engine's statistic behind it.
STATISTIC_OF: dict[str, str] = {
    name: one.statistic
    for name, one in MEASURES.items()
    if one.level in ("class", "head", "key", "prompt")
}


class _Definition:
    """What every study has in common."""

    layers: tuple[int, ...] | None
    kind: ClassVar[str] = ""
    selecting: ClassVar[tuple[str, ...]] = ("layers",)  # fields that only select among results

    @property
    def passes(self) -> int:
        """Of one prompt."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        return dict(asdict(self))  # type: ignore[call-overload]

    @property
    def hash(self) -> str:
        """Sixteen hex digits of the SHA-256 of everything that decides the numbers."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def chosen_layers(self) -> Layers:
        return None if self.layers is None else frozenset(self.layers)

    def fixed_parts(self) -> dict[str, Any]:
        """What all results of one run share: all but what only selects among them."""
        parts = {
            name: value for name, value in self.to_dict().items() if name not in self.selecting
        }
        return {"kind": self.kind, **parts} if self.kind else parts


@dataclass(frozen=True)
class Study(_Definition):
    """What to measure by token class."""

    selecting = ("layers", "heads", "mean_over")
    classes: tuple[tuple[str, str], ...] = ()  # (name, rule), first match wins
    policy: str = "priority"
    measures: tuple[str, ...] = ("mass", "received")
    layers: tuple[int, ...] | None = None  # None: every layer that has attention
    heads: tuple[int, ...] | None = None  # None: every head
    mean_over: tuple[str, ...] = ()  # "heads", "layers"
    queries: tuple[str, ...] = ("all",)
    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    chunk_tokens: int | None = None
    kernel: str = "auto"

    def __post_init__(self) -> None:
        require_types(self)
        require_all_known(self.measures, STATISTIC_OF, "measure")
        require_all_known(self.mean_over, ("heads", "layers"), "axis to average over")
        for name in self.queries:
            parse_queries(name)
        if not self.measures or not self.queries:
            raise SelectionError("a study needs at least one measure and one query set")
        check_near(self.near)
        check_chunk(self.chunk_tokens)
        self.token_classes()

    def token_classes(self) -> Classes:
        return _parsed(self.classes, self.policy)

    def request(self) -> Request:
        """What a pass must compute for this; masses always."""
        return _request(self, {"mass", *(STATISTIC_OF[word] for word in self.measures)})


@dataclass(frozen=True)
class InsertionStudy(_Definition):
    """Which insertions to compare with the prompt as it is; a run may be given more of them."""

    kind, selecting = "insertion", ("insertions", "against", "layers")
    insertions: tuple[Insertion, ...]
    against: tuple[Insertion, ...] = ()  # one for each insertion, or none
    layers: tuple[int, ...] | None = None  # None: every layer that has attention
    queries: str = BOTH  # of `received`: every token, those that were not inserted, or both sets
    near: int = 0  # `received` counts queries with i > j + near; -1 includes the diagonal
    chunk_tokens: int | None = None
    kernel: str = "auto"

    def to_dict(self) -> dict[str, Any]:
        """A chunk size only where there is one: earlier runs knew none, and can go on."""
        whole = super().to_dict()
        return {k: v for k, v in whole.items() if k != "chunk_tokens" or v is not None}

    def __post_init__(self) -> None:
        if not self.insertions:
            raise SelectionError("there is nothing to insert", allowed="e.g. '/ *55'")
        if self.against and len(self.against) != len(self.insertions):
            raise SelectionError("there must be one `against` for each insertion")
        names = self.conditions
        twice = [name for name in names if names.count(name) > 1 or name == WITHOUT]
        if twice:
            raise SelectionError(
                f"two conditions are called {twice[0]!r}", next_step="leave out one of them"
            )
        if self.queries not in INSERTION_QUERIES:
            raise SelectionError(
                f"unknown query set {self.queries!r} for an insertion"
                f"{nearest(self.queries, INSERTION_QUERIES)}",
                allowed="both, all, or original (tokens that were not inserted)",
            )
        if self.layers == ():
            raise SelectionError("layers=[] leaves no layer", allowed="None for all, or numbers")
        check_near(self.near)
        check_chunk(self.chunk_tokens)

    def pairs(self) -> list[tuple[Insertion, Insertion | None]]:
        """Each insertion and what it stands against."""
        others = self.against or (None,) * len(self.insertions)
        return list(zip(self.insertions, others, strict=True))

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the versions with an insertion, in the order of the tables."""
        return tuple(one.name for pair in self.pairs() for one in pair if one is not None)

    def request(self) -> Request:
        """What a pass must compute for this; a version without an insertion has no columns."""
        return _request(self, {"given", "received", "rescaling"})

    @property
    def passes(self) -> int:
        """Of one prompt: without, and under each condition."""
        return 1 + len(self.conditions)


@dataclass(frozen=True)
class KnockoutStudy(_Definition):
    """Which token classes to hide, from which queries, heads and layers, and how."""

    kind = "knockout"
    classes: tuple[tuple[str, str], ...]  # (name, rule), first match wins
    policy: str = "priority"
    answer: str = "given"  # with the prompt, or "greedy": what the model itself says
    greedy_tokens: int = 1  # of such an answer, at most
    choices: tuple[str, ...] = ()  # of every prompt: answers that the right one is told from
    layers: tuple[int, ...] | None = None  # None: every layer that has attention
    heads: tuple[int, ...] | None = None  # None: every head
    each: bool = False  # each head by itself, or all of them together
    places: tuple[Head, ...] = ()  # in place of all: together, or each
    window: int = 1  # layers that are knocked out together, around each layer
    how: str = "mask"
    queries: str = "last"
    screen: bool = False  # first-order effects in place of knock-outs
    means_hash: str = ""  # of `mean`: of what takes the place of each class's output
    means: Mapping[int, Any] | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The means are known by their hash."""
        whole = replace(self, means=None)
        return {name: value for name, value in asdict(whole).items() if name != "means"}

    def __post_init__(self) -> None:
        if not self.classes:
            raise SelectionError(
                "there is no token class to hide",
                next_step="name at least one, e.g. classes={'hash': '#'} or --class hash='#'",
            )
        if self.policy == "proportional":
            raise SelectionError(
                "a part of a token can't be hidden", allowed="policy priority or pure"
            )
        require_all_known([self.how], KNOCKOUT_METHODS, "kind of knock-out")
        require_all_known([self.answer], ("given", "greedy"), "answer")
        if self.queries not in KNOCKOUT_QUERIES:
            parse_queries(self.queries)
        for name, number in (("window", self.window), ("greedy_tokens", self.greedy_tokens)):
            if number < 1:
                raise SelectionError(f"{name}={number}", allowed="1, 2, 3, …")
        if self.screen and not (self.each and self.how == "mask" and self.window == 1):
            raise SelectionError(
                "a screen is of single heads whose keys are masked",
                allowed="heads='each', how='mask' and no window",
            )
        if self.choices and self.answer == "greedy":
            raise SelectionError(
                "choices need to know the right answer", next_step="give the prompts an answer"
            )
        if self.places and not self.each and self.window > 1:
            raise SelectionError(
                "heads that are named are hidden from by themselves, without layers around them",
                allowed="a window, or heads such as 17.4,18.6",
            )
        for choice in self.choices:
            check_label("choice", choice)
        self.token_classes()

    def token_classes(self) -> Classes:
        return _parsed(self.classes, self.policy)

    def request(self) -> Request:
        """What the passes must compute for this."""
        return Request(
            statistics=frozenset({"effect"}),
            layers=self.chosen_layers,
            knockout=Knockout(
                how=self.how,
                heads=self.heads,
                each=self.each,
                window=self.window,
                places=self.places,
                while_answering=self.queries in WHILE_ANSWERING,
                greedy=self.greedy_tokens,
                screen=self.screen,
                names=tuple(name for name, _ in self.classes),
                means=self.means,
            ),
        )


def _request(study: Study | InsertionStudy, statistics: Iterable[str]) -> Request:
    return Request(
        statistics=frozenset(statistics),
        near=study.near,
        layers=study.chosen_layers,
        kernel=study.kernel,
        chunk_tokens=study.chunk_tokens,
    )


AnyStudy = Study | InsertionStudy | KnockoutStudy
ClassesGiven = Classes | Mapping[str, str] | Iterable[str | TokenClass] | None


class StudyParts(TypedDict, total=False):
    """The parts of a Study by name, as people write them."""

    classes: ClassesGiven
    policy: str
    measures: str | Iterable[str] | None
    layers: int | Iterable[int] | str | None
    heads: int | Iterable[int] | str | None
    queries: str | Iterable[str]
    near: int
    chunk_tokens: int | None
    kernel: str


def build_study(
    *,
    classes: ClassesGiven = None,
    policy: str = "priority",
    measures: str | Iterable[str] | None = None,
    layers: int | Iterable[int] | str | None = None,
    heads: int | Iterable[int] | str | None = None,
    queries: str | Iterable[str] = "all",
    **rest: Any,
) -> Study:
    """A Study from what people write: words, lists, "mean"."""
    require_all_known(rest, StudyParts.__annotations__, "part of a study")
    chosen_layers, mean_layers = _selection(layers, "layers")
    chosen_heads, mean_heads = _selection(heads, "heads")
    rest = _plain(rest)
    return Study(
        **_classes(classes, policy),
        measures=_words(measures, "measures") if measures is not None else Study.measures,
        layers=chosen_layers,
        heads=chosen_heads,
        mean_over=(*mean_heads, *mean_layers),
        queries=_words(queries, "queries"),
        **rest,
    )


def build_knockout_study(
    *,
    classes: ClassesGiven = None,
    policy: str = "priority",
    answer: str = "given",
    layers: int | Iterable[int] | str | None = None,
    heads: int | Iterable[int] | str | None = None,
    **rest: Any,
) -> KnockoutStudy:
    """From what people write: answer='greedy:5', heads='each', [0, 3], '17.4,18.6' or None.

    Heads that are named are knocked out one by one; `LAYER.HEAD` all together, and nothing else.
    """
    kind, _, tokens = answer.partition(":")
    if tokens:
        if not (tokens.isascii() and tokens.isdecimal() and len(tokens) < 10):
            raise SelectionError(f"{answer!r} can't be read", allowed="given, greedy, or greedy:5")
        rest["greedy_tokens"] = int(tokens)
    if isinstance(heads, str) and "." in heads:
        rest["places"], heads = parse_heads(heads), None
    word = heads if isinstance(heads, str) else ""  # an array is compared number by number
    each = heads is not None and word != "together"
    chosen_layers, mean_layers = _selection(layers, "layers")
    every = word in ("each", "together")
    chosen_heads, mean_heads = _selection(None if every else heads, "heads")
    if mean_layers or mean_heads:
        raise SelectionError(
            "a mean can't be knocked out", allowed="numbers, 'all'; heads: together, each"
        )
    if rest.get("places") and not each:
        if chosen_layers is not None:
            raise SelectionError(
                "heads that are named by LAYER.HEAD say their layers themselves",
                next_step="leave the layers out",
            )
        chosen_layers = (min(layer for layer, _ in rest["places"]),)
    return KnockoutStudy(
        **_classes(classes, policy),
        answer=kind,
        layers=chosen_layers,
        heads=chosen_heads,
        each=each,
        **_plain(rest),
    )


def _classes(given: ClassesGiven, policy: str) -> dict[str, Any]:
    """The fields `classes` and `policy` of a study."""
    parsed = parse_classes({} if given is None else given, policy=policy)  # type: ignore[arg-type]
    written = tuple((c.name, str(c).partition("=")[2]) for c in parsed.rules)
    return {"classes": written, "policy": parsed.policy}


def parse_heads(given: str | Sequence[Head]) -> tuple[Head, ...]:
    """`0.0,0.7`, or pairs of layer and head; each once."""
    several = given.split(",") if isinstance(given, str) else given
    heads: dict[Head, None] = {}
    for one in several if isinstance(several, Sequence) else [several]:
        pair = isinstance(one, Sequence) and not isinstance(one, str)
        match = _HEAD.fullmatch(".".join(map(str, one)) if pair else str(one))
        if not match:
            raise SelectionError(
                f"{one!r} in {given!r} names no head",
                allowed="LAYER.HEAD, 0-based, such as 0.0,0.7",
            )
        heads[int(match[1]), int(match[2])] = None
    return tuple(heads)


def build_insertion_study(
    insert: str | Sequence[str],
    *,
    against: str | None = None,
    at: str | Sequence[str] = "between",
    seed: int = 0,
    layers: int | Iterable[int] | str | None = None,
    **rest: Any,
) -> InsertionStudy:
    """From what people write: '/ *55', ['/ *10,25', 'he *25'], 'random-sentence', 'start'."""
    insertions = parse_insertions(insert, places=at, **_plain({"seed": seed}))
    others = () if against is None else tuple(_against(against, insertions))
    chosen, mean = _selection(layers, "layers")
    if mean:
        raise SelectionError(
            "every layer is looked at by itself", allowed="numbers, or 'all', e.g. layers=[0, 5]"
        )
    return InsertionStudy(tuple(insertions), others, layers=chosen, **_plain(rest))


def _against(text: str, insertions: Sequence[Insertion]) -> Iterator[Insertion]:
    """What each insertion stands against: at the same place, with a name of its own."""
    for insertion in insertions:
        against, *more = parse_insertions(text, places=insertion.place, seed=insertion.seed)
        if more:
            raise SelectionError(
                f"against={text!r} are {1 + len(more)} insertions",
                allowed="one, e.g. random-sentence",
            )
        several = len(insertions) > 1
        name = f"{against.name} for {insertion.name}" if several else against.name
        yield replace(against, name=name)


@lru_cache(maxsize=64)  # asked for with every prompt
def _parsed(classes: tuple[tuple[str, str], ...], policy: str) -> Classes:
    return parse_classes(dict(classes), policy=policy)  # type: ignore[arg-type]


def _words(given: Any, name: str) -> tuple[str, ...]:
    words = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(word, str) for word in words):
        raise SelectionError(
            f"{name}={given!r} can't be read", allowed="a word, or a list of words"
        )
    return words


def _selection(
    given: int | Iterable[int] | str | None, axis: str
) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
    """(chosen numbers or None for all, the axis if it is averaged over)"""
    if given is None:
        return None, ()
    if isinstance(given, str):
        if given in ("all", "mean"):
            return None, (axis,) if given == "mean" else ()
        raise SelectionError(
            f"{axis}={given!r} can't be read",
            allowed=f"numbers, 'all' or 'mean', e.g. {axis}=[0, 5]",
        )
    numbers = [whole_number(n) for n in (given if isinstance(given, Iterable) else (given,))]
    if not numbers or any(n is None for n in numbers):
        raise SelectionError(f"{axis}={given!r} can't be read", allowed="whole numbers from 0")
    return tuple(dict.fromkeys(n for n in numbers if n is not None)), ()


def _plain(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The same parts, whole numbers as Python's own: a study is written as JSON."""
    plain = {name: whole_number(value) for name, value in parts.items()}
    return {name: value if plain[name] is None else plain[name] for name, value in parts.items()}
