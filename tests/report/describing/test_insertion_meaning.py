from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mindshare.report.describing import Description, describe

from .made import Made, insertion_tables


def of(made: Made, *conditions: str) -> Description:
    return describe(insertion_tables(made, conditions or ("a1", "b1")), kind="insertion")


def test_what_is_planted_is_told() -> None:
    made = Made(models=("m",), layers=range(8), heads=(0, 1), noise=0.01, trend={"x": 0.1})
    text = of(made, "a1").text
    assert "m, a1: retained is highest in layer 7 (" in text
    assert "m, a1: retained rises with depth (rank correlation with the layer +1.00; p 0.0" in text
    assert "heads with a larger divergence than the median head, the largest first: layer 7" in text
    assert "All layers, m, a1: the original tokens receive more than before (amplitude 1.3" in text


def test_what_is_inserted_can_matter() -> None:
    made = Made(models=("m",), heads=(0, 1), noise=0.01, effect={"x": 1.0})
    text = of(made).text
    assert re.search(r"All layers, m, a1 minus b1: weight evenness is lower \(−0\.(29|30)", text)
    assert "it matters" not in text  # nothing is said twice


def test_models_can_be_told_apart() -> None:
    same = Made(heads=(0, 1), noise=0.01)
    assert "is higher in" not in of(same, "a1").text
    text = of(replace(same, effect={"model": 0.2}), "a1").text
    assert re.search(
        r"All layers, a1: retained is higher in Tuned \(0\.\d+ \[.*\) than in Base", text
    )


@pytest.mark.parametrize("made", [Made(prompts=1, heads=(0, 1)), Made(noise=0.4, heads=(0, 1))])
def test_where_nothing_can_be_told_nothing_is_claimed(made: Made) -> None:
    description = of(made)
    said, *others = description.observations.sentences
    alone = "Nothing can be told from chance with one prompt."
    assert said == alone if made.prompts == 1 else said.startswith("Over these prompts all is unde")
    for sentence in others:
        power = (
            r"is undecided, where a difference of \S+( \w+)? could have been found with 80 % power"
        )
        assert sentence.startswith("Heads by label") or re.search(power, sentence)
    first = description.interpretation.sentences[0]
    assert first == "These numbers support no claim about what the insertion does."


def test_it_says_what_attention_cannot_show() -> None:
    last = of(Made(heads=(0, 1))).interpretation.sentences[-1]
    assert "none of this is evidence of a cause" in last
