"""What goes into a run and what comes out of it, as plain values.

An `item` is the hex content hash of prompt × condition × model × definition; who makes it up is not
known here, nor what is in the bytes of a result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

State = Literal["done", "failed", "waiting"]


class Planned(NamedTuple):
    """One prompt that belongs to a run, for one model."""

    prompt: str
    item: str
    place: str | None = None  # where it was read: a file and a row
    tokens: int | None = None  # if known beforehand, the time left is told from it


@dataclass(frozen=True)
class Done:
    """What was measured: packed bytes by layer."""

    item: str
    label: str
    prompt: str
    parts: Mapping[int, bytes]
    info: Mapping[str, Any] = field(default_factory=dict)  # JSON-able
    tokens: int = 0
    whole: bool = False  # every layer the model has is among the parts


@dataclass(frozen=True)
class Failed:
    """What could not be measured, and why."""

    item: str
    label: str
    prompt: str
    reason: str


@dataclass(frozen=True)
class Result:
    """What the store holds of one item; no parts: nothing yet."""

    item: str
    parts: Mapping[int, bytes]
    info: Mapping[str, Any]
    tokens: int


@dataclass(frozen=True)
class Status:
    """How far one planned prompt is."""

    planned: Planned
    state: State
    reason: str | None = None


@dataclass(frozen=True)
class Count:
    """How far one model is."""

    label: str
    done: int = 0
    failed: int = 0
    waiting: int = 0
    tokens: int = 0  # of the prompts that are done
    tokens_waiting: int | None = None  # None: not known of all of them

    @property
    def total(self) -> int:
        return self.done + self.failed + self.waiting


def layers_text(layers: Collection[int]) -> str:
    """How layers are kept: `0,5,6`"""
    return ",".join(map(str, sorted(layers)))


def layers_read(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split(","))) if text else frozenset()


def covers(has: frozenset[int], *, whole: bool, wanted: frozenset[int] | None) -> bool:
    """Whether the layers that are there are all that is wanted; None wants every layer."""
    return whole if wanted is None else wanted <= has


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; what was there first stays."""
    both = {**new, **old}
    for key in old.keys() & new.keys():
        if isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            both[key] = merged(old[key], new[key])
    return both
