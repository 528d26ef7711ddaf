"""What the page can ask about: a measured prompt or a part of a results folder, alike.

`ExplorerSource` is the contract. Arrays are [layer, head, …]; where only the mean over the heads is
known there is one head, and `heads_known` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mindshare.errors import SelectionError
from mindshare.figures.theme import PALETTES, class_colours
from mindshare_explore.shapes import ClassesBody, QueriesBody, numbers
from mindshare_explore.sums import known_heads

PALETTE = PALETTES["seed"]


@dataclass(frozen=True)
class TokenView:
    """A prompt's tokens, with the text they were made of where that is known."""

    text: str
    pieces: Sequence[str]
    starts: Sequence[int]
    stops: Sequence[int]
    special: Sequence[bool]

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "pieces": list(self.pieces),
            "starts": list(self.starts),
            "stops": list(self.stops),
            "special": [at for at, special in enumerate(self.special) if special],
        }


@dataclass(frozen=True)
class ClassView:
    """Classes of a prompt: which token belongs where, and every measure by layer and head."""

    names: Sequence[str]
    counts: Sequence[float]  # tokens of each class
    labels: Sequence[int] | None  # by token, the place of its class in `names`
    measures: Mapping[str, np.ndarray]  # [layer, head, class]

    def to_json(self) -> dict[str, Any]:
        names = [name for name in self.names if name not in ("other", "sink_slot")]
        colours = class_colours([*names, "other", "sink_slot"], PALETTE)
        return {
            "names": list(self.names),
            "colours": [colours[name] for name in self.names],
            "counts": [float(f"{count:.7g}") for count in self.counts],
            "labels": None if self.labels is None else list(self.labels),
            "measures": {name: numbers(x) for name, x in self.measures.items()},
        }


class ExplorerSource(Protocol):
    """Whatever can be looked at."""

    id: str
    model: str  # its label

    @property
    def title(self) -> str: ...

    @property
    def prompts(self) -> int:
        """Over how many its numbers are means."""
        ...

    @property
    def layers(self) -> tuple[int, ...]: ...

    @property
    def heads_known(self) -> int:
        """How many heads; 0 where only their mean is known."""
        ...

    def tokens(self) -> TokenView | None: ...

    def capabilities(self) -> dict[str, bool]:
        """`rows`: one row or column at a time; `classes`: any class; `received`: of a key."""
        ...

    def classes(self, body: QueriesBody) -> ClassView: ...

    def written(self) -> dict[str, Any] | None:
        """The prompt as it was typed, where that is known: `text` or `messages`."""
        ...

    def given_classes(self) -> list[dict[str, str]]:
        """Classes it was measured with, as rules."""
        ...

    def head_measures(self) -> Mapping[str, np.ndarray]: ...

    def profile(self, layer: int, head: int | None) -> np.ndarray: ...

    def line(self, layer: int, token: int, *, column: bool) -> np.ndarray:
        """[head, token]: a row or a column."""
        ...

    def lifted(self, layer: int, token: int, *, column: bool) -> np.ndarray:
        """The same as a ratio to uniform attention."""
        ...

    def recipe(self, body: ClassesBody) -> tuple[str, dict[str, str]]:
        """The command that makes the same, and the files of its study."""
        ...


def described(source: ExplorerSource) -> dict[str, Any]:
    """All that the page needs to know first of a source, numbers by class aside."""
    tokens = source.tokens()
    heads = source.head_measures()
    return {
        "id": source.id,
        "model": source.model,
        "title": source.title,
        "layers": list(source.layers),
        "heads": source.heads_known,
        "tokens": None if tokens is None else tokens.to_json(),
        "can": source.capabilities(),
        "classes": source.given_classes(),
        "prompt": source.written(),
        "measures": {name: numbers(x) for name, x in heads.items()},
        "known": [
            {"layer": source.layers[layer], "head": head, "name": name, "value": round(value, 4)}
            for layer, head, name, value in known_heads(heads)
        ],
    }


def place_of(layer: int, layers: Sequence[int]) -> int:
    if layer not in layers:
        raise SelectionError(
            f"there is no layer {layer} here", allowed=f"{min(layers)} to {max(layers)}"
        )
    return list(layers).index(layer)


def check_token(token: int, count: int) -> int:
    if not 0 <= token < count:
        raise SelectionError(f"there is no token {token} here", allowed=f"0 to {count - 1}")
    return token


def check_head(head: int | None, count: int) -> int | None:
    if head is not None and not 0 <= head < count:
        raise SelectionError(
            f"there is no head {head} here",
            allowed=f"0 to {count - 1}, or none for their mean" if count else "none: their mean",
        )
    return head
