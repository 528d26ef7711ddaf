"""The four prompt options become prompts: exactly one of them, read before any model is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mindshare.errors import PromptError
from mindshare.prompts import Prompt, read_chat, read_data, read_text


@dataclass(frozen=True)
class Source:
    """What the user gave; None is not given."""

    text: str | None
    file: Path | None
    chat: Path | None
    data: Path | None
    marked: bool = False

    def read(self, *, limit: int | None = None) -> list[Prompt]:
        """The prompts; of a data file the first `limit`."""
        self._require_one()
        return list(islice(self._prompts(), limit))

    def _prompts(self) -> Iterator[Prompt]:
        if self.data is not None:
            yield from read_data(self.data, marked=self.marked)
        elif self.chat is not None:
            yield read_chat(self.chat, marked=self.marked)
        elif self.file is not None:
            yield read_text(self.file, marked=self.marked)
        else:
            yield Prompt.from_text(self.text or "", marked=self.marked)

    def _require_one(self) -> None:
        options = {"--text": self.text, "--file": self.file}
        options |= {"--chat": self.chat, "--data": self.data}
        given = [name for name, value in options.items() if value is not None]
        if len(given) != 1:
            found = f"{' and '.join(given)} are given together" if given else "no prompt is given"
            raise PromptError(found, allowed=f"exactly one of {', '.join(options)}")
