"""The results of one prompt → its rows in every table.

Averages over heads or layers are taken on the masses; ratios (share, density, lift) are made from
the averaged masses, so they mean the same at every level. Knows the tables, not the tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.attention.jobs import Job, PromptResult
from mindshare.measures import MEASURES
from mindshare.naming import WITHOUT
from mindshare.study.effect_rows import Rows, effect_rows
from mindshare.study.encoding import EncodedPrompt, PromptVersion
from mindshare.study.study import BOTH, AnyStudy, InsertionStudy, KnockoutStudy, Study
from mindshare.tables import class_measures
from mindshare.tokens import ClassedTokens, Encoded

SINK_SLOT = "sink_slot"
_SINK = 0.3  # received[0] above this, diagonal included: the usual sink statistic
_LEFT_OVER = 1e-4  # more than this is no rounding: learned sinks took it
_HEADS = tuple(name for name, measure in MEASURES.items() if measure.table == "heads")
_RESCALING = ("factor", "affine_r2", "affine_r2_after", "value_evenness")


def rows_of(
    prompt: EncodedPrompt, results: Sequence[PromptResult], study: AnyStudy
) -> dict[str, Rows]:
    """The rows of one prompt by table; `results` are those of its jobs."""
    if isinstance(study, InsertionStudy):
        tables = _insertion_rows(prompt, results, study)
    elif isinstance(study, KnockoutStudy):
        tables = effect_rows(prompt, results[0], study)
    else:
        tables = _class_rows(prompt, results[0], study)
    for rows in tables.values():
        rows["prompt"] = pa.repeat(prompt.prompt.id, len(next(iter(rows.values()))))
    return tables


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """The rows of several prompts, in order."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    if all(isinstance(x, np.ndarray) for x in values):
        return np.concatenate(values)
    if all(isinstance(x, pa.Array) for x in values):
        return pa.concat_arrays(values)
    return list(chain.from_iterable(values))


def _key_counts(queries: np.ndarray, near: int) -> np.ndarray:
    """[set, token] → for each key j, how many queries there are with i > j + near."""
    from_here = np.cumsum(queries[:, ::-1].astype(np.int64), 1)[:, ::-1]  # Σ over i ≥ j
    counts: np.ndarray = np.zeros(queries.shape, np.int64)
    skip = near + 1
    counts[:, : max(0, counts.shape[1] - skip)] = from_here[:, skip:]
    return counts


def _token_rows(encoded: Encoded) -> Rows:
    """What every table of tokens has."""
    return {
        "position": np.arange(len(encoded)),
        "token_id": np.array(encoded.ids),
        "token": _words(encoded.pieces),
        "start": np.array([a for a, _ in encoded.offsets]),
        "stop": np.array([b for _, b in encoded.offsets]),
        "special": np.array(encoded.special),
    }


def _words(values: Sequence[Any]) -> np.ndarray:
    """Texts, or numbers among which None stands for null."""
    return np.array(values, dtype=object)


# A study by token class.


def _class_rows(prompt: EncodedPrompt, result: PromptResult, study: Study) -> dict[str, Rows]:
    classed, (job,) = prompt.classed, prompt.jobs
    assert classed is not None
    cells = _LayerHeadCells.of(result, study)
    n_queries = job.query_sets.sum(1)  # [set]
    counts = classed.counts()
    rows = {
        "prompts": _prompt_rows(prompt.encoded, result, study),
        "tokens": _token_rows(prompt.encoded) | {"class": classed.labels()},
        "classes": {
            "class": list(counts),
            "n_tokens": [count.tokens for count in counts.values()],
            "examples": [list(count.examples) for count in counts.values()],
        },
        "mass": _mass_rows(classed, cells, study, n_queries),
        "heads": _head_rows(cells, study, n_queries),
    }
    if "received" in cells.values:
        n_keys = _key_counts(job.query_sets, study.near)
        rows["received"] = _received_rows(cells, study, n_keys)
    return rows


