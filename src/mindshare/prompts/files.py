"""A text file or a chat file (JSON) becomes one prompt, a JSON Lines file a stream of them.

Files are UTF-8, with or without a byte order mark, and are kept character for character (line ends
too). What else data can be is the matter of `DataSource`. This module does not know tokenizers or
models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from mindshare.errors import PromptError
from mindshare.prompts.columns import Columns, listed
from mindshare.prompts.lines import checked, decoded, parsed
from mindshare.prompts.prompt import Prompt
from mindshare.prompts.source import DataSource

CHAT_FORM = 'a list of {"role", "content"}, or {"messages": [...], "spans": {...}, "id": "..."}'
_CHAT = Columns(
    (("messages", "messages"),), {part: part for part in ("spans", "id", "answer", "group")}
)


def read_text(path: str | Path, *, marked: bool = False) -> Prompt:
    """The whole file as one text prompt; with `marked`, marks in it become spans."""
    text = decoded(checked(path).read_bytes(), str(path))
    return _placed(lambda: Prompt.from_text(text, marked=marked), str(path))


def read_chat(path: str | Path, *, marked: bool = False) -> Prompt:
    """A JSON file of chat messages as one prompt."""
    value = parsed(decoded(checked(path).read_bytes(), str(path)), str(path), CHAT_FORM)
    row = {"messages": value} if isinstance(value, list) else value
    if not isinstance(row, dict) or "messages" not in row:
        found = listed(row) if isinstance(row, dict) else type(value).__name__
        raise PromptError(f"no chat here; found: {found}", where=str(path), allowed=CHAT_FORM)
    return _placed(lambda: replace(_CHAT, marked=marked).prompt(row)[0], str(path))


def read_data(path: str | Path, *, marked: bool = False) -> Iterator[Prompt]:
    """The rows of a JSON Lines file as prompts, one at a time; blank lines are skipped.

    A missing or unreadable file is reported at once, a bad row when it is reached.
    """
    return DataSource(checked(path), format="jsonl", marked=marked).open()


def _placed(build: Callable[[], Prompt], where: str) -> Prompt:
    """The prompt that `build` makes, or its error, with the file that it comes from."""
    try:
        return replace(build(), place=where)
    except PromptError as error:
        inner = where if error.where is None else f"{where}, {error.where}"
        raise PromptError(
            error.what, where=inner, allowed=error.allowed, next_step=error.next_step
        ) from None
