"""Layers and heads → which are described one by one, which in groups, and how they are named.

Up to twelve are described one by one; of more, the first, the last and those that stand out, and
the rest in groups by depth. Knows no numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mindshare.report.describing import phrases

Place = tuple[int | None, int | None]  # layer, head; None: the mean over them
CLOSELY = 12  # places described one by one
GROUPS = 3  # of the others, by depth
FEW_HEADS = 5  # heads named in one sentence


def in_order(places: Iterable[Place]) -> list[Place]:
    """By layer, then head; a mean comes last."""
    return sorted(set(places), key=lambda place: [(n is None, n or 0) for n in place])


def closely(places: Sequence[Place], standing_out: Iterable[Place]) -> list[Place]:
    """The places that are described one by one: all; or the ends and what stands out."""
    if len(places) <= CLOSELY:
        return list(places)
    chosen = dict.fromkeys([places[0], places[-1], *standing_out])
    kept = set(list(chosen)[:CLOSELY])
    return [place for place in places if place in kept]


def groups(places: Sequence[Place], close: Sequence[Place]) -> list[list[Place]]:
    """The other places, in up to three groups of neighbouring layers."""
    others = [place for place in places if place not in set(close)]
    layers = sorted({layer for layer, _ in others if layer is not None})
    size = max(-(-len(layers) // GROUPS), 1)
    blocks = [set(layers[i : i + size]) for i in range(0, len(layers), size)]
    return [[place for place in others if place[0] in block] for block in blocks]


def where(place: Place) -> str:
    """`layer 3, head 5`"""
    layer, head = place
    words = "all layers" if layer is None else f"layer {layer}"
    return words if head is None else f"{words}, head {head}"


def wheres(places: Sequence[Place]) -> str:
    """`layers 0 to 4 and 7`; heads one by one, a few of them where there are many."""
    if any(head is not None for _, head in places):
        some = "; ".join(where(place) for place in places[:FEW_HEADS])
        return some if len(places) <= FEW_HEADS else f"many heads, among them {some}"
    layers = [layer for layer, _ in places if layer is not None]
    words = [phrases.layers(layers)] if layers else []
    return phrases.listed([*words, *(["all layers"] if len(layers) < len(places) else [])])


def rule(places: Sequence[Place]) -> str:
    """Which are described one by one, where not all are."""
    what = "head" if any(head is not None for _, head in places) else "layer"
    return (
        f"One by one, at most twelve: the first and the last {what}, and those where a number is "
        "highest or lowest or differs most; the others in groups."
    )


def group_word(group: Sequence[Place]) -> str:
    """What a sentence about a group begins with."""
    which = phrases.layers(sorted({layer for layer, _ in group if layer is not None}))
    by_head = any(head is not None for _, head in group)
    return f"Further heads of {which}" if by_head else which.capitalize()


def leading(place: Place) -> str:
    """The same with a capital."""
    words = where(place)
    return words[0].upper() + words[1:]