@dataclass(frozen=True)
class _LayerHeadCells:
    """The (layer, head) cells of the tables."""

    layer: list[int | None]  # of each cell; None: averaged over
    head: list[int | None]
    values: Mapping[str, np.ndarray]  # by name: [set, cell], then class or key

    @classmethod
    def of(cls, result: PromptResult, study: Study) -> _LayerHeadCells:
        layers = dict(sorted(result.layers.items()))
        first = next(iter(layers.values()))
        heads = list(study.heads or range(first["mass"].shape[1]))
        layer_axis: list[int | None] = [None] if "layers" in study.mean_over else list(layers)
        head_axis: list[int | None] = [None] if "heads" in study.mean_over else list(heads)

        def stacked(name: str) -> np.ndarray:
            """[set, layer × head, …], averaged where asked."""
            # What all heads share (`expected`, where they see the same keys) is there once.
            parts = [
                part[:, heads] if part.shape[1] > 1 else np.repeat(part, len(heads), 1)
                for part in (numbers[name] for numbers in layers.values())
            ]
            whole = np.stack(parts, 1).astype(np.float64)
            if "layers" in study.mean_over:
                whole = whole.mean(1, keepdims=True)
            if "heads" in study.mean_over:
                whole = whole.mean(2, keepdims=True)
            return whole.reshape(len(whole), -1, *whole.shape[3:])

        return cls(
            layer=[layer for layer in layer_axis for _ in head_axis],
            head=[head for _ in layer_axis for head in head_axis],
            values={name: stacked(name) for name in first},
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


def _mass_rows(
    classed: ClassedTokens, cells: _LayerHeadCells, study: Study, n_queries: np.ndarray
) -> Rows:
    names, mass, expected = list(classed.names), cells.values["mass"], cells.values["expected"]
    tokens = np.broadcast_to(classed.weights.sum(0), mass.shape)
    columns = class_measures(mass, expected, tokens, mass[..., :-1].sum(-1, keepdims=True))
    columns["share"][..., -1] = np.nan  # 'other' is last and was not named
    columns["n_tokens"] = tokens
    if "contribution" in cells.values:
        columns["contribution"] = cells.values["contribution"]
    left = 1.0 - cells.values["attended"]  # [set, cell]
    if left.max() > _LEFT_OVER:  # with a row for it the masses sum to 1
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
        "n_queries": np.repeat(n_queries, left.shape[1] * len(names)),
    }


def _head_rows(cells: _LayerHeadCells, study: Study, n_queries: np.ndarray) -> Rows:
    """Numbers that were not asked for are NaN, or no column where the measure is optional."""
    nothing = np.full((len(study.queries), len(cells.layer)), np.nan)
    values = {**cells.values, "perplexity": np.exp(cells.values.get("entropy", nothing))}
    names = (name for name in _HEADS if name in values or not MEASURES[name].optional)
    return {
        **cells.keys(study, 1),
        **{name: values.get(name, nothing).reshape(-1) for name in names},
        "n_queries": np.repeat(n_queries, nothing.shape[1]),
    }


def _received_rows(cells: _LayerHeadCells, study: Study, n_keys: np.ndarray) -> Rows:
    """`n_keys` [set, key]: how many queries count for each key."""
    received = cells.values["received"]
    sets, count, tokens = received.shape
    return {
        **cells.keys(study, tokens),
        "position": np.tile(np.arange(tokens, dtype=np.int32), sets * count),
        "received": received.reshape(-1).astype(np.float32),
        "n_queries": np.repeat(n_keys[:, None], count, 1).reshape(-1),
    }


def _prompt_rows(encoded: Encoded, result: PromptResult, study: Study) -> Rows:
    first = np.stack([numbers["first_token"] for numbers in result.layers.values()])
    bos, sets = encoded.bos, len(study.queries)
    return {
        "queries": list(study.queries),
        "n_prompt_tokens": [len(encoded)] * sets,
        "sink_rate": (first > _SINK).mean((0, 2)),  # of [layer, set, head]
        "bos": [f"{bos.token if bos.present else 'none'} ({bos.origin})"] * sets,
        "group": [encoded.prompt.group] * sets,
        "text": [encoded.text] * sets,
    }


# A study of insertions: rows of the prompt as it is, then of each condition.


def _insertion_rows(
    prompt: EncodedPrompt, results: Sequence[PromptResult], study: InsertionStudy
) -> dict[str, Rows]:
    passes = [
        _Pass.of(condition, job, result, study.near)
        for condition, job, result in zip(
            (WITHOUT, *study.conditions), prompt.jobs, results, strict=True
        )
    ]
    tokens = range(len(prompt.encoded))
    parts = {
        "conditions": [_condition_rows(version) for version in prompt.versions],
        "places": [
            _place_rows(WITHOUT, prompt.encoded, ["original"] * len(tokens), tokens),
            *(_version_place_rows(version) for version in prompt.versions),
        ],
        "sequence": [found.sequence_rows(both=study.queries == BOTH) for found in passes],
        "retained": [],
        "rescaling": [],
    }
    for version, found in zip(prompt.versions, passes[1:], strict=True):
        later = version.pairs[version.pairs[:, 1] >= version.end]
        parts["retained"].append(found.retained_rows(later))
        parts["rescaling"].append(found.rescaling_rows(later))
    return {
        table: {name: np.concatenate([rows[name] for rows in some]) for name in some[0]}
        for table, some in parts.items()
    }


