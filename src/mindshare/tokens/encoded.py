"""The shape of a tokenised prompt: what `encode` returns and everything else here reads.

This module does not know how tokens are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from mindshare.prompts import CharRange, Prompt

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
