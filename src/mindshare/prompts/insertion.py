"""Text inserted in a prompt: what people write (`/ *55`, `random-sentence`, `file:PATH`), and the
prompt with that text in it and a span `inserted` around it.

An insertion says what and where; how many tokens that makes depends on the tokenizer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

from mindshare.errors import PromptError, SelectionError, nearest
from mindshare.naming import WITHOUT
from mindshare.prompts.prompt import SPAN_NAME, MessageRange, Prompt, SpanRange
from mindshare.prompts.source import read_text

INSERTED = "inserted"
QUESTION = "question"
SYSTEM = "system"
BETWEEN_PARTS = "\n\n"  # of a user message that took a system message in
RANDOM_SENTENCE = "random-sentence"
PLACES = ("between", "start", "end", "random")
BESIDE = ("before", "after")
PLACE_FORMS = "between, start, end, random, before:SPAN, after:SPAN"
TEXT_FORMS = (
    "TEXT*COUNT such as '/ *55', TEXT*COUNT,COUNT,… such as '/ *0,10,25', random-sentence, "
    "random-sentence*COUNT, file:PATH, or the text itself"
)
MOST = 1_000_000  # repetitions: far beyond any context
SHOWN = 24  # characters of a text that its name shows
_LIKE_A_COUNT = re.compile(r"[-+.,\s]*(\d|$)")


@dataclass(frozen=True)
class Insertion:
    """What is inserted where. `text` None is a random sentence, made for each tokenizer.

    `tokens` is how many tokens longer a random sentence makes the prompt; None: as many as the run
    that it stands against. `seed` is that of the random place and of the random sentence.
    """

    text: str | None
    name: str
    place: str = "between"
    seed: int = 0
    tokens: int | None = None

    def __post_init__(self) -> None:
        check_place(self.place)
        if not self.name:
            raise SelectionError("an insertion has no name", allowed="a short text such as '/ ×55'")
        if self.tokens is not None and self.tokens < 0:
            raise SelectionError(
                f"a random sentence cannot have {self.tokens} tokens", allowed="0, 1, 2, …"
            )


def check_place(place: str) -> None:
    """Refuse what is no place to insert at."""
    kind, _, span = place.partition(":")
    if place in PLACES or (kind in BESIDE and SPAN_NAME.fullmatch(span)):
        return
    hint = "" if kind in BESIDE else nearest(kind, (*PLACES, *BESIDE))
    raise SelectionError(f"{place!r} is no place to insert at{hint}", allowed=PLACE_FORMS)


def parse_insertions(
    text: str | Sequence[str], *, places: str | Sequence[str] = "between", seed: int = 0
) -> list[Insertion]:
    """Every insertion at every place, each with a name that no other has."""
    texts, places = _texts(text, "insert"), _texts(places, "at")
    written = [part for each in texts for part in _written(each)]
    _check_list([part.exact for part in written], "text to insert", TEXT_FORMS)
    _check_list(places, "place to insert at", PLACE_FORMS)
    several = len(places) > 1
    return [
        Insertion(part.text, f"{name} at {place}" if several else name, place, seed, part.tokens)
        for part, name in zip(written, _names(written), strict=True)
        for place in places
    ]


def _texts(given: Any, name: str) -> list[str]:
    texts = list(given) if isinstance(given, list | tuple) else [given]
    if not all(isinstance(text, str) for text in texts):
        form = "a text, or a list of texts"
        raise SelectionError(f"{name}={given!r} can't be read", allowed=form)
    return texts


def _check_list(names: Sequence[str], what: str, allowed: str) -> None:
    if not names:
        raise SelectionError(f"there is no {what}", allowed=allowed)
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise SelectionError(f"{name} is given twice", next_step="leave out one of them")


class _Written(NamedTuple):
    """An insertion as it was written: a name for people, and one that no other text has."""

    text: str | None
    short: str
    exact: str
    tokens: int | None = None


def _written(text: str) -> Iterator[_Written]:
    if not text:
        raise SelectionError("the text to insert is empty", allowed=TEXT_FORMS)
    unit, star, counts = text.rpartition("*")
    if text.startswith("file:"):
        path = text.removeprefix("file:")
        yield _Written(read_text(path).text, f"file {Path(path).name}", f"file {path}")
    elif text == RANDOM_SENTENCE:
        yield _Written(None, "random sentence", RANDOM_SENTENCE)
    elif star and _LIKE_A_COUNT.match(counts):
        for count in _counts(counts, text):
            yield _repeated(unit, count)
    else:
        close = nearest(text, [RANDOM_SENTENCE])
        if close and not text.startswith(RANDOM_SENTENCE):
            raise SelectionError(f"{text!r} looks like a slip{close}", allowed=TEXT_FORMS)
        yield _Written(text, _short(text), repr(text))


def _counts(written: str, text: str) -> list[int]:
    words = [word.strip() for word in written.split(",")]
    numbers = [int(word) if word.isascii() and word.isdigit() else -1 for word in words]
    if all(0 <= number <= MOST for number in numbers):
        return numbers
    raise SelectionError(
        f"{written.strip()!r} does not say how often to repeat it (0 to {MOST:,})",
        where=f"insertion {text!r}",
        allowed=TEXT_FORMS,
        next_step="a text that has this * in it for its own sake can be given as file:PATH",
    )


def _repeated(unit: str, count: int) -> _Written:
    if not unit:
        raise SelectionError("there is no text before the *", allowed=TEXT_FORMS)
    if unit.strip() == RANDOM_SENTENCE:  # one of no tokens is no sentence
        name = f"random sentence ×{count}"
        return _Written(None if count else "", name, name, count)
    return _Written(unit * count, f"{_short(unit)} ×{count}", f"{unit!r} ×{count}")


def _short(text: str) -> str:
    """The beginning of a text on one line; a text of nothing but space as Python writes it."""
    line = " ".join(text.split()) or repr(text)
    return line if len(line) <= SHOWN else f"{line[:SHOWN].rstrip()}…"


def _names(written: Sequence[_Written]) -> Iterator[str]:
    """The short names; where texts would share one, the exact one or a number."""
    shared = Counter([WITHOUT, *(part.short for part in written)])
    for number, part in enumerate(written, start=1):
        if shared[part.short] == 1:
            yield part.short
        else:
            yield part.exact if len(part.exact) <= 2 * SHOWN else f"{part.short} ({number})"


def insert(prompt: Prompt, text: str, place: str, *, seed: int = 0) -> Prompt:
    """The prompt with the text in it and a span `inserted` around exactly that text.

    The other spans move along; one that the text lands inside of becomes two ranges, so that it
    covers the characters that it covered.
    """
    check_place(place)
    if INSERTED in prompt.spans:
        raise PromptError(
            f"the prompt has a span {INSERTED!r} already", next_step="give the span another name"
        )
    message, at = _point(prompt, place, seed)
    if not text:
        return prompt
    spans = {
        name: tuple(part for range_ in ranges for part in _moved(range_, message, at, len(text)))
        for name, ranges in prompt.spans.items()
    }
    if prompt.messages is None:
        whole = prompt.text or ""
        spans[INSERTED] = ((at, at + len(text)),)
        return replace(prompt, text=whole[:at] + text + whole[at:], spans=spans)
    turns = list(prompt.messages)
    content = turns[message].content
    spans[INSERTED] = ((message, at, at + len(text)),)
    turns[message] = replace(turns[message], content=content[:at] + text + content[at:])
    return replace(prompt, messages=tuple(turns), spans=spans)


def _moved(range_: SpanRange, message: int, at: int, length: int) -> Iterator[SpanRange]:
    """A range of the prompt as it was, in the prompt with the inserted text."""
    *index, start, end = range_
    if (index and index[0] != message) or end <= at:
        yield range_
        return
    if start < at:
        yield cast(SpanRange, (*index, start, at))
    yield cast(SpanRange, (*index, max(start, at) + length, end + length))


def _point(prompt: Prompt, place: str, seed: int) -> tuple[int, int]:
    """The message (0 for a text) and the character before which the text goes."""
    contents = [turn.content for turn in prompt.messages or ()] or [prompt.text or ""]
    if place == "random":
        return _random_point(contents, seed)
    if place == "end":
        return len(contents) - 1, len(contents[-1])
    kind, _, name = place.partition(":")
    if kind in BESIDE:
        return _beside(prompt, kind, name)
    if place == "between" and QUESTION in prompt.spans:
        return _beside(prompt, "before", QUESTION)
    roles = [turn.role for turn in prompt.messages or ()]
    if place != "between" or "user" not in roles:
        return 0, 0
    return len(roles) - 1 - roles[::-1].index("user"), 0  # the last one asks


def _beside(prompt: Prompt, kind: str, name: str) -> tuple[int, int]:
    if name not in prompt.spans:
        raise PromptError(
            f"the prompt has no span {name!r}{nearest(name, prompt.spans)}",
            where=f"place {kind}:{name}",
            allowed=", ".join(prompt.spans) or "this prompt has no spans",
            next_step="mark it: <<name>>…<</name>>",
        )
    if kind == "before":
        *index, point, _ = min(prompt.spans[name])
    else:
        *index, point = max((*message, end) for *message, _, end in prompt.spans[name])
    return (index[0] if index else 0), point


def _random_point(contents: Sequence[str], seed: int) -> tuple[int, int]:
    """The start of some word: the same for the same seed and the same content, everywhere."""
    starts = [
        (index, word.start())
        for index, content in enumerate(contents)
        for word in re.finditer(r"\S+", content)
    ]
    digest = sha256("\0".join([str(seed), *contents]).encode()).digest()
    return starts[int.from_bytes(digest) % len(starts)] if starts else (0, 0)


def fold_system_message(prompt: Prompt) -> Prompt:
    """The chat with its system message at the start of the first user message.

    For templates that take no system role. The two parts become spans `system` and `question`, if
    these names are free. A chat without a system message comes back as it is.
    """
    roles = [turn.role for turn in prompt.messages or ()]
    if SYSTEM not in roles:
        return prompt
    if "user" not in roles:
        raise PromptError(
            "the chat has a system message, but no user message that could take its text",
            allowed="at least one user message",
        )
    systems = [index for index, role in enumerate(roles) if role == SYSTEM]
    spans: dict[str, tuple[SpanRange, ...]] = {}
    for name, indices in ((SYSTEM, systems), (QUESTION, [roles.index("user")])):
        lengths = [(index, len((prompt.messages or ())[index].content)) for index in indices]
        ranges = tuple((index, 0, length) for index, length in lengths if length)
        if ranges:
            spans[name] = ranges
    prompt = replace(prompt, spans={**spans, **prompt.spans})
    for index in reversed(systems):  # the last goes first, so that several keep their order
        prompt = _folded_once(prompt, index)
    return prompt


def _folded_once(prompt: Prompt, system: int) -> Prompt:
    turns = list(prompt.messages or ())
    user = [turn.role for turn in turns].index("user")
    front, content = turns[system].content, turns[user].content
    front += BETWEEN_PARTS if front and content else ""

    def moved(range_: SpanRange) -> SpanRange:
        message, start, end = cast(MessageRange, range_)
        shift = len(front) if message == user else 0
        to = user if message == system else message
        return to - (to > system), start + shift, end + shift

    turns[user] = replace(turns[user], content=front + content)
    del turns[system]
    spans = {name: tuple(map(moved, ranges)) for name, ranges in prompt.spans.items()}
    return replace(prompt, messages=tuple(turns), spans=spans)
