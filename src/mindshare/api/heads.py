"""Heads for a close look, as people name them or as found in a table: those that change most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from mindshare.api.candidates import Candidate
from mindshare.errors import SelectionError, require_known
from mindshare.figures.titles import distance
from mindshare.measures import MEASURES
from mindshare.stats import RESTING
from mindshare.study.study import Head, parse_heads

if TYPE_CHECKING:
    import pyarrow as pa

OneGiven: TypeAlias = str | Sequence[Head]
HeadsGiven: TypeAlias = OneGiven | Mapping[str, OneGiven] | None


def heads_of(given: HeadsGiven, label: str) -> list[Head]:
    """The heads named for this model; none if none are."""
    if isinstance(given, Mapping):
        given = given.get(label)
    return [] if given is None else list(parse_heads(given))


def check_labels(given: HeadsGiven, labels: Sequence[str]) -> None:
    """Refuse heads that are named for a model which is not there."""
    for label in given if isinstance(given, Mapping) else ():
        require_known(label, labels, f"heads are named for {label!r}, which is none of the models")


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
    """The heads of a `response_summary` whose number is farthest from "nothing changed".

    Heads that rest are not ranked: whatever they give these tokens is next to nothing.
    """
    measure = MEASURES[by]

    def change(mean: float) -> float:
        return -mean if measure.scale == "falling" else distance(mean, measure)

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
    ranked = sorted(rows, key=lambda row: (-change(row["mean"]), row["layer"], row["head"]))
    return [(row["layer"], row["head"]) for row in ranked[: max(1, count)]]
