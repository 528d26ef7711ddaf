"""What the values of the groups stand for. Mistakes on the command line are in test_bad_input."""

from __future__ import annotations

import pytest

from mindshare.api.insertion import RANKED_BY
from mindshare.cli.options import STATISTICS, InsertStudy, MeasureStudy
from mindshare.cli.values import parse_selection
from mindshare.errors import SelectionError
from mindshare.study import build_study
from mindshare.study.study import STATISTIC_OF


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


def test_the_words_for_measures_are_those_that_can_be_measured() -> None:
    assert set(STATISTICS) == set(STATISTIC_OF.values())
    study = build_study(**MeasureStudy(measure=("mass, entropy", "distance")).keywords())
    assert study.measures == ("mass", "entropy", "distance")
    assert InsertStudy().by in RANKED_BY


def test_only_what_was_chosen_is_said() -> None:
    """So that defaults are those of the functions behind the commands."""
    assert MeasureStudy().keywords() == {}
    assert MeasureStudy(include_diagonal=True).keywords() == {"near": -1}
    assert MeasureStudy(class_=("hash=#",), layers="0,5-6").keywords() == {
        "classes": ("hash=#",),
        "layers": [0, 5, 6],
    }


def test_heads_for_all_models_or_for_each() -> None:
    assert InsertStudy(heads=("0.0", "0.7,1.1")).keywords() == {"heads": "0.0,0.7,1.1"}
    named = InsertStudy(heads=("A:0.0", "B:0.1", "A:2.3")).keywords()["heads"]
    assert named == {"A": "0.0,2.3", "B": "0.1"}
    with pytest.raises(SelectionError, match="some heads are named for one model"):
        InsertStudy(heads=("0.0", "A:0.1")).keywords()
