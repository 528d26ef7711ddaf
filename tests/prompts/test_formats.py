"""What a file is taken for: by its ending, by its first bytes, or not at all."""

from __future__ import annotations

import gzip

import pytest

from mindshare.errors import PromptError
from mindshare.prompts.formats import open_rows

from . import writing

ROWS = [{"text": "a"}, {"text": "b"}]


def texts(where, format="auto"):
    return [row.values["text"] for row in open_rows(str(where), format).read(None)]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("x.txt", b"a\nb\n", ["a", "b"]),
        ("x.TEXT", b"a\nb\n", ["a", "b"]),
        ("x.txt.gz", gzip.compress(b"a\nb\n"), ["a", "b"]),
        ("x.ndjson", b'{"text": "a"}', ["a"]),
        ("x.json", b'[{"text": "a"}]', ["a"]),
        ("x.json", b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}', ["a", "b"]),
        ("x.csv.gz", gzip.compress(b"text\na\n"), ["a"]),
        ("x.tab", b"id\ttext\n1\ta\n", ["a"]),
        ("x", b' \n{"text": "a"}', ["a"]),
        ("x.data", b"", []),
    ],
)
def test_the_name_or_the_first_bytes_say_the_format(tmp_path, name, content, found):
    (tmp_path / name).write_bytes(content)
    assert texts(tmp_path / name) == found


def test_parquet_is_known_by_its_first_bytes(tmp_path):
    assert texts(writing.parquet(tmp_path / "x", ROWS)) == ["a", "b"]


def test_what_is_said_counts_more_than_the_name(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("a\nb\n")
    assert texts(path, "text") == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "x.dat",
            b"a\n",
            r"name ends in \.dat, which says no format .*\nAllowed: text.*\nNext: say which",
        ),
        ("x", b"a\n", "name has no ending, which says no format"),
        ("x.txt", b'{"text": "a"}\n', "named as a text, but begins like JSON Lines"),
        ("x.parquet", b"nothing", "not a Parquet file"),
        ("x.gz", b"plain", "cannot be read to the end: Not a gzipped file"),
    ],
)
def test_what_could_be_two_things_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PromptError, match=message):
        open_rows(str(tmp_path / name))


def test_what_is_not_there(tmp_path, monkeypatch):
    with pytest.raises(PromptError, match=r"no such file .*gone\.csv"):
        open_rows(str(tmp_path / "gone.csv"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PromptError, match="a dataset of the hub is written hf:owner/name"):
        open_rows("owner/name")
    with pytest.raises(PromptError, match=r"cannot be read from standard input\nAllowed: text"):
        open_rows("-", "parquet")
    with pytest.raises(PromptError, match=r"no format 'parqet'; did you mean 'parquet'\?"):
        open_rows("x", "parqet")
    with pytest.raises(PromptError, match="a dataset has its own format"):
        open_rows("hf:owner/name", "csv")


def test_a_folder_of_files_is_read_in_the_order_of_their_names(tmp_path):
    for name, text in (("b", "2"), ("a", "1"), ("c", "3")):
        writing.parquet(tmp_path / f"{name}.parquet", [{"text": text}])
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "info.json").write_text("{}")
    assert texts(tmp_path) == ["1", "2", "3"]
    rows = open_rows(str(tmp_path))
    assert [row.place for row in rows.read({"text"})][2] == f"{tmp_path}/c.parquet, row 1"


def test_a_folder_of_csv_files(tmp_path):
    for name in "ab":
        writing.delimited(tmp_path / f"{name}.csv", [{"text": name, "id": 1}])
    assert texts(tmp_path) == ["a", "b"]


def test_a_folder_that_is_no_data_is_refused(tmp_path):
    with pytest.raises(PromptError, match="the folder holds no data"):
        open_rows(str(tmp_path))
    writing.parquet(tmp_path / "a.parquet", ROWS)
    writing.jsonl(tmp_path / "b.jsonl", ROWS)
    with pytest.raises(PromptError, match="several formats: jsonl, parquet"):
        open_rows(str(tmp_path))
    assert texts(tmp_path, "jsonl") == ["a", "b"]
    writing.parquet(tmp_path / "c.parquet", [{"text": "a", "more": 1}])
    with pytest.raises(
        PromptError, match=r"a.parquet and .*c.parquet differ in their columns: more"
    ):
        open_rows(str(tmp_path), "parquet")
