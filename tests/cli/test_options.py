"""What the values of the groups stand for. Mistakes on the command line are in test_bad_input."""

from __future__ import annotations

import pytest

from mindshare.api.insertion import RANKED_BY
from mindshare.cli.options import (
    DRAWN,
    STATISTICS,
    HeadMapStudy,
    InsertStudy,
    StudyOptions,
    parse_selection,
)
from mindshare.errors import ClassRuleError, SelectionError
from mindshare.stats import MEASURES as OF_CLASSES
from mindshare.study import MEASURES as MEASURED
from mindshare.study import build_study


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("all", "all"),
        (" mean ", "mean"),
        ("3", [3]),
        ("0,5-9", [0, 5, 6, 7, 8, 9]),
        ("7-7, 2 - 3 ,0", [7, 2, 3, 0]),
    ],
)
def test_layers_and_heads_as_people_write_them(text: str, found: object) -> None:
    assert parse_selection(text, "--layers") == found


def test_the_words_for_measures_are_those_that_can_be_measured_and_drawn() -> None:
    assert set(OF_CLASSES) < set(DRAWN)
    assert "entropy" in DRAWN
    assert set(STATISTICS) == set(MEASURED.values())
    study = build_study(**StudyOptions(measure=("mass, entropy", "distance")).definition())
    assert study.measures == ("mass", "entropy", "distance")
    assert InsertStudy().by in RANKED_BY


def test_a_map_needs_one_class() -> None:
    assert HeadMapStudy(class_=("hash=#",)).definition()["cls"] == "hash"
    assert HeadMapStudy(class_=("a=#", "b=*"), show="b").definition()["cls"] == "b"
    with pytest.raises(ClassRuleError, match="0 classes are given"):
        HeadMapStudy().definition()


def test_heads_for_all_models_or_for_each() -> None:
    assert InsertStudy().definition()["heads"] is None
    assert InsertStudy(heads=("0.0", "0.7,1.1")).definition()["heads"] == "0.0,0.7,1.1"
    named = InsertStudy(heads=("A:0.0", "B:0.1", "A:2.3")).definition()["heads"]
    assert named == {"A": "0.0,2.3", "B": "0.1"}
    with pytest.raises(SelectionError, match="some heads are named for one model"):
        InsertStudy(heads=("0.0", "A:0.1")).definition()
