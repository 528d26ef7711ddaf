from __future__ import annotations

import pytest

from mindshare.cli.charting import MEASURES, labelled, one_class
from mindshare.errors import ClassRuleError
from mindshare.stats import MEASURES as KNOWN


def test_the_words_are_those_of_the_statistics() -> None:
    assert set(MEASURES) == set(KNOWN)


def test_names_are_read_and_paths_with_an_equals_sign_are_not_names() -> None:
    assert labelled(["smollm2", "org/name"]) == ["smollm2", "org/name"]
    assert labelled(["Base=smollm2", "org/x"]) == {"Base": "smollm2", "x": "org/x"}
    assert labelled(["runs/lr=3/model"]) == ["runs/lr=3/model"]


def test_a_map_needs_a_class() -> None:
    assert one_class(["hash=#"], None) == "hash"
    with pytest.raises(ClassRuleError, match="0 classes are given"):
        one_class(None, None)
