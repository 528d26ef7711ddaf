"""`sequence` and `places` → what each token received without and with an insertion, side by side.

    pairs(sequence, places)     the arrays of every prompt and condition
    aligned(sequence, places)   one row per matched token of a head, or of a mean over heads
    phases(sequence, places)    sums before, inside and after the insertion
    same_readers(sequence)      the same table, counting only queries that were not inserted

The tokens of the two versions are paired by the table `places` and by nothing else. The order of
the rows decides nothing but the order of what comes out: prompts and conditions as they appear,
heads by layer and head. A cell is a layer and a head here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.errors import SelectionError
from mindshare.naming import WITHOUT
from mindshare.stats.matrices import MEAN, codes, common_metadata, integers, require_columns
from mindshare.tables import QUERIES, SCHEMAS, table

PHASES = ("before", "inside", "after")
_NO_PARTNER = -1
_SEQUENCE = ("prompt", "condition", "layer", "head", "position", "received", "n_queries")
_PLACES = ("prompt", "condition", "position", "token", "part", "position_without")
_BY_ALL = "received_all"  # beside `received` by the same readers: by every query
_SAME = "give the sequence and the places of the same measurement"

Version = tuple[str, str]  # prompt, condition
LayerHead = tuple[int | None, int | None]  # layer, head; None: the mean over all of them


@dataclass(frozen=True)
class VersionProfile:
    """One condition of one prompt."""

    words: np.ndarray  # [token]
    inserted: np.ndarray  # [token]: holds inserted characters only; a seam does not
    partner: np.ndarray  # [token]: its position in the version without, or _NO_PARTNER
    layers: np.ndarray  # [cell], 0-based or MEAN
    heads: np.ndarray  # [cell]
    rows: pa.Table  # of `sequence`
    where: np.ndarray  # [row]: its index into a flat [cell, token]

    @cached_property
    def received(self) -> np.ndarray:
        """[cell, token]; NaN where no query counts."""
        return self._received("received")

    @property
    def received_from_all(self) -> np.ndarray:
        """[cell, token]: from the inserted queries too, if `received` is from the others alone."""
        return self._received(_BY_ALL if _BY_ALL in self.rows.column_names else "received")

    def _received(self, column: str) -> np.ndarray:
        values = self.rows[column].to_numpy(zero_copy_only=False)
        return self._by_cell(values, np.nan, np.float64)

    @property
    def n_queries(self) -> np.ndarray:
        """[cell, token]"""
        return self._by_cell(integers(self.rows["n_queries"]), 0, np.int64)

    def _by_cell(self, values: np.ndarray, missing: float, kind: type) -> np.ndarray:
        filled: np.ndarray = np.full(len(self.layers) * len(self.words), missing, kind)
        filled[self.where] = values
        return filled.reshape(len(self.layers), -1)


@dataclass(frozen=True)
class VersionPair:
    """A prompt as it is and under one condition."""

    prompt: str
    condition: str
    without: VersionProfile
    with_: VersionProfile
    places: np.ndarray  # [matched token, 2]: its position without and with, ascending with

    def received(self) -> tuple[np.ndarray, np.ndarray]:
        """[cell, matched token] without and with."""
        a, b = self.without.received, self.with_.received
        return a[:, self.places[:, 0]], b[:, self.places[:, 1]]


def pairs(sequence: pa.Table, places: pa.Table) -> Iterator[VersionPair]:
    """Every prompt under every condition but `without`, paired with the prompt as it is."""
    require_columns(sequence, _SEQUENCE, name="sequence")
    require_columns(places, _PLACES, name="places")
    rows, tokens = _by_version(sequence), _by_version(places)
    if all(condition == WITHOUT for _, condition in rows):
        raise SelectionError(
            f"the sequence table has no condition but {WITHOUT!r}, so there is nothing to compare",
            next_step="measure at least one insertion",
        )
    for column in ("layer", "head"):
        if 0 < sequence[column].null_count < sequence.num_rows:
            raise SelectionError(
                f"the sequence table has single {column}s and their mean",
                next_step=f"keep only the rows of single {column}s",
            )
    heads = int(pc.max(sequence["head"]).as_py() or 0) + 2  # MEAN counts as one
    without: VersionProfile | None = None
    for version in _without_first(rows):
        profile = _read_version(version, rows[version], tokens.get(version), heads)
        if without is not None:
            _check_same_cells(version, profile, without)
        if version[1] == WITHOUT:
            without = profile
        elif without is not None:
            yield VersionPair(
                *version, without, profile, _matched_places(version, without, profile)
            )


def same_readers(sequence: pa.Table) -> pa.Table:
    """What tokens receive from the queries that both versions have, where that was measured.

    An inserted token is a query, too: tokens before a run are averaged over other readers with it
    than without, and their mean changes even if no query changes. Without those it does not.
    """
    names = {"received_original": "received", "n_queries_original": "n_queries"}
    if not set(names) <= set(sequence.column_names):
        return sequence
    about = common_metadata([sequence]) | {QUERIES: "original"}
    by_all = sequence["received"]
    for column, name in names.items():
        place = sequence.schema.get_field_index(name)
        sequence = sequence.set_column(place, sequence.schema.field(name), sequence[column])
    same = sequence.drop_columns(list(names)).append_column(_BY_ALL, by_all)
    return same.replace_schema_metadata(about)


def _by_version(content: pa.Table) -> dict[Version, pa.Table]:
    """The rows of each prompt and condition; not copied where they stand together."""
    prompts, prompt = codes(content["prompt"])
    conditions, condition = codes(content["condition"])
    code = prompt * len(conditions) + condition
    if (np.diff(code) < 0).any():
        order = np.argsort(code, kind="stable")
        content, code = content.take(order), code[order]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    ends = np.append(starts[1:], len(code)).tolist()
    tables = {}
    for start, end in zip(starts.tolist(), ends, strict=True):
        prompt_number, condition_number = divmod(int(code[start]), len(conditions))
        version = prompts[prompt_number], conditions[condition_number]
        tables[version] = content.slice(start, end - start)
    return tables


def _without_first(versions: Iterable[Version]) -> Iterator[Version]:
    """Each prompt's version without, then its other versions as they come."""
    by_prompt: dict[str, list[str]] = {}
    for prompt, condition in versions:
        by_prompt.setdefault(prompt, []).append(condition)
    for prompt, conditions in by_prompt.items():
        if WITHOUT not in conditions:
            raise SelectionError(
                f"prompt {prompt!r} has no condition {WITHOUT!r} in the sequence table",
                next_step="keep the rows of the prompt as it is: everything is compared with them",
            )
        yield prompt, WITHOUT
        yield from ((prompt, condition) for condition in conditions if condition != WITHOUT)


