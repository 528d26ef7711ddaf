"""Datasets of the hub, through the package itself; the hub is not asked."""

from __future__ import annotations

import json
import sys

import datasets
import pytest
from huggingface_hub import constants, errors

from mindshare.errors import PromptError
from mindshare.prompts import DataSource
from mindshare.prompts.hub import HubData, _explained, _loaded, parse_hub, streamed

ROWS = [{"text": f"t{n}", "n": n} for n in range(5)]


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
    data = datasets.Dataset.from_list(ROWS).to_iterable_dataset()
    rows = streamed(data, HubData("owner/name", None, "train"))
    assert rows.columns == ("text", "n")
    assert [row.values for row in rows.read({"n"})] == [{"n": n} for n in range(5)]
    assert [row.place for row in rows.read(None)][-1] == "hf:owner/name:train, row 5"


def test_a_folder_is_streamed_as_the_hub_would_be(tmp_path):
    """The package takes a folder where it takes a hub id: the same way, without the network."""
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text(json.dumps({"text": split}))
    loaded = _loaded(datasets, HubData(str(tmp_path)))
    rows = streamed(loaded, HubData("owner/name", None, "test"))
    assert [row.values for row in rows.read(None)] == [{"text": "test"}]
    with pytest.raises(PromptError, match="no split 'tst'; did you mean 'test'") as refused:
        streamed(loaded, HubData("owner/name", None, "tst"))
    assert refused.value.allowed == "hf:owner/name:train, hf:owner/name:test"
    with pytest.raises(PromptError, match="2 splits, and none is named"):
        streamed(loaded, HubData("owner/name"))
    with pytest.raises(PromptError, match=r"cannot be loaded: .*'other'"):
        _loaded(datasets, HubData(str(tmp_path), "other"))


def test_one_split_needs_no_name():
    data = datasets.Dataset.from_list(ROWS).to_iterable_dataset()
    rows = streamed(datasets.IterableDatasetDict({"all": data}), HubData("owner/name"))
    assert rows.name == "hf:owner/name:all"


def test_a_stream_that_breaks_off_says_after_which_row():
    def rows():
        yield ROWS[0]
        raise ConnectionError("the line is dead")

    broken = streamed(datasets.IterableDataset.from_generator(rows), HubData("a/b"))
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
    answer = _explained(HubData("owner/name"), ConnectionError("nobody there\nat all"))
    assert "cannot be asked for the dataset: nobody there (in hf:owner/name)" in str(answer)


def test_what_the_hub_answers_is_explained():
    unknown = _explained(HubData("owner/nme"), errors.HFValidationError("bad"))
    assert unknown.what == "the hub has no dataset 'owner/nme' (or it is private)"
