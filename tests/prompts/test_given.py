"""Prompts as people pass them in Python: tables by column, and refusals that say why."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mindshare.errors import PromptError
from mindshare.prompts import DataSource, Message, Prompt
from mindshare.prompts.given import as_prompts

COLUMNS = {"prompt": ["one", "two"], "kind": ["a", "b"], "nr": [7, 8]}


TABLES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "datasets": datasets.Dataset.from_dict,
    "streamed dataset": lambda columns: datasets.Dataset.from_dict(columns).to_iterable_dataset(),
    "one split": lambda columns: datasets.DatasetDict(test=datasets.Dataset.from_dict(columns)),
    "dict of columns": dict,
    "dict of arrays": lambda columns: {name: np.array(x) for name, x in columns.items()},
    "rows": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
}


def texts(prompts: Any, **options: Any) -> list[str | None]:
    return [prompt.text for prompt in as_prompts(prompts, **options)]


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_read_by_column(kind: str) -> None:
    table = TABLES[kind](COLUMNS)
    assert texts(table) == ["one", "two"]
    assert texts(table, column="kind") == ["a", "b"]
    mapped = as_prompts(table, column={"prompt": "kind", "id": "nr", "group": "prompt"})
    assert [(p.text, p.id, p.group) for p in mapped] == [("a", "7", "one"), ("b", "8", "two")]
    with pytest.raises(PromptError, match="no column 'knd'; did you mean 'kind'"):
        as_prompts(table, column="knd")


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_without_a_known_column_names_those_it_has(kind: str) -> None:
    table = TABLES[kind]({"question": ["one", "two"], "level": [1, 2]})
    with pytest.raises(PromptError, match=r"question.*column='question' in Python"):
        as_prompts(table)


def test_chats_in_a_table() -> None:
    chats = [[{"role": "user", "content": text}] for text in ("one", "two")]
    for kind in ("pandas", "arrow", "datasets", "dict of columns", "rows"):
        first, _ = as_prompts(TABLES[kind]({"messages": chats}))
        assert first.messages == (Message("user", "one"),)


def test_rows_that_were_chosen_stay_chosen() -> None:
    frame = pd.DataFrame(
        {**COLUMNS, "odd": [object(), {"x"}]}
    )  # what is not needed may be anything
    assert texts(frame[frame["nr"] > 7]) == ["two"]
    shuffled = datasets.Dataset.from_dict(COLUMNS).select([1, 0])
    assert texts(shuffled) == ["two", "one"]


def test_a_missing_value_is_named_by_its_row() -> None:
    frame = pd.DataFrame({"prompt": ["one", None]})
    with pytest.raises(PromptError, match=r"prompt is empty \(in DataFrame, row 2\)"):
        as_prompts(frame)
    with pytest.raises(PromptError, match=r"missing \(nan\) \(in prompt 1 of those given\)"):
        as_prompts(frame["prompt"])


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(["one", "two"]),
        np.array(["one", "two"]),
        np.array(["one", "two"], object),
        pa.array(["one", "two"]),
        pa.chunked_array([["one"], ["two"]]),
        (text for text in ("one", "two")),
        ("one", Prompt.from_text("two")),
        datasets.Dataset.from_dict(COLUMNS)["prompt"],
    ],
    ids=lambda given: type(given).__name__,
)
def test_one_column_of_texts(given: Any) -> None:
    assert texts(given) == ["one", "two"]


REFUSED: dict[str, tuple[Any, str]] = {
    "None": (None, "None is no prompt"),
    "bytes": (b"one", "bytes is no prompt.*decode"),
    "a number": (3, "int is no prompt"),
    "an open file": (io.StringIO("one\ntwo\n"), "StringIO is no prompt.*path of the file"),
    "a set": ({"one", "two"}, "set is no prompt.*no order"),
    "a row": ({"prompt": "one", "kind": "a"}, "dict is no prompt.*list of rows"),
    "nothing": ({}, "dict is no prompt"),
    "a message": (Message("user", "one"), "Message is no prompt.*list of messages"),
    "numbers": (np.arange(3), r"int64 is no prompt \(in prompt 0 of those given\)"),
    "a matrix of texts": (np.array([["one", "two"]]), "ndarray is no prompt"),
    "a single array": (np.array("one"), "ndarray is no prompt"),
    "token ids": ([1, 2, 3], r"int is no prompt \(in prompt 0 of those given\)"),
    "unequal columns": (
        {"prompt": ["one"], "id": ["a", "b"]},
        "expected length 1 but got",
    ),
    "several splits": (
        datasets.DatasetDict({n: datasets.Dataset.from_dict(COLUMNS) for n in ("train", "test")}),
        "2 splits: train, test",
    ),
    "texts in bytes": ([b"one"], r"bytes is no prompt \(in prompt 0 of those given\)"),
    "mixed": (["one", {"prompt": "two"}], r"dict is no prompt \(in prompt 1 of those given\)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_prompt_is_refused(what: str) -> None:
    given, message = REFUSED[what]
    with pytest.raises(PromptError, match=f"(?s){message}"):
        as_prompts(given)


def test_a_file_is_read_by_its_path_and_never_measured_as_its_name(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text("prompt,kind\none,a\ntwo,b\n")
    assert texts(path) == ["one", "two"]
    assert texts(path, column="kind") == ["a", "b"]
    with pytest.raises(PromptError, match="the name of a file"):
        as_prompts(str(path))
    assert texts("gone.csv") == ["gone.csv"]


def test_a_column_of_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for given in (["one"], "one", DataSource(tmp_path / "x.csv")):
        with pytest.raises(PromptError, match="no table"):
            as_prompts(given, column="prompt")
