"""Rows of any format become the same prompts; what is left out is said, and nothing vanishes."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts import BadRow, DataSource, Message, Prompt

from . import writing

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(characters, min_size=1, max_size=30)


def prompts(where, **options):
    return list(DataSource(where, **options).open())


def ids(where, **options):
    return [prompt.id for prompt in prompts(where, **options)]


def lines(path, *rows):
    return writing.jsonl(path, rows)


@st.composite
def text_rows(draw):
    found = draw(st.lists(st.fixed_dictionaries({"prompt": texts}), min_size=1, max_size=9))
    for number, row in enumerate(found):
        row["id"] = f"r{number}"
        row["answer"] = draw(st.none() | texts)
        row["group"] = draw(st.none() | texts)
        row["spans"] = {"all": [0, len(row["prompt"])], "first": [[0, 1]]}
    return found


@settings(max_examples=25, deadline=None)
@given(text_rows())
def test_texts_are_the_same_prompts_in_every_format(rows):
    wanted = [
        Prompt.from_text(
            row["prompt"], row["spans"], id=row["id"], group=row["group"], answer=row["answer"]
        )
        for row in rows
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, write in writing.WRITERS.items():
            assert prompts(write(Path(folder) / name, rows)) == wanted, name


turns = st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": texts})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(turns, min_size=1, max_size=3), min_size=1, max_size=9))
def test_chats_are_the_same_prompts_in_every_format(chats):
    rows = [{"messages": chat, "id": number} for number, chat in enumerate(chats)]
    wanted = [Prompt.from_chat(row["messages"], id=str(row["id"])) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        for name, write in writing.WRITERS.items():
            assert prompts(write(Path(folder) / name, rows)) == wanted, name


def test_columns_are_mapped_by_name(tmp_path):
    rows = [{"question": "Why?", "solution": 42, "topic": "x", "text": "no", "key": 7}]
    mapping = {"prompt": "question", "answer": "solution", "group": "topic", "id": "key"}
    for name, write in writing.WRITERS.items():
        (found,) = prompts(write(tmp_path / name, rows), columns=mapping)
        assert (found.text, found.answer, found.group, found.id) == ("Why?", "42", "x", "7")


def test_places_name_the_row(tmp_path):
    rows = [{"text": "a\nb"}, {"text": "c"}]
    places = {
        name: prompts(write(tmp_path / name, rows))[1].place.removeprefix(f"{tmp_path}/")
        for name, write in writing.WRITERS.items()
    }
    assert places == {
        "rows.jsonl": "rows.jsonl, line 2",
        "rows.json": "rows.json, row 2",
        "rows.jsonl.gz": "rows.jsonl.gz, line 2",
        "rows.csv": "rows.csv, row 2, line 4",
        "rows.tsv": "rows.tsv, row 2, line 4",
        "rows.parquet": "rows.parquet, row 2",
        "rows": "rows, row 2",
    }


# Ids.


def test_the_same_content_again_gets_a_number(tmp_path):
    same = Prompt.from_text("a").id
    path = lines(tmp_path / "x.jsonl", *[{"text": text} for text in "abaca"])
    found = prompts(path)
    assert [prompt.id for prompt in found] == [
        same,
        Prompt.from_text("b").id,
        f"{same}-2",
        Prompt.from_text("c").id,
        f"{same}-3",
    ]
    assert [prompt.text for prompt in found] == list("abaca")


def test_a_number_that_is_taken_is_passed_over(tmp_path):
    same = Prompt.from_text("a").id
    rows = [{"text": "x", "id": f"{same}-2"}, {"text": "a"}, {"text": "a"}]
    assert ids(lines(tmp_path / "x.jsonl", *rows)) == [f"{same}-2", same, f"{same}-3"]


def test_an_id_twice_is_a_bad_row_with_both_places(tmp_path):
    rows = [{"text": "a", "id": "x"}, {"text": "b", "id": 5}, {"text": "c", "id": "x"}]
    path = lines(tmp_path / "x.jsonl", *rows)
    with pytest.raises(PromptError, match=r"'x' is also that of line 1 \(in .*x.jsonl, line 3\)"):
        prompts(path)
    reader = DataSource(path, bad_rows="skip").open()
    assert [prompt.id for prompt in reader] == ["x", "5"]
    assert reader.bad == [(f"{path}, line 3", "the id 'x' is also that of line 1")]


# Filters, samples, limits.


def test_filters_must_all_hold_in_every_format(tmp_path):
    rows = [{"text": f"t{n}", "level": n, "kind": "ab"[n % 2]} for n in range(1, 13)]
    for name, write in writing.WRITERS.items():
        found = prompts(write(tmp_path / name, rows), filters=("level>=9", "kind=b"))
        assert [prompt.text for prompt in found] == ["t9", "t11"], name


def test_a_limit_is_the_first_of_the_sample_of_what_passes(tmp_path):
    rows = [{"text": f"t{n}", "level": n} for n in range(100)]
    for name, write in writing.WRITERS.items():
        path = write(tmp_path / name, rows)
        some = {"filters": ("level>=50",), "sample": 9, "sample_seed": 3}
        drawn = [int(prompt.text[1:]) for prompt in prompts(path, **some)]
        assert len(set(drawn)) == 9
        assert drawn == sorted(drawn)
        assert min(drawn) >= 50
        limited = prompts(path, **some, limit=4)
        assert [int(prompt.text[1:]) for prompt in limited] == drawn[:4]
        if name == "rows.jsonl":
            first = drawn
        assert drawn == first  # the format does not matter


def test_a_larger_sample_contains_the_smaller(tmp_path):
    path = lines(tmp_path / "x.jsonl", *[{"text": f"t{n}"} for n in range(60)])
    samples = [set(ids(path, sample=size)) for size in (5, 20, 99)]
    assert samples[0] < samples[1] < samples[2]
    assert len(samples[2]) == 60
    assert set(ids(path, sample=5, sample_seed=1)) != samples[0]


# Bad rows.

GOOD = '{"text": "good"}'
BAD = {
    "not json": "this is not JSON: Expecting value at column 1",
    "[1]": "the row is a JSON list, not an object",
    '{"label": 1}': "the row holds no prompt; fields found: label",
    '{"text": "a", "prompt": "b"}': "the row holds several prompts; fields found: text, prompt",
    '{"text": 3}': "text is int",
    '{"text": null}': "text is empty",
    '{"text": ""}': "the prompt is empty",
    '{"text": "a", "spans": {"x": [0, 9]}}': "span 'x' (0, 9) is outside; the text has 1 "
    "characters",
    '{"text": "a", "spans": "{"}': "this is not JSON: Expecting property name enclosed in double "
    "quotes at column 2",
    '{"text": "a", "id": 1.5}': "id is 1.5",
    '{"text": "a", "group": [1]}': "group is list",
    '{"text": "a", "group": NaN}': "group is nan",
    '{"messages": []}': "the chat has no messages",
    '{"messages": [{"role": "user"}]}': "message 0 needs the fields role and content; found: role",
    '{"text": "\\ud800"}': "character 0 is '\\ud800', half of a surrogate pair",
}


@pytest.mark.parametrize(("row", "reason"), BAD.items())
def test_a_bad_row_stops_or_is_listed(tmp_path, row, reason):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{GOOD}\n{row}\n{GOOD}\n")
    reading = DataSource(path).open()
    assert next(reading).text == "good"
    with pytest.raises(PromptError) as refused:
        next(reading)
    assert refused.value.what == reason
    assert refused.value.where.startswith(f"{path}, line 2")
    assert refused.value.next_step is not None
    reader = DataSource(path, bad_rows="skip").open()
    assert [prompt.text for prompt in reader] == ["good", "good"]
    ((place, why),) = reader.bad
    assert (place.startswith(f"{path}, line 2"), why) == (True, reason)
    assert (reader.rows, reader.kept) == (3, 2)


def test_bytes_that_are_no_text_are_one_bad_row(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "\xff"}\n{"text": "b"}\n')
    reader = DataSource(path, bad_rows="skip").open()
    assert [prompt.text for prompt in reader] == ["a", "b"]
    assert reader.bad == [BadRow(f"{path}, line 2", "byte 10 is not UTF-8 (0xff)")]


def test_no_row_vanishes_from_a_sample(tmp_path):
    """A sample is drawn of good rows; every bad one that was read is listed."""
    rows = [{"text": "" if n % 10 == 3 else f"t{n}"} for n in range(50)]
    reader = DataSource(lines(tmp_path / "x.jsonl", *rows), sample=45, bad_rows="skip").open()
    assert len(list(reader)) == 45
    assert [place.rpartition(" ")[2] for place, _ in reader.bad] == ["4", "14", "24", "34", "44"]


def test_bad_rows_that_are_filtered_away_are_not_bad(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"text": "", "keep": "no"}, {"text": "a", "keep": "yes"})
    reader = DataSource(path, filters=("keep=yes",)).open()
    assert [prompt.text for prompt in reader] == ["a"]
    assert reader.bad == []


def test_nothing_left_says_why(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"text": "a", "n": 1}, {"text": "b", "n": 2})
    with pytest.raises(
        PromptError, match=r"none of 2 rows passes n>5 .*\nNext: look at the values"
    ):
        prompts(path, filters=("n>5",))
    bad = lines(tmp_path / "y.jsonl", {"text": ""}, {"text": 3})
    with pytest.raises(PromptError, match=r"2 of 2 are bad, the first .* empty \(in .*line 1\)"):
        prompts(bad, bad_rows="skip")
    (tmp_path / "z.jsonl").write_text("\n\n")
    with pytest.raises(PromptError, match="the data has no rows"):
        prompts(tmp_path / "z.jsonl")


def test_a_wrong_format_is_named(tmp_path):
    table = writing.parquet(tmp_path / "x.parquet", [{"text": "a"}])
    with pytest.raises(PromptError, match=r"a Parquet file, .*\nNext: .*--format parquet"):
        prompts(table, format="jsonl")
    named = lines(tmp_path / "x.csv", {"text": "a, b"})
    with pytest.raises(PromptError, match=r"first line is JSON, .*\n.*\nNext: .*--format jsonl"):
        prompts(named)


@pytest.mark.parametrize(("sign", "step"), [(";", "with commas"), ("\t", "--format tsv")])
def test_another_delimiter_is_named(tmp_path, sign, step):
    path = tmp_path / "x.csv"
    path.write_text(f"id{sign}question\n1{sign}a\n")
    with pytest.raises(PromptError, match=rf"no column holds the prompt.*\n.*\nNext: .*{step}"):
        prompts(path)
    whole = prompts(path, columns={"prompt": f"id{sign}question"})  # perhaps it is one column
    assert [prompt.text for prompt in whole] == [f"1{sign}a"]


def test_a_place_in_a_row_is_said_once(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a"}\n{"text": \n')
    with pytest.raises(PromptError, match=r"not JSON: .* at column 9 \(in .*x.jsonl, line 2\)"):
        prompts(tmp_path / "x.jsonl")


# What is refused before anything is read.


@pytest.mark.parametrize("name", writing.WRITERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"prompt": "qestion"}}, r"no column 'qestion'; did you mean 'question'\?"),
        ({"columns": {"promt": "question"}}, r"no part 'promt'; did you mean 'prompt'\?"),
        ({"columns": {"text": "question", "messages": "key"}}, "text and messages are both mapped"),
        ({}, "no column holds the prompt; columns found: question, key"),
        ({"filters": ("ky=1",)}, r"no column 'ky'; did you mean 'key'\? \(in .*filter 'ky=1'\)"),
        ({"filters": ("key",)}, "the filter 'key' cannot be read"),
        ({"filters": ("key~(",)}, "regular expression '\\(' is invalid"),
        ({"format": "excel"}, "there is no format 'excel'"),
        ({"sample": 0}, "sample is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"bad_rows": "skipp"}, "did you mean 'skip'"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_at_opening(tmp_path, name, options, message):
    path = writing.WRITERS[name](tmp_path / name, [{"question": "Why?", "key": 1}])
    if options.get("filters"):
        options = {"columns": {"prompt": "question"}, **options}
    with pytest.raises(PromptError, match=message) as refused:
        DataSource(path, **options).open()
    if "no column 'qestion'" in str(refused.value):
        assert refused.value.allowed == "question, key"


def test_the_way_out_is_named(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"id": 1, "question": "Why?"})
    with pytest.raises(PromptError, match="Next: say which it is: --column prompt=question"):
        DataSource(path).open()
    both = writing.parquet(tmp_path / "x.parquet", [{"prompt": "a", "text": "b"}])
    with pytest.raises(PromptError, match=r"several columns may .*\nNext: .*--column text=text"):
        DataSource(both).open()
    assert prompts(both, columns={"prompt": "prompt"})[0].text == "a"


def test_a_part_can_be_left_out(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"text": "a", "id": 1.5, "group": [3]})
    (found,) = prompts(path, columns={"id": "", "group": ""})
    assert (found.id, found.group) == (Prompt.from_text("a").id, None)


def test_a_source_is_plain_data():
    source = DataSource("x.csv", columns={"prompt": "q"}, filters=("a=1",), sample=3)
    assert pickle.loads(pickle.dumps(source)) == source


def test_marks_are_read_in_data(tmp_path):
    path = writing.delimited(tmp_path / "x.csv", [{"text": "a <<x>>b<</x>>"}])
    assert prompts(path, marked=True)[0].spans == {"x": ((2, 3),)}


def test_columns_may_come_late_where_rows_have_their_own(tmp_path):
    rows = [{"text": "a"}, {"messages": [{"role": "user", "content": "b"}], "answer": {"n": 1}}]
    first, second = prompts(lines(tmp_path / "x.jsonl", *rows), columns={"answer": "answer"})
    assert (first.text, first.answer) == ("a", None)
    assert (second.messages, second.answer) == ((Message("user", "b"),), '{"n": 1}')


def test_standard_input():
    code = (
        "import sys; from mindshare.prompts import DataSource;"
        "print([(p.text, p.place) for p in DataSource('-', format=sys.argv[1]).open()])"
    )

    def read(format, given):
        done = subprocess.run(
            [sys.executable, "-c", code, format], input=given, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    assert read("auto", b'{"text": "a"}\n') == "[('a', 'standard input, line 1')]"
    assert read("text", b"a\n\nb") == (
        "[('a', 'standard input, line 1'), ('b', 'standard input, line 3')]"
    )
    closed = f'{sys.executable} -c "{code}" auto <&-'
    done = subprocess.run(closed, shell=True, capture_output=True, text=True, check=False)
    assert "PromptError: there is no standard input" in done.stderr
    done = subprocess.run(
        [sys.executable, "-c", code, "auto"],
        input=b"id,text\n1,a\n",
        capture_output=True,
        check=False,
    )
    assert b"--format csv" in done.stderr
    assert read("csv", b"id,text\n1,a\n") == "[('a', 'standard input, row 1, line 2')]"


# Streaming.

ROWS, SIZE = 40_000, 2_500  # 100 MB
READ = """
import sys, threading, time
import psutil, pyarrow.parquet
from mindshare.prompts import DataSource

