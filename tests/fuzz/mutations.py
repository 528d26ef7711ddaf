"""A good input becomes a bad one, the same for the same random numbers: bytes, texts, values."""

from __future__ import annotations

import math
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 3, 65, 2**31, 2**63, 10**9, 10**30, 0.5, -1e-300, 1e308, math.inf, math.nan)
TEXTS = (
    *("", " ", "-", "--", "--replace", "=", "@", "~", "\\", "%s{0}", "null", "NaN", "1e999"),
    *("\0", "\r", "\n\n", "\x1b[2J", "\x7f", "\u2028", "\u202e", "\ufeff", "\ufffd", "\ud800"),
    *("\udcff", "e\u0301\u0301", "👩\u200d👧", "ſ", "İ", "𝔘", "٣", "²", "\U0010ffff", "[bold red]"),
    *("[/]", "<script>alert(1)</script>", "../outside/secret.txt", "/etc/hostname", "/dev/null"),
    *(".", "..", "a/../..", "hf:no/where", "http://127.0.0.1:9/x", "file:../outside/secret.txt"),
    *("'; DROP TABLE items; --", "{{ 7*7 }}", "\\d{99999999999}", "(a+)+$", "(?<=a)b", "\\1"),
    *("a" * 5_000, "(" * 3_000, "[" * 3_000 + "]" * 3_000, '{"a":' * 3_000, "9" * 5_000),
)  # fmt: skip


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    content = bytearray(data)
    for _ in range(_times(rng)):
        at = rng.randrange(len(content) + 1)
        # Heads and tails say what the rest is: they are hit as often as all else.
        at = rng.choice((at, at, min(at, 64), max(0, len(content) - 1 - at % 64)))
        match rng.randrange(7):
            case 0 | 1 if at < len(content):
                content[at] ^= 1 << rng.randrange(8)
            case 2:
                del content[at:]
            case 3:
                del content[at : at + rng.choice((1, 8, 500))]
            case 4:
                number = rng.choice((0, 1, 2**31, 2**40, 2**63, 2**64 - 1))
                content[at : at + 8] = number.to_bytes(8, "little")
            case 5:
                content[at:at] = rng.randbytes(rng.choice((1, 4, 300)))
            case _:
                content[at:at] = content[at // 2 : at // 2 + rng.choice((4, 64, 5_000))]
    return bytes(content)


def mutate_text(rng: Random, text: str) -> str:
    for _ in range(_times(rng)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((1, 3, 20)))
        part = text[start:end]
        match rng.randrange(6):
            case 0 | 1:
                part = rng.choice(TEXTS)
            case 2:
                part += rng.choice(TEXTS)
            case 3:
                part = ""
            case 4:
                part *= rng.choice((2, 5, 1_000))
            case _:
                return text[:start]
        text = text[:start] + part + text[end:]
    return text


def mutate_value(rng: Random, value: Any) -> Any:
    """Some part of lists, dicts and plain values is another, missing, doubled or nested deeply."""
    for _ in range(_times(rng)):
        value = _changed(rng, value)
    return value


def _changed(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        match rng.randrange(8):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return value | {mutate_text(rng, str(key)): value[key]}
            case _:
                return value | {key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        inner = rng.choice(([], [value[at]] * 2, [odd(rng)], [_changed(rng, value[at])]))
        return [*value[:at], *inner, *value[at + 1 :]]
    if isinstance(value, str) and rng.random() < 0.6:
        return mutate_text(rng, value)
    return odd(rng)


def odd(rng: Random) -> Any:
    """A value that hardly anything expects."""
    match rng.randrange(6):
        case 0:
            return rng.choice((None, True, False, [], {}, [[]], {"": None}))
        case 1 | 2:
            return rng.choice(NUMBERS)
        case 3 | 4:
            return rng.choice(TEXTS)
        case _:
            return nested(rng.choice((2, 60, 300)), rng.choice((0, "x", None)))


def nested(depth: int, value: Any) -> Any:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def _times(rng: Random) -> int:
    return rng.choice((1, 1, 1, 2, 4))
