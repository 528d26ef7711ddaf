"""CSV and TSV: quoted line ends, empty cells, and what is no CSV, row by row."""

from __future__ import annotations

import pytest

from mindshare.errors import PromptError
from mindshare.prompts.delimited import delimited_rows


def read(tmp_path, content, format="csv"):
    path = tmp_path / "x"
    path.write_bytes(content)
    rows = delimited_rows(str(path), format)
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
    assert read(tmp_path, b"\xef\xbb\xbfid\ttext\n\ta\n", "tsv")[1][0].values == {
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
