"""Layer numbers of one prompt → its rows in every table.

Averages over heads or layers are taken on the masses; ratios (share, density, lift) are made from
the averaged masses, so they mean the same at every level. Knows the tables, not the tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from mindshare.study.study import Study
from mindshare.tokens import Classed, Encoded

if TYPE_CHECKING:
    from mindshare.attention.measures import LayerNumbers

SINK_SLOT = "sink_slot"
_SINK = 0.3  # received[0] above this, diagonal included: the usual sink statistic

Rows = dict[str, Any]  # column name → values, all of one length


@dataclass(frozen=True)
class PromptNumbers:
    """Everything known about one prompt once it has been through the model."""

    encoded: Encoded
    classed: Classed
    layers: Mapping[int, LayerNumbers]
    n_queries: np.ndarray  # [set]
    n_queries_by_key: np.ndarray  # [set, key]


def prompt_rows(numbers: PromptNumbers, study: Study) -> dict[str, Rows]:
    """The rows of one prompt by table."""
    cells = _Cells.of(numbers, study)
    rows = {
        "prompts": _prompt_rows(numbers, study),
        "tokens": _token_rows(numbers),
        "classes": _class_rows(numbers),
        "mass": _mass_rows(numbers, study, cells),
        "heads": _head_rows(numbers, study, cells),
    }
    if cells.received is not None:
        rows["received"] = _received_rows(numbers, study, cells)
    for content in rows.values():
        content["prompt"] = pa.repeat(numbers.encoded.prompt.id, len(next(iter(content.values()))))
    return rows


@dataclass(frozen=True)
class _Cells:
    """The (layer, head) cells of the tables. Axes: set, cell, then class or key."""

    layer: list[int | None]  # None: averaged over
    head: list[int | None]
    mass: np.ndarray
    expected: np.ndarray
    first_token: np.ndarray
    attended: np.ndarray
    entropy: np.ndarray | None
    distance: np.ndarray | None
    received: np.ndarray | None

    @classmethod
    def of(cls, numbers: PromptNumbers, study: Study) -> _Cells:
        found = numbers.layers
        heads = list(study.heads or range(next(iter(found.values())).mass.shape[1]))
        layer_axis: list[int | None] = [None] if "layers" in study.mean_over else list(found)
        head_axis: list[int | None] = [None] if "heads" in study.mean_over else list(heads)

        def stacked(name: str) -> np.ndarray | None:
            """[set, layer × head, …], averaged where asked."""
            parts = [getattr(layer, name) for layer in found.values()]
            if parts[0] is None:
                return None
            whole = np.stack([part[:, heads] for part in parts], 1).astype(np.float64)
            if "layers" in study.mean_over:
                whole = whole.mean(1, keepdims=True)
            if "heads" in study.mean_over:
                whole = whole.mean(2, keepdims=True)
            return whole.reshape(len(whole), -1, *whole.shape[3:])

        names = ("mass", "expected", "first_token", "attended", "entropy", "distance", "received")
        return cls(
            layer=[layer for layer in layer_axis for _ in head_axis],
            head=[head for _ in layer_axis for head in head_axis],
            **{name: stacked(name) for name in names},  # type: ignore[arg-type]
        )

    def keys(self, study: Study, repeats: int) -> Rows:
        """The key columns of set × cell rows, each repeated."""
        each = len(self.layer) * repeats

        def spread(values: list[int | None]) -> Any:
            if None in values:  # averaged over: then there is no number in any row
                return pa.nulls(each * len(study.queries), pa.int32())
            return np.tile(np.repeat(np.array(values, np.int32), repeats), len(study.queries))

        return {
            "queries": pa.concat_arrays([pa.repeat(name, each) for name in study.queries]),
            "layer": spread(self.layer),
            "head": spread(self.head),
        }


def _mass_rows(numbers: PromptNumbers, study: Study, cells: _Cells) -> Rows:
    names = list(numbers.classed.names)
    mass = cells.mass
    tokens = np.broadcast_to(numbers.classed.weights.sum(0), mass.shape)
    named = mass[..., :-1].sum(-1, keepdims=True)  # 'other' is last and was not named
    share = _ratio(mass, named)
    share[..., -1] = np.nan
    columns = {
        "mass": mass,
        "share": share,
        "density": _ratio(mass, tokens),
        "expected": cells.expected,
        "lift": _ratio(mass, cells.expected),
        "n_tokens": tokens,
    }
    left = 1.0 - cells.attended
    if left.max() > 1e-4:  # learned sinks: what is left over, or masses would not sum to 1
        names.append(SINK_SLOT)
        nothing = np.full((*left.shape, 1), np.nan)
        columns = {
            name: np.concatenate([x, left[..., None] if name == "mass" else nothing], -1)
            for name, x in columns.items()
        }
    return {
        **cells.keys(study, len(names)),
        "class": pa.array(names).take(pa.array(np.tile(np.arange(len(names)), left.size))),
        **{name: values.reshape(-1) for name, values in columns.items()},
        "n_queries": np.repeat(numbers.n_queries, left.shape[1] * len(names)),
    }


def _head_rows(numbers: PromptNumbers, study: Study, cells: _Cells) -> Rows:
    nothing = np.full(cells.first_token.shape, np.nan)
    entropy = nothing if cells.entropy is None else cells.entropy
    distance = nothing if cells.distance is None else cells.distance
    return {
        **cells.keys(study, 1),
        "entropy": entropy.reshape(-1),
        "perplexity": np.exp(entropy).reshape(-1),
        "distance": distance.reshape(-1),
        "first_token": cells.first_token.reshape(-1),
        "n_queries": np.repeat(numbers.n_queries, cells.first_token.shape[1]),
    }


def _received_rows(numbers: PromptNumbers, study: Study, cells: _Cells) -> Rows:
    assert cells.received is not None
    sets, count, tokens = cells.received.shape
    by_key = np.repeat(numbers.n_queries_by_key[:, None], count, 1)
    return {
        **cells.keys(study, tokens),
        "position": np.tile(np.arange(tokens, dtype=np.int32), sets * count),
        "received": cells.received.reshape(-1).astype(np.float32),
        "n_queries": by_key.reshape(-1).astype(np.int64),
    }


def _prompt_rows(numbers: PromptNumbers, study: Study) -> Rows:
    first = np.stack([found.first_token for found in numbers.layers.values()])  # [layer, set, head]
    bos, sets = numbers.encoded.bos, len(study.queries)
    return {
        "queries": list(study.queries),
        "n_prompt_tokens": [len(numbers.encoded)] * sets,
        "sink_rate": (first > _SINK).mean((0, 2)),
        "bos": [f"{bos.token} ({bos.origin})" if bos.present else f"none ({bos.origin})"] * sets,
        "group": [numbers.encoded.prompt.group] * sets,
        "text": [numbers.encoded.text] * sets,
    }


def _token_rows(numbers: PromptNumbers) -> Rows:
    encoded = numbers.encoded
    return {
        "position": np.arange(len(encoded)),
        "token_id": encoded.ids,
        "token": encoded.pieces,
        "start": [a for a, _ in encoded.offsets],
        "stop": [b for _, b in encoded.offsets],
        "special": encoded.special,
        "class": numbers.classed.labels(),
    }


def _class_rows(numbers: PromptNumbers) -> Rows:
    counts = numbers.classed.counts()
    return {
        "class": list(counts),
        "n_tokens": [count.tokens for count in counts.values()],
        "examples": [list(count.examples) for count in counts.values()],
    }


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to divide by: there is no such number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: np.ndarray = np.where(bottom > 0, top / bottom, np.nan)
    return ratio
