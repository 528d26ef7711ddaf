"""Which column is the prompt, its spans, id, answer, choices and group; which rows are wanted.

Without a mapping the columns are those of these names; `text`, `messages` and `prompt` are three
names for the content, of which a row has one. A filter such as `level>=3` tests a row's values:
numbers are compared as numbers, also where a file holds them as text; all else as text, character
by character. A value that is not there counts as an empty text, and is never less or greater.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mindshare.errors import PromptError, nearest, some
from mindshare.limits import are_matches, is_match, pattern_problem
from mindshare.prompts.prompt import Prompt
from mindshare.prompts.rows import DETAILS, LONGEST_CELL, Row, parsed

CONTENT = ("text", "messages", "prompt")
PARTS = (*CONTENT, *DETAILS)
MAPPING_FORM = f"PART=COLUMN, where PART is one of {', '.join(PARTS)}; PART= for none"
FILTER_FORM = "COLUMN=VALUE, or with !=, <, <=, >, >=, or ~ and a regular expression"
_CONTENT_FORMS = {
    "text": "a text",
    "messages": 'a list of {"role", "content"}, or that list as JSON',
    "prompt": "a text or a list of messages",
}
_LIKELY = ("question", "instruction", "input", "content", "problem", "query", "sentence")
_SPANS_FORM = '{"name": [start, end]}, or that as JSON'
_CHOICES_FORM = 'a list such as ["left", "right"], or that as JSON'


def parse_columns(written: Iterable[str]) -> dict[str, str]:
    """`prompt=question` and the like as a mapping from part to column."""
    mapping: dict[str, str] = {}
    for text in written:
        part, sign, column = text.partition("=")
        part = part.strip()
        if not sign:
            raise PromptError(f"{text!r} maps no column", allowed=MAPPING_FORM)
        if part in mapping:
            raise PromptError(f"{part!r} is mapped twice", allowed="each part once")
        mapping[part] = column.strip()
    return mapping


@dataclass(frozen=True)
class Columns:
    """The columns that may hold the content, as (part, column); those of the other parts."""

    content: tuple[tuple[str, str], ...]
    details: Mapping[str, str]  # part → column, of those that have one
    marked: bool = False

    @property
    def used(self) -> frozenset[str]:
        return frozenset((*(column for _, column in self.content), *self.details.values()))

    def surely_hold_a_prompt(self, values: Mapping[str, Any]) -> bool:
        """Whether `prompt` raises nothing, where that is seen in a twelfth of its time.

        To draw a sample, every row is looked at, and a prompt is made of few.
        """
        present = [(part, values[column]) for part, column in self.content if column in values]
        if self.marked or len(present) != 1 or present[0][0] == "messages":
            return False
        if not _is_text(present[0][1]) or len(present[0][1]) > LONGEST_CELL:
            return False
        others = ((part, values.get(column)) for part, column in self.details.items())
        return all(
            value is None or (part in ("id", "group", "answer") and _is_text(value))
            for part, value in others
        )

    def prompt(self, values: Mapping[str, Any], place: str | None = None) -> tuple[Prompt, bool]:
        """The prompt of a row, and whether the row gave it an id of its own."""
        present = [pair for pair in self.content if pair[1] in values]
        filled = [pair for pair in present if values[pair[1]] is not None] or present
        if len(filled) != 1:
            what = "holds several prompts" if filled else "holds no prompt"
            raise PromptError(
                f"the row {what}; fields found: {listed(values)}",
                allowed=f"one of {', '.join(column for _, column in self.content)}",
                next_step=f"mend the row, or {_which('NAME')}",
            )
        content = _content(*filled[0], values[filled[0][1]])
        _require_short(filled[0][1], content)
        details = {part: values.get(column) for part, column in self.details.items()}
        row_id = _id(details.get("id"))
        build = Prompt.from_text if isinstance(content, str) else Prompt.from_chat
        prompt = build(
            content,
            _spans(details.get("spans")),
            id=row_id,
            marked=self.marked,
            group=_group(details.get("group")),
            answer=_answer(details.get("answer")),
            choices=_choices(details.get("choices")),
            place=place,
        )
        return prompt, row_id is not None


def choose_columns(
    mapping: Mapping[str, str],
    names: Sequence[str] | None,
    *,
    where: str,
    fixed: bool = True,
    marked: bool = False,
) -> Columns:
    """The columns that a mapping and the names of the data stand for.

    `names` None: nothing is known yet. Not `fixed`: these are names of the first rows, others may
    have more, and each its own content.
    """
    fixed = fixed and names is not None
    for part, column in mapping.items():
        if part not in PARTS:
            what = f"a prompt has no part {part!r}{nearest(part, PARTS)}"
            raise PromptError(what, allowed=MAPPING_FORM)
        if column and names is not None:
            require_column(column, names, where=where, of=f"column {part}={column}")
    content = [(part, mapping[part]) for part in CONTENT if mapping.get(part)]
    if len(content) > 1:
        both = " and ".join(part for part, _ in content)
        raise PromptError(f"{both} are both mapped", where=where, allowed="one of them")
    if not content:
        possible = [part for part in CONTENT if part not in mapping]
        present = [part for part in possible if names is None or part in names]
        if not present:
            raise _no_content(names or (), where)
        if fixed and len(present) > 1:
            raise PromptError(
                f"several columns may hold the prompt: {listed(present)}",
                where=where,
                next_step=_which(present[0], present[0]),
            )
        content = [(part, part) for part in (present if fixed else possible)]
    default = {part: part for part in DETAILS if not fixed or part in (names or ())}
    chosen = {**default, **{part: mapping[part] for part in DETAILS if part in mapping}}
    details = {part: column for part, column in chosen.items() if column}
    return Columns(tuple(content), details, marked)


def require_column(column: str, names: Sequence[str], *, where: str, of: str) -> None:
    """Refuse a column that is not there."""
    if column not in names:
        raise PromptError(
            f"there is no column {column!r}{nearest(column, names)}",
            where=f"{where}, {of}",
            allowed=listed(names),
        )


def _no_content(names: Sequence[str], where: str) -> PromptError:
    likely = next((name for name in names if name.lower() in _LIKELY), "NAME")
    step = _which(likely)
    signs = [sign for sign in ";\t|" if len(names) == 1 and sign in names[0]]
    if signs:  # the only name looks like several
        advice = "say --format tsv" if signs[0] == "\t" else "save the data with commas"
        step = f"{advice}, if the columns are separated by {signs[0]!r}"
    return PromptError(
        f"no column holds the prompt; columns found: {listed(names)}",
        where=where,
        allowed=f"a column named {', '.join(CONTENT)}, or any that is said to be one",
        next_step=step,
    )


def _which(column: str, part: str = "prompt") -> str:
    """The way out where the column is not clear: as an option, and in Python."""
    return f"say which column it is: --column {part}={column}, or column={column!r} in Python"


def listed(names: Iterable[Any]) -> str:
    return some(names, most=40) or "none"


def _content(part: str, column: str, value: Any) -> Any:
    """A text or a list of messages."""
    if part == "messages" and isinstance(value, str):
        value = parsed(value, f"column {column}", _CONTENT_FORMS[part])
    if isinstance(value, str) and part != "messages":
        return value
    if isinstance(value, list) and part != "text":
        return value
    raise PromptError(f"{column} is {_type(value)}", allowed=_CONTENT_FORMS[part])


def _is_text(value: Any) -> bool:
    """A text of at least one character, and of whole ones."""
    if not isinstance(value, str) or not value:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _require_short(column: str, content: Any) -> None:
    """Refuse a text that no model could read, before a tokenizer spends minutes on it."""
    turns = [content] if isinstance(content, str) else [
        turn.get("content") for turn in content if isinstance(turn, dict)
    ]  # fmt: skip
    length = sum(len(text) for text in turns if isinstance(text, str))
    if length > LONGEST_CELL:
        raise PromptError(
            f"{column} has {length:,} characters", allowed=f"at most {LONGEST_CELL:,}"
        )


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


def _choices(value: Any) -> tuple[str, ...] | None:
    """A list of answers, as such or as JSON."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = parsed(value, "choices", _CHOICES_FORM)
    if not isinstance(value, list | tuple) or not value:
        raise PromptError(f"choices is {_type(value)}", allowed=_CHOICES_FORM)
    return tuple(str(_answer(one)) for one in value)


