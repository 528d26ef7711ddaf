"""`sequence` and `places` → for each prompt and condition, `received` without and with, as arrays.

The tokens of the two versions are paired by the table `places` and by nothing else. The order of
the rows decides nothing but the order of what comes out: prompts and conditions as they appear,
heads by layer and head. Knows the columns, nothing about what the numbers mean.
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

WITHOUT = "without"  # the condition of a prompt as it is
MEAN = -1  # stands for null, the mean over the layers or the heads, where numbers are sorted
NONE = -1  # a token that has no partner
_INSERTED = ("inserted",)  # a seam is neither inserted nor original
_SEQUENCE = ("prompt", "condition", "layer", "head", "position", "received", "n_queries")
_PLACES = ("prompt", "condition", "position", "token", "part", "position_without")

Name = tuple[str, str]  # prompt, condition


@dataclass(frozen=True)
class Tokens:
    """What `places` says about one version, by position."""

    words: np.ndarray  # [token]
    inserted: np.ndarray  # [token]: holds inserted characters only
    partner: np.ndarray  # [token]: its position in the version without, or NONE


@dataclass(frozen=True)
class Version:
    """One condition of one prompt."""

    tokens: Tokens
    layers: np.ndarray  # [cell], 0-based or MEAN; a cell is a layer and a head
    heads: np.ndarray
    rows: pa.Table  # of `sequence`
    where: np.ndarray  # [row]: its place in [cell, token]

    @cached_property
    def received(self) -> np.ndarray:
        """[cell, token]; NaN where no query counts."""
        values = self.rows["received"].to_numpy(zero_copy_only=False)
        return self._by_cell(values, np.full(self._size, np.nan))

    @property
    def n_queries(self) -> np.ndarray:
        """[cell, token]"""
        return self._by_cell(integers(self.rows["n_queries"]), np.zeros(self._size, np.int64))

    @property
    def _size(self) -> int:
        return len(self.layers) * len(self.tokens.words)

    def _by_cell(self, values: np.ndarray, filled: np.ndarray) -> np.ndarray:
        filled[self.where] = values
        return filled.reshape(len(self.layers), -1)


@dataclass(frozen=True)
class Pair:
    """A prompt as it is and under one condition."""

    prompt: str
    condition: str
    without: Version
    with_: Version
    places: np.ndarray  # [matched token, 2]: its position without and with, ascending with

    def received(self) -> tuple[np.ndarray, np.ndarray]:
        """[cell, matched token] without and with."""
        a, b = self.without.received, self.with_.received
        return a[:, self.places[:, 0]], b[:, self.places[:, 1]]


def pairs(sequence: pa.Table, places: pa.Table) -> Iterator[Pair]:
    """Every prompt under every condition but `without`, paired with the prompt as it is."""
    require_columns(sequence, _SEQUENCE, name="sequence")
    require_columns(places, _PLACES, name="places")
    rows, known = _by_version(sequence), _by_version(places)
    if all(condition == WITHOUT for _, condition in rows):
        raise SelectionError(
            f"the sequence table has no condition but {WITHOUT!r}, so there is nothing to compare",
            next_step="measure at least one insertion",
        )
    _check_heads(sequence)
    width = int(pc.max(sequence["head"]).as_py() or 0) + 2
    before: Version | None = None
    for name in _without_first(rows):
        found = _version(name, rows[name], _tokens(name, known), width)
        _check_cells(name, found, before)
        if name[1] == WITHOUT:
            before = found
        elif before is not None:
            yield Pair(*name, before, found, _places(name, before, found))


def _without_first(names: Iterable[Name]) -> Iterator[Name]:
    """Each prompt's version without, then its other versions as they come."""
    conditions: dict[str, list[str]] = {}
    for prompt, condition in names:
        conditions.setdefault(prompt, []).append(condition)
    for prompt, found in conditions.items():
        if WITHOUT not in found:
            raise SelectionError(
                f"prompt {prompt!r} has no condition {WITHOUT!r} in the sequence table",
                next_step="keep the rows of the prompt as it is: everything is compared with them",
            )
        yield prompt, WITHOUT
        yield from ((prompt, condition) for condition in found if condition != WITHOUT)


