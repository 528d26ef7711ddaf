"""Lines, arrays and records, kept character for character; what is broken is said to be."""

from __future__ import annotations

import gzip
import json

import pytest

from mindshare.errors import PromptError
from mindshare.prompts import rows as module
from mindshare.prompts.formats import open_rows
from mindshare.prompts.rows import DataFile, csv_rows, json_rows, jsonl_rows, text_rows


def written(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content)
    return DataFile(path)


def test_a_text_is_a_prompt_a_line(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbfone \r\n\n  \n two\n\xff\nthree")
    rows = list(text_rows(path).read(None))
    assert [row.values.get("text") for row in rows] == ["one ", " two", None, "three"]
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


TWICE = (
    '{"text": "a", "text": "b"}',
    '{"messages": [{"role": "user", "role": "system", "content": "a"}]}',
    '{"text": "abc", "spans": {"x": [0, 1], "x": [1, 2]}}',
    '{"text": "a", "level": 1, "level": 2}',
)


@pytest.mark.parametrize("twice", TWICE)
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_a_key_that_stands_twice_makes_a_row_bad(tmp_path, kind, twice):
    """Which of the two values was meant is not for us to guess."""
    rows = ['{"text": "first, ]"}', twice, "[3]", '{"text": "last"}']
    content = "\n".join(rows) if kind == "jsonl" else f" [{' ,'.join(rows)}\t] "
    reader = {"jsonl": jsonl_rows, "json": json_rows}[kind]
    found = list(reader(written(tmp_path, content.encode())).read(None))
    assert [row.values.get("text") for row in found] == ["first, ]", None, None, "last"]
    assert "stands twice in one object" in found[1].problem.what
    assert found[1].problem.where == found[1].place
    assert found[1].place.endswith("2")


def test_what_is_no_array_is_refused_whatever_stands_twice_in_it(tmp_path):
    for content, message in (
        (b'{"a": 1, "a": 2}', "JSON dict, not an array"),
        (b'[{"a": 1, "a": 2},]', "not JSON: .* column 19"),
        (b'[{"a": 1, "a": 2}] x', "not JSON: Extra data"),
    ):
        with pytest.raises(PromptError, match=message):
            json_rows(written(tmp_path, content))


def test_what_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_ARRAY", 1 << 20)
    monkeypatch.setattr(module, "LONGEST_LINE", 1 << 20)
    path = written(tmp_path, b"[" + b"1," * (1 << 20))
    with pytest.raises(PromptError, match=r"more than 1 MB .*\nNext: write it as JSON Lines"):
        json_rows(path)
    (row,) = jsonl_rows(path).read(None)
    assert row.problem is not None


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_row_that_is_too_long_is_bad_and_the_next_is_read(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(module, "LONGEST_LINE", 1 << 16)
    long = b"x" * (1 << 21)
    if ending == "csv":  # the quotes of the long line still count: the cell goes on after it
        data = b'text\na\n"' + long + b'\nstill the cell"\nb\n' + long + b"\nc\n"
        rows = csv_rows(written(tmp_path, data))
    else:
        line = b'{"text": "%b"}\n'
        rows = jsonl_rows(
            written(tmp_path, b"".join(line % x for x in (b"a", long, b"b", long, b"c")))
        )
    found = [row.values.get("text") if row.problem is None else None for row in rows.read(None)]
    assert found == ["a", None, "b", None, "c"]


def test_the_rest_of_a_cell_that_is_too_long_is_no_record(tmp_path, monkeypatch):
    import csv

    monkeypatch.setattr(module, "LONGEST_CELL", 1 << 18)
    before = csv.field_size_limit(1 << 18)
    data = b'text\na\n"' + b"line\n" * (1 << 17) + b'"\nb\n'
    rows = list(csv_rows(written(tmp_path, data)).read(None))
    csv.field_size_limit(before)
    assert [row.values.get("text") for row in rows] == ["a", None, "b"]


def test_a_line_of_exactly_the_limit_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 4)
    assert list(written(tmp_path, b"abc\nd").lines()) == [b"abc\n", b"d"]


def test_a_packed_file_that_ends_too_early(tmp_path):
    whole = gzip.compress(b'{"text": "a"}\n' * 1000)
    path = written(tmp_path, whole[:-20], "rows.jsonl.gz")
    with pytest.raises(PromptError, match=r"cannot be read to the end: .*\(in .*rows.jsonl.gz\)"):
        list(jsonl_rows(path).read(None))
    with pytest.raises(PromptError, match="cannot be read to the end: Not a gzipped file"):
        list(jsonl_rows(written(tmp_path, b"plain", "x.gz")).read(None))


GZIP_HEADER = 10  # bytes


@pytest.mark.parametrize("name", ["rows.jsonl.gz", "rows.json.gz", "rows.csv.gz", "rows.txt.gz"])
@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: data[:-20],
        lambda data: data[:GZIP_HEADER] + b"\xff" * 8 + data[GZIP_HEADER + 8 :],
        lambda data: data[:-8] + bytes(4) + data[-4:],  # the checksum
        lambda data: b"plain" + data,
    ],
    ids=["short", "packed wrongly", "checksum", "no gzip"],
)
def test_a_packed_file_that_is_damaged_is_named_in_every_format(tmp_path, name, damaged):
    texts = [f"row {number * number}" for number in range(300)]
    content = {
        "rows.jsonl.gz": "".join(f'{{"text": "{text}"}}\n' for text in texts),
        "rows.json.gz": json.dumps([{"text": text} for text in texts]),
    }.get(name, "text\n" + "\n".join(texts))
    path = tmp_path / name
    path.write_bytes(damaged(gzip.compress(content.encode(), mtime=0)))
    with pytest.raises(PromptError, match=rf"cannot be read to the end: .*\(in .*{name}\)"):
        list(open_rows(str(path)).read(None))