def _type(value: Any) -> str:
    if value is None:
        return "empty"
    return "nan" if value != value else type(value).__name__


Number = int | float | Decimal
_FILTER = re.compile(
    r"(?P<column>[^=!<>~]*(?:![^=!<>~]+)*)(?P<sign>==|!=|<=|>=|=|<|>|~)(?P<value>.*)", re.DOTALL
)
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDER = ("<", "<=", ">", ">=")
_ROWS_AHEAD, _BYTES_AHEAD = 256, 4 << 20


@dataclass(frozen=True)
class Filter:
    """One test of a row; `written` is its text, `number` the value as a number if it is one."""

    written: str
    column: str
    sign: str
    value: str
    number: Number | None

    def holds(self, values: Mapping[str, Any]) -> bool:
        value = values.get(self.column)
        if self.sign == "~":
            return self._matches(_text(value))
        if value is None and self.sign in _ORDER:
            return False
        number = None if self.number is None else _number(value)
        if number is not None:
            return _COMPARE[self.sign](number, self.number)
        if self.number is not None and self.sign in _ORDER:  # a word is not less than 3
            return False
        # true, True and TRUE are the same
        wanted = self.value.lower() if isinstance(value, bool) else self.value
        return _COMPARE[self.sign](_text(value), wanted)

    def _matches(self, text: str) -> bool:
        try:
            return is_match(self.value, text)
        except TimeoutError as error:
            raise PromptError(
                f"the regular expression {self.value!r} runs away: {error} for {len(text):,} "
                "characters",
                where=f"filter {self.written!r}",
                next_step="write it without repeats inside repeats, such as (a+)+, and without "
                "choices that overlap, such as (a|aa)+",
            ) from None


