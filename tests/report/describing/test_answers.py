from __future__ import annotations

import pytest

from mindshare.report.describing.answers import Answers
from mindshare.report.describing.cells import Key
from mindshare.report.describing.numbers import numbers_of
from mindshare.report.describing.reader import read_statements
from mindshare.report.describing.vocabulary import vocabulary_of

from .made import Made, class_tables

NUMBERS = numbers_of(class_tables(Made(models=("Base",))))


def answer(text: str) -> tuple[tuple[float, ...], str]:
    every = read_statements(text, vocabulary_of(NUMBERS))
    (one,) = [one for one in every if one.what != "mention"]
    found = Answers(NUMBERS).to(one)
    return found.values, found.why


def cell(kind: str, layer: int, measure: str = "mass") -> float:
    return NUMBERS.cells[Key(measure, "Base", layer, kind=kind)].value


def test_what_the_table_leaves_no_choice_about_need_not_be_said() -> None:
    assert answer("Layer 2: hash 0.1") == ((cell("hash", 2),), "")  # there is one model


def test_sums_and_shares() -> None:
    parts = [cell(kind, 1) for kind in ("hash", "star", "space")]
    (total,), _ = answer("Layer 1: total 0.5")
    assert total == pytest.approx(sum(parts))
    (share,), _ = answer("Layer 1: 60% star")
    assert share == pytest.approx(parts[1] / sum(parts))


def test_a_measure_that_is_named_is_meant() -> None:
    assert answer("Layer 1, hash: lift 2.0 times") == ((cell("hash", 1, "lift"),), "")


def test_bounds_are_about_everything_that_is_meant() -> None:
    values, _ = answer("hash stays below 0.5")
    assert sorted(values) == sorted(cell("hash", layer) for layer in range(4))


def test_counts_and_how_it_was_made() -> None:
    assert answer("4 layers") == ((4.0,), "")
    assert answer("12 prompts") == ((12.0,), "")
    assert answer("200 resamples") == ((200.0,), "")
    assert answer("95 % bootstrap") == ((0.95,), "")
    assert answer("3 heads")[1] == "it is not clear what this number is"


def test_what_is_a_choice_is_known() -> None:
    assert answer("paired differences with p < 0.05") == ((0.05,), "")
    assert answer("with 80 % power") == ((0.8,), "")
    assert "a choice" in answer("paired differences with p < 0.01")[1]


def test_why_there_is_no_answer() -> None:
    assert answer("hash 0.1") == ((), "it is not said which layer")
    assert answer("Layer 9: hash 0.1") == ((), "the table has no such number")
    assert answer("Layer 1: hash 3 times")[1] == "a ratio, and not clearly said of what"
