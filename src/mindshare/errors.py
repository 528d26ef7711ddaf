"""What can go wrong for a person, as one tree. A mistake becomes a message, never a traceback.

    MindshareError
    ├── PromptError        a prompt, a span, a chat or a data row that cannot be used
    │   └── SystemRoleError    a chat template that takes no system message
    ├── TokenError         a tokenizer that cannot say where its tokens come from
    ├── ClassRuleError     a token class whose rule cannot be read
    ├── SelectionError     a layer, head, query set or measure that is not there
    ├── ModelError         a model that cannot be loaded
    │   ├── ModelNotFoundError
    │   ├── ModelFileError     corrupt, truncated or unreadable weights
    │   └── AdapterError       an adapter that does not fit its base
    ├── UnsupportedModelError  a model whose attention cannot be measured exactly
    ├── ExactnessError     the numbers cannot be trusted (NaN, missed layers, failed self-check)
    └── OutputError        a results path that cannot be written

This module knows nothing about what raises these.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class MindshareError(Exception):
    """One clear message: what happened, where, what is allowed, what to do next."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.what, self.where, self.allowed, self.next_step = what, where, allowed, next_step
        lines = [what if where is None else f"{what} (in {where})"]
        if allowed:
            lines.append(f"Allowed: {allowed}")
        if next_step:
            lines.append(f"Next: {next_step}")
        super().__init__("\n".join(lines))


class PromptError(MindshareError):
    pass


class SystemRoleError(PromptError):
    pass


class TokenError(MindshareError):
    pass


class ClassRuleError(MindshareError):
    pass


class SelectionError(MindshareError):
    pass


class ModelError(MindshareError):
    pass


class ModelNotFoundError(ModelError):
    pass


class ModelFileError(ModelError):
    pass


class AdapterError(ModelError):
    pass


class UnsupportedModelError(MindshareError):
    pass


class ExactnessError(MindshareError):
    pass


class OutputError(MindshareError):
    pass


def nearest(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` for the known word closest to this one, or nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
