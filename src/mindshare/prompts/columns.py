"""Which column is the prompt, its spans, id, answer and group; and a row's values → a prompt.

Without a mapping the columns are those of these names; `text`, `messages` and `prompt` are three
names for the content, of which a row has one. Knows no files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mindshare.errors import PromptError, nearest
from mindshare.prompts.lines import parsed
from mindshare.prompts.prompt import Prompt

CONTENT = ("text", "messages", "prompt")
BESIDE = ("spans", "id", "answer", "group")
PARTS = (*CONTENT, *BESIDE)
MAPPING_FORM = f"PART=COLUMN, where PART is one of {', '.join(PARTS)}; PART= for none"
_CONTENT_FORMS = {
    "text": "a text",
    "messages": 'a list of {"role", "content"}, or that list as JSON',
    "prompt": "a text or a list of messages",
}
_LIKELY = ("question", "instruction", "input", "content", "problem", "query", "sentence")
_SPANS_FORM = '{"name": [start, end]}, or that as JSON'


def parse_columns(written: Iterable[str]) -> dict[str, str]:
    """`prompt=question` and the like as a mapping from part to column."""
    found: dict[str, str] = {}
    for one in written:
        part, sign, column = one.partition("=")
        part = part.strip()
        if not sign:
            raise PromptError(f"{one!r} maps no column", allowed=MAPPING_FORM)
        if part in found:
            raise PromptError(f"{part!r} is mapped twice", allowed="each part once")
        found[part] = column.strip()
    return found


@dataclass(frozen=True)
class Columns:
    """The column of every part (None: no column), and for the content those that may hold it."""

    content: tuple[tuple[str, str], ...]  # (part, column)
    beside: Mapping[str, str | None]
    marked: bool = False

    @property
    def used(self) -> frozenset[str]:
        return frozenset([column for _, column in self.content]) | {
            column for column in self.beside.values() if column is not None
        }

    def prompt(self, values: Mapping[str, Any]) -> tuple[Prompt, bool]:
        """The prompt of a row, and whether the row gave it an id of its own."""
        part, column = self._content_of(values)
        of = {name: values.get(place) if place else None for name, place in self.beside.items()}
        own = _id(of["id"])
        options: dict[str, Any] = {"id": own, "group": _group(of["group"])}
        options |= {"answer": _answer(of["answer"]), "marked": self.marked}
        content, spans = _content(part, column, values[column]), _spans(of["spans"])
        if isinstance(content, str):
            return Prompt.from_text(content, spans, **options), own is not None
        return Prompt.from_chat(content, spans, **options), own is not None

    def _content_of(self, values: Mapping[str, Any]) -> tuple[str, str]:
        there = [place for place in self.content if place[1] in values]
        full = [place for place in there if values[place[1]] is not None] or there
        if len(full) == 1:
            return full[0]
        what = "holds several prompts" if full else "holds no prompt"
        raise PromptError(
            f"the row {what}; fields found: {listed(values)}",
            allowed=f"one of {', '.join(column for _, column in self.content)}",
            next_step="mend the row, or say which column it is: --column prompt=NAME",
        )


def choose_columns(
    mapping: Mapping[str, str],
    known: Iterable[str] | None,
    *,
    where: str,
    fixed: bool = True,
    marked: bool = False,
) -> Columns:
    """The columns that a mapping and the names there are stand for.

    `known` None: nothing is known yet. Not `fixed`: rows may have others, and each its own content.
    """
    names = None if known is None else list(known)
    fixed = fixed and names is not None
    _check_parts(mapping, where)
    for part, column in mapping.items():
        if column and names is not None:
            require_column(column, names, where=where, of=f"column {part}={column}")
    content = tuple((part, mapping[part]) for part in CONTENT if mapping.get(part))
    if not content:
        content = _content_by_name(mapping, names, where=where, fixed=fixed)
    present = [part for part in BESIDE if names is None or not fixed or part in names]
    beside = {part: mapping.get(part, part if part in present else None) or None for part in BESIDE}
    return Columns(content, beside, marked)


def require_column(column: str, known: Iterable[str], *, where: str, of: str) -> None:
    """Refuse a column that is not there."""
    names = list(known)
    if column not in names:
        raise PromptError(
            f"there is no column {column!r}{nearest(column, names)}",
            where=f"{where}, {of}",
            allowed=listed(names),
        )


def _separated(names: Sequence[str]) -> str | None:
    """What to do where the only name looks like several."""
    signs = [sign for sign in ";\t|" if len(names) == 1 and sign in names[0]]
    if not signs:
        return None
    said = "say --format tsv" if signs[0] == "\t" else "save the data with commas"
    return f"{said}, if the columns are separated by {signs[0]!r}"


def listed(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "none"


def _check_parts(mapping: Mapping[str, str], where: str) -> None:
    for part in mapping:
        if part not in PARTS:
            raise PromptError(
                f"a prompt has no part {part!r}{nearest(part, PARTS)}", allowed=MAPPING_FORM
            )
    content = [part for part in CONTENT if mapping.get(part)]
    if len(content) > 1:
        raise PromptError(
            f"{' and '.join(content)} are both mapped", where=where, allowed="one of them"
        )


def _content_by_name(
    mapping: Mapping[str, str], names: list[str] | None, *, where: str, fixed: bool
) -> tuple[tuple[str, str], ...]:
    candidates = [part for part in CONTENT if part not in mapping]
    there = candidates if names is None else [part for part in candidates if part in names]
    if not there:
        raise PromptError(
            f"no column holds the prompt; columns found: {listed(names or ())}",
            where=where,
            allowed=f"a column named {', '.join(CONTENT)}, or any that is said to be one",
            next_step=_separated(names or [])
            or f"say which it is: --column prompt={_likely(names or [])}",
        )
    if fixed and len(there) > 1:
        raise PromptError(
            f"several columns may hold the prompt: {listed(there)}",
            where=where,
            next_step=f"say which it is: --column {there[0]}={there[0]}",
        )
    return tuple((part, part) for part in (there if fixed else candidates))


def _likely(names: Iterable[str]) -> str:
    return next((name for name in names if name.lower() in _LIKELY), "NAME")


def _content(part: str, column: str, value: Any) -> Any:
    """A text or a list of messages."""
    if part == "messages" and isinstance(value, str):
        value = parsed(value, f"column {column}", _CONTENT_FORMS[part])
    if isinstance(value, str) and part != "messages":
        return value
    if isinstance(value, list) and part != "text":
        return value
    raise PromptError(f"{column} is {_type(value)}", allowed=_CONTENT_FORMS[part])


def _spans(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        value = parsed(value, "spans", _SPANS_FORM)
    if isinstance(value, list) and value and all(isinstance(pair, tuple) for pair in value):
        value = dict(value)  # an Arrow map
    if value is None or value == []:
        return None
    if not isinstance(value, dict):
        raise PromptError(f"spans is {type(value).__name__}, not an object", allowed=_SPANS_FORM)
    # Where a table keeps spans as a struct, a name that a row does not have is null.
    return {name: ranges for name, ranges in value.items() if ranges is not None}


def _id(value: Any) -> str | None:
    if value is None:
        return None
    if type(value) not in (str, int) or value == "":
        raise PromptError(f"id is {value!r}", allowed="a text or a whole number")
    return str(value)


def _group(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict | tuple | bytes) or value != value:
        raise PromptError(f"group is {_type(value)}", allowed="a text or a number")
    return str(value)


def _answer(value: Any) -> str | None:
    """Any answer as text: a text as it is, the rest as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _type(value: Any) -> str:
    if value is None:
        return "empty"
    return "nan" if value != value else type(value).__name__
