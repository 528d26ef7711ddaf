"""Text, chat messages, files and datasets become prompts with named character spans."""

from __future__ import annotations

from mindshare.prompts.columns import parse_columns
from mindshare.prompts.insertion import Insertion, fold_system_message, insert, parse_insertions
from mindshare.prompts.parts import DividedPrompt, divided, paired
from mindshare.prompts.prompt import (
    CharRange,
    Message,
    Prompt,
)
from mindshare.prompts.source import BadRow, DataSource, Prompts, read_chat, read_text

__all__ = [
    "BadRow",
    "CharRange",
    "DataSource",
    "DividedPrompt",
    "Insertion",
    "Message",
    "Prompt",
    "Prompts",
    "divided",
    "fold_system_message",
    "insert",
    "paired",
    "parse_columns",
    "parse_insertions",
    "read_chat",
    "read_text",
]