def tested(rows: Iterable[Row], filters: Sequence[Filter]) -> Iterator[tuple[Row, bool]]:
    """Each row, and whether every filter holds of it.

    A pattern that might run away is matched by another process. That takes 0.3 ms for one text and
    little more for many, so some rows are read ahead for it.
    """
    if not any(test.sign == "~" for test in filters):
        yield from ((row, all(test.holds(row.values) for test in filters)) for row in rows)
        return
    for group in _groups(rows):
        verdicts = _verdicts(group, filters)
        if verdicts is not None:
            yield from zip(group, verdicts, strict=True)
        else:  # one at a time: the row that takes too long may be behind the last that is wanted
            yield from ((row, all(test.holds(row.values) for test in filters)) for row in group)


def _verdicts(rows: Sequence[Row], filters: Sequence[Filter]) -> list[bool] | None:
    """Whether all filters hold, row by row; None if a pattern takes too long for them together."""
    verdicts = [True] * len(rows)
    for test in sorted(filters, key=lambda test: test.sign == "~"):  # patterns last
        left = [index for index, holds in enumerate(verdicts) if holds]
        values = [rows[index].values for index in left]
        if test.sign == "~":
            try:
                found = are_matches(test.value, [_text(one.get(test.column)) for one in values])
            except TimeoutError:
                return None
        else:
            found = [test.holds(one) for one in values]
        for index, holds in zip(left, found, strict=True):
            verdicts[index] = holds
    return verdicts


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Some rows at a time; an error of the reading comes after the rows that were read before."""
    source, group, size = iter(rows), list[Row](), 0
    while True:
        try:
            row = next(source)
        except StopIteration:
            yield group
            return
        except PromptError:
            yield group
            raise
        group.append(row)
        size += row.size
        if len(group) == _ROWS_AHEAD or size > _BYTES_AHEAD:
            yield group
            group, size = [], 0


def parse_filter(written: str) -> Filter:
    match = _FILTER.fullmatch(written)
    column = match["column"].strip() if match else ""
    if match is None or not column:
        raise PromptError(f"the filter {written!r} cannot be read", allowed=FILTER_FORM)
    sign, value = match["sign"].replace("==", "="), match["value"].strip()
    if sign == "~":
        problem = pattern_problem(value)
        if problem is not None:
            raise PromptError(
                f"the regular expression {value!r} is invalid: {problem}",
                where=f"filter {written!r}",
                next_step="escape special characters with a backslash",
            )
    return Filter(written, column, sign, value, _number(value))


def _number(value: Any) -> Number | None:
    """The number that a value is or writes; whole numbers exactly."""
    if isinstance(value, Number) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    try:
        return int(value)
    except ValueError:
        return float(value)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
