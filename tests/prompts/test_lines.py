"""Lines are kept character for character, one at a time; what is broken is said to be."""

from __future__ import annotations

import gzip

import pytest

from mindshare.errors import PromptError
from mindshare.prompts import lines as module
from mindshare.prompts.lines import json_rows, jsonl_rows, lines, text_rows


def written(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


def test_a_text_is_a_prompt_a_line(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbfone \r\n\n  \n two\n\xff\nthree")
    rows = list(text_rows(path).read(None))
    assert [row.values and row.values["text"] for row in rows] == ["one ", " two", None, "three"]
    assert [row.place.rpartition(", ")[2] for row in rows] == [
        "line 1",
        "line 4",
        "line 5",
        "line 6",
    ]
    assert rows[2].problem.what == "byte 0 is not UTF-8 (0xff)"


def test_only_a_line_end_ends_a_line(tmp_path):
    path = written(tmp_path, "a\x0bb\u2028c\x85d\rd\ne".encode())
    assert [row.values["text"] for row in text_rows(path).read(None)] == [
        "a\x0bb\u2028c\x85d\rd",
        "e",
    ]


def test_json_lines_know_no_columns_before(tmp_path):
    rows = jsonl_rows(written(tmp_path, b'{"a": 1}\n\n[2]\n'))
    first, second = rows.read(None)
    assert (rows.columns, first.values) == (None, {"a": 1})
    assert second.problem.what == "the row is a JSON list, not an object"


def test_an_array_is_rows(tmp_path):
    first, second = json_rows(written(tmp_path, b' [{"a": 1},\n 2]')).read(None)
    assert first.values == {"a": 1}
    assert second.problem.what == "the row is a JSON int, not an object"
    assert second.place.endswith("file, row 2")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{"a": 1}', "JSON dict, not an array"), (b'[\n{"a": }]', "not JSON: .* line 2, column 7")],
)
def test_what_is_no_array_is_refused(tmp_path, content, message):
    with pytest.raises(PromptError, match=message):
        json_rows(written(tmp_path, content))


def test_what_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_ARRAY", 1 << 20)
    monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    path = written(tmp_path, b"[" + b"1," * (1 << 20))
    with pytest.raises(PromptError, match=r"more than 1 MB .*\nNext: write it as JSON Lines"):
        json_rows(path)
    with pytest.raises(PromptError, match="a line has more than 1 MB"):
        list(lines(path))


def test_a_line_of_exactly_the_limit_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 4)
    assert list(lines(written(tmp_path, b"abc\nd"))) == [b"abc\n", b"d"]


def test_a_packed_file_that_ends_too_early(tmp_path):
    whole = gzip.compress(b'{"text": "a"}\n' * 1000)
    path = written(tmp_path, whole[:-20], "rows.jsonl.gz")
    with pytest.raises(PromptError, match=r"cannot be read to the end: .*\(in .*rows.jsonl.gz\)"):
        list(jsonl_rows(path).read(None))
    with pytest.raises(PromptError, match="cannot be read to the end: Not a gzipped file"):
        list(jsonl_rows(written(tmp_path, b"plain", "x.gz")).read(None))
