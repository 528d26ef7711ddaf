from __future__ import annotations

import pytest

from mindshare.figures.insertion.version_words import (
    called,
    definition,
    file_name,
    named,
    queries,
    where,
)
from mindshare.figures.theme import Style


def test_names_made_of_signs_get_quotes() -> None:
    assert called("/ ×55", {}) == "“/\xa0×55”"
    assert called("random sentence", {}) == "random sentence"
    assert called("/ ×55", {"/ ×55": "slashes"}) == "slashes"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ((0, 7), "Layer 1 Head 8"),
        ((0, None), "Layer 1, mean over the heads"),
        ((None, None), "Mean over layers and heads"),
    ],
)
def test_heads_are_named_as_they_are_labelled(head: tuple, words: str) -> None:
    assert where(head, Style(labels="one-based")) == words


def test_whose_attention_it_is_comes_from_the_caller_or_from_the_study() -> None:
    study = {"mindshare.definition": '{"queries": "original", "near": -1}'}
    assert queries({}, study) == "tokens that were not inserted, i ≥ j"
    assert queries({"queries": "mine"}, study) == "mine"
    assert queries({}, {}) is None


def test_the_definition_explains_its_signs_and_no_more() -> None:
    about = {"queries": "every token", "data": "20 prompts"}
    both = definition(
        ["retained", "received"], about=about, metadata={}, style=Style(), marks=["A mark."]
    )
    for part in ("A[i,j] is", "A' is", "Query set Q: every token.", "A mark.", "Data: 20 prompts."):
        assert part in both, part
    alone = definition(["retained"], about=about, metadata={}, style=Style(), marks=[])
    assert "Query set Q" not in alone  # its queries are in its own definition


def test_words_become_names_of_files_and_measures_become_words() -> None:
    assert file_name("map", "amplitude", "/ ×55") == "map_amplitude_55"
    assert file_name("text", "//") == "text_x"
    assert named("affine_r2_after") == "Affine R² after"
    assert named("entropy_change") == "Entropy change"