def _read_version(
    version: Version, rows: pa.Table, tokens: pa.Table | None, heads: int
) -> VersionProfile:
    """`rows` of `sequence`, `tokens` of `places`; `heads` is at least the number of heads."""
    where = f"prompt {version[0]!r}, condition {version[1]!r}"
    if tokens is None:
        raise SelectionError(
            f"prompt {version[0]!r} has no condition {version[1]!r} in the places table",
            next_step=_SAME,
        )
    positions = integers(tokens["position"])
    order = np.argsort(positions, kind="stable")
    if not np.array_equal(positions[order], np.arange(len(order))):
        raise SelectionError("the places table does not have every position once", where=where)
    position = integers(rows["position"])
    if position.max() >= len(order):
        raise SelectionError(
            f"the sequence has a token {position.max()} that the places table does not know",
            where=where,
            next_step=_SAME,
        )
    code = (integers(rows["layer"]) - MEAN) * heads + integers(rows["head"]) - MEAN
    count = np.bincount(code)
    cells = np.flatnonzero(count)
    index = (np.cumsum(count > 0) - 1)[code] * len(order) + position
    if np.bincount(index).max() > 1:
        raise SelectionError(
            "the sequence table has a token twice for the same layer and head",
            where=where,
            next_step="give every prompt an id of its own",
        )
    return VersionProfile(
        words=tokens["token"].to_numpy(zero_copy_only=False)[order],
        inserted=(tokens["part"].to_numpy(zero_copy_only=False) == "inserted")[order],
        partner=integers(tokens["position_without"])[order],
        layers=cells // heads + MEAN,
        heads=cells % heads + MEAN,
        rows=rows,
        where=index,
    )


def _matched_places(version: Version, without: VersionProfile, with_: VersionProfile) -> np.ndarray:
    """[matched token, 2]"""
    position = np.flatnonzero(with_.partner != _NO_PARTNER)
    partner = with_.partner[position]
    if len(partner) and partner.max() >= len(without.words):
        raise SelectionError(
            f"the places table pairs a token with token {partner.max()} of the version without, "
            f"which has {len(without.words)}",
            where=f"prompt {version[0]!r}, condition {version[1]!r}",
        )
    return np.stack([partner, position], 1)


def _check_same_cells(version: Version, a: VersionProfile, b: VersionProfile) -> None:
    if not (np.array_equal(a.layers, b.layers) and np.array_equal(a.heads, b.heads)):
        raise SelectionError(
            "the sequence table has other layers or heads here than before",
            where=f"prompt {version[0]!r}, condition {version[1]!r}",
            next_step="keep the same layers and heads of every prompt and condition",
        )


def pair_columns(
    pairs: Iterable[VersionPair], numbers: Callable[[VersionPair], Mapping[str, np.ndarray]]
) -> dict[str, Any]:
    """The numbers of all pairs as columns, with their prompt and condition; none if no pair.

    Only the numbers have to fit into memory, not the pairs.
    """
    versions, parts = [], []
    for pair in pairs:
        versions.append((pair.prompt, pair.condition))
        parts.append(numbers(pair))
    if not parts:
        return {}
    columns: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    for name in ("layer", "head"):
        values = columns[name]
        columns[name] = pa.array(values, type=pa.int32(), mask=values == MEAN)
    row = pa.array(np.repeat(np.arange(len(parts)), [len(part["layer"]) for part in parts]))
    for i, name in enumerate(("prompt", "condition")):
        columns[name] = pa.array([version[i] for version in versions], pa.string()).take(row)
    return columns


