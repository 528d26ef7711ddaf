"""Tests of rows, as people write them: numbers as numbers, the rest as text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts.filters import parse_filter


def holds(written, value):
    return parse_filter(written).holds({"x": value})


@pytest.mark.parametrize(
    ("written", "passing", "failing"),
    [
        ("x=3", [3, 3.0, "3", " 3.0 ", Decimal("3.00"), "3e0"], [4, "three", None, True, "33", ""]),
        ("x!=3", [4, "three", None, True], [3, "3.0"]),
        ("x==a", ["a"], ["A", "=a", None]),
        ("x = a b ", ["a b"], ["a b ", "ab"]),
        ("x<10", [9, "9", -1, 9.5, Decimal("9.9")], [10, "10", "a", None, "", True, float("nan")]),
        ("x<=10", [10, "10.0"], [11]),
        ("x>1e3", [1001, "1001"], [1000, "999", "z"]),
        ("x>=2024-01-01", ["2024-01-01", "2025"], ["2023-12-31", None]),
        ("x=", [None, ""], ["a", 0, False]),
        ("x!=", ["a", 0], [None, ""]),
        ("x=true", [True, "true"], [False, "True", 1]),
        ("x=TRUE", [True], [False]),
        ("x~^a.*z$", ["abcz", "az"], ["zaz", None]),
        ("x~\\d", [5, "a5", [1]], ["a", None]),
        ("x=a=b<c", ["a=b<c"], ["a"]),
        ("x=[1, 2]", [[1, 2]], [[1]]),
        ("x=9007199254740993", [9007199254740993, "9007199254740993"], [9007199254740992]),
    ],
)
def test_what_passes(written, passing, failing):
    assert [holds(written, value) for value in passing] == [True] * len(passing)
    assert [holds(written, value) for value in failing] == [False] * len(failing)


def test_a_column_that_a_row_does_not_have_is_empty():
    assert parse_filter("y=").holds({"x": 1})
    assert not parse_filter("y<5").holds({"x": 1})


@given(
    st.integers() | st.floats(allow_nan=False),
    st.integers() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_every_number_is_less_equal_or_greater(value, bound):
    three = [holds(f"x{sign}{bound!r}", value) for sign in ("<", "=", ">")]
    assert three == [value < bound, value == bound, value > bound]
    assert holds(f"x<={bound!r}", value) is (three[0] or three[1])
    assert holds(f"x!={bound!r}", str(value)) is not holds(f"x={bound!r}", str(value))


def test_a_name_may_have_a_space_or_an_exclamation_mark():
    assert parse_filter("my column!x>=3").column == "my column!x"


@pytest.mark.parametrize("written", ["", "x", "=3", " >3", "x!3", "x!~3"])
def test_what_is_no_test_is_refused(written):
    with pytest.raises(PromptError, match=r"cannot be read\nAllowed: COLUMN=VALUE"):
        parse_filter(written)


def test_a_pattern_that_is_invalid_is_refused():
    with pytest.raises(PromptError, match=r"'\[' is invalid.*filter 'x~\['"):
        parse_filter("x~[")