# CSV and TSV.


def read(tmp_path, content, delimiter=","):
    path = tmp_path / "x"
    path.write_bytes(content)
    rows = csv_rows(DataFile(path), delimiter)
    return rows.columns, list(rows.read(None))


def short(rows):
    return [
        (row.place.partition(", ")[2], row.problem.what if row.problem else row.values)
        for row in rows
    ]


def test_cells_over_several_lines_count_once(tmp_path):
    columns, rows = read(tmp_path, b'id, text\r\n1,"a, ""b""\r\nc"\r\n\r\n2,d\r\n')
    assert columns == ("id", "text")
    assert short(rows) == [
        ("row 1, line 2", {"id": "1", "text": 'a, "b"\r\nc'}),
        ("row 2, line 5", {"id": "2", "text": "d"}),
    ]


def test_an_empty_cell_is_no_value(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbfid\ttext\n\ta\n", "\t")[1][0].values == {
        "id": None,
        "text": "a",
    }


def test_bad_records_do_not_take_the_others_with_them(tmp_path):
    content = b'id,text\n1,a\n2,b,c\n3\n4,"x"y\n5,\xff\n6,f\n7,"open\n'
    assert short(read(tmp_path, content)[1]) == [
        ("row 1, line 2", {"id": "1", "text": "a"}),
        ("row 2, line 3", "the row has 3 cells, the header 2"),
        ("row 3, line 4", "the row has 1 cells, the header 2"),
        ("row 4, line 5", "this is not CSV: ',' expected after '\"'"),
        ("row 5, line 6", "byte 2 is not UTF-8 (0xff) in line 6"),
        ("row 6, line 7", {"id": "6", "text": "f"}),
        ("row 7, line 8", "this is not CSV: unexpected end of data"),
    ]


def test_a_cell_may_be_long(tmp_path):
    long = b"x" * 1_000_000
    assert len(read(tmp_path, b"text\n" + long + b"\n")[1][0].values["text"]) == 1_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows, not even a header"),
        (b"\n\n", "no rows, not even a header"),
        (b"a,b,a\n1,2,3\n", r"two columns are named 'a' \(in .*x, header\)"),
        (b"a,\xff\n1,2\n", r"byte 2 is not UTF-8 \(0xff\) in line 1 \(in .*x, header\)"),
    ],
)
def test_a_header_that_names_no_columns_is_refused(tmp_path, content, message):
    with pytest.raises(PromptError, match=message):
        read(tmp_path, content)
