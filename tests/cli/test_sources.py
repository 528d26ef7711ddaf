"""The four sources, their marks and the options of data. More mistakes are in test_bad_input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from mindshare.cli import options
from mindshare.cli.sources import Source
from mindshare.errors import PromptError


def test_text_with_and_without_marks() -> None:
    text = "see <<map>>##<</map>>"
    assert Source(text, None, None, None).read()[0].text == text
    marked = Source(text, None, None, None, marked=True).read()[0]
    assert (marked.text, marked.spans) == ("see ##", {"map": ((4, 6),)})


def test_file_keeps_its_line_ends() -> None:
    Path("map.txt").write_bytes(b"##\r\n**\n")
    assert Source(None, Path("map.txt"), None, None).read()[0].text == "##\r\n**\n"


def test_chat() -> None:
    Path("talk.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    messages = Source(None, None, Path("talk.json"), None).read()[0].messages
    assert messages is not None
    assert (messages[0].role, messages[0].content) == ("user", "hi")


def test_a_limit_does_not_read_what_follows() -> None:
    Path("rows.jsonl").write_text('{"text": "a"}\n{"text": "b"}\nnot JSON\n')
    found = Source(None, None, None, Path("rows.jsonl")).read(limit=2)
    assert [prompt.text for prompt in found] == ["a", "b"]


ROWS = "level,question,answer,topic\n1,Why?,because,a\n2,,no,a\n3,How?,so,b\n4,When?,now,b\n"


def data(**options: Any) -> Source:
    Path("rows.csv").write_text(ROWS)
    return Source(
        None, None, None, "rows.csv", columns=["prompt=question", "group=topic"], **options
    )


def test_data_with_all_its_options() -> None:
    found = data(where=["level>=3"], sample=1, sample_seed=2).read()
    assert [(one.text, one.group, one.answer) for one in found] in (
        [("How?", "b", "so")],
        [("When?", "b", "now")],
    )
    assert [one.text for one in data(where=["level!=2"]).read(limit=2)] == ["Why?", "How?"]


def test_rows_that_are_left_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    source = data(bad_rows="skip")
    assert [one.text for one in source.read()] == ["Why?", "How?", "When?"]
    assert capsys.readouterr().err == (
        "mindshare: warning: left out: question is empty (in rows.csv, row 2, line 3)\n"
    )
    reader = source.open()
    assert [one.text for one in reader] == ["Why?", "How?", "When?"]
    assert reader.bad == [("rows.csv, row 2, line 3", "question is empty")]


def test_many_rows_that_are_left_out_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.jsonl").write_text('{"text": ""}\n' * 20 + '{"text": "a"}\n')
    Source(None, None, None, "rows.jsonl", bad_rows="skip").read()
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 6
    assert told[-1].endswith("20 bad rows left out in all; the first 5 are above")


def test_one_prompt_has_no_bad_rows() -> None:
    reader = Source("a", None, None, None).open()
    assert ([one.text for one in reader], reader.bad) == (["a"], [])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"format": "csv"}, "--format"),
        ({"columns": ["id=a"]}, "--column"),
        ({"where": ["a=1"]}, "--where"),
        ({"sample": 3}, "--sample"),
        ({"sample_seed": 3}, "--sample-seed"),
        ({"bad_rows": "skip"}, "--bad-rows"),
    ],
)
def test_options_of_data_go_with_data(given: dict[str, Any], name: str) -> None:
    with pytest.raises(PromptError, match=f"{name} goes with --data"):
        Source("a", None, None, None, **given).read()


def test_the_options_are_those_of_a_source() -> None:
    """A command that takes them as they are written here reads what they say."""

    def command(
        data: options.DataOption = None,
        marked: options.Marked = False,
        limit: options.LimitOption = None,
        format: options.FormatOption = "auto",
        column: options.ColumnOption = None,
        where: options.WhereOption = None,
        sample: options.SampleOption = None,
        sample_seed: options.SampleSeedOption = 0,
        bad_rows: options.BadRowsOption = "stop",
    ) -> None:
        source = Source(
            *(None, None, None, data, marked, format, column, where, sample, sample_seed, bad_rows)
        )
        print([prompt.text for prompt in source.read(limit=limit)])

    app = typer.Typer()
    app.command()(command)
    Path("rows.csv").write_text(ROWS)
    given = ["--data", "rows.csv", "--column", "prompt=question", "--where", "level>1"]
    found = CliRunner().invoke(app, [*given, "--bad-rows", "skip", "--limit", "2"])
    assert "['How?', 'When?']" in found.output
    for option in ("--format", "--column", "--where", "--sample", "--sample-seed", "--bad-rows"):
        assert option in CliRunner().invoke(app, ["--help"], terminal_width=200).output
    piped = CliRunner().invoke(app, ["--data", "-", "--format", "text"], input="one\n\ntwo\n")
    assert piped.output == "['one', 'two']\n"
