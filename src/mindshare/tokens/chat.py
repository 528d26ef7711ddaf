"""Chat messages become the text a model's chat template makes of them, with every message located.

Each message is located by rendering the chat again with that message's content replaced by a
sentinel: what stands before and after the sentinel must stand before and after the content. That
holds however often the content occurs elsewhere (in a default system message, say), and when the
template trims it. This module does not know tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mindshare.errors import PromptError, SystemRoleError
from mindshare.prompts import CharRange, Message, Prompt
from mindshare.tokens.encoded import FastTokenizer

SENTINEL = "QZsentinelZQ"
SPANS = dict[str, tuple[CharRange, ...]]


def render_chat(
    prompt: Prompt, tokenizer: FastTokenizer, *, add_generation_prompt: bool = False
) -> tuple[str, SPANS]:
    """The rendered text, and in it the prompt's spans and one `role:NAME` span per role."""
    if not getattr(tokenizer, "chat_template", None):
        raise PromptError(
            "this model's tokenizer has no chat template",
            next_step="give the prompt as text, or choose an instruction-tuned model",
        )
    messages = prompt.messages or ()
    template = _Template(tokenizer, add_generation_prompt)
    text = _rendered(messages, template)
    places = [_place(text, index, messages, template) for index in range(len(messages))]
    spans: SPANS = _role_spans(messages, places)
    for name, ranges in prompt.spans.items():
        spans[name] = tuple(
            _in_rendered(name, (start, end), text=text, place=places[index], index=index)
            for index, start, end in (range_ for range_ in ranges if len(range_) == 3)
        )
    return text, spans


@dataclass(frozen=True)
class _Template:
    tokenizer: FastTokenizer
    add_generation_prompt: bool

    def render(self, messages: Sequence[Message]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return str(
            self.tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=self.add_generation_prompt
            )
        )


@dataclass(frozen=True)
class _Place:
    """Where a message stands in the rendered text, and which part of its content that is."""

    start: int
    end: int
    content_start: int | None  # None: the template changed the content, so its parts are lost


def _rendered(messages: Sequence[Message], template: _Template) -> str:
    try:
        return template.render(messages)
    except Exception as error:  # templates are programs: they raise whatever they like
        without = [message for message in messages if message.role != "system"]
        if without and len(without) < len(messages) and _tried(without, template):
            raise SystemRoleError(
                f"this model's chat template takes no system message: {error}",
                next_step="put the system text at the start of the first user message",
            ) from None
        roles = ", ".join(message.role for message in messages)
        raise PromptError(
            f"this model's chat template refuses the chat: {error}", where=f"roles {roles}"
        ) from None


def _tried(messages: Sequence[Message], template: _Template) -> str | None:
    try:
        return template.render(messages)
    except Exception:
        return None


def _place(text: str, index: int, messages: Sequence[Message], template: _Template) -> _Place:
    content = messages[index].content
    around = _around(text, index, messages, template)
    if around is not None:
        start, end = around
        return _Place(start, end, _position(text[start:end], content))
    kept = content.strip()
    if kept and text.count(kept) == 1:
        start = text.index(kept)
        return _Place(start, start + len(kept), content.index(kept))
    raise PromptError(
        f"the chat template changed message {index} ({messages[index].role}) or left it out: "
        "its text cannot be found in the rendered chat",
        next_step="render the chat yourself and give it as text with spans",
    )


def _around(
    text: str, index: int, messages: Sequence[Message], template: _Template
) -> CharRange | None:
    """The range left over between what the template writes before and after the message."""
    sentinel = SENTINEL
    while sentinel in text:
        sentinel += "Q"
    turns = [*messages[:index], replace(messages[index], content=sentinel), *messages[index + 1 :]]
    before, found, after = (_tried(turns, template) or "").partition(sentinel)
    fits = len(before) + len(after) <= len(text) and sentinel not in after
    if not (found and fits and text.startswith(before) and text.endswith(after)):
        return None
    return len(before), len(text) - len(after)


def _position(kept: str, content: str) -> int | None:
    """Where in the content the part stands that the template kept; None if that is not certain."""
    if kept == content:
        return 0
    if kept == content.strip():
        return len(content) - len(content.lstrip())
    return content.index(kept) if kept and content.count(kept) == 1 else None


def _role_spans(messages: Sequence[Message], places: Sequence[_Place]) -> SPANS:
    spans: SPANS = {}
    for message, place in zip(messages, places, strict=True):
        if place.start < place.end:
            name = f"role:{message.role}"
            spans[name] = tuple(sorted((*spans.get(name, ()), (place.start, place.end))))
    return spans


def _in_rendered(
    name: str, range_: CharRange, *, text: str, place: _Place, index: int
) -> CharRange:
    """A range of a message's content as a range of the rendered text, less what was trimmed."""
    where = f"span {name!r}, message {index}"
    if place.content_start is None:
        raise PromptError(
            f"the chat template changed message {index} to {text[place.start : place.end]!r}, "
            "so parts of it cannot be found",
            where=where,
            next_step="give the message as the template writes it",
        )
    shift = place.start - place.content_start
    start, end = max(range_[0] + shift, place.start), min(range_[1] + shift, place.end)
    if start >= end:
        raise PromptError(
            "the chat template trimmed the span's characters away",
            where=where,
            next_step="mark characters that stay in the rendered chat",
        )
    return start, end
