"""A stream of numbered items becomes a seeded sample of them, in their order.

The rule: of all items, those with the N smallest hashes of seed and number. So the same seed and
the same rows give the same sample on every machine; a larger sample contains a smaller one; and no
more than N items are held at a time. Does not know what the items are.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TypeVar

Item = TypeVar("Item")


def rank(seed: int, number: int) -> int:
    """Where a row stands in the order that a seed puts all rows in: a 64-bit number."""
    return int.from_bytes(sha256(f"{seed}:{number}".encode()).digest()[:8])


def sampled(items: Iterable[tuple[int, Item]], size: int, *, seed: int) -> Iterator[Item]:
    """`size` of the numbered items, or all if there are fewer; numbers must differ."""
    chosen: list[tuple[int, int, Item]] = []  # the worst first: a heap of negated ranks
    for number, item in items:
        entry = (-rank(seed, number), -number, item)
        if len(chosen) < size:
            heapq.heappush(chosen, entry)
        elif entry[:2] > chosen[0][:2]:
            heapq.heapreplace(chosen, entry)
    for _, _, item in sorted(chosen, key=lambda entry: -entry[1]):
        yield item
