"""What was found of one prompt's versions ⇄ the store of a run: one item a version.

A version is known by all that decides its numbers: the tokens of both versions, how they are
matched, the model, and the definition but for the choice of layers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mindshare.runs import Done, Planned
from mindshare.study.inserting import WITHOUT, InsertionStudy
from mindshare.study.insertion_rows import VersionNumbers
from mindshare.study.packed import pack_arrays, unpack_arrays
from mindshare.study.storing import Stored
from mindshare.study.versions import Version, Versions

LAYOUT = 1  # of what is stored under an item


def fixed_insertion(study: InsertionStudy) -> dict[str, Any]:
    """The definition without layers and without the conditions, which may be added."""
    return {"kind": "insertion", "queries": study.queries, "near": study.near} | {
        "kernel": study.kernel
    }


@dataclass(frozen=True)
class VersionShelf:
    """The answers of one model, prompt by prompt."""

    shelf: Stored
    study: InsertionStudy
    model: str  # `Respondent.identity`

    def take(self, versions: Versions) -> list[VersionNumbers] | None:
        """The version without, then each condition; None if any of them is not there."""
        items = [item for _, item in self._items(versions)]
        self.shelf.settle()
        if self.shelf.store.missing(items, self.study.layers):
            return None
        layers = None if self.study.layers is None else frozenset(self.study.layers)
        return [_numbers(x.parts, x.info) for x in self.shelf.store.read(items, layers=layers)]

    def put(self, versions: Versions, found: Sequence[VersionNumbers]) -> None:
        whole = self.study.layers is None
        batch = [
            Done(
                item=item,
                label=self.shelf.label,
                prompt=name,
                parts=dict(_parts(numbers)),
                info={"kernels": sorted(numbers.kernels)},
                tokens=numbers.received.shape[-1],
                whole=whole,
            )
            for (name, item), numbers in zip(self._items(versions), found, strict=True)
        ]
        self.shelf.write(batch)

    def plan(self, everything: Sequence[Versions]) -> None:
        plan = [
            Planned(name, item, versions.prompt.place)
            for versions in everything
            for name, item in self._items(versions)
        ]
        layers = None if self.study.layers is None else frozenset(self.study.layers)
        self.shelf.plan(plan, layers)
        self.shelf.store.working_on(self.shelf.label)

    def _items(self, versions: Versions) -> Iterator[tuple[str, str]]:
        """(what it is called in the plan, its name in the store)"""
        without = list(versions.without.ids)
        prompt = versions.prompt.id
        yield f"{prompt}, {WITHOUT}", self._item([without])
        for version in versions.versions:
            yield f"{prompt}, {version.condition}", self._item([without, *_decides(version)])

    def _item(self, decides: list[Any]) -> str:
        whole = [LAYOUT, self.model, fixed_insertion(self.study), decides]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:32]


def _decides(version: Version) -> list[Any]:
    alignment = version.alignment
    return [
        list(version.encoded.ids),
        [[int(a), int(b)] for a, b in alignment.pairs],
        [str(part) for part in alignment.parts],
    ]


def _parts(numbers: VersionNumbers) -> Iterator[tuple[int, bytes]]:
    for place, layer in enumerate(numbers.layers):
        arrays = {"received": numbers.received[place], "n_queries": numbers.n_queries}
        if numbers.inserted is not None:
            arrays["inserted"] = numbers.inserted[place]
        if numbers.heads:
            arrays |= {
                f"head {name}": np.asarray(x) for name, x in vars(numbers.heads[place]).items()
            }
        yield layer, pack_arrays(arrays)


def _numbers(parts: Mapping[int, bytes], info: Mapping[str, Any]) -> VersionNumbers:
    from mindshare.attention.pairs import HeadNumbers

    found = {layer: unpack_arrays(data) for layer, data in sorted(parts.items())}
    first = next(iter(found.values()))
    names = [one.name for one in fields(HeadNumbers)]
    return VersionNumbers(
        layers=tuple(found),
        received=np.stack([one["received"] for one in found.values()]),
        n_queries=first["n_queries"],
        inserted=np.stack([x["inserted"] for x in found.values()]) if "inserted" in first else None,
        heads=tuple(
            HeadNumbers(**{name: one[f"head {name}"] for name in names})
            for one in found.values()
            if f"head {names[0]}" in one
        ),
        kernels=frozenset(info.get("kernels", ())),
    )
