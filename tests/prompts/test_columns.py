"""Which column is what, as people write it, and values of every kind."""

from __future__ import annotations

import datetime

import pytest

from mindshare.errors import PromptError
from mindshare.prompts import parse_columns
from mindshare.prompts.columns import choose_columns


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
