from __future__ import annotations

from mindshare.report.describing.statements import Statement, about
from mindshare.report.describing.tokens import Written


def test_a_statement_in_short() -> None:
    given = {"kind": "hash", "layer": 16, "model": "Tuned", "against": "Base"}
    assert about(given) == "layer 16, Tuned, minus Base, hash"
    assert about({"layer": (1, 2), "head": None}) == "layer 1 2"


def test_what_was_said() -> None:
    def said(number: Written, **more: Written) -> str:
        return Statement("value", number, {}, "", 1, **more).said

    low, high = Written(0.01, 0.005, "0.01"), Written(0.03, 0.005, "0.03")
    assert said(low, upto=high) == "0.01 to 0.03"
    assert said(Written(0.03, 0.005, "0.03", about=True)) == "~0.03"
    assert said(Written(0.03, 0.005, "0.03", relation="<")) == "< 0.03"


def test_the_order_of_words_decides_nothing() -> None:
    number = Written(0.1, 0.05, "0.1")
    one = Statement("value", number, {"layer": 1, "kind": "a"}, "x", 1)
    other = Statement("value", number, {"kind": "a", "layer": 1}, "y", 2)
    assert one.key == other.key
    assert one.key != Statement("value", number, {"kind": "a"}, "x", 1).key
