"""One frozen object says what to measure; its hash stands in everything that comes of it.

The command line, files and Python all build this same `Study`. It names no model and no prompt:
the same study can be run on any. It is serialisable, and it does not run anything.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from mindshare.errors import SelectionError, nearest
from mindshare.tokens import Classes, TokenClass, parse_classes, parse_queries

# Every word of the definitions, and the column family that computes it.
MEASURES: dict[str, str] = {
    "mass": "mass",
    "share": "mass",
    "density": "mass",
    "expected": "mass",
    "lift": "mass",
    "entropy": "entropy",
    "perplexity": "entropy",
    "distance": "distance",
    "received": "received",
    "sink_rate": "mass",
}


@dataclass(frozen=True)
class Study:
    """What to measure."""

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
        _check_words(self.measures, MEASURES, "measure")
        _check_words(self.mean_over, ("heads", "layers"), "axis to average over")
        for name in self.queries:
            parse_queries(name)
        if not self.measures or not self.queries:
            raise SelectionError("a study needs at least one measure and one query set")
        if self.near < -1:
            raise SelectionError(
                f"near={self.near} makes no sense", allowed="-1 (include the diagonal), 0, 1, 2, …"
            )
        if self.chunk_tokens is not None and self.chunk_tokens < 1:
            raise SelectionError(f"chunk_tokens={self.chunk_tokens}", allowed="1, 2, 3, …")
        self.token_classes()

    def token_classes(self) -> Classes:
        return parse_classes(dict(self.classes), policy=self.policy)  # type: ignore[arg-type]

    def families(self) -> frozenset[str]:
        return frozenset(MEASURES[word] for word in self.measures)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def hash(self) -> str:
        return definition_hash(self.to_dict())


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Sixteen hex digits of the SHA-256 of everything that decides the numbers."""
    text = json.dumps(definition, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Definition(TypedDict, total=False):
    """The parts of a Study by name, as people write them."""

    classes: Classes | Mapping[str, str] | Iterable[str | TokenClass] | None
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
    classes: Classes | Mapping[str, str] | Iterable[str | TokenClass] | None = None,
    measures: str | Iterable[str] | None = None,
    layers: int | Iterable[int] | str | None = None,
    heads: int | Iterable[int] | str | None = None,
    queries: str | Iterable[str] = "all",
    **rest: Any,
) -> Study:
    """A Study from what people write: words, lists, "mean"."""
    _check_words(rest, Definition.__annotations__, "part of a study")
    parsed = parse_classes(
        {} if classes is None else classes, policy=rest.pop("policy", "priority")
    )
    chosen_layers, mean_layers = _selection(layers, "layers")
    chosen_heads, mean_heads = _selection(heads, "heads")
    return Study(
        classes=tuple((c.name, str(c).partition("=")[2]) for c in parsed.rules),
        policy=parsed.policy,
        measures=_words(measures) if measures is not None else Study.measures,
        layers=chosen_layers,
        heads=chosen_heads,
        mean_over=(*mean_heads, *mean_layers),
        queries=_words(queries),
        **rest,
    )


def _words(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _selection(
    given: int | Iterable[int] | str | None, axis: str
) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
    """(chosen numbers or None for all, the axis if it is averaged over)"""
    if given is None or given == "all":
        return None, ()
    if given == "mean":
        return None, (axis,)
    if isinstance(given, str):
        raise SelectionError(
            f"{axis}={given!r} can't be read",
            allowed=f"numbers, 'all' or 'mean', e.g. {axis}=[0, 5]",
        )
    numbers = (given,) if isinstance(given, int) else tuple(given)
    if not all(isinstance(n, int) for n in numbers) or not numbers:
        raise SelectionError(f"{axis}={given!r} can't be read", allowed="whole numbers from 0")
    return tuple(dict.fromkeys(numbers)), ()


def _check_words(words: Iterable[str], known: Iterable[str], what: str) -> None:
    for word in words:
        if word not in known:
            raise SelectionError(
                f"unknown {what} {word!r}{nearest(word, known)}", allowed=", ".join(known)
            )
