from __future__ import annotations

import re

import pytest

from mindshare.report.describing import Description, describe
from mindshare.stats import ranked

from .made import Made, class_tables

CLAIMS = re.compile(
    r"highest in|lowest in|has the (most|least)|more in|less in|rises|falls|differen"
)


def of(made: Made) -> Description:
    return describe(class_tables(made), kind="classes")


def test_a_planted_difference_is_told_with_its_interval() -> None:
    description = of(Made(effect={"star": 0.1}))
    number = r"\+0\.\d+ \[\+0\.\d+, \+0\.\d+\]"
    places = r"layers 0 to 3, of these most in layer \d"
    sentence = rf"Tuned minus Base, star: more in {places} \({number}\)\."
    assert any(re.fullmatch(sentence, s) for s in description.observations.sentences)
    assert "differently" not in description.interpretation.sentences[0]  # nothing is said twice
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
    only, *others = description.observations.sentences
    alone = "Nothing can be told from chance with one prompt."
    assert only == alone if made.prompts == 1 else only.startswith("Over these prompts all is unde")
    undecided = (
        r"Tuned minus Base, \w+: undecided in layers 0 to 3, in each of which a difference of "
    )
    power = r"0\.\d+ could have been found with 80 % power\."
    assert all(re.fullmatch(undecided + power, other) for other in others)
    assert len(others) == (0 if made.prompts == 1 else 3)
    first = description.interpretation.sentences[0]
    assert (
        first
        == "These numbers support no claim about differences between layers, classes or models."
    )
    for sentence in description.interpretation.sentences[1:]:
        assert not CLAIMS.search(sentence), sentence


def test_few_prompts_are_counted_and_claim_nothing() -> None:
    description = of(Made(prompts=2, effect={"star": 0.5}, trend={"hash": 0.5}))
    assert description.observations.sentences == (
        "Nothing can be told from chance with 2 prompts.",
    )
    assert "[" not in description.text
    assert description.short.endswith("Nothing can be told from chance with 2 prompts.")


def test_that_something_is_alike_is_never_the_headline() -> None:
    description = of(Made(noise=0.0))
    assert "differs by less than 10 % of the larger mean in layers 0 to 3" in description.text
    assert "less than 10 %" not in description.short


def test_a_highest_that_is_not_told_from_the_next_is_called_so() -> None:
    text = of(Made(models=("Base",), noise=0.2)).text
    number = r"\(0\.\d+ \[0\.\d+, 0\.\d+\]\)"
    assert re.search(rf"its largest mean is in layer \d {number}, undecided against layer", text)


def test_it_says_what_attention_cannot_show() -> None:
    for made in (Made(), Made(prompts=1), Made(effect={"star": 0.2})):
        assert "none of this is evidence of a cause" in of(made).interpretation.sentences[-1]


def test_a_mass_that_its_tokens_explain_is_called_so() -> None:
    made = Made(models=("Base",), layered=False, noise=0.02, effect={"space": 0.1})
    text = of(made).text
    assert (
        "Base: space has the most mass of the named classes in layers 0 to 3, yet less than" in text
    )
    assert "Mass alone would mislead about space: its lift says otherwise." in text


def test_heads_that_differ_are_named_the_largest_effect_first() -> None:
    made = Made(layers=range(4), heads=range(6), effect={"star": 0.2}, noise=0.05)
    tables = class_tables(made)
    text = describe(tables, kind="classes").text
    (line,) = [one for one in text.splitlines() if one.startswith("Tuned minus Base, star: more")]
    assert line.endswith("; and in further heads; the largest effect first.")
    found = re.findall(r"layer (\d), head (\d) \(\+0\.\d+ \[[^]]*\], effect \+\d+\.\d\d\)", line)
    rows = [r for r in ranked(tables["Tuned_minus_Base"]).to_pylist() if r["class"] == "star"]
    assert found == [(str(row["layer"]), str(row["head"])) for row in rows[:5]]
    assert "Tuned minus Base, hash: undecided" in text
