"""The definitions of studies: what they say, their names and hashes, what is refused."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from mindshare.errors import ClassRuleError, MindshareError, SelectionError
from mindshare.prompts import Insertion
from mindshare.study import (
    InsertionStudy,
    Study,
    build_insertion_study,
    build_knockout_study,
    build_study,
)

RUN = Insertion("///", "/ ×3")


def test_what_people_write_becomes_one_frozen_object() -> None:
    study = build_study(
        classes={"hash": "#", "space": "whitespace@map"},
        measures="mass",
        layers=[3, 0, 3],
        heads="mean",
        queries=["last", "span:map"],
    )
    assert study.classes == (("hash", "#"), ("space", "whitespace@map"))
    assert study.layers == (3, 0)
    assert study.heads is None
    assert study.mean_over == ("heads",)
    assert study.queries == ("last", "span:map")
    assert study.request().statistics == {"mass"}
    assert build_study(measures="perplexity").request().statistics == {"mass", "entropy"}


def test_the_hash_is_of_everything_that_decides_the_numbers() -> None:
    base = build_study(classes={"hash": "#"})
    assert base.hash == build_study(classes=["hash=#"]).hash
    assert len(base.hash) == 16
    changed = [
        build_study(classes={"hash": "*"}),
        build_study(classes={"hash": "#"}, policy="pure"),
        build_study(classes={"hash": "#"}, queries="last"),
        build_study(classes={"hash": "#"}, near=-1),
        build_study(classes={"hash": "#"}, heads="mean"),
    ]
    assert len({base.hash, *(study.hash for study in changed)}) == 6


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ({"measures": "mas"}, SelectionError, "did you mean 'mass'"),
        ({"measures": []}, SelectionError, "at least one measure"),
        ({"queries": "lats"}, SelectionError, "did you mean 'last'"),
        ({"layers": "first"}, SelectionError, "layers='first'"),
        ({"heads": []}, SelectionError, "heads"),
        ({"near": -2}, SelectionError, "near=-2"),
        ({"querys": "last"}, SelectionError, "did you mean 'queries'"),
        ({"chunk_tokens": 0}, SelectionError, "chunk_tokens=0"),
        ({"classes": {"a": "digits"}}, ClassRuleError, "digit"),
        ({"classes": {"a": "re:("}}, ClassRuleError, "re"),
        ({"policy": "prioritty"}, ClassRuleError, "priority"),
    ],
)
def test_bad_definitions_are_refused(parts, error, words) -> None:
    with pytest.raises(error, match=words):
        build_study(**parts)


@pytest.mark.parametrize(
    ("build", "parts"),
    [
        (build_study, {"layers": [0, 1], "heads": 1, "near": 1, "chunk_tokens": 8}),
        (
            partial(build_insertion_study, "/ *2", at="random"),
            {"layers": [0, 1], "near": 1, "chunk_tokens": 8, "seed": 3},
        ),
        (
            partial(build_knockout_study, classes={"hash": "#"}),
            {"layers": [0, 1], "heads": [0, 1], "window": 2},
        ),
    ],
)
def test_numbers_of_numpy_are_numbers(build: Any, parts: dict[str, Any]) -> None:
    """An array, a list of its scalars, a scalar: the same study, with the same hash."""
    arrays = {name: np.array(value)[()] for name, value in parts.items()}
    lists = {name: list(x) if x.ndim else x for name, x in arrays.items()}
    for given in (arrays, lists):
        assert build(**given) == build(**parts)
        assert build(**given).hash == build(**parts).hash


@pytest.mark.parametrize("layers", ["mean", "first", [], [True], [0.5], np.array([0.5])])
def test_layers_of_an_insertion_are_whole_numbers(layers: Any) -> None:
    with pytest.raises(SelectionError, match="layer"):
        build_insertion_study("/ *2", layers=layers)


def test_a_study_survives_being_written_down() -> None:
    study = build_study(classes={"hash": "#"}, layers=[1])
    written = study.to_dict()
    assert Study(**written) == study


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


def test_equal_insertions_have_equal_hashes() -> None:
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
def test_everything_that_decides_an_insertion_is_in_the_hash(change: dict[str, Any]) -> None:
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
def test_an_insertion_that_cannot_be_measured_is_refused(
    parts: dict[str, Any], message: str
) -> None:
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
def test_what_people_miswrite_of_an_insertion(
    insert: str, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        build_insertion_study(insert, **parts)


@pytest.mark.parametrize(
    "part",
    [{"measures": [len]}, {"measures": len}, {"measures": 3}, {"classes": 3}, {"classes": [len]},
     {"queries": 3}, {"queries": [len]}, {"layers": len}, {"heads": object()}, {"near": "x"},
     {"chunk_tokens": "x"}],
    ids=lambda part: "-".join(part),
)  # fmt: skip
def test_a_part_of_another_type_is_told_by_its_name(part: dict[str, Any]) -> None:
    (name,) = part
    with pytest.raises(MindshareError, match=f"{name}=") as caught:
        build_study(**part)
    assert caught.value.allowed
