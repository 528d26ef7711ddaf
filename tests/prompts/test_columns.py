"""Which column is what, as people write it, values of every kind, and which rows are wanted."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.cli.sources import SourceOptions
from mindshare.errors import PromptError
from mindshare.prompts import DataSource, parse_columns
from mindshare.prompts.columns import PARTS, choose_columns, parse_filter
from mindshare.prompts.given import as_prompts
from mindshare.prompts.rows import ROW_FORM


def chosen(mapping, known, **options):
    return choose_columns(mapping, known, where="x", **options)


def test_mappings_as_they_are_written():
    assert parse_columns(["prompt=question", " id = the key ", "group="]) == {
        "prompt": "question",
        "id": "the key",
        "group": "",
    }
    assert parse_columns(["prompt=a=b"]) == {"prompt": "a=b"}


@pytest.mark.parametrize(
    ("written", "message"),
    [(["question"], "'question' maps no column"), (["id=a", "id=b"], "'id' is mapped twice")],
)
def test_what_is_no_mapping(written, message):
    with pytest.raises(PromptError, match=message):
        parse_columns(written)


def test_every_list_of_columns_names_every_part():
    docs = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    (of_docs,) = [line for line in docs.splitlines() if "--column PART=COLUMN" in line]
    of_cli = SourceOptions.options["column"].help
    for words in (ROW_FORM, as_prompts.__doc__, DataSource.__doc__, of_cli, of_docs):
        assert words is not None
        assert set(PARTS) <= set(re.findall(r"\w+", words)), words


def test_columns_are_those_of_these_names():
    found = chosen({}, ["text", "id", "other", "spans"])
    assert found.content == (("text", "text"),)
    assert found.used == {"text", "id", "spans"}


def test_a_mapped_content_is_the_only_one():
    assert chosen({"messages": "chat"}, ["text", "chat"]).content == (("messages", "chat"),)
    assert chosen({"text": ""}, ["text", "prompt"]).content == (("prompt", "prompt"),)


def test_rows_of_their_own_may_have_any_content():
    found = chosen({}, ["text"], fixed=False)
    assert found.prompt({"prompt": "a"})[0].text == "a"
    assert found.prompt({"text": None, "prompt": "a"})[0].text == "a"


@pytest.mark.parametrize(
    ("values", "group", "answer"),
    [
        ({"group": 3, "answer": 4}, "3", "4"),
        ({"group": True, "answer": True}, "true", "true"),
        ({"group": 1.5, "answer": [1, "ü"]}, "1.5", '[1, "ü"]'),
        ({"group": datetime.date(2024, 5, 6), "answer": ""}, "2024-05-06", ""),
        ({"group": "", "answer": None}, None, None),
    ],
)
def test_groups_and_answers_become_text(values, group, answer):
    found, named = chosen({}, None).prompt({"text": "a", **values})
    assert (found.group, found.answer, named) == (group, answer, False)


def test_an_id_of_its_own_is_known():
    assert chosen({}, None).prompt({"text": "a", "id": 0})[1] is True


def test_json_in_a_cell():
    columns = chosen({}, ["messages", "spans"])
    chat = '[{"role": "user", "content": "hi"}]'
    found, _ = columns.prompt({"messages": chat, "spans": '{"x": [0, 0, 2]}'})
    assert (found.messages[0].content, found.spans) == ("hi", {"x": ((0, 0, 2),)})
    with pytest.raises(PromptError, match="messages is dict"):
        columns.prompt({"messages": "{}", "spans": None})
    with pytest.raises(PromptError, match="spans is list, not an object"):
        columns.prompt({"messages": chat, "spans": "[1]"})


# Filters: numbers as numbers, the rest as text.


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
    for pattern, message in (
        ("[", r"'\[' is invalid.*filter 'x~\['"),
        ("a{99999999999999999999}", "invalid: a number of repeats is too large"),
        ("(" * 3_000 + ")" * 3_000, "invalid: it is nested too deeply"),
    ):
        with pytest.raises(PromptError, match=message):
            parse_filter(f"x~{pattern}")
