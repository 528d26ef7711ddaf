"""`hf:owner/name[/config][:split]` becomes the rows of a dataset on the Hugging Face hub, streamed.

Through the optional package `datasets`. The hub is asked once, with a short timeout, before
anything is fetched, so that a machine without a network gets its answer in seconds. Does not know
which column is the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from mindshare.errors import PromptError, nearest
from mindshare.prompts.rows import Row, Rows, broken

PREFIX = "hf:"
FORM = "hf:owner/name, hf:owner/name:split or hf:owner/name/config:split"
ANSWER_SECONDS = 5.0
_WORD = r"[A-Za-z0-9][\w.-]*"
_WRITTEN = re.compile(rf"(?P<path>{_WORD}(/{_WORD})?)(/(?P<config>{_WORD}))?(:(?P<split>[\w.-]+))?")


@dataclass(frozen=True)
class HubData:
    """A dataset on the hub, its configuration and its split, where they are said."""

    path: str
    config: str | None = None
    split: str | None = None

    @property
    def name(self) -> str:
        whole = self.path if self.config is None else f"{self.path}/{self.config}"
        return f"{PREFIX}{whole}" + (f":{self.split}" if self.split else "")


def parse_hub(where: str) -> HubData:
    match = _WRITTEN.fullmatch(where.removeprefix(PREFIX))
    if match is None:
        raise PromptError(f"{where!r} names no dataset of the hub", allowed=FORM)
    return HubData(match["path"], match["config"], match["split"])


def hub_rows(where: str) -> Rows:
    """The rows of a dataset on the hub."""
    data = parse_hub(where)
    datasets = _package(data.name)
    _require_answer(data)
    return streamed(_loaded(datasets, data), data)


def streamed(dataset: Any, data: HubData) -> Rows:
    """The rows of an `IterableDataset`, or of the split of a dictionary of them that is named."""
    if isinstance(dataset, dict):
        name = _split(data, [str(split) for split in dataset])
        data, dataset = HubData(data.path, data.config, name), dataset[name]
    columns = None if dataset.column_names is None else tuple(dataset.column_names)

    def read(wanted: Collection[str] | None) -> Iterator[Row]:
        chosen = dataset
        if wanted is not None and columns is not None:
            chosen = dataset.select_columns([name for name in columns if name in wanted])
        yield from _numbered(chosen, data.name)

    return Rows(data.name, columns, read)


def _numbered(dataset: Any, name: str) -> Iterator[Row]:
    number = 0
    items = iter(dataset)
    while True:
        try:
            values = next(items)
        except StopIteration:
            return
        # What a lost connection raises depends on the library below.
        except Exception as error:
            raise broken(f"{name}, after row {number}", error) from error
        number += 1
        yield Row(f"{name}, row {number}", values)


def _split(data: HubData, splits: list[str]) -> str:
    if data.split in splits:
        return str(data.split)
    if data.split is None and len(splits) == 1:
        return splits[0]
    what = f"the dataset has {len(splits)} splits, and none is named"
    if data.split is not None:
        what = f"the dataset has no split {data.split!r}{nearest(data.split, splits)}"
    whole = HubData(data.path, data.config).name
    raise PromptError(
        what, where=data.name, allowed=", ".join(f"{whole}:{split}" for split in splits)
    )


def _package(name: str) -> Any:
    try:
        return import_module("datasets")
    except ImportError:
        raise PromptError(
            "a dataset of the hub is read through the package datasets, which is not installed",
            where=name,
            next_step="pip install datasets; or give a file, or a folder written by save_to_disk",
        ) from None


def _require_answer(data: HubData) -> None:
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        raise _unreachable(data, "HF_HUB_OFFLINE is set")
    try:
        HfApi().dataset_info(data.path, timeout=ANSWER_SECONDS)
    # What a dead network raises depends on the HTTP library below the hub's client.
    except Exception as error:
        raise _explained(data, error) from error


def _explained(data: HubData, error: Exception) -> PromptError:
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    if isinstance(error, GatedRepoError):
        return PromptError(
            "the dataset is on the hub, but its owner gives access on request only",
            where=data.name,
            next_step=f"ask at https://huggingface.co/datasets/{data.path}, then `hf auth login`",
        )
    if isinstance(error, RepositoryNotFoundError | HFValidationError):
        return PromptError(
            f"the hub has no dataset {data.path!r} (or it is private)",
            where=data.name,
            next_step="check the name; a file or folder is given by its path",
        )
    return _unreachable(data, _first_line(error))


def _unreachable(data: HubData, why: str) -> PromptError:
    return PromptError(
        f"the hub cannot be asked for the dataset: {why}",
        where=data.name,
        next_step="check the network; or give a file, or a folder written by save_to_disk",
    )


def _loaded(datasets: Any, data: HubData) -> Any:
    """All splits, none of them read yet."""
    try:
        return datasets.load_dataset(data.path, name=data.config, streaming=True)
    # Unknown configurations, loading scripts, broken files: each its own kind of error.
    except Exception as error:
        raise PromptError(
            f"the dataset cannot be loaded: {_first_line(error)}", where=data.name, allowed=FORM
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