def _condition_rows(version: PromptVersion) -> Rows:
    alignment, insertion = version.alignment, version.insertion
    written = "random sentence" if insertion.text is None else insertion.text
    return {
        "condition": _words([version.condition]),
        "insertion": _words([written]),
        "place": _words([insertion.place]),
        "inserted_text": _words([version.text]),
        "n_inserted": [len(version.holding("inserted"))],
        "n_seam": [len(version.holding("seam"))],
        "n_matched": [len(alignment.pairs)],
        "n_unmatched": [len(alignment.unmatched)],
        "n_prompt_tokens": [len(version.encoded)],
        "text": _words([version.encoded.text]),
    }


def _version_place_rows(version: PromptVersion) -> Rows:
    partner = {b: a for a, b in version.alignment.pairs}
    partners = [partner.get(i) for i in range(len(version.encoded))]
    return _place_rows(version.condition, version.encoded, version.alignment.parts, partners)


def _place_rows(
    condition: str, encoded: Encoded, parts: Sequence[str], partners: Sequence[int | None]
) -> Rows:
    return {
        "condition": _words([condition] * len(encoded)),
        **_token_rows(encoded),
        "part": _words(parts),
        "position_without": _words(list(partners)),
    }


@dataclass(frozen=True)
class _Pass:
    """What one pass over one version found, the layers stacked."""

    condition: str
    layers: tuple[int, ...]
    values: Mapping[str, np.ndarray]  # [layer, …]
    n_queries: np.ndarray  # [set, key]

    @classmethod
    def of(cls, condition: str, job: Job, result: PromptResult, near: int) -> _Pass:
        layers = dict(sorted(result.layers.items()))
        names = next(iter(layers.values()))
        values = {name: np.stack([numbers[name] for numbers in layers.values()]) for name in names}
        return cls(condition, tuple(layers), values, _key_counts(job.query_sets, near))

    @property
    def received(self) -> np.ndarray:
        """[layer, head, key]; NaN where no query counts"""
        return self.values["received"][:, 0]

    def retained(self, later: np.ndarray) -> np.ndarray:
        """[layer, head, query]: what the later queries do not give to the inserted tokens"""
        return 1.0 - self.values["given"][:, :, later[:, 1], 0].astype(np.float64)

    def keys(self, repeats: int) -> Rows:
        """The key columns of layer × head rows, each repeated."""
        heads = self.received.shape[1]
        return {
            "condition": _words([self.condition] * (len(self.layers) * heads * repeats)),
            "layer": np.repeat(self.layers, heads * repeats),
            "head": np.tile(np.repeat(np.arange(heads), repeats), len(self.layers)),
        }

    def sequence_rows(self, *, both: bool) -> Rows:
        """`both`: by every query, and by those alone that were not inserted."""
        tokens = self.received.shape[-1]
        cells = self.received.size // tokens
        rows = {
            **self.keys(tokens),
            "position": np.tile(np.arange(tokens), cells),
            "received": self.received.reshape(-1),
            "n_queries": np.tile(self.n_queries[0], cells),
        }
        if both:  # a version with nothing inserted has one set, which is both
            rows["received_original"] = self.values["received"][:, -1].reshape(-1)
            rows["n_queries_original"] = np.tile(self.n_queries[-1], cells)
        return rows

    def retained_rows(self, later: np.ndarray) -> Rows:
        """`later` [query, 2]: the queries after the insertion, without and with it."""
        retained = self.retained(later)
        cells = retained.shape[0] * retained.shape[1]
        return {
            **self.keys(len(later)),
            "position": np.tile(later[:, 1], cells),
            "position_without": np.tile(later[:, 0], cells),
            "retained": retained.reshape(-1),
        }

    def rescaling_rows(self, later: np.ndarray) -> Rows:
        cells = self.received.shape[0] * self.received.shape[1]
        nothing = np.full(cells, np.nan)
        return {
            **self.keys(1),
            "retained": self.retained(later).mean(-1).reshape(-1) if len(later) else nothing,
            **{name: self.values[name].reshape(-1) for name in _RESCALING},
            "n_queries": np.full(cells, len(later)),
        }
