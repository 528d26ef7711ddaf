"""Heads for a close look: as people write them, and those that change most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from mindshare.api.candidates import Candidate, Loading
from mindshare.api.heads import check_heads, check_labels, heads_of, top_heads
from mindshare.api.insertion import RANKED_BY
from mindshare.errors import SelectionError
from mindshare.models import LoadedModel
from mindshare.tables import table

RUN = "/ ×3"


def summary(
    values: Mapping[tuple[int, int], float | None], measure: str, *, model: str = "m"
) -> pa.Table:
    """A `response_summary` in which each (layer, head) has this number."""
    rows = len(values)
    columns: dict[str, Any] = {
        "condition": [RUN] * rows,
        "model": [model] * rows,
        "layer": [layer for layer, _ in values],
        "head": [head for _, head in values],
        "measure": [measure] * rows,
        "n_prompts": [1] * rows,
        "n_groups": [1] * rows,
        "n_absent": [0] * rows,
        "reliable": [False] * rows,
        "mean": list(values.values()),
    }
    empty: dict[str, Any] = dict.fromkeys(
        ("sd", "se", "low", "high", "margin_family", "label"), [None] * rows
    )
    return table("response_summary", columns | empty, {})


# As people write them.


@pytest.mark.parametrize(
    ("given", "heads"),
    [
        (None, []),
        ("0.7", [(0, 7)]),
        ("0.0, 0.1 ,12.26", [(0, 0), (0, 1), (12, 26)]),
        ([(1, 2), [3, 4]], [(1, 2), (3, 4)]),
        ({"m": "0.7"}, [(0, 7)]),
        ({"m": [(0, 7)], "other": "1.1"}, [(0, 7)]),
        ({"other": "1.1"}, []),
        ({"m": None}, []),
    ],
)
def test_what_people_write(given: Any, heads: list[tuple[int, int]]) -> None:
    assert heads_of(given, "m") == heads


@pytest.mark.parametrize("text", ["", "3", "0.x", "0.0,", "-1.0", "0.0.1", "0:1", "0.0;0.1", "1.²"])
def test_what_names_no_head(text: str) -> None:
    with pytest.raises(SelectionError, match="names no head") as refused:
        heads_of(text, "m")
    assert refused.value.allowed == "LAYER.HEAD, 0-based, such as 0.0,0.7"


@pytest.mark.parametrize("given", [[3], [(1, 2, 3)], [("a", "b")], 7])
def test_heads_that_are_no_pairs_are_refused_in_words(given: Any) -> None:
    with pytest.raises(SelectionError, match="head"):
        heads_of(given, "m")


def test_heads_of_a_model_that_is_not_there() -> None:
    with pytest.raises(SelectionError, match="'gema', which is none of the models") as refused:
        check_labels({"llama": "0.0", "gema": "0.1"}, ["llama", "gemma"])
    assert "did you mean 'gemma'" in refused.value.what
    assert refused.value.allowed == "llama, gemma"


def test_heads_for_everyone_belong_to_no_label() -> None:
    given: list[Any] = [None, "0.0", [(0, 0)], {"llama": "0.0"}, {}]
    for one in given:
        check_labels(one, ["llama"])
    with pytest.raises(SelectionError, match="none of the models"):
        check_labels({"llama": "0.0"}, [])


def test_heads_that_the_model_lacks(base: LoadedModel) -> None:
    candidate = Candidate("tiny", base, Loading())
    check_heads([(0, 0), (1, 3)], candidate)
    for wrong in ((2, 0), (0, 4), (-1, 0), (0, -1)):
        name = f"head {wrong[0]}.{wrong[1]} does not exist: tiny has 2 layers of 4 heads"
        with pytest.raises(SelectionError, match=name) as refused:
            check_heads([(0, 0), wrong], candidate)
        assert refused.value.allowed == "0.0 to 1.3"


# Those that change most.


@pytest.mark.parametrize(
    ("measure", "values", "order"),
    [
        ("divergence", [0.1, 0.4, 0.2], [1, 2, 0]),  # more is more
        ("shape", [0.9, -0.2, 0.3], [1, 2, 0]),  # less in common is more
        ("affine_r2", [0.9, 0.99, 0.5], [2, 0, 1]),
        ("entropy_change", [0.1, -0.3, 0.2], [1, 2, 0]),  # up or down
        ("peak_shift", [-4, 1, 2], [0, 2, 1]),
        ("amplitude", [1.1, 1.0, 0.6], [2, 0, 1]),  # away from 1
        ("retained", [0.9, 0.2, 0.4], [1, 2, 0]),
    ],
)
def test_how_much_a_head_changes(measure: str, values: list[float], order: list[int]) -> None:
    content = summary({(0, head): value for head, value in enumerate(values)}, measure)
    found = top_heads(content, "m", RUN, by=measure, count=3)
    assert found == [(0, head) for head in order]
    assert top_heads(content, "m", RUN, by=measure, count=1) == found[:1]


def test_a_ratio_is_as_far_from_one_as_its_inverse() -> None:
    content = summary({(0, 0): 1.9, (0, 1): 0.25, (0, 2): 1.0}, "amplitude")  # a quarter is less
    assert top_heads(content, "m", RUN, by="amplitude", count=3) == [(0, 1), (0, 0), (0, 2)]


def test_alike_heads_come_in_their_order_and_heads_without_a_number_never() -> None:
    values = {(1, 0): 0.2, (0, 3): 0.2, (0, 1): None, (0, 2): 0.2, (1, 1): 0.3}
    content = summary(values, "divergence")
    found = top_heads(content, "m", RUN, by="divergence", count=9)
    assert found == [(1, 1), (0, 2), (0, 3), (1, 0)]


def test_only_rows_of_this_model_condition_and_measure_count() -> None:
    content = pa.concat_tables(
        [
            summary({(0, 0): 0.1, (0, 1): 0.2}, "divergence"),
            summary({(0, 0): 0.9}, "divergence", model="another"),
            summary({(0, 0): 0.9}, "amplitude"),
        ]
    )
    assert top_heads(content, "m", RUN, by="divergence", count=1) == [(0, 1)]
    for model, condition in (("another one", RUN), ("m", "he ×3")):
        with pytest.raises(SelectionError, match="has a number for 'divergence'") as refused:
            top_heads(content, model, condition, by="divergence", count=1)
        assert "name the heads to look at" in (refused.value.next_step or "")


def test_heads_that_rest_are_not_ranked() -> None:
    content = summary({(0, 0): 0.1, (1, 1): 0.9, (2, 0): 0.2}, "weight_evenness")
    place = content.column_names.index("label")
    content = content.set_column(
        place, content.schema.field(place), pa.array(["resting", None, "unchanged"])
    )
    assert top_heads(content, "m", RUN, by="weight_evenness", count=2) == [(2, 0), (1, 1)]
    assert "attention_left" not in RANKED_BY
