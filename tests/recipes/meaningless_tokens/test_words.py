"""Answers from planted numbers: yes, no, and not clearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.charts import Chart
from mindshare.recipes.meaningless_tokens.words import Estimate, answers, estimate
from mindshare.stats import Resampling, summarise_response
from mindshare.table import table
from tests.stats.insertions import response_table

RUN, OTHER = "/ ×55", "random sentence"
QUICK = Resampling(resamples=200)


def chart(**numbers: Any) -> Chart:
    """4 problems, 2 conditions, 2 layers of 3 heads; numbers broadcast to that shape."""
    size = (4, 2, 2, 3)
    planted: dict[str, Any] = {
        name: np.broadcast_to(np.asarray(x, float), size) for name, x in numbers.items()
    }
    response = response_table(np.ones(size), conditions=(RUN, OTHER), **planted)
    return Chart(
        figures=(),
        tables={
            "response": response,
            "conditions": _conditions(response),
            "by_layer": summarise_response({"m": response}, over_heads=True, options=QUICK),
            "summary": summarise_response({"m": response}, options=QUICK),
        },
        measurements={},
        notes=(),
    )


def _conditions(response: pa.Table) -> pa.Table:
    prompts = list(dict.fromkeys(response["prompt"].to_pylist()))
    rows = [(p, c) for p in prompts for c in (RUN, OTHER)]
    text: dict[str, Any] = dict.fromkeys(("insertion", "place", "inserted_text", "text"), ["x"] * 8)
    count: dict[str, Any] = dict.fromkeys(
        ("n_seam", "n_matched", "n_unmatched", "n_prompt_tokens"), [1] * 8
    )
    names = {"prompt": [p for p, _ in rows], "condition": [c for _, c in rows]}
    return table("conditions", {**names, **text, **count, "n_inserted": [56] * 8}, {})


def test_weight_lost_and_where() -> None:
    said = answers(chart(amplitude=0.5, peak_ratio=0.25))[1]
    assert said.startswith("Do the original tokens lose weight? Yes: in layer 0 they receive 0.500")
    assert "Mostly at their peaks? Yes: their highest peak loses more" in said
    said = answers(chart(amplitude=0.5, peak_ratio=0.75))[1]
    assert "No: their highest peak loses less than the whole" in said
    said = answers(chart(amplitude=1.5, peak_ratio=1.5))[1]
    assert "lose weight? No:" in said


def test_evenness_is_compared_with_the_random_sentence() -> None:
    uneven = np.array([0.9, 0.5]).reshape(1, 2, 1, 1)
    assert (
        "uneven ones? Yes: evenness in layer 0 0.900" in answers(chart(weight_evenness=uneven))[2]
    )
    assert "uneven ones? No:" in answers(chart(weight_evenness=1.4 - uneven))[2]
    assert "uneven ones? Not clearly:" in answers(chart(weight_evenness=0.7))[2]


def test_the_factor_is_set_beside_lambda() -> None:
    said = answers(chart(affine_r2=0.8, affine_r2_after=1.0, factor=0.6, retained=0.5))[3]
    assert "one factor a query explains 1.000 [1.000, 1.000] of A'" in said
    assert "the factor is above λ: 0.600 [0.600, 0.600] against 0.500" in said


def test_layers_are_named_by_their_intervals() -> None:
    amplitude = np.array([0.5, 1.5]).reshape(1, 1, 2, 1)
    said = answers(chart(amplitude=amplitude, affine_r2=np.array([0.95, 0.2]).reshape(1, 1, 2, 1)))
    assert "receive less than without in layers 0, more in layers 1 " in said[4]
    assert "at least 0.9 of A' in layers 0." in said[4]


def test_heads_are_counted() -> None:
    kept: dict[str, Any] = {"shape": 0.99, "entropy_change": 0.0, "peak_ratio": 0.5}
    assert "With '/ ×55': 6 damped." in answers(chart(amplitude=0.5, **kept))[5]


def test_an_interval_says_on_which_side_it_lies() -> None:
    assert Estimate(1.5, 1.2, 1.8).side(1) == 1
    assert Estimate(0.5, 0.2, 0.8).side(1) == -1
    assert Estimate(1.0, 0.9, 1.2).side(1) == 0
    found = estimate(np.array([1.0, 2.0, 3.0, 6.0]))
    assert found.mean == pytest.approx(3.0)
    assert found.low < 3.0 < found.high
