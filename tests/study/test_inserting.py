"""The definition of an insertion study: its conditions, their names, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mindshare.errors import SelectionError
from mindshare.prompts import Insertion
from mindshare.study import InsertionStudy, build_insertion_study

RUN = Insertion("///", "/ ×3")


def test_conditions_stand_in_the_order_of_the_tables() -> None:
    study = build_insertion_study(["/ *2,4", "he"])
    assert study.conditions == ("/ ×2", "/ ×4", "he")
    assert study.pairs() == [(one, None) for one in study.insertions]
    assert [one.text for one in study.insertions] == ["/ / ", "/ / / / ", "he"]


def test_what_an_insertion_stands_against_comes_right_after_it() -> None:
    alone = build_insertion_study("/ *2", against="random-sentence")
    assert alone.conditions == ("/ ×2", "random sentence")
    several = build_insertion_study("/ *2,4", against="random-sentence")
    assert several.conditions == (
        "/ ×2",
        "random sentence for / ×2",
        "/ ×4",
        "random sentence for / ×4",
    )
    assert [other.text for other in several.against] == [None, None]
    assert [other.tokens for other in several.against] == [None, None]


def test_it_goes_to_the_same_place_with_the_same_seed() -> None:
    study = build_insertion_study(
        "/ *2", against="random-sentence", at=["start", "after:map"], seed=4
    )
    assert study.conditions == (
        "/ ×2 at start",
        "random sentence for / ×2 at start",
        "/ ×2 at after:map",
        "random sentence for / ×2 at after:map",
    )
    for run, other in study.pairs():
        assert other is not None
        assert (run.place, run.seed) == (other.place, other.seed)
    assert [run.place for run, _ in study.pairs()] == ["start", "after:map"]
    assert {run.seed for run, _ in study.pairs()} == {4}


def test_any_text_can_be_stood_against() -> None:
    study = build_insertion_study("/ *3", against="he *2")
    assert study.conditions == ("/ ×3", "he ×2")
    assert study.against[0].text == "he he "


def test_equal_definitions_have_equal_hashes() -> None:
    usual = build_insertion_study("/ *2")
    assert usual == build_insertion_study(["/ *2"], at=["between"])
    assert usual.hash == build_insertion_study(["/ *2"], at=["between"]).hash
    assert len(usual.hash) == 16


@pytest.mark.parametrize(
    "change",
    [
        {"against": "random-sentence"},
        {"at": "start"},
        {"seed": 1},
        {"layers": (0,)},
        {"queries": "original"},
        {"near": 1},
        {"kernel": "reference"},
    ],
)
def test_everything_that_decides_the_numbers_is_in_the_hash(change: dict[str, Any]) -> None:
    usual, other = build_insertion_study("/ *2"), build_insertion_study("/ *2", **change)
    assert usual.hash != other.hash
    assert json.loads(json.dumps(other.to_dict())) != json.loads(json.dumps(usual.to_dict()))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"insertions": ()}, "there is nothing to insert"),
        ({"insertions": (RUN, RUN)}, "two conditions are called '/ ×3'"),
        ({"against": (RUN,)}, "two conditions are called '/ ×3'"),
        ({"insertions": (Insertion("x", "without"),)}, "called 'without'"),
        ({"against": (Insertion("x", "a"), Insertion("y", "b"))}, "one `against` for each"),
        ({"queries": "orginal"}, "did you mean 'original'"),
        ({"queries": "last"}, "unknown query set 'last'"),
        ({"near": -2}, "near=-2"),
    ],
)
def test_what_cannot_be_measured_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        InsertionStudy(**{"insertions": (RUN,), **parts})


@pytest.mark.parametrize(
    ("insert", "parts", "message"),
    [
        ("/ *2", {"against": "he *2,3"}, r"against='he \*2,3' are 2 insertions"),
        ("/ *2", {"against": "/ *2"}, "two conditions are called '/ ×2'"),
        ("/ *2", {"against": "/ *-5"}, "'-5' does not say how often"),
        ("/ *2", {"at": "betwen"}, "did you mean 'between'"),
        ("/ *2,2", {}, "given twice"),
    ],
)
def test_what_people_miswrite(insert: str, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        build_insertion_study(insert, **parts)