held, done = [], False
def watch():
    while not done:
        held.append(psutil.Process().memory_info().rss)
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
time.sleep(0.05)
before = held[-1]
options = {"sample": 100} if sys.argv[2] == "sample" else {}
count = sum(1 for _ in DataSource(sys.argv[1], **options).open())
done = True
watcher.join()
print(count, (max(held) - before) / 2**20)
"""


def large_lines(path):
    text = "x" * SIZE
    with gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else path.open("w") as file:
        if ".csv" in path.name:
            file.write("id,text\n")
            file.writelines(f"{n},{text}\n" for n in range(ROWS))
        else:
            file.writelines(json.dumps({"id": n, "text": text}) + "\n" for n in range(ROWS))


def large_table(path):
    texts = [f"{n:0{SIZE}}" for n in range(ROWS)]
    table = pa.table({"id": list(range(ROWS)), "text": texts})
    if path.suffix:  # one row group, nothing packed: the worst case
        pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=ROWS)
        return
    path.mkdir()
    with pa.ipc.new_stream(path / "data.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=1000)
    (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("x.jsonl", "all"),
        ("x.parquet", "all"),
        pytest.param("x.jsonl", "sample", marks=pytest.mark.slow),
        pytest.param("x.jsonl.gz", "all", marks=pytest.mark.slow),
        pytest.param("x.csv", "all", marks=pytest.mark.slow),
        pytest.param("x", "all", marks=pytest.mark.slow),
    ],
)
def test_a_large_file_is_never_read_whole(tmp_path, name, how):
    """100 MB of rows; what is held beside them is their ids and a few rows."""
    (large_table if name in ("x.parquet", "x") else large_lines)(tmp_path / name)
    command = [sys.executable, "-c", READ, tmp_path / name, how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    count, megabytes = done.stdout.split()
    assert int(count) == {"all": ROWS, "sample": 100}[how]
    assert float(megabytes) < 50
