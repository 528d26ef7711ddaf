"""Every error a user can cause, as one tree; the command line shows its message, no traceback.

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
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from functools import lru_cache, wraps
from operator import index
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

NO_ROOM = (ENOSPC, EDQUOT, EFBIG, EIO)  # of an OSError: nothing more can be written
_CHARACTERS, _LINES = 1000, 12  # of one part of a message: all of them are a screenful
_TAIL = 200  # characters: what is wrong often stands at the end
_NAMES = 10  # of a list that stands in a sentence
_MARKS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if code not in (9, 10)}


class MindshareError(Exception):
    """One clear message: what happened, where, what is allowed, what to do next."""

    item: str | None = None  # the job that a pass was refused for

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
    ) -> None:
        what = screenful(what)  # whatever was given is quoted: a line may have megabytes
        where, allowed, next_step = (
            part and screenful(part) for part in (where, allowed, next_step)
        )
        self.what, self.where, self.allowed, self.next_step = what, where, allowed, next_step
        lines = [what if where is None else f"{what} (in {where})"]
        if allowed:
            lines.append(f"Allowed: {allowed}")
        if next_step:
            lines.append(f"Next: {next_step}")
        super().__init__("\n".join(lines))

    def within(self, place: str, *, next_step: str | None = None) -> Self:
        """The same error with the place of its row, message or file before its own."""
        where = place if self.where in (None, place) else f"{place}, {self.where}"
        step = next_step or self.next_step
        return type(self)(self.what, where=where, allowed=self.allowed, next_step=step)


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


def first_line(error: BaseException) -> str:
    """What another library says of it, or what kind of error it is."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def screenful(text: str) -> str:
    """The text, or its beginning and end, and how much stands between them."""
    lines = text.split("\n")
    if len(lines) > _LINES:
        more = f"… and {len(lines) - _LINES:,} more lines"
        text = "\n".join([*lines[:_LINES], more])
    if len(text) <= _CHARACTERS:
        return text
    start, end = text[: _CHARACTERS - _TAIL], text[-_TAIL:]
    return f"{start} … ({len(text) - _CHARACTERS:,} characters) … {end}"


def harmless(text: str) -> str:
    """The text with marks for control characters: a terminal shows foreign ones, and obeys none."""
    return text.translate(_MARKS)


def some(names: Iterable[object], *, most: int = _NAMES) -> str:
    """`a, b, c`; of a long list the first names and the number of all: `a, b, … (50,000 in all)`"""
    words = list(map(str, names))
    more = f", … ({len(words):,} in all)" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def nearest(word: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"` for the known word closest to this one, or nothing."""
    if not isinstance(word, str) or len(word) > _TAIL:  # no slip, and slow to compare
        return ""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


_WORDS = {
    str: "a text",
    int: "a whole number of at most 15 digits",
    float: "a number",
    bool: "True or False",
    Path: "a path",
}
P = ParamSpec("P")
T = TypeVar("T")


def require_known(word: Any, known: Iterable[str], what: str) -> None:
    """Refuse a word that is none of the known ones, in these words and with the nearest."""
    words = list(known)
    if word not in words:
        raise SelectionError(f"{what}{nearest(word, words)}", allowed=", ".join(words))


def require_all_known(words: Iterable[Any], known: Iterable[str], what: str) -> None:
    """Refuse the first of these words that is none of the known ones."""
    for word in words:
        require_known(word, known, f"unknown {what} {word!r}")


def require_types(values: Any) -> None:
    """Refuse a dataclass of options whose fields are of another type than they are declared.

    For what people write in Python: a mistake is told by its name, not by where it first hurts.
    """
    kind: Any = type(values)
    for name, hint in _hints(kind).items():
        value = getattr(values, name)
        if not _fits(value, hint):
            raise SelectionError(f"{name}={value!r} can't be read", allowed=_in_words(hint))


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The same function; arguments of another type than it declares are refused by their names.

    None stands for what a keyword's default is. What a type says nothing about is left to others.
    """
    code = function.__code__
    by_place = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> T:
        hints = _declared(function)
        for name, value in (dict(zip(by_place, given, strict=False)) | named).items():
            if value is None and name not in by_place:
                continue
            if name in hints and not _fits(value, hints[name]):
                raise SelectionError(
                    f"{name}={value!r} can't be read", allowed=_in_words(hints[name])
                )
        return function(*given, **named)

    return call


@lru_cache(maxsize=64)
def _declared(function: Any) -> dict[str, Any]:
    """Types by name, those of `**parts: Unpack[…]` too; without types that are not imported."""
    found: dict[str, Any] = {}
    for name, written in function.__annotations__.items():
        with suppress(NameError):
            hint = eval(written, function.__globals__)
            if get_origin(hint) is not Unpack:
                found[name] = hint
                continue
            for part, ref in get_args(hint)[0].__annotations__.items():
                with suppress(NameError):
                    home = vars(sys.modules[ref.__forward_module__])
                    found[part] = eval(ref.__forward_arg__, home)
    return found


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        return any(_fits(value, part) for part in parts)
    if origin is not None and issubclass(origin, Mapping):
        key, content = parts
        return isinstance(value, Mapping) and all(
            _fits(name, key) and _fits(one, content) for name, one in value.items()
        )
    if origin is not None and issubclass(origin, Callable):  # type: ignore[arg-type]
        return callable(value)
    if origin is not None and issubclass(origin, Iterable):  # numpy's arrays are no sequences
        listed = isinstance(value, list | tuple if origin is tuple else Iterable)
        if not listed or isinstance(value, Mapping):
            return False
        alike = isinstance(value, str | list | tuple) and len(set(parts) - {...}) == 1
        return not alike or all(_fits(one, parts[0]) for one in value)
    if hint is Any or getattr(hint, "_is_protocol", False):
        return True
    if hint in (int, float):
        number = whole_number(value)
        whole = number is not None and (hint is float or abs(number) < 10**15)  # sums fit 64 bits
        return whole or (hint is float and isinstance(value, float))
    return isinstance(value, hint) if isinstance(hint, type) and origin is None else True


def whole_number(value: Any) -> int | None:
    """A whole number of any kind, such as NumPy's, as Python's own; None: it is none."""
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:  # also of an array of several, which has an index and gives none
        return None


def _in_words(hint: Any) -> str:
    if get_origin(hint) in (UnionType, Union):
        return " or ".join(_in_words(part) for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        return f"{{name: {_in_words(get_args(hint)[1])}}}"
    if get_origin(hint) is not None and issubclass(get_origin(hint), Callable):  # type: ignore[arg-type]
        return "a function"
    if get_origin(hint) is not None and issubclass(get_origin(hint), Iterable):
        return "a list of " + " or ".join(map(_in_words, get_args(hint)[:1]))
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
