"""The passes over one prompt's versions → its rows in the tables of an insertion.

Knows the tables, not the tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mindshare.study.inserting import WITHOUT
from mindshare.study.versions import Version, Versions
from mindshare.tokens import Encoded

if TYPE_CHECKING:
    from mindshare.attention.pairs import HeadNumbers

Rows = dict[str, Any]  # column name → values, all of one length
_HEADS = ("factor", "affine_r2", "affine_r2_after", "value_evenness")


@dataclass(frozen=True)
class VersionNumbers:
    """What one pass over one version found."""

    layers: tuple[int, ...]
    received: np.ndarray  # [layer, head, key]; NaN where no query counts
    n_queries: np.ndarray  # [key]
    inserted: np.ndarray | None  # [layer, head, query]: the mass of the inserted tokens
    heads: tuple[HeadNumbers, ...]  # by layer
    kernels: frozenset[str]

    def cells(self, repeats: int) -> Rows:
        """The key columns of layer × head rows, each repeated."""
        heads = self.received.shape[1]
        return {
            "layer": np.repeat(self.layers, heads * repeats),
            "head": np.tile(np.repeat(np.arange(heads), repeats), len(self.layers)),
        }


def insertion_rows(versions: Versions, numbers: Sequence[VersionNumbers]) -> dict[str, Rows]:
    """The rows of one prompt by table; `numbers` has the version without first."""
    without, *others = numbers
    found: dict[str, list[Rows]] = {
        "conditions": [_condition(version) for version in versions.versions],
        "places": [_places_without(versions.without)],
        "sequence": [_sequence(WITHOUT, without)],
        "retained": [],
        "rescaling": [],
    }
    for version, seen in zip(versions.versions, others, strict=True):
        pairs = np.array(version.alignment.pairs, dtype=np.int64).reshape(-1, 2)
        later = pairs[pairs[:, 1] >= version.end]
        found["places"].append(_places(version))
        found["sequence"].append(_sequence(version.condition, seen))
        found["retained"].append(_retained(version.condition, seen, later))
        found["rescaling"].append(_rescaling(version.condition, seen, later))
    return {name: _joined(parts, versions.prompt.id) for name, parts in found.items()}


def _joined(parts: Sequence[Rows], prompt: str) -> Rows:
    rows: Rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rows["prompt"] = [prompt] * len(next(iter(rows.values())))
    return rows


def _words(values: Sequence[Any]) -> np.ndarray:
    return np.array(values, dtype=object)


def _condition(version: Version) -> Rows:
    alignment, insertion = version.alignment, version.insertion
    asked = "random sentence" if insertion.text is None else insertion.text
    return {
        "condition": _words([version.condition]),
        "insertion": _words([asked]),
        "place": _words([insertion.place]),
        "inserted_text": _words([version.text]),
        "n_inserted": [len(version.holding("inserted"))],
        "n_seam": [len(version.holding("seam"))],
        "n_matched": [len(alignment.pairs)],
        "n_unmatched": [len(alignment.unmatched)],
        "n_prompt_tokens": [len(version.encoded)],
        "text": _words([version.encoded.text]),
    }


def _places_without(encoded: Encoded) -> Rows:
    tokens = len(encoded)
    rows = _tokens(WITHOUT, encoded)
    return rows | {
        "part": _words(["original"] * tokens),
        "position_without": _words(list(range(tokens))),
    }


def _places(version: Version) -> Rows:
    partner = {b: a for a, b in version.alignment.pairs}
    rows = _tokens(version.condition, version.encoded)
    return rows | {
        "part": _words(version.alignment.parts),
        "position_without": _words([partner.get(i) for i in range(len(version.encoded))]),
    }


def _tokens(condition: str, encoded: Encoded) -> Rows:
    return {
        "condition": _words([condition] * len(encoded)),
        "position": np.arange(len(encoded)),
        "token_id": np.array(encoded.ids),
        "token": _words(encoded.pieces),
        "start": np.array([a for a, _ in encoded.offsets]),
        "stop": np.array([b for _, b in encoded.offsets]),
        "special": np.array(encoded.special),
    }


def _sequence(condition: str, seen: VersionNumbers) -> Rows:
    tokens = seen.received.shape[-1]
    cells = seen.received.size // tokens
    return {
        "condition": _words([condition] * seen.received.size),
        **seen.cells(tokens),
        "position": np.tile(np.arange(tokens), cells),
        "received": seen.received.reshape(-1),
        "n_queries": np.tile(seen.n_queries, cells),
    }


def _retained(condition: str, seen: VersionNumbers, later: np.ndarray) -> Rows:
    assert seen.inserted is not None
    kept = 1.0 - seen.inserted[:, :, later[:, 1]]
    cells = kept.shape[0] * kept.shape[1]
    return {
        "condition": _words([condition] * kept.size),
        **seen.cells(len(later)),
        "position": np.tile(later[:, 1], cells),
        "position_without": np.tile(later[:, 0], cells),
        "retained": kept.reshape(-1),
    }


def _rescaling(condition: str, seen: VersionNumbers, later: np.ndarray) -> Rows:
    assert seen.inserted is not None
    cells = seen.received.shape[0] * seen.received.shape[1]
    nothing = np.full(cells, np.nan)
    kept = 1.0 - seen.inserted[:, :, later[:, 1]]
    return {
        "condition": _words([condition] * cells),
        **seen.cells(1),
        "retained": kept.mean(-1).reshape(-1) if len(later) else nothing,
        **{name: np.concatenate([getattr(one, name) for one in seen.heads]) for name in _HEADS},
        "n_queries": np.full(cells, len(later)),
    }
