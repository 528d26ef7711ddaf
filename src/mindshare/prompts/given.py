"""What people pass in Python as prompts → prompts, one at a time; or a refusal that says why.

A text, a chat, a `Prompt`, several of them, a data source, a path. A table in memory (pandas,
polars, Arrow, `datasets`, a dict of columns, a list of rows) is read by column, as a file with the
same columns is. What merely happens to be iterable (the names of a dict, the bytes of a file, the
lines of an open one, a set, which has no order) is refused.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import IOBase
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mindshare.errors import PromptError
from mindshare.prompts.formats import ENDINGS, batch_rows
from mindshare.prompts.prompt import Message, Prompt
from mindshare.prompts.rows import Row, Rows
from mindshare.prompts.source import DataSource, Prompts

Column = str | Mapping[str, str] | None  # of the prompt; or part of a prompt → column
_ALLOWED = (
    "a text, a list of {'role': …, 'content': …}, a mindshare.Prompt, a list of these, or a table "
    "with a column of them"
)
_DECODE = "decode them: prompts.decode('utf-8')"
_NEVER: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bytes, bytearray, memoryview), _DECODE),
    (IOBase, "give the path of the file: pathlib.Path('prompts.jsonl')"),
    ((set, frozenset), "give a list: a set has no order, and the same study must give the same"),
    (Message, "a chat is a list of messages: [message]"),
    (Mapping, "give one prompt as its text, a table as {'prompt': ['…', '…']}, or a list of rows"),
)


class PromptSource(Protocol):
    """Prompts that can be gone through again and again; only one of them need be in memory."""

    def __iter__(self) -> Iterator[Prompt]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True)
class ChosenPrompts:
    """A source without some of its prompts."""

    source: PromptSource
    without: frozenset[str]  # ids

    def __iter__(self) -> Iterator[Prompt]:
        return (prompt for prompt in self.source if prompt.id not in self.without)

    def __len__(self) -> int:
        return len(self.source) - len(self.without)


def as_prompts(prompts: Any, *, column: Column = None) -> PromptSource:
    """One or several prompts from what people pass, or a data source; ids are unique.

    `column` names the column of a table or file that holds the prompt, or maps the parts of a
    prompt (prompt, text, messages, spans, id, answer, choices, group) to columns.
    """
    rows = table_rows(prompts)
    if rows is not None or isinstance(prompts, PathLike):
        columns = {"prompt": column} if isinstance(column, str) else dict(column or {})
        prompts = DataSource(Path(prompts) if rows is None else rows, columns=columns)
    elif column is not None:
        raise PromptError(
            f"column={column!r} is given, and the prompts are {type(prompts).__name__}, no table",
            next_step="leave column out; a DataSource has columns=… of its own",
        )
    if isinstance(prompts, DataSource):
        prompts = prompts.open()
    if isinstance(prompts, Prompts):
        prompts.counted()  # whatever stops the reading does so before any work
    return prompts if isinstance(prompts, (Prompts, ChosenPrompts)) else _distinct(prompts)


def _distinct(prompts: Any) -> list[Prompt]:
    """A prompt, or several."""
    is_one = isinstance(prompts, (str, Prompt)) or _is_chat(prompts)
    items = [as_prompt(prompts)] if is_one else list(_each(prompts))
    if not items:
        raise PromptError("there is no prompt", next_step="give at least one")
    counts: dict[str, int] = {}
    for item in items:
        counts[item.id] = counts.get(item.id, 0) + 1
    for name, count in counts.items():
        if count > 1:
            raise PromptError(
                f"the prompt id {name!r} stands for {count} prompts "
                "(prompts without an id are named by their content)",
                next_step="remove the duplicates, or give each prompt an id of its own",
            )
    return items


def _each(prompts: Any) -> Iterator[Prompt]:
    for kinds, step in _NEVER:
        if isinstance(prompts, kinds):
            raise PromptError(_no_prompt(prompts), allowed=_ALLOWED, next_step=step)
    if not isinstance(prompts, Iterable) or len(getattr(prompts, "shape", (1,))) != 1:
        raise PromptError(_no_prompt(prompts), allowed=_ALLOWED)
    # An Arrow column iterates over scalars, which are no texts.
    items = prompts.to_pylist() if hasattr(prompts, "to_pylist") else prompts
    for number, item in enumerate(items):
        try:
            yield as_prompt(item)
        except PromptError as error:
            raise error.within(f"prompt {number} of those given") from None


def as_prompt(item: Any) -> Prompt:
    """One prompt."""
    if isinstance(item, Prompt):
        return item
    if isinstance(item, str):
        _refuse_file_name(item)
        return Prompt.from_text(item)
    if _is_chat(item):
        return Prompt.from_chat(item)
    raise PromptError(_no_prompt(item), allowed=_ALLOWED)


def _no_prompt(value: Any) -> str:
    if value is None:
        return "None is no prompt"
    missing = isinstance(value, float) and value != value
    return "a value is missing (nan)" if missing else f"{type(value).__name__} is no prompt"


def _is_chat(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(x, Message) or (isinstance(x, dict) and "role" in x) for x in value)


def _refuse_file_name(text: str) -> None:
    """The name of a data file is hardly meant as the text to be measured."""
    if Path(text).suffix.lower() in ENDINGS and "\n" not in text and os.path.isfile(text):
        raise PromptError(
            f"{text!r} is the name of a file, and a text is measured as it is",
            next_step=f"pathlib.Path({text!r}) reads the file; mindshare.Prompt({text!r}) is the "
            "text",
        )


# Tables in memory: they become rows as a file's do, and only the columns that are needed.


def table_rows(value: Any) -> Rows | None:
    """The rows of a table in memory; None if this is no table."""
    name = type(value).__name__
    if isinstance(value, Mapping):
        return _mapping_rows(value, name)
    if hasattr(value, "select_columns"):  # datasets.Dataset: rows may be chosen or shuffled
        return _dataset_rows(value, name)
    if isinstance(value, Sequence) and value and all(isinstance(one, Mapping) for one in value):
        if _is_chat(value):
            return None

        def read(_: Collection[str] | None) -> Iterator[Row]:
            return (Row(f"row {n}", dict(row)) for n, row in enumerate(value, start=1))

        return Rows("the list", None, read)
    names = getattr(value, "column_names", None)
    names = getattr(value, "columns", None) if names is None else names
    if names is None or isinstance(value, (DataSource, Prompts, Rows)):
        return None
    return _frame_rows(value, tuple(map(str, names)), name)


def _mapping_rows(value: Mapping[Any, Any], name: str) -> Rows | None:
    """A dict of columns; of splits (`datasets.DatasetDict`), if it has but one."""
    if value and all(hasattr(one, "column_names") for one in value.values()):
        if len(value) > 1:
            splits = ", ".join(map(str, value))
            raise PromptError(f"{name} has {len(value)} splits: {splits}", next_step="choose one")
        return table_rows(next(iter(value.values())))
    listed = (list, tuple, np.ndarray)
    columns = [isinstance(one, listed) or hasattr(one, "dtype") for one in value.values()]
    if not value or not all(columns) or any(_is_chat(one) for one in value.values()):
        return None
    return _frame_rows(value, tuple(map(str, value)), name)


def _dataset_rows(dataset: Any, name: str) -> Rows:
    columns = None if dataset.column_names is None else tuple(dataset.column_names)

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        chosen = dataset
        if wanted is not None and columns is not None:
            chosen = dataset.select_columns([one for one in columns if one in wanted])
        return (Row(f"{name}, row {n}", dict(row)) for n, row in enumerate(chosen, start=1))

    return Rows(name, columns, read)


def _frame_rows(frame: Any, columns: tuple[str, ...], name: str) -> Rows:
    """Columns that Arrow can take: pandas, polars, Arrow itself, a dict of lists."""
    import pyarrow as pa

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        chosen = [one for one in columns if wanted is None or one in wanted]
        try:
            table = pa.table(_only(frame, chosen))
        # Lengths or types that do not fit, columns of one name, a kind of table Arrow can't take.
        except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
            reason = str(error).partition("\n")[0]
            raise PromptError(f"the table can't be read by column: {reason}", where=name) from None
        return batch_rows(table.to_batches(), name)

    return Rows(name, columns, read)


def _only(frame: Any, columns: list[str]) -> Any:
    if isinstance(frame, Mapping):
        return {name: frame[name] for name in columns}
    if hasattr(frame, "reset_index"):  # pandas: its index is no column
        return frame[columns].reset_index(drop=True)
    return frame.select(columns)
