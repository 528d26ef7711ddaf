from __future__ import annotations

import pytest

from mindshare.runs.definition import definition_hash, differences, plain


def test_tuples_and_lists_are_the_same_definition() -> None:
    a, b = {"x": (1, 2), "y": {"k": None}}, {"y": {"k": None}, "x": [1, 2]}
    assert plain(a) == b
    assert differences(a, b) == []
    assert definition_hash(plain(a)) == definition_hash(b)


def test_only_what_differs_is_named() -> None:
    a = {"same": 1, "classes": {"hash": "#", "star": "*"}, "near": 0, "gone": {}}
    b = {"same": 1, "classes": {"hash": "##"}, "near": False}
    found = {one.name: (one.a_text, one.b_text) for one in differences(a, b)}
    assert found == {
        "classes.hash": ('"#"', '"##"'),
        "classes.star": ('"*"', "(not there)"),
        "gone": ("{}", "(not there)"),
        "near": ("0", "false"),
    }


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        plain({"x": float("nan")})
