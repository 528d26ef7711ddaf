"""Three readers of one chart, and where they contradict one another."""

from __future__ import annotations

from mindshare_checker import Disagreement, compare_texts
from mindshare_checker.compare import infer_names

from .readings import FIRST, TEXTS


def about(one: Disagreement) -> tuple:
    return one.given["layer"], one.given["model"], one.given.get("token_class", one.what)


def values(one: Disagreement) -> dict[str, float]:
    return {said.source: said.number.value for said in one.statements}


def test_the_three_readers_contradict_one_another() -> None:
    found = {about(one): values(one) for one in compare_texts(TEXTS, tolerance=0.005).disagreements}
    assert found[0, "Qwen-Instruct", "hash"] == {"first": 0.032, "second": 0.075, "third": 0.05}
    assert found[20, "Qwen-Phys", "total"] == {"first": 0.079, "second": 0.04, "third": 0.08}
    assert found[16, "Qwen-Phys", "star"] == {"first": 0.055, "second": 0.025, "third": 0.06}
    assert found[0, "Qwen-Phys", "whitespace"] == {"first": 0.03, "second": 0.005, "third": 0.02}
    assert (0, "Qwen-Phys", "total") not in found  # 0.098, 0.095, 0.10
    assert (16, "Qwen-Instruct", "whitespace") not in found  # 0.012, 0.005, 0.01


def test_a_line_says_where_and_what() -> None:
    lines = str(compare_texts(TEXTS, tolerance=0.005)).splitlines()
    assert lines[0] == (
        "layer 0, Qwen-Instruct, hash: ~0.032 (first, line 10); ~0.075 (second, line 13); "
        "~0.05 (third, line 9)"
    )


def test_the_widest_come_first_and_less_tolerance_finds_more() -> None:
    some, fewer, fewest = (
        compare_texts(TEXTS, tolerance=tolerance).disagreements for tolerance in (0.0, 0.005, 0.02)
    )
    spreads = [one.spread for one in some]
    assert spreads == sorted(spreads, reverse=True)
    assert len(some) > len(fewer) > len(fewest)


def test_what_could_not_be_read_is_said() -> None:
    found = compare_texts(TEXTS, tolerance=0.005)
    reasons = {(one.source, one.said): one.why for one in found.unread}
    assert reasons["first", "0.00"] == "about the picture, not about a number in it"
    assert reasons["third", "~0.10"] == "it is not said which model"
    assert ("third", "< 0.03") in reasons
    assert found.agreed > 0
    assert f"{len(found.unread)} could not be read" in str(found).splitlines()[-1]


def test_they_do_not_agree_which_class_is_the_largest() -> None:
    leaders = compare_texts(TEXTS).leaders
    same = "layer 16, Qwen-Phys: the largest class is not the same"
    assert f"{same}: star (first); hash (second); star (third)" in leaders


def test_the_same_text_does_not_contradict_itself() -> None:
    found = compare_texts({"a": TEXTS["first"], "b": TEXTS["first"]})
    assert found.disagreements == ()
    assert found.agreed > 20


def test_a_text_can_contradict_itself() -> None:
    text = "**Layer 3:**\n* **A-1:** Hash 0.10.\n**Layer 4:**\n* **A-1:** Hash 0.20.\n"
    (one,) = compare_texts({"it": text + "In Layer 3, A-1 gives Hash 0.30.\n"}).disagreements
    assert values(one) == {"it": 0.3}
    assert [said.line for said in one.statements] == [2, 5]


def test_texts_without_numbers() -> None:
    found = compare_texts({"a": "Nothing.", "b": ""})
    assert (found.disagreements, found.agreed, found.unread) == ((), 0, ())


def named(part: str, *texts: str) -> set[str]:
    return {one.name for one in infer_names(texts).names.values() if one.part == part}


def test_models_and_classes_of_the_three_readers_are_inferred() -> None:
    for text in TEXTS.values():
        assert named("model", text) == {"Qwen-Phys", "Qwen-Instruct"}
        assert named("token_class", text) == {"hash", "star", "whitespace"}
    assert "Trend" in FIRST  # a label without numbers
    assert infer_names(["**Layer 0:**\n* **A:** grows.", ""]).names == {}
