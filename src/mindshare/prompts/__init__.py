"""Text, chat messages and files become prompts with named character spans."""

from __future__ import annotations

from mindshare.prompts.files import read_chat, read_data, read_text
from mindshare.prompts.insertion import Insertion, folded, insert, parse_insertions
from mindshare.prompts.markup import parse_marks
from mindshare.prompts.prompt import CharRange, Message, MessageRange, Prompt, SpanRange, Spans

__all__ = [
    "CharRange",
    "Insertion",
    "Message",
    "MessageRange",
    "Prompt",
    "SpanRange",
    "Spans",
    "folded",
    "insert",
    "parse_insertions",
    "parse_marks",
    "read_chat",
    "read_data",
    "read_text",
]