def aligned(
    sequence: pa.Table, places: pa.Table, *, cells: Sequence[LayerHead] | None = None
) -> pa.Table:
    """The matched tokens of each condition, as an `aligned` table; others are not in it.

    `cells` are the (layer, head) wanted, in this order; None means every head on its own.
    (3, None) is the mean over the heads of layer 3, (None, None) that over all heads.
    """
    columns = pair_columns(
        pairs(sequence, places), lambda pair: _token_rows(pair, _rows_of(pair.without, cells))
    )
    return table("aligned", columns, common_metadata([sequence]))


def _token_rows(
    pair: VersionPair, cells: dict[tuple[int, int], np.ndarray]
) -> dict[str, np.ndarray]:
    """The rows of one pair: cell after cell, each with all its tokens."""
    without, with_ = pair.places.T
    keys = np.repeat(np.array(list(cells)), len(without), axis=0)
    columns = {
        "layer": keys[:, 0],
        "head": keys[:, 1],
        "position_without": np.tile(without, len(cells)),
        "position": np.tile(with_, len(cells)),
        "token": np.tile(pair.with_.words[with_], len(cells)),
        # The queries after a key are the same for every head.
        "n_queries_without": np.tile(pair.without.n_queries[0][without], len(cells)),
        "n_queries_with": np.tile(pair.with_.n_queries[0][with_], len(cells)),
    }
    for name, received in zip(("without", "with"), pair.received(), strict=True):
        # A key without queries has none in any head, so its mean has no number either.
        means = [received[rows].mean(0) for rows in cells.values()]
        columns[f"received_{name}"] = np.concatenate(means)
    return columns


def _rows_of(
    version: VersionProfile, cells: Sequence[LayerHead] | None
) -> dict[tuple[int, int], np.ndarray]:
    """(layer, head) of each cell wanted → the rows of `received` whose mean it is."""
    if cells is None:
        single = zip(version.layers.tolist(), version.heads.tolist(), strict=True)
        return {key: np.array([i]) for i, key in enumerate(single)}
    if not cells:
        raise SelectionError("no layer and head was named", allowed="e.g. [(0, 3), (0, None)]")
    rows_of = {}
    for layer, head in cells:
        of_layer = np.ones(len(version.layers), bool) if layer is None else version.layers == layer
        rows = np.flatnonzero(of_layer if head is None else of_layer & (version.heads == head))
        if len(rows) == 0:
            raise SelectionError(
                f"there is no layer {layer}, head {head} in the table",
                allowed=f"layers {_extent(version.layers)}, heads {_extent(version.heads)}",
            )
        rows_of[MEAN if layer is None else layer, MEAN if head is None else head] = rows
    return rows_of


def _extent(numbers: np.ndarray) -> str:
    """`0 to 11`, or `0, 3, 7`"""
    known = np.unique(numbers)
    if known[0] == MEAN:
        return "averaged (None)"
    whole = known[-1] - known[0] + 1 == len(known) > 1
    return f"{known[0]} to {known[-1]}" if whole else ", ".join(map(str, known))


def phases(sequence: pa.Table, places: pa.Table) -> pa.Table:
    """Three rows per head for every condition that inserted something, as a `phases` table.

    Inside are the inserted tokens, and what stands between them. Keys without queries have no
    number and are counted nowhere.
    """
    with_insertion = (pair for pair in pairs(sequence, places) if pair.with_.inserted.any())
    columns = pair_columns(with_insertion, lambda pair: _phase_rows(pair.with_))
    about = common_metadata([sequence])
    if not columns:
        return SCHEMAS["phases"].with_metadata(about).empty_table()
    return table("phases", columns, about)


def _phase_rows(version: VersionProfile) -> dict[str, np.ndarray]:
    """The rows of one version: head after head, each with its three phases."""
    received, position = version.received, np.arange(len(version.words))
    first, last = np.flatnonzero(version.inserted)[[0, -1]]
    phase = (1 - (position < first) + (position > last))[:, None] == np.arange(len(PHASES))
    known = ~np.isnan(received)
    tokens = (known @ phase.astype(np.float64)).reshape(-1)
    total = (np.where(known, received, 0.0) @ phase).reshape(-1)
    return {
        "layer": np.repeat(version.layers, len(PHASES)),
        "head": np.repeat(version.heads, len(PHASES)),
        "phase": np.tile(np.array(PHASES, object), len(version.layers)),
        "n_tokens": tokens,
        "received_sum": total,
        "received": np.where(tokens > 0, total / np.maximum(tokens, 1), np.nan),
    }
