"""The prompt options become prompts: exactly one source, read before any model is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mindshare.errors import PromptError
from mindshare.prompts import (
    BadRow,
    DataReader,
    DataSource,
    Prompt,
    parse_columns,
    read_chat,
    read_text,
)

SHOWN = 5  # bad rows that are told one by one; all of them are in the reader's list


@dataclass(frozen=True)
class OnePrompt:
    """A prompt that is no row, in the shape of a reader."""

    prompt: Prompt
    bad: list[BadRow] = field(default_factory=list)

    def __iter__(self) -> Iterator[Prompt]:
        yield self.prompt


@dataclass(frozen=True)
class Source:
    """What the user gave; None is not given. What is below `marked` goes with `data` only."""

    text: str | None
    file: Path | None
    chat: Path | None
    data: str | Path | None
    marked: bool = False
    format: str = "auto"
    columns: Sequence[str] | None = None
    where: Sequence[str] | None = None
    sample: int | None = None
    sample_seed: int = 0
    bad_rows: str = "stop"
    left_out: list[BadRow] = field(default_factory=list)  # filled by `read`

    @property
    def many(self) -> bool:
        """A dataset: what is measured of it is kept as it comes."""
        return self.data is not None

    @property
    def on_bad_rows(self) -> Literal["stop", "skip"]:
        """Checked when the source is opened."""
        return "skip" if self.bad_rows == "skip" else "stop"

    def read(self, *, limit: int | None = None) -> list[Prompt]:
        """The prompts; of data the first `limit`. Rows that are left out are told on stderr."""
        reader = self.open(limit=limit)
        prompts = list(reader)
        self.left_out[:] = reader.bad
        tell_bad_rows(reader.bad)
        return prompts

    def open(self, *, limit: int | None = None) -> DataReader | OnePrompt:
        """The prompts one at a time, and `bad`, the rows that were left out."""
        self._require_one()
        if self.data is not None:
            return self.data_source(limit=limit).open()
        self._require_no_data_options()
        if self.chat is not None:
            return OnePrompt(read_chat(self.chat, marked=self.marked))
        if self.file is not None:
            return OnePrompt(read_text(self.file, marked=self.marked))
        return OnePrompt(Prompt.from_text(self.text or "", marked=self.marked))

    def data_source(self, *, limit: int | None = None) -> DataSource:
        """What --data and its options stand for."""
        assert self.data is not None
        return DataSource(
            self.data,
            format=self.format,
            columns=parse_columns(self.columns or ()),
            filters=tuple(self.where or ()),
            sample=self.sample,
            sample_seed=self.sample_seed,
            limit=limit,
            bad_rows=self.bad_rows,
            marked=self.marked,
        )

    def _require_one(self) -> None:
        options = {"--text": self.text, "--file": self.file}
        options |= {"--chat": self.chat, "--data": self.data}
        given = [name for name, value in options.items() if value is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given together" if given else "no prompt is given"
            raise PromptError(found, allowed=f"exactly one of {', '.join(options)}")

    def _require_no_data_options(self) -> None:
        given = {
            "--format": self.format != "auto",
            "--column": self.columns,
            "--where": self.where,
            "--sample": self.sample is not None,
            "--sample-seed": self.sample_seed,
            "--bad-rows": self.bad_rows != "stop",
        }
        for name, value in given.items():
            if value:
                raise PromptError(f"{name} goes with --data", next_step=f"leave {name} out")


def tell_bad_rows(bad: Sequence[BadRow]) -> None:
    """How many rows were left out, and the first of them with their places and reasons."""
    from mindshare.cli.numbers import counted
    from mindshare.cli.screen import warn

    for place, reason in bad[:SHOWN]:
        warn(f"left out: {reason} (in {place})")
    if len(bad) > SHOWN:
        warn(f"{counted(len(bad), 'bad row')} left out in all; the first {SHOWN} are above")
