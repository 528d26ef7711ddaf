"""A prompt and a tokenizer become an `Encoded`: ids, exact character ranges, spans, BOS.

A chat is rendered by the model's own template, and every message is located in the rendered text by
rendering the chat again with that message's content replaced by a sentinel: what stands before and
after the sentinel must stand before and after the content. That holds however often the content
occurs elsewhere (in a default system message, say), and when the template trims it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mindshare.errors import PromptError, SystemRoleError, TokenError
from mindshare.limits import bounded, try_template
from mindshare.prompts import CharRange, Message, Prompt
from mindshare.tokens.offsets import (
    absent_bytes,
    exact_ranges,
    is_space_marker,
    place_added,
    uncovered_ranges,
    walked_ranges,
)

FAST_NEEDED = "load the model's fast tokenizer (AutoTokenizer with a tokenizer.json in the folder)"
SENTINEL = "QZsentinelZQ"
LONGEST_CHAT = 1_000_000  # characters that a template may add, and nine more for each of the chat's
DUMMY_PREFIX = "▁"
"""Piece of a token that stands for a space the tokenizer put there: it has no character."""

BosOrigin = Literal[
    "tokenizer", "added: the model's own files ask for it", "in the text", "none asked for"
]


class FastTokenizer(Protocol):
    """What is used of a transformers fast tokenizer."""

    bos_token: str | None
    bos_token_id: int | None
    chat_template: Any

    @property
    def is_fast(self) -> bool: ...
    @property
    def all_special_ids(self) -> Sequence[int]: ...
    def __call__(self, text: str, **options: Any) -> Mapping[str, Any]: ...
    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]: ...
    def decode(self, token_ids: list[int]) -> str: ...
    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> Any: ...


@dataclass(frozen=True)
class BosReport:
    """Whether the sequence starts with the begin-of-sequence token, and who put it there."""

    token: str | None
    present: bool
    origin: BosOrigin


@dataclass(frozen=True)
class Encoded:
    """A prompt as tokens, each with its exact character range in `text`.

    `text` is the string that was tokenised (for a chat, the rendered template). Ranges never go
    backwards; tokens that carry the bytes of one character share its range; tokens the tokenizer
    adds have an empty one. `spans` are the prompt's spans in `text`, plus `role:NAME` for chats.
    `uncovered` are the characters the tokenizer dropped.
    """

    prompt: Prompt
    text: str
    ids: tuple[int, ...]
    offsets: tuple[CharRange, ...]
    pieces: tuple[str, ...]
    special: tuple[bool, ...]
    spans: Mapping[str, tuple[CharRange, ...]]
    bos: BosReport
    uncovered: tuple[CharRange, ...]

    def __len__(self) -> int:
        return len(self.ids)


def token_mask(encoded: Encoded, ranges: Iterable[CharRange]) -> NDArray[np.bool_]:
    """Which tokens [T] share a character with any of the ranges; empty tokens share none."""
    starts, ends = bounds(encoded)
    mask = np.zeros(len(encoded), dtype=bool)
    for start, end in ranges:
        mask |= (starts < end) & (ends > start) & (starts < ends)
    return mask


def bounds(encoded: Encoded) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First character and one past the last character of every token, [T] each."""
    pairs = np.asarray(encoded.offsets, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def encode(
    prompt: Prompt,
    tokenizer: FastTokenizer,
    *,
    add_bos: bool | None = None,
    add_generation_prompt: bool = False,
) -> Encoded:
    """Tokenise a prompt.

    `add_bos` None leaves the begin-of-sequence token to the tokenizer (for a chat: to its
    template); True adds it where it is missing, False removes one the tokenizer added. A BOS that
    is written in the text stays, and is never doubled.
    """
    if prompt.messages is None:
        text = prompt.text or ""
        spans = {name: cast(tuple[CharRange, ...], r) for name, r in prompt.spans.items()}
    else:
        text, spans = render_chat(prompt, tokenizer, add_generation_prompt=add_generation_prompt)
    # A rendered chat already holds the special tokens its template wants.
    tokens = _tokenised(text, tokenizer, add_special_tokens=prompt.messages is None)
    tokens, bos = _with_bos(tokens, tokenizer, add_bos)
    covered = _covered(text, tokens.ranges)
    return Encoded(
        prompt=prompt,
        text=text,
        ids=tuple(tokens.ids),
        offsets=tuple(tokens.ranges),
        pieces=tuple(map(_piece, tokens.raw, covered, tokens.added)),
        special=tuple(tokens.special),
        spans=spans,
        bos=bos,
        uncovered=uncovered_ranges(len(text), tokens.ranges),
    )


def continuation_ids(
    encoded: Encoded, text: str, tokenizer: FastTokenizer, *, add_bos: bool | None = None
) -> tuple[int, ...]:
    """The token ids of the prompt with this text behind it."""
    whole, plain = encoded.text + text, encoded.prompt.messages is None
    tokens = _tokenised(whole, tokenizer, add_special_tokens=plain)
    return tuple(_with_bos(tokens, tokenizer, add_bos)[0].ids)


@dataclass(frozen=True)
class _TokenLists:
    """Parallel lists, one entry per token."""

    ids: list[int]
    raw: list[str]  # the vocabulary's own strings
    ranges: list[CharRange]
    added: list[bool]  # by the tokenizer: no text of their own
    special: list[bool]


def _tokenised(text: str, tokenizer: FastTokenizer, *, add_special_tokens: bool) -> _TokenLists:
    ids, reported = _reported(text, tokenizer, add_special_tokens)
    raw = tokenizer.convert_ids_to_tokens(ids)
    known, unknown = _special_ids(tokenizer), getattr(tokenizer, "unk_token_id", None)
    covered = _covered(text, reported)
    added = [token in known and not chars for token, chars in zip(ids, covered, strict=True)]
    if all(added):
        raise PromptError(
            f"the tokenizer makes no tokens of {text[:40]!r}",
            allowed="text with at least one character the tokenizer keeps",
        )
    # An unknown token stands for characters of the text: it is special only as its own name.
    special = [
        token in known and (token != unknown or chars.strip() == name or not chars)
        for token, name, chars in zip(ids, raw, covered, strict=True)
    ]
    # Where an unknown token stands in for what the vocabulary lacks, nothing is dropped.
    stands_in = any(i == unknown and not named for i, named in zip(ids, special, strict=True))
    absent = frozenset[int]() if stands_in else absent_bytes(tokenizer, text)
    if absent:
        ranges = walked_ranges(text, raw, reported, fixed=special, absent=absent)
        if ranges is None:
            dropped = ", ".join(f"0x{byte:02x}" for byte in sorted(absent))
            raise TokenError(
                f"the tokenizer rewrites the text and drops bytes ({dropped}): its tokens cannot "
                "be placed",
                next_step="take the characters with these bytes out of the prompt",
            )
        place_added(ranges, added)
    else:
        ranges = exact_ranges(text, raw, reported, added)
    if any(a[0] > b[0] or a[1] > b[1] for a, b in pairwise(ranges)):
        raise TokenError(
            "the tokenizer's character offsets go backwards, so its tokens cannot be placed",
            next_step=FAST_NEEDED,
        )
    return _TokenLists(ids, raw, ranges, added, special)


def _reported(
    text: str, tokenizer: FastTokenizer, add_special_tokens: bool
) -> tuple[list[int], list[CharRange]]:
    """Token ids, and the character offsets as the tokenizer reports them."""
    name = type(tokenizer).__name__
    if not getattr(tokenizer, "is_fast", False):
        raise TokenError(
            f"{name} cannot say which characters its tokens come from",
            allowed="a fast tokenizer, which reports character offsets",
            next_step=FAST_NEEDED,
        )
    output = tokenizer(
        text,
        add_special_tokens=add_special_tokens,
        return_offsets_mapping=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,  # the caller compares the length with the model's context
    )
    reported: Any = output.get("offset_mapping")
    ids = [int(token) for token in output["input_ids"]]
    if reported is None or len(reported) != len(ids):
        raise TokenError(f"{name} returned no character offsets", next_step=FAST_NEEDED)
    return ids, [(int(start), int(end)) for start, end in reported]


def _special_ids(tokenizer: FastTokenizer) -> frozenset[int]:
    """The ids of all control tokens, also of those that have no role such as BOS or EOS."""
    decoder = getattr(tokenizer, "added_tokens_decoder", {})
    marked = (int(i) for i, token in decoder.items() if getattr(token, "special", False))
    named = (int(i) for i in tokenizer.all_special_ids if i is not None)  # None: in no vocabulary
    return frozenset({*named, *marked})


def _with_bos(
    tokens: _TokenLists, tokenizer: FastTokenizer, wanted: bool | None
) -> tuple[_TokenLists, BosReport]:
    bos_id, name = tokenizer.bos_token_id, tokenizer.bos_token
    if bos_id is None:
        if wanted:
            raise TokenError(
                "a begin-of-sequence token is asked for, but the tokenizer has none",
                next_step="set tokenizer.bos_token, or pass add_bos=False",
            )
        return tokens, BosReport(None, False, "none asked for")
    first, second = ([i == bos_id for i in tokens.ids[:2]] + [False])[:2]
    added = first and tokens.added[0]
    written = first and not added
    doubled = added and second and not tokens.added[1]
    lists = vars(tokens)
    if added and (doubled or wanted is False):
        tokens = replace(tokens, **{part: values[1:] for part, values in lists.items()})
    elif wanted and not first:
        bos = _TokenLists([int(bos_id)], [str(name)], [(0, 0)], [True], [True])
        tokens = replace(tokens, **{part: vars(bos)[part] + lists[part] for part in lists})
    if written or doubled:
        return tokens, BosReport(name, True, "in the text")
    if added and wanted is not False:
        return tokens, BosReport(name, True, "tokenizer")
    if wanted:
        return tokens, BosReport(name, True, "added: the model's own files ask for it")
    return tokens, BosReport(name, False, "none asked for")


def _covered(text: str, ranges: Sequence[CharRange]) -> list[str]:
    return [text[start:end] for start, end in ranges]


def _piece(raw: str, covered: str, added: bool) -> str:
    if covered or added:
        return covered or raw
    return DUMMY_PREFIX if is_space_marker(raw) else raw


_Spans = dict[str, tuple[CharRange, ...]]
_Render = Callable[[Sequence[Message]], str]


def render_chat(
    prompt: Prompt, tokenizer: FastTokenizer, *, add_generation_prompt: bool = False
) -> tuple[str, _Spans]:
    """The rendered text, and in it the prompt's spans and one `role:NAME` span per role."""
    if not getattr(tokenizer, "chat_template", None):
        raise PromptError(
            "this model's tokenizer has no chat template",
            next_step="give the prompt as text, or choose an instruction-tuned model",
        )

    def render(messages: Sequence[Message]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        options = {"tokenize": False, "add_generation_prompt": add_generation_prompt}
        values = {"messages": turns, "add_generation_prompt": add_generation_prompt}
        try:  # a template is a program, and comes with the model
            try_template(_template(tokenizer), values | _special(tokenizer))
            with bounded():
                text = str(tokenizer.apply_chat_template(turns, **options))
            if len(text) > LONGEST_CHAT + 10 * sum(len(message.content) for message in messages):
                raise MemoryError(f"it makes {len(text):,} characters of it")
        except (TimeoutError, MemoryError) as error:
            raise _RunsAwayError(
                f"this model's chat template runs away: {error or 'it fills the memory'}",
                next_step="render the chat yourself and give it as text with spans",
            ) from None
        return text

    messages = prompt.messages or ()
    text = _rendered(messages, render)
    places = [_place(text, index, messages, render) for index in range(len(messages))]
    spans: _Spans = {}
    for message, place in zip(messages, places, strict=True):
        if place.start < place.end:
            name = f"role:{message.role}"
            spans[name] = tuple(sorted((*spans.get(name, ()), (place.start, place.end))))
    for name, ranges in prompt.spans.items():
        spans[name] = tuple(
            _in_rendered(name, (start, end), text=text, place=places[index], index=index)
            for index, start, end in (range_ for range_ in ranges if len(range_) == 3)
        )
    return text, spans


@dataclass(frozen=True)
class _Place:
    """Where a message stands in the rendered text, and which part of its content that is."""

    start: int
    end: int
    content_start: int | None  # None: the template changed the content, so its parts are lost


class _RunsAwayError(PromptError):
    """A template that takes too much time or memory: trying it otherwise would take as much."""


def _template(tokenizer: FastTokenizer) -> str:
    """The one that is used of several."""
    named = getattr(tokenizer, "get_chat_template", None)
    return str(named() if named else tokenizer.chat_template)


def _special(tokenizer: FastTokenizer) -> dict[str, str]:
    known = getattr(tokenizer, "special_tokens_map", None) or {}
    return {name: str(token) for name, token in known.items()}


def _rendered(messages: Sequence[Message], render: _Render) -> str:
    try:
        return render(messages)
    except _RunsAwayError:
        raise
    except Exception as error:  # templates are programs: they raise whatever they like
        without = [message for message in messages if message.role != "system"]
        if without and len(without) < len(messages) and _attempt(without, render):
            raise SystemRoleError(
                f"this model's chat template takes no system message: {error}",
                next_step="put the system text at the start of the first user message",
            ) from None
        roles = ", ".join(message.role for message in messages)
        raise PromptError(
            f"this model's chat template refuses the chat: {error}", where=f"roles {roles}"
        ) from None


def _attempt(messages: Sequence[Message], render: _Render) -> str:
    try:
        return render(messages)
    except _RunsAwayError:
        raise
    except Exception:
        return ""


def _place(text: str, index: int, messages: Sequence[Message], render: _Render) -> _Place:
    """Where a message is: between what the template writes before and after a sentinel."""
    message, sentinel = messages[index], SENTINEL
    while sentinel in text:
        sentinel += "Q"
    turns = [*messages[:index], replace(message, content=sentinel), *messages[index + 1 :]]
    before, found, after = _attempt(turns, render).partition(sentinel)
    fits = len(before) + len(after) <= len(text) and sentinel not in after
    if found and fits and text.startswith(before) and text.endswith(after):
        start, end = len(before), len(text) - len(after)
        return _Place(start, end, _content_start(text[start:end], message.content))
    trimmed = message.content.strip()
    if trimmed and text.count(trimmed) == 1:
        start = text.index(trimmed)
        return _Place(start, start + len(trimmed), message.content.index(trimmed))
    raise PromptError(
        f"the chat template changed message {index} ({message.role}) or left it out: "
        "its text cannot be found in the rendered chat",
        next_step="render the chat yourself and give it as text with spans",
    )


def _content_start(rendered: str, content: str) -> int | None:
    """Where in the content its rendered part begins; None if that is not certain."""
    if rendered == content:
        return 0
    if rendered == content.strip():
        return len(content) - len(content.lstrip())
    return content.index(rendered) if rendered and content.count(rendered) == 1 else None


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
