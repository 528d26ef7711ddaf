"""Text, chat messages, files and datasets become prompts with named character spans."""

from __future__ import annotations

from mindshare.prompts.columns import parse_columns
from mindshare.prompts.files import read_chat, read_data, read_text
from mindshare.prompts.insertion import Insertion, folded, insert, parse_insertions
from mindshare.prompts.markup import parse_marks
from mindshare.prompts.prompt import CharRange, Message, MessageRange, Prompt, SpanRange, Spans
from mindshare.prompts.source import BadRow, DataReader, DataSource

__all__ = [
    "BadRow",
    "CharRange",
    "DataReader",
    "DataSource",
    "Insertion",
    "Message",
    "MessageRange",
    "Prompt",
    "SpanRange",
    "Spans",
    "folded",
    "insert",
    "parse_columns",
    "parse_insertions",
    "parse_marks",
    "read_chat",
    "read_data",
    "read_text",
]
