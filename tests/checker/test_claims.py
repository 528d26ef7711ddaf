"""Sentences of ours whose claim was turned around are caught; what can't be read is told."""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa
import pytest

from mindshare.facts import describe
from mindshare_checker import check_description
from tests.facts.made import CONDITIONS, Made, class_tables, insertion_tables

SWAPS = [
    ("more", "less"),
    ("higher", "lower"),
    ("highest", "lowest"),
    ("largest", "smallest"),
    ("most", "least"),
    ("rises", "falls"),
    ("does not differ significantly", "differs"),
    ("does not differ significantly", "differs by less than 10 %"),
    ("heads change", "heads do not change"),
]


@cache
def cases() -> tuple[dict[str, pa.Table], ...]:
    effect = {"star": 0.2}
    return (
        class_tables(Made(effect=effect, layers=range(12))),
        class_tables(Made(effect=effect, trend={"hash": 0.02}, layers=range(12)), "share"),
        insertion_tables(
            Made(models=("Base", "b"), layers=range(12), heads=(0, 1)), CONDITIONS[:2]
        ),
    )


def turned(said: str) -> list[str]:
    """The sentence with one claim turned around, in every way there is."""
    found = []
    for pair in SWAPS:
        for one, other in (pair, pair[::-1]):
            text = re.sub(rf"\b{one}\b", other, said, count=1)
            found += [text] if text != said else []
    return found


@pytest.mark.parametrize("case", range(3))
def test_a_claim_that_was_turned_around_is_caught(case: int) -> None:
    tables = cases()[case]
    sentences = describe(tables).sections["Key observations"]
    texts = [text for said in sentences for text in turned(str(said))]
    assert len(texts) >= 4
    for text in texts:
        wrong = [one for one in check_description(text, tables) if one.holds is False]
        assert wrong, text


@pytest.mark.parametrize("case", range(3))
def test_our_own_description_holds(case: int) -> None:
    tables = cases()[case]
    checked = check_description(describe(tables).text, tables)
    assert [str(one) for one in checked if one.holds is False] == []
    assert any(one.statement.what == "claim" and one.holds for one in checked)


def test_a_claim_that_cannot_be_read_is_told() -> None:
    (found,) = check_description("Tuned is undecided about stars.", cases()[0])
    assert found.holds is None
    assert "claim in words" in str(found)
