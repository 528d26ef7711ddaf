"""Tables of a prompt without and with an insertion, made up: any number of heads and tokens.

Words of a made-up language of tokens: the original tokens stand at their places, a run of `n`
tokens is put between two of them, and one token beside it can be merged with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mindshare.tables import table

STUDY = '{"near": 0, "queries": "all"}'
ABOUT = {"mindshare.definition": STUDY}
RESAMPLED = {
    "mindshare.interval": "t-widened percentile bootstrap",
    "mindshare.confidence": "0.95",
    "mindshare.resamples": "10000",
    "mindshare.seed": "0",
}
TOKENS = ("You", " are", " a", " help", "ful", " assistant", ".", "\n", "What", " is", " 12", "?")
MEASURES = (
    "amplitude", "shape", "entropy_change", "divergence", "peak_shift", "peak_ratio",
    "weight_evenness", "retained", "factor", "affine_r2",
)  # fmt: skip
LABELS = ("unchanged", "smoothed", "sharpened", "amplified", "damped", "reconfigured")


@dataclass(frozen=True)
class Inserted:
    """One condition: `n` tokens before the original token `at`; `merged` original tokens before it
    are cut differently."""

    name: str = "/ ×55"
    n: int = 55
    at: int = 16
    token: str = " /"
    merged: int = 0


@dataclass(frozen=True)
class Made:
    sequence: pa.Table
    places: pa.Table
    aligned: pa.Table


def tokens_of(n: int) -> list[str]:
    return [TOKENS[i % len(TOKENS)] for i in range(n)]


def made(
    tokens: int | Sequence[str] = 62,
    *,
    conditions: Sequence[Inserted] = (Inserted(),),
    cells: Sequence[tuple[int | None, int | None]] = ((0, 0), (0, 1), (0, 7)),
    prompt: str = "p1",
) -> Made:
    """Tables with every version of one prompt."""
    words = tokens_of(tokens) if isinstance(tokens, int) else list(tokens)
    places = [_places(words, None, prompt), *(_places(words, one, prompt) for one in conditions)]
    sequence = [_sequence(rows, cells, seed=i) for i, rows in enumerate(places)]
    whole = _table("sequence", sequence)
    aligned = [
        _aligned(sequence[0], sequence[i + 1], places[i + 1]) for i in range(len(conditions))
    ]
    return Made(whole, _table("places", places), _table("aligned", aligned))


def _table(kind: str, parts: Sequence[list[dict]]) -> pa.Table:
    rows = [row for part in parts for row in part]
    return table(kind, {name: [row[name] for row in rows] for name in rows[0]}, ABOUT)


def _places(words: Sequence[str], one: Inserted | None, prompt: str) -> list[dict]:
    """The tokens of one version, with exact character ranges."""
    kept = [(word, "original", i) for i, word in enumerate(words)]
    if one is not None:
        at = min(one.at, len(words))
        merged = [(word, "unmatched", None) for word in words[at - one.merged : at]]
        run = [(one.token, "inserted", None)] * one.n
        kept = [*kept[: at - one.merged], *merged, *run, *kept[at:]]
    rows, start = [], 0
    for position, (word, part, partner) in enumerate(kept):
        rows.append(
            {
                "prompt": prompt,
                "condition": "without" if one is None else one.name,
                "position": position,
                "token_id": sum(map(ord, word)),
                "token": word,
                "start": start,
                "stop": start + len(word),
                "special": False,
                "part": part,
                "position_without": partner,
            }
        )
        start += len(word)
    return rows


def _sequence(places: list[dict], cells: Sequence[tuple], *, seed: int) -> list[dict]:
    """Peaks at the same original tokens in every version; small and even in the run."""
    n = len(places)
    rows = []
    for k, (layer, head) in enumerate(cells):
        base = np.random.default_rng(k).gamma(0.6, 0.03, 10_000)
        noise = np.random.default_rng(100 * seed + k).gamma(9, 1 / 9, n)
        for position, place in enumerate(places):
            partner = place["position_without"]
            level = 0.004 if partner is None else float(base[partner % 10_000]) * 62 / n
            queries = n - 1 - position
            rows.append(
                {
                    **{name: place[name] for name in ("prompt", "condition", "position")},
                    "layer": layer,
                    "head": head,
                    "received": level * noise[position] * (0.7 if seed else 1)
                    if queries
                    else np.nan,
                    "n_queries": queries,
                }
            )
    return rows


def _aligned(without: list[dict], with_: list[dict], places: list[dict]) -> list[dict]:
    a = {(row["layer"], row["head"], row["position"]): row for row in without}
    partners = {place["position"]: place["position_without"] for place in places}
    tokens = {place["position"]: place["token"] for place in places}
    return [
        {
            **{name: row[name] for name in ("prompt", "condition", "layer", "head", "position")},
            "position_without": partners[row["position"]],
            "token": tokens[row["position"]],
            "received_without": a[row["layer"], row["head"], partners[row["position"]]]["received"],
            "received_with": row["received"],
            "n_queries_without": a[row["layer"], row["head"], partners[row["position"]]][
                "n_queries"
            ],
            "n_queries_with": row["n_queries"],
        }
        for row in with_
        if partners[row["position"]] is not None
    ]


def summarised(
    cells: Sequence[tuple[int | None, int | None]],
    *,
    measures: Sequence[str] = MEASURES,
    conditions: Sequence[str] = ("/ ×55",),
    models: Sequence[str] = ("m",),
    n_prompts: int = 20,
) -> pa.Table:
    """A `response_summary` with numbers that such measures can have."""
    rng = np.random.default_rng(3)
    rows = []
    for k, (condition, model) in enumerate((c, m) for m in models for c in conditions):
        for layer, head in cells:
            label = None if head is None else LABELS[int(rng.integers(len(LABELS)))]
            depth = 0 if layer is None else layer / 10
            for measure in measures:
                mean = _number(measure, rng.normal(0, 0.3) + 0.2 * k - 0.1 * depth)
                half = 0.02 + 0.05 * abs(mean)
                rows.append(
                    {
                        "condition": condition,
                        "model": model,
                        "layer": layer,
                        "head": head,
                        "measure": measure,
                        "n_prompts": n_prompts,
                        "n_groups": n_prompts,
                        "mean": mean,
                        "sd": half * 3,
                        "se": half / 2,
                        "margin_family": 2 * half if n_prompts > 1 else np.nan,
                        "low": mean - half if n_prompts > 1 else np.nan,
                        "high": mean + half if n_prompts > 1 else np.nan,
                        "label": label,
                    }
                )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    size = len(columns["model"])
    columns |= {"n_absent": [0] * size, "reliable": [True] * size}
    return table("response_summary", columns, ABOUT | RESAMPLED)


def _number(measure: str, x: float) -> float:
    """A real number → one that the measure can be."""
    if measure in ("amplitude", "peak_ratio", "factor"):
        return float(2.0 ** (2 * x))
    if measure == "entropy_change":
        return float(x)
    if measure == "peak_shift":
        return float(np.round(10 * x))
    return float(1 / (1 + np.exp(-1 - 3 * x)))


def changed(content: pa.Table, column: str, values: Sequence[object]) -> pa.Table:
    """The table with other values in one column."""
    at = content.column_names.index(column)
    kind = content.field(at)
    return content.set_column(at, kind, pa.array(values, type=kind.type))


def condition_rows(rows: Sequence[tuple[str, str, int]], *, prompts: int = 2) -> pa.Table:
    """A `conditions` table of (condition, place, number of inserted tokens)."""
    found = [
        {
            "prompt": f"p{i}",
            "condition": name,
            "insertion": name,
            "place": place,
            "inserted_text": "x" * n,
            "n_inserted": n,
            "n_seam": 0,
            "n_matched": 60,
            "n_unmatched": 0,
            "n_prompt_tokens": 60 + n,
            "text": "…",
        }
        for i in range(prompts)
        for name, place, n in rows
    ]
    return table("conditions", {key: [row[key] for row in found] for key in found[0]}, ABOUT)
