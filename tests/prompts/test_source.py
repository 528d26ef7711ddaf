"""Rows of any format become the same prompts; what is left out is said, and nothing vanishes."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import tracemalloc
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindshare.errors import PromptError
from mindshare.prompts import BadRow, DataSource, Message, Prompt, read_chat, read_text
from mindshare.prompts.columns import choose_columns
from mindshare.prompts.source import IdSet, rank, sample_numbers

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
    '{"text": "a", "spans": [0, 1]}': "spans is list, not an object",
    '{"text": "a", "spans": "{"}': "this is not JSON: Expecting property name enclosed in double "
    "quotes at column 2",
    '{"text": "a", "id": 1.5}': "id is 1.5",
    '{"text": "a", "id": ""}': "id is ''",
    '{"text": "a", "group": [1]}': "group is list",
    '{"text": "a", "group": NaN}': "group is nan",
    '{"messages": 3}': "messages is int",
    '{"messages": "a"}': "this is not JSON: Expecting value at column 1",
    '{"prompt": {}}': "prompt is dict",
    '{"text": "a"': "this is not JSON: Expecting ',' delimiter at column 13",
    '{"text": "a", "text": "b"}': "the key 'text' stands twice in one object of this JSON",
    '{"text": "ab", "spans": "{\\"x\\": [0, 1], \\"x\\": [1, 2]}"}': "the key 'x' stands twice in "
    "one object of this JSON",
    '{"text": "a", "choices": 3}': "choices is int",
    '{"text": "a", "choices": "no list"}': "this is not JSON: Expecting value at column 1",
    f'{{"text": "a", "choices": "{"[" * 5_000}"}}': "this JSON is nested too deeply",
    "[" * 200_000: "this JSON is nested too deeply",
    '{"messages": []}': "the chat has no messages",
    '{"messages": [{"role": "user"}]}': "message 0 needs the fields role and content; found: role",
    '{"text": "\\ud800"}': "character 0 is '\\ud800', half of a surrogate pair",
}


@pytest.mark.parametrize(("row", "reason"), BAD.items(), ids=range(len(BAD)))
def test_a_bad_row_stops_or_is_listed(tmp_path, row, reason):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{GOOD}\n{row}\n{GOOD}\n")
    reading = iter(DataSource(path).open())
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


def test_bytes_that_are_no_text_are_one_bad_row(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "a"}\n{"text": "\xff"}\n{"text": "b"}\n')
    reader = DataSource(path, bad_rows="skip").open()
    assert [prompt.text for prompt in reader] == ["a", "b"]
    assert reader.bad == [BadRow(f"{path}, line 2", "byte 10 is not UTF-8 (0xff)")]


def test_a_small_sample_is_read_once_and_is_that_of_a_large_one(tmp_path, monkeypatch):
    path = lines(tmp_path / "rows.jsonl", *({"text": f"row {n % 40}"} for n in range(60)))
    source = DataSource(path, sample=20).open()
    first = list(source)
    path.unlink()
    assert list(source) == first
    lines(path, *({"text": f"row {n % 40}"} for n in range(60)))
    monkeypatch.setattr("mindshare.prompts.source.KEPT_ROWS", 0)
    assert prompts(path, sample=20) == first


@pytest.mark.parametrize("name", writing.WRITERS)
@pytest.mark.parametrize("options", [{}, {"sample": 3}, {"filters": ("text~x|a|b",)}])
def test_a_row_longer_than_any_prompt_is_bad_in_every_format(tmp_path, name, options, monkeypatch):
    monkeypatch.setattr("mindshare.prompts.columns.LONGEST_CELL", 1_000)
    rows = [{"text": text} for text in ("a", "x" * 1_001, "b")]
    path = writing.WRITERS[name](tmp_path / name, rows)
    with pytest.raises(PromptError, match="text has 1,001 characters"):
        prompts(path, **options)
    found = DataSource(path, bad_rows="skip", **options).open()
    assert [prompt.text for prompt in found] == ["a", "b"]
    assert [reason for _, reason in found.bad] == ["text has 1,001 characters"]


@pytest.mark.parametrize("name", writing.WRITERS)
def test_a_sample_of_rows_that_would_fill_the_memory_is_the_same(tmp_path, name, monkeypatch):
    path = writing.WRITERS[name](
        tmp_path / name, [{"text": "x" * 1_000 + str(n)} for n in range(60)]
    )
    expected = prompts(path, sample=9)
    monkeypatch.setattr("mindshare.prompts.source.KEPT_BYTES", 4_000)
    few = DataSource(path, sample=9).open()
    assert [list(few), list(few)] == [expected] * 2
    if name != "rows.json":  # an array is read whole, and once
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        with pytest.raises((PromptError, OSError)):  # nothing of it was kept
            list(few)


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
    with pytest.raises(PromptError, match="Next: say which column it is: --column prompt=question"):
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


# Again and again.


@pytest.mark.parametrize("name", writing.WRITERS)
@pytest.mark.parametrize("options", [{}, {"sample": 4, "limit": 3}, {"filters": ("level>2",)}])
def test_prompts_can_be_gone_through_again(tmp_path, name, options):
    rows = [{"text": "ab"[n % 2], "level": n} for n in range(9)]
    found = DataSource(writing.WRITERS[name](tmp_path / name, rows), **options).open()
    with pytest.raises(TypeError, match="counted by reading"):
        len(found)
    first = list(found)
    assert len(found) == found.counted() == len(first) > 2
    assert list(found) == first
    assert [one.id for one in first] == [one.id for one in found]
    # Side by side, and left in the middle.
    assert list(zip(found, found, strict=True)) == [(one, one) for one in first]
    assert next(iter(found)) == first[0]
    assert len(found) == len(first)


def test_bad_rows_are_those_of_a_whole_pass(tmp_path):
    rows = [{"text": "" if n % 3 == 1 else f"t{n}", "id": n // 4} for n in range(12)]
    for options in ({}, {"sample": 9}):
        found = DataSource(lines(tmp_path / "x.jsonl", *rows), bad_rows="skip", **options).open()
        assert next(iter(found)).id == "0"  # a pass that ends early says nothing for good
        assert found.counted() == 3
        bad = list(found.bad)
        # A sample is drawn of good rows before ids are looked at.
        lost = sorted(place.rpartition(" ")[2] for place, _ in bad)
        assert lost == sorted(["2", "5", "8", "11", "3", "4", "7", "10", "12"])
        assert ("the id '2' is also that of line 9") in [reason for _, reason in bad]
        assert next(iter(found)).id == "0"
        assert (found.bad, len(found)) == (bad, 3)


def test_data_that_changes_between_passes_is_refused(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"text": "a"}, {"text": "b"})
    found = DataSource(path).open()
    assert found.counted() == 2
    lines(path, {"text": "a"}, {"text": "c"})
    with pytest.raises(PromptError, match="not what it was when it was first read"):
        list(found)


def test_standard_input_is_read_as_it_comes_and_again(monkeypatch):
    class Pipe(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(min(size, 20))

    pipe = Pipe(b"id,text\n" + b"".join(b"%d,t%d\n" % (n, n) for n in range(500)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
    found = DataSource("-", format="csv").open()
    assert next(iter(found)).text == "t0"
    assert pipe.tell() < 100
    for _ in range(2):
        assert [one.text for one in found] == [f"t{n}" for n in range(500)]


def test_what_is_held_of_ids():
    """16 bytes each at most; the same answers as a set of texts."""
    ids = IdSet()
    tracemalloc.start()
    for n in range(60_000):
        assert ids.add(f"{n}")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 16 * 60_000
    assert all(f"{n}" in ids and not ids.add(f"{n}") for n in range(60_000))
    assert "60000" not in ids
    for number in range(2, 300):
        assert ids.free("7") == f"7-{number}"
        ids.add(f"7-{number}")


# Samples: a rule of seed and row numbers alone.

numbers = st.lists(st.integers(1, 10**9), unique=True, max_size=60)


@given(numbers, st.integers(1, 70), st.integers(0, 99), st.randoms())
def test_the_rule_whatever_the_order(given, size, seed, random):
    wanted = sorted(sorted(given, key=lambda number: rank(seed, number))[:size])
    assert sample_numbers(given, size, seed=seed) == wanted
    random.shuffle(given)
    assert sample_numbers(iter(given), size, seed=seed) == wanted


@given(numbers, st.integers(1, 30), st.integers(0, 30))
def test_pieces_hold_the_whole_sample_and_larger_samples_the_smaller(given, size, cut):
    """Two readers of two halves find together what one finds."""
    whole = sample_numbers(given, size, seed=0)
    halves = [sample_numbers(half, size, seed=0) for half in (given[:cut], given[cut:])]
    assert sample_numbers([*halves[0], *halves[1]], size, seed=0) == whole
    assert set(whole) <= set(sample_numbers(given, size + cut, seed=0))


def test_the_rule_is_the_one_that_is_written_down():
    """A sample stays the same in years to come."""
    assert rank(0, 1) == 0xEF134F2A180BA05D
    assert sample_numbers(range(1, 101), 5, seed=0) == [15, 44, 46, 87, 99]
    assert sample_numbers(range(1, 101), 5, seed=1) == [30, 71, 72, 90, 100]


def test_every_row_is_drawn_about_as_often():
    count = Counter(
        number for seed in range(400) for number in sample_numbers(range(1, 21), 5, seed=seed)
    )
    # 100 each, within five standard deviations
    assert all(60 <= count[number] <= 145 for number in range(1, 21))


# One prompt of a file.


def written(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_is_kept_character_for_character(tmp_path):
    assert read_text(written(tmp_path, "a\r\nb \n")).text == "a\r\nb \n"
    assert read_text(written(tmp_path, b"\xef\xbb\xbfabc")).text == "abc"  # a byte order mark
    assert read_text(written(tmp_path, "<<x>>a<</x>>"), marked=True).spans == {"x": ((0, 1),)}


def test_a_chat_file_is_a_list_or_an_object(tmp_path):
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}]
    plain = read_chat(written(tmp_path, json.dumps(turns)))
    assert plain.messages == (Message("system", "s"), Message("user", "hello"))
    full = {"messages": turns, "spans": {"x": [1, 0, 2]}, "id": "c"}
    prompt = read_chat(written(tmp_path, json.dumps(full)))
    assert (prompt.spans, prompt.id) == ({"x": ((1, 0, 2),)}, "c")


def test_json_lines_in_every_form(tmp_path):
    rows = [
        {"text": "one", "id": "r1", "spans": {"x": [0, 1], "y": [[0, 1], [2, 3]]}, "label": 7},
        {"prompt": "two", "id": 2},
        {"messages": [{"role": "user", "content": "three"}]},
        {"prompt": [{"role": "user", "content": "<<x>>four<</x>>"}]},
    ]
    text = "\n\n".join(map(json.dumps, rows)) + "\n"
    path = written(tmp_path, b"\xef\xbb\xbf" + text.encode())
    first, second, third, fourth = prompts(path, format="jsonl", marked=True)
    assert first.spans == {"x": ((0, 1),), "y": ((0, 1), (2, 3))}
    assert (first.id, second.id, second.text) == ("r1", "2", "two")
    assert third.messages == (Message("user", "three"),)
    assert (fourth.messages, fourth.spans) == ((Message("user", "four"),), {"x": ((0, 0, 4),)})
    with pytest.raises(PromptError, match=r"no column holds .*; columns found: txt, label"):
        prompts(written(tmp_path, '{"txt": "a", "label": 1}'))


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_chat, "{}", "no chat here; found: none"),
        (read_chat, '{"turns": []}', "no chat here; found: turns"),
        (read_chat, '"hi"', "no chat here; found: str"),
        (read_chat, "[]", r"no messages \(in .*file\)"),
        (read_chat, '[\n{"role": }]', "not JSON: .* at line 2, column 10"),
        (read_chat, '{"messages": [], "messages": []}', "'messages' stands twice in one object"),
        (
            read_chat,
            '[{"role": "user", "role": "system", "content": "a"}]',
            r"'role' stands twice in one object .*\(in .*file\)",
        ),
        (
            read_chat,
            '[{"role": "user", "content": 3}]',
            r"content is int, not text \(in .*file, message 0\)",
        ),
        (read_text, "", r"the prompt is empty \(in .*file\)"),
        (read_text, b"ab\xe9", "byte 2 is not UTF-8"),
    ],
)
def test_a_bad_file_is_named(tmp_path, read, content, message):
    with pytest.raises(PromptError, match=message):
        read(written(tmp_path, content))


@pytest.mark.parametrize("name", ["r\udcff.jsonl", "r\udcff.csv", "r\udcff.parquet"])
def test_a_file_name_that_is_no_utf8_is_refused(tmp_path, name):
    path = writing.WRITERS[f"rows.{name.rpartition('.')[2]}"](tmp_path / "plain", [{"text": "a"}])
    path.rename(tmp_path / name)
    with pytest.raises(PromptError, match=r"name .*udcff.* is no UTF-8"):
        DataSource(tmp_path / name).open()


@pytest.mark.parametrize("read", [read_text, read_chat])
def test_missing_files_and_folders_are_named_at_once(tmp_path, read):
    with pytest.raises(PromptError, match=r"no such file .*nothing"):
        read(tmp_path / "nothing")
    with pytest.raises(PromptError, match="folder, not a file"):
        read(tmp_path)


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
prompts = DataSource(sys.argv[1], **options).open()
count = sum(1 for _ in prompts)
assert count == sum(1 for _ in prompts)
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
    assert float(megabytes) < 35


def test_rows_before_the_one_that_runs_away_are_given(tmp_path):
    path = tmp_path / "rows.jsonl"
    texts = ["aa", "b", "aaa", "a" * 50 + "b", "a"]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    asked = {"filters": ("text~^(a+)+$",)}
    few = DataSource(path, limit=2, **asked).open()
    assert [prompt.text for prompt in few] == ["aa", "aaa"]
    with pytest.raises(PromptError, match="runs away"):
        list(DataSource(path, limit=3, **asked).open())


def test_a_limit_beyond_every_number(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("a\nb\n")
    assert DataSource(path, limit=10**30).open().counted() == 2


@pytest.mark.parametrize(
    "row",
    [
        {"text": "a", "id": "x", "group": "g", "answer": "y"},
        {"text": "é"},
        {"text": ""},
        {"text": "\ud800"},
        {"text": 3},
        {"text": "a", "id": ""},
        {"text": "a", "id": "\udfff"},
        {"text": "a", "id": 3},
        {"text": "a", "group": [1]},
        {"text": "a", "spans": {"x": [0, 9]}},
        {"text": "a", "choices": "no list"},
        {"text": "a", "prompt": "b"},
        {"messages": "no chat"},
        {},
    ],
)
def test_a_row_that_surely_holds_a_prompt_does(row: dict[str, object]) -> None:
    columns = choose_columns({}, None, where="here")
    try:
        columns.prompt(row)
    except PromptError:
        assert not columns.surely_hold_a_prompt(row)
