from __future__ import annotations

import re

import pytest

from mindshare.report.describing import Description, describe

from .made import Made, class_tables

CLAIMS = re.compile(
    r"highest in|lowest in|has the (most|least)|more in|less in|rises|falls|differen"
)


def of(made: Made) -> Description:
    return describe(class_tables(made), kind="classes")


def test_a_planted_difference_is_told_with_its_interval() -> None:
    description = of(Made(effect={"star": 0.1}))
    number = r"\+0\.\d+ \[\+0\.\d+, \+0\.\d+\]"
    sentence = rf"Tuned minus Base, star: more in layers 0 to 3, most in layer \d \({number}\)\."
    assert any(re.fullmatch(sentence, s) for s in description.observations.sentences)
    assert "Tuned and Base attend to star differently in layers 0 to 3." in description.text
    assert "Tuned minus Base, star: more in layers 0 to 3" in description.short


def test_a_trend_is_told_with_what_supports_it() -> None:
    text = of(Made(layers=range(12), trend={"hash": 0.5})).text
    support = r"\(rank correlation with the layer \+\d\.\d\d; p 0\.0\d+ among random orders\)"
    assert re.search(rf"Base: hash rises with depth {support}", text)


@pytest.mark.parametrize(
    "made",
    [Made(prompts=1), Made(prompts=1, effect={"star": 0.5}), Made(noise=0.5, layered=False)],
)
def test_where_nothing_can_be_told_nothing_is_claimed(made: Made) -> None:
    description = of(made)
    (only,) = description.observations.sentences
    assert only.startswith("None: ")
    first = description.interpretation.sentences[0]
    assert (
        first
        == "These numbers support no claim about differences between layers, classes or models."
    )
    for sentence in (only, *description.interpretation.sentences[1:]):
        assert not CLAIMS.search(sentence), sentence


def test_it_says_what_attention_cannot_show() -> None:
    for made in (Made(), Made(prompts=1), Made(effect={"star": 0.2})):
        assert "none of this is evidence of a cause" in of(made).interpretation.sentences[-1]


def test_a_mass_that_its_tokens_explain_is_called_so() -> None:
    made = Made(models=("Base",), layered=False, noise=0.02, effect={"space": 0.1})
    text = of(made).text
    assert (
        "Base: space has the most mass of the named classes in layers 0 to 3, yet less than" in text
    )
    assert "mass alone would mislead about space" in text


def test_heads_that_differ_are_named_the_farthest_first() -> None:
    made = Made(layers=range(4), heads=range(6), effect={"star": 0.2}, noise=0.05)
    text = of(made).text
    number = r"\(\+0\.\d+ \[\+0\.\d+, \+0\.\d+\]\)"
    top = rf"star: more in layer \d, head \d {number} most, and in many heads, among them layer \d"
    assert re.search(top, text)
    assert "Tuned: the head matters" in text or "no head can be told" in text
