"""What a run measures, as plain JSON → its hash, and where two of them differ.

A definition says neither which prompts nor which models nor which layers: those may be added to a
run. Knows no study: whatever can be written as JSON can be a definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = "(not there)"


@dataclass(frozen=True)
class Difference:
    """One part that two definitions do not share; `…_text` is ready to be shown."""

    name: str  # classes.hash, measures, …
    a: Any
    b: Any

    @property
    def a_text(self) -> str:
        return _text(self.a)

    @property
    def b_text(self) -> str:
        return _text(self.b)


def plain(definition: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from JSON: tuples are lists, keys are text."""
    content: dict[str, Any] = json.loads(as_json(definition))
    return content


def as_json(content: Mapping[str, Any]) -> str:
    """The one way it is written, so that equal content is equal text."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)


def definition_hash(definition: Mapping[str, Any]) -> str:
    """Sixteen hex digits, as studies have them."""
    return hashlib.sha256(as_json(definition).encode()).hexdigest()[:16]


def differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """Part by part, only what differs, by name."""
    flat_a, flat_b = dict(_flat(plain(a))), dict(_flat(plain(b)))
    names = sorted({*flat_a, *flat_b})
    pairs = ((name, flat_a.get(name, ABSENT), flat_b.get(name, ABSENT)) for name in names)
    return [Difference(*pair) for pair in pairs if _text(pair[1]) != _text(pair[2])]


def _flat(content: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _text(value: Any) -> str:
    # The word for what is absent stands without the quotes that a value has.
    return ABSENT if value is ABSENT else json.dumps(value, sort_keys=True, ensure_ascii=False)
