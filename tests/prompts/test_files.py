"""Files become prompts character for character; what cannot be read is named with its place."""

from __future__ import annotations

import json

import pytest

from mindshare.errors import PromptError
from mindshare.prompts import Message, read_chat, read_data, read_text


def written(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_is_kept_character_for_character(tmp_path):
    assert read_text(written(tmp_path, "a\r\nb \n")).text == "a\r\nb \n"


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert read_text(written(tmp_path, b"\xef\xbb\xbfabc")).text == "abc"
    assert [row.text for row in read_data(written(tmp_path, b'\xef\xbb\xbf{"text": "a"}'))] == ["a"]


def test_marks_in_files(tmp_path):
    assert read_text(written(tmp_path, "<<x>>a<</x>>"), marked=True).spans == {"x": ((0, 1),)}
    path = written(tmp_path, '{"text": "<<x>>a<</x>>"}')
    assert [row.spans for row in read_data(path, marked=True)] == [{"x": ((0, 1),)}]


def test_a_chat_file_is_a_list_or_an_object(tmp_path):
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}]
    plain = read_chat(written(tmp_path, json.dumps(turns)))
    assert plain.messages == (Message("system", "s"), Message("user", "hello"))
    full = {"messages": turns, "spans": {"x": [1, 0, 2]}, "id": "c"}
    prompt = read_chat(written(tmp_path, json.dumps(full)))
    assert (prompt.spans, prompt.id) == ({"x": ((1, 0, 2),)}, "c")


def test_data_rows_in_every_form(tmp_path):
    rows = [
        {"text": "one", "id": "r1", "spans": {"x": [0, 1], "y": [[0, 1], [2, 3]]}, "label": 7},
        {"prompt": "two", "id": 2},
        {"messages": [{"role": "user", "content": "three"}]},
        {"prompt": [{"role": "user", "content": "four"}]},
    ]
    path = written(tmp_path, "\n\n".join(map(json.dumps, rows)) + "\n")
    first, second, third, fourth = read_data(path)
    assert first.spans == {"x": ((0, 1),), "y": ((0, 1), (2, 3))}
    assert (first.id, second.id, second.text) == ("r1", "2", "two")
    assert third.messages == (Message("user", "three"),)
    assert fourth.messages == (Message("user", "four"),)


def test_data_is_streamed(tmp_path):
    rows = read_data(written(tmp_path, '{"text": "good"}\nnot json\n'))
    assert next(rows).text == "good"
    with pytest.raises(PromptError, match=r"not JSON: .* column 1 \(in .*file, line 2\)"):
        next(rows)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no rows"),
        ("\n \n", "no rows"),
        ("[1]", "JSON list, not an object .*line 1"),
        ('{"txt": "a", "label": 1}', "no column holds the prompt; columns found: txt, label"),
        ('{"text": "a", "prompt": "b"}', "several prompts; fields found: text, prompt"),
        ('{"text": 3}', r"text is int \(in .*line 1\)\nAllowed: a text"),
        ('{"text": null}', "text is empty"),
        ('{"messages": 3}', "messages is int"),
        ('{"messages": "a"}', "not JSON: .*line 1, column messages"),
        ('{"prompt": {}}', "a text or a list of messages"),
        ('{"text": ""}', r"the prompt is empty \(in .*line 1\)"),
        ('{"text": "a", "spans": [0, 1]}', "spans is list, not an object"),
        ('{"text": "a", "spans": {"x": [0, 9]}}', r"'x' \(0, 9\) is outside.*line 1"),
        ('{"text": "a", "id": 1.5}', r"id is 1\.5"),
        ('{"text": "a", "id": ""}', "id is ''"),
        ('{"messages": [{"role": "user"}]}', "message 0 needs"),
        ('{"text": "\\ud800"}', "surrogate"),
        ('{"text": "a"', "not JSON"),
        (b'{"text": "a"}\n{"text": "\xff"}', r"byte 10 is not UTF-8 \(0xff\) \(in .*line 2\)"),
        ("[" * 200_000, "nested too deeply"),
        (
            '{"text": "a", "id": "x"}\n{"text": "b", "id": "x"}',
            r"'x' is also that of line 1.*line 2",
        ),
    ],
)
def test_a_bad_row_is_named_with_file_and_line(tmp_path, content, message):
    with pytest.raises(PromptError, match=message):
        list(read_data(written(tmp_path, content)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "no chat here; found: none"),
        ('{"turns": []}', "no chat here; found: turns"),
        ('"hi"', "no chat here; found: str"),
        ("[]", r"no messages \(in .*file\)"),
        ('[\n{"role": }]', "not JSON: .* at line 2, column 10"),
        ('[{"role": "user", "content": 3}]', r"content is int, not text \(in .*file, message 0\)"),
    ],
)
def test_a_bad_chat_file_is_named(tmp_path, content, message):
    with pytest.raises(PromptError, match=message):
        read_chat(written(tmp_path, content))


@pytest.mark.parametrize("read", [read_text, read_chat, read_data])
def test_missing_files_and_folders_are_named_at_once(tmp_path, read):
    with pytest.raises(PromptError, match=r"no such file .*nothing"):
        read(tmp_path / "nothing")
    with pytest.raises(PromptError, match="folder, not a file"):
        read(tmp_path)


def test_text_that_is_empty_or_not_utf8(tmp_path):
    with pytest.raises(PromptError, match=r"the prompt is empty \(in .*file\)"):
        read_text(written(tmp_path, ""))
    with pytest.raises(PromptError, match="byte 2 is not UTF-8"):
        read_text(written(tmp_path, b"ab\xe9"))
