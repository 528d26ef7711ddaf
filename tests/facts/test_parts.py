"""Sentences about parts: attention for their length decides; what is written the same is a tie."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mindshare.facts.parts import change_claim, extreme_claim, most_changed, part_sentences

LABELS = {"intro": "before Rule", "rule": "Rule", "user": "user"}


def tables(**series: dict[str, tuple[float, float]]) -> dict[str, pa.Table]:
    """Wording → part → mass and even share."""
    found: dict[str, list[dict[str, object]]] = {"summary": [], "expected": [], "lift": []}
    for model, parts in series.items():
        for part, (mass, even) in parts.items():
            for name, mean in zip(found, (mass, even, mass / even), strict=True):
                found[name].append({"model": model, "class": part, "mean": mean, "n_prompts": 1})
    return {name: pa.Table.from_pylist(rows) for name, rows in found.items()}


def test_what_gets_the_most_is_not_called_well_read() -> None:
    one = {"intro": (0.1514, 0.28), "rule": (0.04, 0.04), "user": (0.03, 0.13)}
    least, most = part_sentences(
        tables(m=one | {"first-token": (0.3, 0.01)}), LABELS, {"m": dict.fromkeys(LABELS, "")}
    )[:2]
    assert (
        least == "Of 3 parts, “user” is read least for its length: 3.0\u00a0% of attention; "
        "an even spread would give 13\u00a0%."
    )
    assert (
        most == "Of 3 parts, “Rule” is read most for its length: 4.0\u00a0% of attention; "
        "an even spread would give 4.0\u00a0%."
    )


@pytest.mark.parametrize(
    ("lifts", "claim"),
    [
        ((0.541, 0.539, 0.9), "“before Rule” and “Rule” are read least for their length"),
        ((0.5, 0.54, 0.9), "“before Rule” is read least for its length"),
        ((0.5, 0.501, 0.499), "all 3 parts are read alike for their length"),
    ],
)
def test_parts_that_are_the_same_when_rounded_are_a_tie(
    lifts: tuple[float, ...], claim: str
) -> None:
    assert extreme_claim(dict(zip(LABELS, lifts, strict=True)), LABELS) == claim


def test_reworded_parts_come_first_and_a_half_is_as_far_as_a_double() -> None:
    a, b = {"intro": 1.0, "rule": 1.0, "user": 1.0}, {"intro": 1.5, "rule": 0.6, "user": 0.1}
    assert most_changed(a, b, ()) == "user"
    assert most_changed(a, b, ("intro", "rule")) == "rule"
    assert most_changed(a, {}, ()) is None
    assert change_claim("rule", ("A", 0.541), ("B", 0.539)) == (
        "“rule” is read alike for its length in “B” and “A”"
    )
