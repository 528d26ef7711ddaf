"""A prompt and what to insert → its versions as a model would read them, aligned token by token.

Needs a tokenizer, no weights: whatever can't be compared is refused before a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mindshare.errors import MindshareError, PromptError, SystemRoleError
from mindshare.models import LoadedModel, Reader
from mindshare.prompts import Insertion, Prompt, folded, insert
from mindshare.study.encoding import encode_for
from mindshare.study.inserting import InsertionStudy
from mindshare.tokens import Alignment, Encoded, align, random_sentence

T = TypeVar("T")


@dataclass(frozen=True)
class Version:
    """One condition of a prompt."""

    insertion: Insertion
    text: str  # what was inserted
    alignment: Alignment

    @property
    def condition(self) -> str:
        return self.insertion.name

    @property
    def encoded(self) -> Encoded:
        return self.alignment.with_

    @property
    def end(self) -> int:
        """The position after the last token that holds an inserted character; past all if none."""
        touched = self.holding("inserted", "seam")
        return int(touched[-1]) + 1 if len(touched) else len(self.encoded)

    def holding(self, *parts: str) -> np.ndarray:
        """The positions of the tokens of these parts."""
        return np.flatnonzero(np.isin(self.alignment.parts, parts))


@dataclass(frozen=True)
class Versions:
    """A prompt as it is, and under every condition."""

    prompt: Prompt
    without: Encoded
    versions: tuple[Version, ...]
    notes: tuple[str, ...]


def read_versions(reader: LoadedModel | Reader, prompt: Prompt, study: InsertionStudy) -> Versions:
    """Insert, tokenise, align; refuse what can't be compared."""
    read, notes = _readable(reader, prompt)
    without = encode_for(reader, read)
    reading = _Reading(reader, read, without)
    found: list[Version] = []
    for insertion, other in study.pairs():
        found.append(reading.version(insertion, None))
        if other is not None:
            found.append(reading.version(other, found[-1]))
    return Versions(read, without, tuple(found), (*notes, *_at_the_start(read, study)))


def _at_the_start(prompt: Prompt, study: InsertionStudy) -> tuple[str, ...]:
    """Said where the usual place is the first one: there a run takes what heads rest on."""
    usual = any(insertion.place == "between" for insertion in study.insertions)
    if not usual or prompt.messages is not None or "question" in prompt.spans:
        return ()
    return (
        "In a plain text without a span 'question', the place 'between' is the very start, before "
        "the token that many heads rest on; mark the question, or give --system and --prompt",
    )


def _readable(reader: LoadedModel | Reader, prompt: Prompt) -> tuple[Prompt, tuple[str, ...]]:
    """The prompt, its system message moved where the model's template takes none."""
    try:
        encode_for(reader, prompt)
    except SystemRoleError:
        note = (
            f"{reader.name}'s chat template takes no system message: its text stands at the start "
            "of the first user message"
        )
        return folded(prompt), (note,)
    return prompt, ()


@dataclass(frozen=True)
class _Reading:
    reader: LoadedModel | Reader
    prompt: Prompt
    without: Encoded

    def version(self, insertion: Insertion, beside: Version | None) -> Version:
        """`beside` is the run that a random sentence has to be as long as."""
        return _placed(lambda: self._version(insertion, beside), insertion, self.prompt)

    def _version(self, insertion: Insertion, beside: Version | None) -> Version:
        text = insertion.text
        if text is None:
            text = random_sentence(
                self._length(insertion, beside),
                count=lambda words: len(self._encoded(words, insertion, any_length=True)),
                seed=insertion.seed,
                like=_apart(insertion.place) if beside is None else beside.text,
            )
        read = self._encoded(text, insertion)
        return Version(insertion, text, align(self.without, read, tokenizer=self.reader.tokenizer))

    def _length(self, insertion: Insertion, beside: Version | None) -> int:
        if insertion.tokens is not None:
            return len(self.without) + insertion.tokens
        if beside is None:
            raise PromptError(
                "a random sentence needs a length",
                allowed="random-sentence*55, or a run that it stands against",
            )
        return len(beside.encoded)

    def _encoded(self, text: str, insertion: Insertion, *, any_length: bool = False) -> Encoded:
        longer = insert(self.prompt, text, insertion.place, seed=insertion.seed)
        return encode_for(self.reader, longer, any_length=any_length)


def _apart(place: str) -> str:
    """A text with space where it keeps a sentence from its neighbours."""
    return " x" if place == "end" or place.startswith("after:") else "x "


def _placed(build: Callable[[], T], insertion: Insertion, prompt: Prompt) -> T:
    """What `build` makes, or its error, with the insertion and the prompt it is about."""
    try:
        return build()
    except MindshareError as error:
        here = f"insertion {insertion.name!r} at {insertion.place}, prompt {prompt.id}"
        known = error.where is None or error.where in here
        where = here if known else f"{here}, {error.where}"
        raise type(error)(
            error.what, where=where, allowed=error.allowed, next_step=error.next_step
        ) from None
