"""The four sources, their marks and the limit. Mistakes are in test_bad_input."""

from __future__ import annotations

import json
from pathlib import Path

from mindshare.cli.sources import Source


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
