"""Parquet and saved datasets: only what is wanted, in the right order, as the package wrote it."""

from __future__ import annotations

import json

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mindshare.errors import PromptError
from mindshare.prompts import DataSource, Message, Prompt
from mindshare.prompts.arrow import dataset_rows, parquet_rows

from . import writing

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
    with pytest.raises(PromptError, match=r"no such file .*part-8\.arrow"):
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
