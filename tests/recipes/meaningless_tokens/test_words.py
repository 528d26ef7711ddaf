"""Sentences from planted numbers: more, less, and undecided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mindshare.charts import Chart
from mindshare.recipes.meaningless_tokens.words import answers, estimate
from mindshare.stats import Resampling, summarise_response
from mindshare.table import table
from tests.stats.insertions import response_table

RUN, OTHER = "/ ×55", "random sentence"
QUICK = Resampling(resamples=200)


def chart(*, problems: int = 6, **numbers: Any) -> Chart:
    """Problems, 2 conditions, 2 layers of 3 heads; numbers broadcast to that shape."""
    size = (problems, 2, 2, 3)
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
            "overall": summarise_response(
                {"m": response}, over_heads=True, over_layers=True, options=QUICK
            ),
            "summary": summarise_response({"m": response}, options=QUICK),
        },
        measurements={},
        notes=(),
    )


def _conditions(response: pa.Table) -> pa.Table:
    prompts = list(dict.fromkeys(response["prompt"].to_pylist()))
    rows = [(p, c) for p in prompts for c in (RUN, OTHER)]
    size = len(rows)
    text: dict[str, Any] = dict.fromkeys(
        ("insertion", "place", "inserted_text", "text"), ["x"] * size
    )
    count: dict[str, Any] = dict.fromkeys(
        ("n_seam", "n_matched", "n_unmatched", "n_prompt_tokens"), [1] * size
    )
    names = {"prompt": [p for p, _ in rows], "condition": [c for _, c in rows]}
    return table("conditions", {**names, **text, **count, "n_inserted": [56] * size}, {})


def test_weight_lost_and_where() -> None:
    said = answers(chart(amplitude=0.5, peak_ratio=1.25))[1]
    assert said.startswith(
        "With '/ ×55', original tokens (mean over heads): over all layers they receive 0.500 "
        "[0.500, 0.500] times as much as without (less) and their highest peak is 1.250 [1.250, "
        "1.250] times as high (more); in layer 0 they receive 0.500"
    )
    noisy = np.random.default_rng(0).normal(1.0, 0.3, (6, 1, 1, 1))
    said = answers(chart(amplitude=noisy, peak_ratio=1.0))[1]
    assert said.count("(undecided)") == 4
    assert said.endswith("In single layers it is undecided.")


def test_few_problems_are_told_without_a_side() -> None:
    found = answers(chart(problems=3, amplitude=0.5, peak_ratio=0.25, weight_evenness=0.7))
    assert found[0].endswith("nothing can be told from chance with 3 problems.")
    assert "they receive 0.500 times as much as without and their highest peak" in found[1]
    assert not any(
        word in " ".join(found[1:4]) for word in ("(less)", "undecided", "more even", "[")
    )


def test_no_question_is_answered_with_yes_or_no() -> None:
    for problems in (1, 3, 6):
        said = " ".join(answers(chart(problems=problems, amplitude=0.5)))
        assert "?" not in said
        assert "Yes" not in said


def test_evenness_is_compared_with_the_random_sentence() -> None:
    uneven = np.array([0.9, 0.5]).reshape(1, 2, 1, 1)
    said = answers(chart(weight_evenness=uneven))[2]
    assert "0.900 [0.900, 0.900] against 0.500 [0.500, 0.500] over all layers (+0.400" in said
    assert said.count(", more even)") == 2
    assert answers(chart(weight_evenness=1.4 - uneven))[2].count(", less even)") == 2
    assert answers(chart(weight_evenness=0.7))[2].count(", undecided)") == 2


def test_the_factor_is_set_beside_lambda() -> None:
    said = answers(chart(affine_r2=0.8, affine_r2_after=1.0, factor=0.6, retained=0.5))[3]
    assert "0.800 [0.800, 0.800] in layer 0, and 1.000 [1.000, 1.000] there of those of" in said
    assert "the factor is 0.600 [0.600, 0.600] and what is retained, λ, 0.500" in said
    assert said.endswith("(difference +0.100 [+0.100, +0.100], above it).")


def test_layers_are_named_by_their_intervals() -> None:
    amplitude = np.array([0.5, 1.5]).reshape(1, 1, 2, 1)
    said = answers(chart(amplitude=amplitude, affine_r2=np.array([0.95, 0.2]).reshape(1, 1, 2, 1)))
    assert said[1].endswith("By layer they receive less in layer 0, more in layer 1.")
    assert "; more than 0.9 in layer 0." in said[3]


def test_heads_are_counted() -> None:
    kept: dict[str, Any] = {"shape": 0.99, "entropy_change": 0.0, "peak_ratio": 0.5}
    assert "with '/ ×55': 6 damped;" in answers(chart(amplitude=0.5, **kept))[4]


def test_an_interval_says_on_which_side_it_lies() -> None:
    found = estimate(np.array([1.0, 2.0, 2.0, 3.0, 4.0, 6.0]))
    assert (found.side(20), found.side(-20), found.side(3.5)) == (-1, 1, 0)
    number = found.number
    assert number.value == pytest.approx(3.0)
    assert number.low is not None
    assert number.high is not None
    assert number.low < 3.0 < number.high


def test_too_few_problems_have_no_interval_and_no_side() -> None:
    found = estimate(np.array([1.0, 2.0, 6.0]))
    assert str(found) == "3.000"
    assert found.side(0) == 0
