"""Text or chat messages, with named character spans, become one frozen `Prompt`.

Spans are character ranges, half-open, counted in code points. This module does not know
tokenizers, chat templates or files: a chat stays a list of messages until a tokenizer renders it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from mindshare.errors import PromptError
from mindshare.prompts.markup import parse_marks

CharRange: TypeAlias = tuple[int, int]
"""(start, end) in a text."""
MessageRange: TypeAlias = tuple[int, int, int]
"""(message, start, end) in the content of one message of a chat."""
SpanRange: TypeAlias = CharRange | MessageRange
Spans: TypeAlias = Mapping[str, tuple[SpanRange, ...]]

SPAN_NAME = re.compile(r"[A-Za-z][\w-]*")


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


@dataclass(frozen=True)
class Prompt:
    """A text or a chat (exactly one of the two), its named spans and its id.

    A name may have several ranges: `(start, end)` in a text, `(message, start, end)` in a chat.
    The id defaults to the first 12 hex digits of the SHA-256 of content and spans. `place` is where
    it was read (a file, a line), for messages only. Prompts that share a `group` are resampled
    together; the `answer` is kept, not measured. Neither changes the id.
    """

    text: str | None = None
    messages: tuple[Message, ...] | None = None
    spans: Spans = field(default_factory=dict)
    id: str = ""
    place: str | None = field(default=None, compare=False, repr=False)
    group: str | None = None
    answer: str | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.messages is None):
            raise PromptError("a prompt is either a text or a chat", allowed="exactly one of both")
        if self.text is not None:
            _check_text(self.text)
        else:
            _check_messages(self.messages or ())
        spans = {str(name): self._ranges(str(name), value) for name, value in self.spans.items()}
        object.__setattr__(self, "spans", spans)
        for name in ("id", "group", "answer"):
            _check_label(name, getattr(self, name))
        object.__setattr__(self, "id", self.id or self._content_hash())

    @classmethod
    def from_text(
        cls,
        text: str,
        spans: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,
        marked: bool = False,
        group: str | None = None,
        answer: str | None = None,
    ) -> Prompt:
        """A prompt from a text; with `marked`, `<<name>>…<</name>>` in it becomes spans."""
        found: dict[str, tuple[SpanRange, ...]] = {}
        if marked:
            text, marks = parse_marks(text)
            found.update(marks)
        spans = _joined(spans, found)
        return cls(text=text, spans=spans, id=id or "", group=group, answer=answer)

    @classmethod
    def from_chat(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        spans: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,
        marked: bool = False,
        group: str | None = None,
        answer: str | None = None,
    ) -> Prompt:
        """A prompt from chat messages; with `marked`, marks in any content become spans."""
        turns = [as_message(message, index) for index, message in enumerate(messages)]
        found: dict[str, tuple[SpanRange, ...]] = {}
        for index, turn in enumerate(turns if marked else ()):
            content, marks = parse_marks(turn.content, where=f"message {index}")
            turns[index] = Message(turn.role, content)
            for name, ranges in marks.items():
                found[name] = (*found.get(name, ()), *((index, *range_) for range_ in ranges))
        spans = _joined(spans, found)
        return cls(messages=tuple(turns), spans=spans, id=id or "", group=group, answer=answer)

    def _ranges(self, name: str, value: Any) -> tuple[SpanRange, ...]:
        if not SPAN_NAME.fullmatch(name):
            raise PromptError(
                f"{name!r} cannot name a span",
                allowed="a letter, then letters, digits, _ and -",
            )
        ranges = tuple(sorted(_as_ranges(name, value, width=2 if self.messages is None else 3)))
        for range_ in ranges:
            self._check_range(name, range_)
        return ranges

    def _check_range(self, name: str, range_: SpanRange) -> None:
        *message, start, end = range_
        content = self.text or ""
        if self.messages is not None:
            if not 0 <= message[0] < len(self.messages):
                raise PromptError(
                    f"span {name!r} {range_} names message {message[0]}",
                    allowed=f"0 to {len(self.messages) - 1}",
                )
            content = self.messages[message[0]].content
        if not 0 <= start < end <= len(content):
            problem = "is empty" if start == end else "is reversed" if start > end else "is outside"
            raise PromptError(
                f"span {name!r} {range_} {problem}; the text has {len(content)} characters",
                allowed=f"0 <= start < end <= {len(content)}",
            )

    def _content_hash(self) -> str:
        content: Any = self.text
        if self.messages is not None:
            content = [[message.role, message.content] for message in self.messages]
        stable = json.dumps([content, self.spans] if self.spans else content, sort_keys=True)
        return sha256(stable.encode()).hexdigest()[:12]


def as_message(value: Message | Mapping[str, Any], index: int) -> Message:
    """A `Message` from a message or from a `{"role": …, "content": …}` mapping."""
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping) or not {"role", "content"} <= set(value):
        found = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise PromptError(
            f"message {index} needs the fields role and content; found: {found or 'nothing'}",
            allowed='{"role": "user", "content": "…"}',
        )
    try:
        return Message(value["role"], value["content"])
    except PromptError as error:
        raise PromptError(error.what, where=f"message {index}", allowed=error.allowed) from None


def _as_ranges(name: str, value: Any, width: int) -> list[SpanRange]:
    """One range or several, as Python or JSON write them, as a list of integer tuples."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise _bad_range(name, value, width)
    several = value if isinstance(value[0], Sequence) else [value]
    for range_ in several:
        sized = isinstance(range_, Sequence) and len(range_) == width
        if not sized or not all(type(bound) is int for bound in range_):
            raise _bad_range(name, range_, width)
    return [tuple(range_) for range_ in several]


def _bad_range(name: str, value: Any, width: int) -> PromptError:
    form = "[start, end]" if width == 2 else "[message, start, end]"
    return PromptError(
        f"span {name!r} is {value!r}, not a character range",
        allowed=f"{form} or a list of them, all integers",
    )


def _joined(
    given: Mapping[str, Any] | None, marked: dict[str, tuple[SpanRange, ...]]
) -> dict[str, Any]:
    twice = sorted(set(given or {}) & set(marked))
    if twice:
        raise PromptError(f"span {twice[0]!r} is both given and marked in the text")
    return {**(given or {}), **marked}


def _check_label(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise PromptError(f"the prompt's {name} is {type(value).__name__}, not text")
    if name == "group" and not value:
        raise PromptError("the prompt's group is empty", allowed="a text, or None for no group")
    _refuse_surrogates(value, f"the {name}")


def _check_text(text: str) -> None:
    if not isinstance(text, str):
        raise PromptError(f"the prompt is {type(text).__name__}, not text")
    if not text:
        raise PromptError("the prompt is empty", allowed="at least one character")
    _refuse_surrogates(text, "the text")


def _check_messages(messages: tuple[Message, ...]) -> None:
    if not messages:
        raise PromptError("the chat has no messages", allowed="at least one message")
    if not any(message.content for message in messages):
        raise PromptError("the chat is empty", allowed="at least one message with content")


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
