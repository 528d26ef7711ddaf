"""A text or chat messages, with named character spans, as one frozen `Prompt`.

Spans are half-open character ranges, counted in code points. A chat stays a list of messages until
a tokenizer renders it. Spans may also be marked in the text, `look at <<map>>###<</map>> now`:
marks nest, and a name may be marked several times. Only `<<name>>` and `<</name>>` are marks,
anything else stays text. There is no escape: a text that holds such marks for its own sake is read
without marks and given its spans as character ranges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias, TypedDict, Unpack

from mindshare.errors import PromptError

CharRange: TypeAlias = tuple[int, int]
"""(start, end) in a text."""
MessageRange: TypeAlias = tuple[int, int, int]
"""(message, start, end) in the content of one message of a chat."""
SpanRange: TypeAlias = CharRange | MessageRange
Spans: TypeAlias = Mapping[str, tuple[SpanRange, ...]]

SPAN_NAME = re.compile(r"[A-Za-z][\w-]*")
MARK = re.compile(rf"<<(?P<close>/?)(?P<name>{SPAN_NAME.pattern})>>")


@dataclass(frozen=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str

    def __post_init__(self) -> None:
        for field_name, value in (("role", self.role), ("content", self.content)):
            if not isinstance(value, str):
                raise PromptError(
                    f"a message's {field_name} is {type(value).__name__}, not text",
                    allowed='{"role": "user", "content": "…"}, both strings',
                )
        if not self.role:
            raise PromptError("a message has an empty role", allowed="system, user, assistant, …")
        _refuse_surrogates(self.role, "a role")
        _refuse_surrogates(self.content, f"the {self.role} message")


class PromptDetails(TypedDict, total=False):
    """What a prompt may have beside its content and spans; see `Prompt`."""

    id: str | None
    group: str | None
    answer: str | None
    choices: tuple[str, ...] | None
    place: str | None


@dataclass(frozen=True)
class Prompt:
    """A text or a chat (exactly one of the two), its named spans and its id.

    A name may have several ranges: `(start, end)` in a text, `(message, start, end)` in a chat.
    The id defaults to the first 12 hex digits of the SHA-256 of content and spans. `place` is where
    it was read (a file, a line), for messages only. Prompts that share a `group` are resampled
    together; the `answer` and its `choices` are what a knock-out is judged by. None of them changes
    the id.
    """

    text: str | None = None
    messages: tuple[Message, ...] | None = None
    spans: Spans = field(default_factory=dict)
    id: str = ""
    place: str | None = field(default=None, compare=False, repr=False)
    group: str | None = None
    answer: str | None = None
    choices: tuple[str, ...] | None = None  # answers that the right one is told from

    def __post_init__(self) -> None:
        if (self.text is None) == (self.messages is None):
            raise PromptError("a prompt is either a text or a chat", allowed="exactly one of both")
        if not isinstance(self.spans, Mapping):
            raise PromptError(f"spans={self.spans!r} can't be read", allowed="{name: (start, end)}")
        turns = () if self.messages is None else self.messages
        if not isinstance(turns, Sequence) or not all(isinstance(one, Message) for one in turns):
            raise PromptError(
                f"messages={turns!r} can't be read",
                allowed="Messages; Prompt.from_chat takes dicts with role and content",
            )
        if self.messages is not None and not self.messages:
            raise PromptError("the chat has no messages", allowed="at least one message")
        if self.messages and not any(message.content for message in self.messages):
            raise PromptError("the chat is empty", allowed="at least one message with content")
        if self.text is not None:
            if not isinstance(self.text, str):
                raise PromptError(f"the prompt is {type(self.text).__name__}, not text")
            if not self.text:
                raise PromptError("the prompt is empty", allowed="at least one character")
            _refuse_surrogates(self.text, "the text")
        spans = {str(name): self._ranges(str(name), value) for name, value in self.spans.items()}
        object.__setattr__(self, "spans", spans)
        for name in ("id", "group", "answer"):
            check_label(name, getattr(self, name))
        for choice in self.choices or ():
            check_label("choice", choice)
        object.__setattr__(self, "id", self.id or self.content_hash())

    @classmethod
    def from_text(
        cls,
        text: str,
        spans: Mapping[str, Any] | None = None,
        *,
        marked: bool = False,
        **details: Unpack[PromptDetails],
    ) -> Prompt:
        """A prompt from a text; with `marked`, `<<name>>…<</name>>` in it becomes spans.

        `details` are id, group, answer, choices and place.
        """
        marks: dict[str, tuple[CharRange, ...]] = {}
        if marked:
            text, marks = parse_marks(text)
        return cls(text=text, spans=_joined(spans, marks), **details)  # type: ignore[arg-type]

    @classmethod
    def from_chat(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        spans: Mapping[str, Any] | None = None,
        *,
        marked: bool = False,
        **details: Unpack[PromptDetails],
    ) -> Prompt:
        """A prompt from chat messages; with `marked`, marks in any content become spans.

        `details` are id, group, answer, choices and place.
        """
        turns = [_as_message(message, index) for index, message in enumerate(messages)]
        marks: dict[str, list[MessageRange]] = {}
        for index, turn in enumerate(turns if marked else ()):
            content, ranges_of = parse_marks(turn.content, where=f"message {index}")
            turns[index] = Message(turn.role, content)
            for name, ranges in ranges_of.items():
                marks.setdefault(name, []).extend((index, *range_) for range_ in ranges)
        joined = _joined(spans, marks)
        return cls(messages=tuple(turns), spans=joined, **details)  # type: ignore[arg-type]

    def _ranges(self, name: str, value: Any) -> tuple[SpanRange, ...]:
        """The ranges of a span, one or several as Python or JSON write them, checked and sorted."""
        if not SPAN_NAME.fullmatch(name):
            raise PromptError(
                f"{name!r} cannot name a span",
                allowed="a letter, then letters, digits, _ and -",
            )
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        ranges = value if is_list and value and isinstance(value[0], Sequence) else [value]
        for range_ in ranges:
            self._check_range(name, range_)
        return tuple(sorted(tuple(range_) for range_ in ranges))

    def _check_range(self, name: str, range_: Any) -> None:
        form = "[start, end]" if self.messages is None else "[message, start, end]"
        sized = isinstance(range_, Sequence) and len(range_) == form.count(",") + 1
        if not sized or not all(type(bound) is int for bound in range_):
            raise PromptError(
                f"span {name!r} is {range_!r}, not a character range",
                allowed=f"{form} or a list of them, all integers",
            )
        *message, start, end = range_
        content = self.text or ""
        if self.messages is not None:
            if not 0 <= message[0] < len(self.messages):
                raise PromptError(
                    f"span {name!r} {tuple(range_)} names message {message[0]}",
                    allowed=f"0 to {len(self.messages) - 1}",
                )
            content = self.messages[message[0]].content
        if not 0 <= start < end <= len(content):
            problem = "is empty" if start == end else "is reversed" if start > end else "is outside"
            raise PromptError(
                f"span {name!r} {tuple(range_)} {problem}; the text has {len(content)} characters",
                allowed=f"0 <= start < end <= {len(content)}",
            )

    def content_hash(self) -> str:
        content: Any = self.text
        if self.messages is not None:
            content = [[message.role, message.content] for message in self.messages]
        stable = json.dumps([content, self.spans] if self.spans else content, sort_keys=True)
        return sha256(stable.encode()).hexdigest()[:12]


def parse_marks(
    text: str, *, where: str | None = None
) -> tuple[str, dict[str, tuple[CharRange, ...]]]:
    """The text without its marks, and per name the ranges it marked in that clean text."""
    clean: list[str] = []
    length = copied = 0
    opened: list[tuple[str, int, int]] = []  # name, start in the clean text, position of the mark
    spans: dict[str, list[CharRange]] = {}

    def problem(what: str, position: int) -> PromptError:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        return PromptError(
            f"{what}, at character {position} (line {line}, column {column})",
            where=where,
            allowed="<<name>>…<</name>>, well nested and not empty",
        )

    for mark in MARK.finditer(text):
        clean.append(text[copied : mark.start()])
        length += mark.start() - copied
        copied = mark.end()
        if not mark["close"]:
            opened.append((mark["name"], length, mark.start()))
            continue
        if not opened:
            raise problem(f"{mark[0]} closes nothing", mark.start())
        name, start, position = opened.pop()
        if name != mark["name"]:
            raise problem(f"{mark[0]} stands where <</{name}>> is due", mark.start())
        if start == length:
            raise problem(f"mark <<{name}>> encloses nothing", position)
        spans.setdefault(name, []).append((start, length))
    if opened:
        name, _, position = opened[-1]
        raise problem(f"mark <<{name}>> is never closed", position)
    return "".join(clean) + text[copied:], {name: tuple(sorted(r)) for name, r in spans.items()}


def _as_message(value: Message | Mapping[str, Any], index: int) -> Message:
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping) or not {"role", "content"} <= set(value):
        fields = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise PromptError(
            f"message {index} needs the fields role and content; found: {fields or 'nothing'}",
            allowed='{"role": "user", "content": "…"}',
        )
    try:
        return Message(value["role"], value["content"])
    except PromptError as error:
        raise error.within(f"message {index}") from None


def _joined(spans: Mapping[str, Any] | None, marks: Mapping[str, Any]) -> dict[str, Any]:
    twice = sorted(set(spans or {}) & set(marks))
    if twice:
        raise PromptError(f"span {twice[0]!r} is both given and marked in the text")
    return {**(spans or {}), **marks}


def check_label(name: str, value: Any) -> None:
    """Refuse what no label of a prompt can be."""
    if value is None:
        return
    if not isinstance(value, str):
        raise PromptError(f"the prompt's {name} is {type(value).__name__}, not text")
    if name == "group" and not value:
        raise PromptError("the prompt's group is empty", allowed="a text, or None for no group")
    _refuse_surrogates(value, f"the {name}")


def _refuse_surrogates(text: str, where: str) -> None:
    """A lone surrogate is half a character: no tokenizer can encode it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise PromptError(
            f"character {error.start} is {text[error.start]!r}, half of a surrogate pair",
            where=where,
            next_step="decode the text as UTF-8 or UTF-16 before passing it on",
        ) from None