def _by_version(content: pa.Table) -> dict[Name, pa.Table]:
    """The rows of each prompt and condition; not copied where they stand together."""
    prompts, prompt = codes(content["prompt"])
    conditions, condition = codes(content["condition"])
    code = prompt * len(conditions) + condition
    if (np.diff(code) < 0).any():
        order = np.argsort(code, kind="stable")
        content, code = content.take(order), code[order]
    starts = np.flatnonzero(np.diff(code, prepend=-1))
    ends = np.append(starts[1:], len(code))
    return {
        (prompts[code[i] // len(conditions)], conditions[code[i] % len(conditions)]): content.slice(
            i, end - i
        )
        for i, end in zip(starts.tolist(), ends.tolist(), strict=True)
    }


def _tokens(name: Name, known: Mapping[Name, pa.Table]) -> Tokens:
    if name not in known:
        raise SelectionError(
            f"prompt {name[0]!r} has no condition {name[1]!r} in the places table",
            next_step="give the sequence and the places of the same measurement",
        )
    rows = known[name]
    position = integers(rows["position"])
    order = np.argsort(position, kind="stable")
    if not np.array_equal(position[order], np.arange(len(order))):
        raise SelectionError(
            "the places table does not have every position once", where=_where(name)
        )
    part = rows["part"].to_numpy(zero_copy_only=False)
    return Tokens(
        words=rows["token"].to_numpy(zero_copy_only=False)[order],
        inserted=np.isin(part[order].astype(str), _INSERTED),
        partner=integers(rows["position_without"])[order],
    )


def _version(name: Name, rows: pa.Table, tokens: Tokens, width: int) -> Version:
    position = integers(rows["position"])
    code = (integers(rows["layer"]) - MEAN) * width + integers(rows["head"]) - MEAN
    there = np.flatnonzero(np.bincount(code))
    place = np.zeros(int(there[-1]) + 1, np.int64)
    place[there] = np.arange(len(there))
    if position.max() >= len(tokens.words):
        raise SelectionError(
            f"the sequence has a token {position.max()} that the places table does not know",
            where=_where(name),
            next_step="give the sequence and the places of the same measurement",
        )
    where = place[code] * len(tokens.words) + position
    if np.bincount(where).max() > 1:
        raise SelectionError(
            "the sequence table has a token twice for the same layer and head",
            where=_where(name),
            next_step="give every prompt an id of its own",
        )
    return Version(tokens, there // width + MEAN, there % width + MEAN, rows, where)


def _places(name: Name, without: Version, with_: Version) -> np.ndarray:
    position = np.flatnonzero(with_.tokens.partner != NONE)
    partner = with_.tokens.partner[position]
    if len(partner) and partner.max() >= len(without.tokens.words):
        raise SelectionError(
            f"the places table pairs a token with token {partner.max()} of the version without, "
            f"which has {len(without.tokens.words)}",
            where=_where(name),
        )
    return np.stack([partner, position], 1)


def _check_heads(sequence: pa.Table) -> None:
    for column in ("layer", "head"):
        if 0 < sequence[column].null_count < sequence.num_rows:
            raise SelectionError(
                f"the sequence table has single {column}s and their mean",
                next_step=f"keep only the rows of single {column}s",
            )


def _check_cells(name: Name, found: Version, before: Version | None) -> None:
    if before is None:
        return
    same = np.array_equal(found.layers, before.layers) and np.array_equal(found.heads, before.heads)
    if not same:
        raise SelectionError(
            "the sequence table has other layers or heads here than before",
            where=_where(name),
            next_step="keep the same layers and heads of every prompt and condition",
        )


def _where(name: Name) -> str:
    return f"prompt {name[0]!r}, condition {name[1]!r}"


def require_columns(content: pa.Table, names: Sequence[str], *, name: str) -> None:
    missing = [one for one in names if one not in content.column_names]
    if missing:
        raise SelectionError(
            f"the table has no column {missing[0]!r}",
            next_step=f"give the `{name}` table of a measurement",
        )
    if content.num_rows == 0:
        raise SelectionError(f"the {name} table has no rows")


def codes(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """(the words in order of appearance, which of them each row is)"""
    encoded = column.combine_chunks().dictionary_encode()
    found = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), found


def integers(column: pa.ChunkedArray) -> np.ndarray:
    """Null becomes −1: MEAN or NONE."""
    filled = pc.fill_null(column, MEAN).to_numpy(zero_copy_only=False)
    found: np.ndarray = filled.astype(np.int64)
    return found


def versioned(
    found: Iterable[Pair], numbers: Callable[[Pair], Mapping[str, np.ndarray]]
) -> dict[str, Any]:
    """The numbers of all pairs as columns, with their prompt and condition; none if no pair.

    A pair is forgotten when its numbers are made: only they have to fit into memory.
    """
    names, parts = [], []
    for pair in found:
        names.append((pair.prompt, pair.condition))
        parts.append(numbers(pair))
    if not parts:
        return {}
    rows = [len(part["layer"]) for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    return columns | {
        "prompt": _repeated([prompt for prompt, _ in names], rows),
        "condition": _repeated([condition for _, condition in names], rows),
        **{name: nullable(columns[name]) for name in ("layer", "head")},
    }


def nullable(values: np.ndarray) -> pa.Array:
    """Layers or heads as a column; MEAN becomes null."""
    return pa.array(values, type=pa.int32(), mask=values == MEAN)


def _repeated(words: Sequence[str], times: Sequence[int]) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(np.repeat(np.arange(len(words)), times)))
