"""Where prompts come from. Mistakes on the command line are in test_bad_input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mindshare.cli.sources import InsertSource, SourceOptions
from mindshare.errors import PromptError
from mindshare.prompts import Prompt, Prompts

ROWS = "level,question,answer,topic\n1,Why?,because,a\n2,,no,a\n3,How?,so,b\n4,When?,now,b\n"


def one(**given: Any) -> Prompt:
    (prompt,) = SourceOptions(**given).prompts()
    return prompt


def data(**given: Any) -> SourceOptions:
    Path("rows.csv").write_text(ROWS)
    return SourceOptions(data="rows.csv", column=("prompt=question", "group=topic"), **given)


def test_text_with_and_without_marks() -> None:
    text = "see <<map>>##<</map>>"
    assert one(text=text).text == text
    marked = one(text=text, marked=True)
    assert (marked.text, marked.spans) == ("see ##", {"map": ((4, 6),)})


def test_a_file_keeps_its_line_ends_and_a_chat_its_roles() -> None:
    Path("map.txt").write_bytes(b"##\r\n**\n")
    assert one(file=Path("map.txt")).text == "##\r\n**\n"
    Path("talk.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    (message,) = one(chat=Path("talk.json")).messages or ()
    assert (message.role, message.content) == ("user", "hi")


def test_a_system_message_goes_before_the_question() -> None:
    (prompt,) = InsertSource(text="Why?", system="Be brief.").prompts()
    assert [(m.role, m.content) for m in prompt.messages or ()] == [
        ("system", "Be brief."),
        ("user", "Why?"),
    ]


def test_a_limit_does_not_read_what_follows() -> None:
    Path("rows.jsonl").write_text('{"text": "a"}\n{"text": "b"}\nnot JSON\n')
    found = SourceOptions(data="rows.jsonl", limit=2).prompts()
    assert [prompt.text for prompt in found] == ["a", "b"]


def test_data_with_all_its_options() -> None:
    found = data(where=("level>=3",), sample=1, sample_seed=2).prompts()
    assert [(p.text, p.group, p.answer) for p in found] in (
        [("How?", "b", "so")],
        [("When?", "b", "now")],
    )
    found = data(where=("level!=2",), limit=2).prompts()
    assert [prompt.text for prompt in found] == ["Why?", "How?"]


def test_rows_that_are_left_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(bad_rows="skip").prompts()
    assert [prompt.text for prompt in found] == ["Why?", "How?", "When?"]
    assert isinstance(found, Prompts)
    assert found.bad == [("rows.csv, row 2, line 3", "question is empty")]
    (told,) = capsys.readouterr().err.splitlines()
    assert "question is empty" in told
    assert "rows.csv, row 2, line 3" in told


def test_many_rows_that_are_left_out_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text('{"text": ""}\n' * 20 + '{"text": "a"}\n')
    SourceOptions(data="rows.jsonl", bad_rows="skip").prompts()
    *first, last = capsys.readouterr().err.splitlines()
    assert len(first) == 5
    assert "20 bad rows" in last


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"format": "csv"}, "--format"),
        ({"column": ("id=a",)}, "--column"),
        ({"where": ("a=1",)}, "--where"),
        ({"sample": 3}, "--sample"),
        ({"sample_seed": 3}, "--sample-seed"),
        ({"bad_rows": "skip"}, "--bad-rows"),
    ],
)
def test_options_of_data_go_with_data(given: dict[str, Any], name: str) -> None:
    with pytest.raises(PromptError, match=f"{name} goes with --data"):
        SourceOptions(text="a", **given).prompts()
