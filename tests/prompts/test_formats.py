"""What a path is taken for, and the rows of Parquet files, saved datasets and the hub."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import constants, errors

from mindshare.errors import PromptError
from mindshare.prompts import DataSource, Message, Prompt
from mindshare.prompts.formats import (
    HubData,
    dataset_rows,
    hub_error,
    load_stream,
    open_rows,
    parquet_rows,
    parse_hub,
    streamed_rows,
)
from mindshare.prompts.given import table_rows

from . import writing

AB = [{"text": "a"}, {"text": "b"}]


def texts(where, format="auto"):
    return [row.values["text"] for row in open_rows(str(where), format).read(None)]


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("x.txt", b"a\nb\n", ["a", "b"]),
        ("x.TEXT", b"a\nb\n", ["a", "b"]),
        ("x.txt.gz", gzip.compress(b"a\nb\n", mtime=0), ["a", "b"]),
        ("x.ndjson", b'{"text": "a"}', ["a"]),
        ("x.json", b'[{"text": "a"}]', ["a"]),
        ("x.json", b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}', ["a", "b"]),
        ("x.csv.gz", gzip.compress(b"text\na\n", mtime=0), ["a"]),
        ("x.tab", b"id\ttext\n1\ta\n", ["a"]),
        ("x", b' \n{"text": "a"}', ["a"]),
        ("x.data", b"", []),
    ],
)
def test_the_name_or_the_first_bytes_say_the_format(tmp_path, name, content, found):
    (tmp_path / name).write_bytes(content)
    assert texts(tmp_path / name) == found


def test_parquet_is_known_by_its_first_bytes(tmp_path):
    assert texts(writing.parquet(tmp_path / "x", AB)) == ["a", "b"]


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


def test_a_damaged_description_of_a_column_does_not_end_the_process(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": ["a", "b"]}), path)
    optional, required = (b"\x15\x0c\x25" + kind + b"\x18\x04text" for kind in (b"\2", b"\0"))
    whole = path.read_bytes()
    assert whole.count(optional) == 1
    path.write_bytes(whole.replace(optional, required))
    with pytest.raises(PromptError, match="the data cannot be read"):
        list(open_rows(str(path)).read(None))


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
    writing.parquet(tmp_path / "a.parquet", AB)
    writing.jsonl(tmp_path / "b.jsonl", AB)
    with pytest.raises(PromptError, match="several formats: jsonl, parquet"):
        open_rows(str(tmp_path))
    assert texts(tmp_path, "jsonl") == ["a", "b"]
    writing.parquet(tmp_path / "c.parquet", [{"text": "a", "more": 1}])
    with pytest.raises(
        PromptError, match=r"a.parquet and .*c.parquet differ in their columns: more"
    ):
        open_rows(str(tmp_path), "parquet")


# Parquet files and saved datasets.

ROWS = [{"text": f"t{n}", "n": n, "wide": "x" * 100} for n in range(20)]


def values(rows, wanted=None):
    return [row.values for row in rows.read(wanted)]


@pytest.fixture
def saved(tmp_path):
    """What the package itself writes."""
    datasets.disable_progress_bars()
    rows = [{**row, "messages": [{"role": "user", "content": row["text"]}]} for row in ROWS]
    data = datasets.Dataset.from_list(rows)
    data.save_to_disk(tmp_path / "one", num_shards=3)
    datasets.DatasetDict({"train": data, "test": data.select([3, 1])}).save_to_disk(
        tmp_path / "two"
    )
    return tmp_path


@pytest.mark.parametrize("write", [writing.parquet, writing.dataset])
def test_only_the_wanted_columns_are_read(tmp_path, write):
    path = write(tmp_path / "x", ROWS)
    rows = (dataset_rows if path.is_dir() else parquet_rows)(str(path))
    assert rows.columns == ("text", "n", "wide")
    assert values(rows) == ROWS
    assert values(rows, {"n"}) == [{"n": n} for n in range(20)]


@pytest.mark.parametrize("kind", ["parquet", "dataset", "memory"])
def test_few_large_rows_are_values_at_a_time(tmp_path, kind):
    """What is read at a time is a number of bytes, not only of rows."""
    table = pa.table({"text": [f"{n:0{1 << 20}}" for n in range(40)], "n": list(range(40))})
    if kind == "parquet":  # pages of a row each: smaller ones can't be read
        path = tmp_path / "x.parquet"
        pq.write_table(table, path, use_dictionary=False, data_page_size=1, write_batch_size=1)
        rows = parquet_rows(str(path))
    else:
        folder = writing.dataset(tmp_path / "x", table.to_pylist(), shards=1)
        rows = dataset_rows(str(folder)) if kind == "dataset" else table_rows(table)
    before, held = pa.total_allocated_bytes(), []
    tracemalloc.start()
    for number, row in enumerate(rows.read({"text"})):
        assert int(row.values["text"][-5:]) == number
        assert 1 << 20 <= row.size < (1 << 20) + 100
        held.append(pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held) == 40
    assert peak < 10 << 20
    assert max(held) < 20 << 20


def test_a_folder_of_the_package_is_read_without_it(saved):
    found = list(DataSource(saved / "one", columns={"messages": "messages"}).open())
    assert [prompt.messages[0].content for prompt in found] == [f"t{n}" for n in range(20)]
    assert values(dataset_rows(str(saved / "one")), {"n"}) == [{"n": n} for n in range(20)]


def test_a_split_is_a_folder(saved):
    with pytest.raises(PromptError, match="2 splits, and none is named") as refused:
        dataset_rows(str(saved / "two"))
    assert refused.value.allowed == f"{saved}/two/train, {saved}/two/test"
    assert values(dataset_rows(str(saved / "two" / "test")), {"n"}) == [{"n": 3}, {"n": 1}]
    (saved / "two" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    assert dataset_rows(str(saved / "two")).name == f"{saved}/two/test"


def test_structs_maps_and_nulls_are_messages_and_spans(tmp_path):
    spans = pa.array(
        [[("a", [0, 1])], [("b", [1, 2]), ("a", [0, 2])]],
        pa.map_(pa.string(), pa.list_(pa.int32())),
    )
    table = pa.table({"text": ["xy", "yz"], "spans": spans, "group": pa.array([1, None])})
    pq.write_table(table, tmp_path / "map.parquet")
    assert list(DataSource(tmp_path / "map.parquet").open()) == [
        Prompt.from_text("xy", {"a": [0, 1]}, group="1"),
        Prompt.from_text("yz", {"a": [0, 2], "b": [1, 2]}),
    ]
    rows = [
        {"messages": [{"role": "user", "content": "hi", "name": "me"}], "spans": {"a": [0, 0, 1]}},
        {"messages": [{"role": "user", "content": "ho"}], "spans": {"b": [0, 0, 2]}},
    ]
    first, second = DataSource(writing.parquet(tmp_path / "x.parquet", rows)).open()
    assert (first.messages, first.spans) == ((Message("user", "hi"),), {"a": ((0, 0, 1),)})
    assert second.spans == {"b": ((0, 0, 2),)}


def test_a_text_that_is_not_utf8_is_one_bad_row(tmp_path):
    texts = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    pq.write_table(pa.table({"text": texts}), tmp_path / "x.parquet")
    reader = DataSource(tmp_path / "x.parquet", bad_rows="skip").open()
    assert [prompt.text for prompt in reader] == ["a", "c"]
    assert reader.bad == [(f"{tmp_path}/x.parquet, row 2", "a text of the row is not UTF-8")]


def test_what_is_broken_is_named(tmp_path):
    path = writing.parquet(tmp_path / "x.parquet", ROWS)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(PromptError, match="this is not a Parquet file"):
        parquet_rows(str(path))
    folder = writing.dataset(tmp_path / "set", ROWS)
    (folder / "part-8.arrow").write_bytes((folder / "part-8.arrow").read_bytes()[:-900])
    with pytest.raises(PromptError, match=r"cannot be read to the end: .*after row \d+"):
        values(dataset_rows(str(folder)))
    (folder / "part-8.arrow").unlink()
    with pytest.raises(PromptError, match=r"no such file.*part-8\.arrow"):
        values(dataset_rows(str(folder)))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "not the JSON of a dataset"),
        ("{}", "state.json names no data files"),
        ({"_data_files": [], "_indices_data_files": [{"filename": "i"}]}, "order of its own"),
    ],
)
def test_a_state_that_says_nothing_is_refused(tmp_path, state, message):
    text = state if isinstance(state, str) else json.dumps(state)
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(PromptError, match=message):
        dataset_rows(str(tmp_path))


def test_an_empty_dataset_has_no_rows(tmp_path):
    folder = writing.dataset(tmp_path / "set", ROWS)
    with pa.ipc.new_stream(folder / "part-9.arrow", pa.schema({"text": pa.string()})):
        pass
    (folder / "state.json").write_text('{"_data_files": [{"filename": "part-9.arrow"}]}')
    with pytest.raises(PromptError, match="the data has no rows"):
        list(DataSource(folder).open())


# Datasets of the hub, through the package itself; the hub is not asked.

FIVE = [{"text": f"t{n}", "n": n} for n in range(5)]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("hf:owner/name", HubData("owner/name")),
        ("hf:name", HubData("name")),
        ("hf:owner/name:test", HubData("owner/name", None, "test")),
        ("hf:openai/gsm8k/main:train", HubData("openai/gsm8k", "main", "train")),
    ],
)
def test_references(written, found):
    assert parse_hub(written) == found
    assert found.name == written


@pytest.mark.parametrize("written", ["hf:", "hf:a/b/c/d", "hf:a b", "hf:owner/name:", "hf:/name"])
def test_what_is_no_reference_is_refused_with_the_forms(written):
    with pytest.raises(PromptError, match=r"names no dataset of the hub\nAllowed: hf:owner/name"):
        DataSource(written).open()


def test_rows_of_a_streamed_dataset():
    data = datasets.Dataset.from_list(FIVE).to_iterable_dataset()
    rows = streamed_rows(data, HubData("owner/name", None, "train"))
    assert rows.columns == ("text", "n")
    assert [row.values for row in rows.read({"n"})] == [{"n": n} for n in range(5)]
    assert [row.place for row in rows.read(None)][-1] == "hf:owner/name:train, row 5"


def test_a_folder_is_streamed_as_the_hub_would_be(tmp_path):
    """The package takes a folder where it takes a hub id: the same way, without the network."""
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps({"text": split}))
    loaded = load_stream(datasets.load_dataset, HubData(str(tmp_path)))
    rows = streamed_rows(loaded, HubData("owner/name", None, "test"))
    assert [row.values for row in rows.read(None)] == [{"text": "test"}]
    with pytest.raises(PromptError, match="no split 'tst'; did you mean 'test'") as refused:
        streamed_rows(loaded, HubData("owner/name", None, "tst"))
    assert refused.value.allowed == "hf:owner/name:train, hf:owner/name:test"
    with pytest.raises(PromptError, match="2 splits, and none is named"):
        streamed_rows(loaded, HubData("owner/name"))
    with pytest.raises(PromptError, match=r"cannot be loaded: .*'other'"):
        load_stream(datasets.load_dataset, HubData(str(tmp_path), "other"))


def test_one_split_needs_no_name():
    data = datasets.Dataset.from_list(FIVE).to_iterable_dataset()
    rows = streamed_rows(datasets.IterableDatasetDict({"all": data}), HubData("owner/name"))
    assert rows.name == "hf:owner/name:all"


def test_a_stream_that_breaks_off_says_after_which_row():
    def rows():
        yield FIVE[0]
        raise ConnectionError("the line is dead")

    broken = streamed_rows(datasets.IterableDataset.from_generator(rows), HubData("a/b"))
    with pytest.raises(PromptError, match=r"the line is dead \(in hf:a/b, after row \d\)"):
        list(broken.read(None))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(PromptError, match=r"package datasets.*\nNext: pip install datasets"):
        DataSource("hf:owner/name").open()


def test_without_the_network(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(PromptError, match=r"cannot be asked .*: HF_HUB_OFFLINE is set .*\nNext:"):
        DataSource("hf:owner/name").open()
    answer = hub_error(HubData("owner/name"), ConnectionError("nobody there\nat all"))
    assert "cannot be asked for the dataset: nobody there (in hf:owner/name)" in str(answer)


def test_what_the_hub_answers_isexplained():
    unknown = hub_error(HubData("owner/nme"), errors.HFValidationError("bad"))
    assert unknown.what == "the hub has no dataset 'owner/nme' (or it is private)"
