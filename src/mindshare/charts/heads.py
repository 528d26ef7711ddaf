"""Which heads to look at: as people write them, checked, or found in a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from mindshare.errors import SelectionError, nearest
from mindshare.stats.labels import LEFT, RESTING
from mindshare.stats.response import RESPONSE

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.charts.candidates import Candidate

Head: TypeAlias = tuple[int, int]
"""(layer, head), 0-based."""
OneGiven: TypeAlias = str | Sequence[Head]
HeadsGiven: TypeAlias = OneGiven | Mapping[str, OneGiven] | None
_HEAD = re.compile(r"\s*(\d{1,5})\s*\.\s*(\d{1,5})\s*")
_ALLOWED = "LAYER.HEAD, 0-based, such as 0.0,0.7"
RANKED_BY = tuple(measure for measure in RESPONSE if measure != LEFT)
_LARGER_IS_LESS = ("shape", "affine_r2", "affine_r2_after", "weight_evenness", "value_evenness")
_RATIOS = ("amplitude", "peak_ratio", "factor", "retained")


def heads_of(given: HeadsGiven, label: str) -> list[Head]:
    """The heads named for this model; none if none are."""
    if isinstance(given, Mapping):
        given = given.get(label)
    if given is None:
        return []
    if isinstance(given, str):
        return list(dict.fromkeys(_head(part, given) for part in given.split(",")))
    return list(dict.fromkeys(_pairs(given)))


def _pairs(given: object) -> Iterator[Head]:
    """(layer, head) pairs of whole numbers, or a refusal."""
    for one in given if isinstance(given, Sequence) else (given,):
        numbers = tuple(one) if isinstance(one, Sequence) and not isinstance(one, str) else ()
        if len(numbers) != 2 or not all(isinstance(n, int) for n in numbers):
            raise SelectionError(f"{one!r} names no head", allowed=f"(layer, head), or {_ALLOWED}")
        yield int(numbers[0]), int(numbers[1])


def check_labels(given: HeadsGiven, labels: Sequence[str]) -> None:
    """Refuse heads that are named for a model which is not there."""
    for label in given if isinstance(given, Mapping) else ():
        if label not in labels:
            raise SelectionError(
                f"heads are named for {label!r}, which is none of the models"
                f"{nearest(label, labels)}",
                allowed=", ".join(labels),
            )


def _head(part: str, text: str) -> Head:
    found = _HEAD.fullmatch(part)
    if not found:
        raise SelectionError(f"{part.strip()!r} in {text!r} names no head", allowed=_ALLOWED)
    return int(found[1]), int(found[2])


def check_heads(
    heads: Sequence[Head], candidate: Candidate, *, layers: Sequence[int] | None = None
) -> None:
    """Refuse heads that the model lacks, or that are not going to be measured."""
    facts = candidate.facts
    for layer, head in heads:
        if layers is not None and layer not in layers:
            raise SelectionError(
                f"head {layer}.{head} is to be drawn, but layer {layer} is not measured",
                allowed=f"heads of layers {', '.join(map(str, layers))}",
            )
        if not (0 <= layer < facts.layers and 0 <= head < facts.heads):
            raise SelectionError(
                f"head {layer}.{head} does not exist: {candidate.label} has {facts.layers} layers "
                f"of {facts.heads} heads",
                allowed=f"0.0 to {facts.layers - 1}.{facts.heads - 1}",
            )


def top_heads(summary: pa.Table, model: str, condition: str, *, by: str, count: int) -> list[Head]:
    """The heads of a `response_summary` whose number says that they change most.

    Heads that rest are not ranked: whatever they give these tokens is next to nothing.
    """
    rows = [
        row
        for row in summary.to_pylist()
        if (row["model"], row["condition"], row["measure"]) == (model, condition, by)
        and row["mean"] is not None
        and row["label"] != RESTING
    ]
    if not rows:
        raise SelectionError(
            f"no head of {model} has a number for {by!r} under {condition!r}",
            next_step="name the heads to look at, e.g. heads='0.0,0.1'",
        )
    ranked = sorted(rows, key=lambda row: (-_change(row["mean"], by), row["layer"], row["head"]))
    return [(row["layer"], row["head"]) for row in ranked[: max(1, count)]]


def _change(value: float, measure: str) -> float:
    """How far the number is from saying that nothing changed."""
    if measure in _LARGER_IS_LESS:
        return -value
    if measure in _RATIOS:
        return abs(math.log(value)) if value > 0 else math.inf  # a half is as far as a double
    return abs(value)
