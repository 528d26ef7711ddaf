"""A text file, a chat file (JSON) or a data file (JSON Lines) becomes prompts.

Files are UTF-8, with or without a byte order mark, and are kept character for character (line ends
too). Data files are streamed row by row. This module does not know tokenizers or models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mindshare.errors import PromptError
from mindshare.prompts.prompt import Prompt

CHAT_FORM = 'a list of {"role", "content"}, or {"messages": [...], "spans": {...}, "id": "..."}'
CONTENT_FIELDS = ("text", "messages", "prompt")
ROW_FORM = "one of text, messages or prompt; optional id, spans; other fields are ignored"


def read_text(path: str | Path, *, marked: bool = False) -> Prompt:
    """The whole file as one text prompt; with `marked`, marks in it become spans."""
    text = _decoded(_read_bytes(path), str(path))
    return _placed(lambda: Prompt.from_text(text, marked=marked), str(path))


def read_chat(path: str | Path, *, marked: bool = False) -> Prompt:
    """A JSON file of chat messages as one prompt."""
    value = _json(_decoded(_read_bytes(path), str(path)), str(path), CHAT_FORM)
    row = {"messages": value} if isinstance(value, list) else value
    if not isinstance(row, dict) or "messages" not in row:
        found = _fields(row) if isinstance(row, dict) else type(value).__name__
        raise PromptError(f"no chat here; found: {found}", where=str(path), allowed=CHAT_FORM)
    return _placed(lambda: _prompt_of(row, "messages", marked), str(path))


def read_data(path: str | Path, *, marked: bool = False) -> Iterator[Prompt]:
    """The rows of a JSON Lines file as prompts, one at a time; blank lines are skipped.

    A missing or unreadable file is reported at once, a bad row when it is reached.
    """
    return _rows(_checked(path), marked)


def _rows(path: Path, marked: bool) -> Iterator[Prompt]:
    empty = True
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}"
            text = _decoded(line, where)
            if text.strip():
                empty = False
                yield _row_prompt(_json(text, where, ROW_FORM), where, marked)
    if empty:
        raise PromptError("the data file has no rows", where=str(path), allowed=ROW_FORM)


def _row_prompt(row: Any, where: str, marked: bool) -> Prompt:
    if not isinstance(row, dict):
        raise PromptError(
            f"the row is a JSON {type(row).__name__}, not an object", where=where, allowed=ROW_FORM
        )
    content = [name for name in CONTENT_FIELDS if name in row]
    if len(content) != 1:
        what = "holds several prompts" if content else "holds no prompt"
        raise PromptError(
            f"the row {what}; fields found: {_fields(row)}", where=where, allowed=ROW_FORM
        )
    return _placed(lambda: _prompt_of(row, content[0], marked), where)


def _prompt_of(row: Mapping[str, Any], field: str, marked: bool) -> Prompt:
    content, spans, given_id = row[field], row.get("spans"), row.get("id")
    if spans is not None and not isinstance(spans, dict):
        raise PromptError(
            f"spans is {type(spans).__name__}, not an object", allowed='{"name": [start, end]}'
        )
    if given_id is not None and (type(given_id) not in (str, int) or given_id == ""):
        raise PromptError(f"id is {given_id!r}", allowed="a text or a whole number")
    id_ = None if given_id is None else str(given_id)
    if isinstance(content, str) and field != "messages":
        return Prompt.from_text(content, spans, id=id_, marked=marked)
    if isinstance(content, list) and field != "text":
        return Prompt.from_chat(content, spans, id=id_, marked=marked)
    wanted = {"text": "a string", "messages": "a list", "prompt": "a string or a list of messages"}
    raise PromptError(f"{field} is {type(content).__name__}", allowed=wanted[field])


def _placed(build: Callable[[], Prompt], where: str) -> Prompt:
    """The prompt that `build` makes, or its error, with the file (and line) it comes from."""
    try:
        return replace(build(), place=where)
    except PromptError as error:
        inner = where if error.where is None else f"{where}, {error.where}"
        raise PromptError(
            error.what, where=inner, allowed=error.allowed, next_step=error.next_step
        ) from None


def _checked(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise PromptError("this is a folder, not a file", where=str(path))
    try:
        path.open("rb").close()
    except FileNotFoundError:
        raise PromptError(
            "there is no such file", where=str(path), next_step="check the path"
        ) from None
    except OSError as error:
        raise PromptError(f"the file cannot be read: {error.strerror}", where=str(path)) from None
    return path


def _read_bytes(path: str | Path) -> bytes:
    return _checked(path).read_bytes()


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PromptError(
            f"byte {error.start} is not UTF-8 (0x{data[error.start]:02x})",
            where=where,
            next_step="save the file as UTF-8",
        ) from None


def _json(text: str, where: str, form: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"column {error.colno}"
        if error.lineno > 1:
            place = f"line {error.lineno}, {place}"
        raise PromptError(
            f"this is not JSON: {error.msg} at {place}", where=where, allowed=form
        ) from None
    except RecursionError:
        raise PromptError("this JSON is nested too deeply", where=where, allowed=form) from None


def _fields(row: Mapping[str, Any]) -> str:
    return ", ".join(map(str, row)) or "none"
