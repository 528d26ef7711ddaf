"""Which statements hold, computed from the tables alone: what, where and how much.

Sentences about results may change; what they may say may not. Every function takes tables as they
are saved and returns plain JSON. Values are rounded to seven significant digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa

from .found import Tables, is_among, manifest, numbers_of, read, stated, texts_under

Row = dict[str, Any]


def digits(x: float | None) -> float | None:
    return None if x is None else float(f"{x:.7g}")


def _grouped(rows: Iterable[Row], *by: str) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in by), []).append(row)
    return found


def _key(key: tuple[Any, ...]) -> str:
    return " | ".join("–" if part is None else str(part) for part in key)


def mass_facts(mass: pa.Table) -> dict[str, Any]:
    """The class with the largest mean mass in each layer, and each class's largest layer."""
    rows = mass.to_pylist()
    means = {
        key: fmean(row["mass"] for row in some)
        for key, some in _grouped(rows, "queries", "layer", "class").items()
    }
    layers: dict[str, Any] = {}
    peaks: dict[str, Any] = {}
    for queries, layer, cls in sorted(means):
        value = means[queries, layer, cls]
        top = layers.setdefault(_key((queries, layer)), [cls, value])
        if value > top[1]:
            top[:] = [cls, value]
        peak = peaks.setdefault(_key((queries, cls)), [layer, value])
        if value > peak[1]:
            peak[:] = [layer, value]
    return {
        "largest class by queries and layer": {k: [c, digits(v)] for k, (c, v) in layers.items()},
        "largest layer by queries and class": {k: [n, digits(v)] for k, (n, v) in peaks.items()},
    }


def shares_facts(tables: Tables, contrast: str | None = None) -> dict[str, Any]:
    """Of a summary: the largest class by model and layer; of a contrast: where most differs."""
    rows = [row for row in tables["summary"].to_pylist() if row["mean"] is not None]
    facts: dict[str, Any] = {
        "largest class by model, layer and head": {
            _key(key): _where(max(some, key=lambda row: row["mean"]), "class", "mean")
            for key, some in _grouped(rows, "model", "layer", "head").items()
        }
    }
    return facts | ({} if contrast is None else _contrast_facts(tables[contrast]))


def _contrast_facts(contrast: pa.Table) -> dict[str, Any]:
    rows = [row for row in contrast.to_pylist() if row["difference"] is not None]
    top = min(rows, key=lambda row: (row["p_family"], -abs(row["difference"])))
    return {
        "largest difference by class": {
            _key(key): _where(
                max(some, key=lambda row: abs(row["difference"])), "layer", "head", "difference"
            )
            for key, some in _grouped(rows, "class").items()
        },
        "top cell": _where(top, "layer", "head", "class", "difference", "p_family", "effect"),
        "told from zero": sorted(
            _key((row["layer"], row["head"], row["class"], _sign(row["difference"])))
            for row in rows
            if row["p_family"] < 0.05
        ),
    }


def head_facts(tables: Tables, contrast: str, cls: str) -> dict[str, Any]:
    """Of one class: the head with the most in each model, and where two models differ most."""
    rows = [row for row in tables["summary"].to_pylist() if row["class"] == cls]
    differing = [row for row in tables[contrast].to_pylist() if row["class"] == cls]

    def ends(some: list[Row], value: str) -> list[Any]:
        pick: Callable[[Row], float] = lambda row: row[value]  # noqa: E731
        return [_where(end(some, key=pick), "layer", "head", value) for end in (max, min)]

    return {
        "highest and lowest head": {
            _key(key): ends(some, "mean") for key, some in _grouped(rows, "model").items()
        },
        "highest and lowest difference": ends(differing, "difference"),
        "heads that differ": sum(row["p_family"] < 0.05 for row in differing),
    }


def effect_facts(rows: list[Row]) -> dict[str, Any]:
    """Of knock-outs: where each class's answer loses most, and least."""
    known = [row for row in rows if row["mean"] is not None]
    return {
        _key(key): [
            _where(end(some, key=lambda row: row["mean"]), "layer", "head", "mean")
            for end in (min, max)
        ]
        for key, some in _grouped(known, "model", "class").items()
    }


def insertion_facts(tables: Tables, responses: dict[str, pa.Table], top: int) -> dict[str, Any]:
    """What an insertion did: labels, what is retained, what is rescaled, which heads change most.

    `responses` are the response tables by model.
    """
    summary, layers = tables["summary"].to_pylist(), tables["by_layer"].to_pylist()
    overall = tables["overall"].to_pylist()
    first = min(row["layer"] for row in layers)
    labels = {
        (row["model"], row["condition"], row["layer"], row["head"]): row["label"] for row in summary
    }
    counted: dict[str, Counter[str]] = {}
    for (model, condition, _, _), label in labels.items():
        counted.setdefault(_key((model, condition)), Counter())[str(label)] += 1
    return {
        "labels": {key: dict(sorted(one.items())) for key, one in counted.items()},
        f"retained in layer {first}": {
            _key((row["model"], row["condition"])): _where(row, "mean", "low", "high")
            for row in layers
            if row["measure"] == "retained" and row["layer"] == first
        },
        "overall": {
            _key((row["model"], row["condition"], row["measure"])): _where(row, "mean")
            for row in overall
        },
        "layer with the smallest affine_r2": {
            _key(key): _where(min(some, key=lambda row: row["mean"]), "layer", "mean")
            for key, some in _grouped(
                (r for r in layers if r["measure"] == "affine_r2" and r["mean"] is not None),
                *("model", "condition"),
            ).items()
        },
        "heads that change most, by divergence": {
            _key(key): [
                _where(row, "layer", "head", "mean")
                for row in sorted(some, key=lambda row: -row["mean"])[:top]
            ]
            for key, some in _grouped(
                (r for r in summary if r["measure"] == "divergence" and r["mean"] is not None),
                *("model", "condition"),
            ).items()
        },
        "evenness of the weights, mean over prompts": {
            _key((model, *key)): digits(
                fmean(r["weight_evenness"] for r in some if r["weight_evenness"] is not None)
            )
            for model, response in responses.items()
            for key, some in _grouped(response.to_pylist(), "condition").items()
        },
    }


def drawn_heads(figure: pa.Table) -> list[str]:
    """The heads that a figure of profiles shows."""
    found = {(row["model"], row["layer"], row["head"]) for row in figure.to_pylist()}
    return [_key(one) for one in sorted(found)]


def unsupported(folder: Path) -> tuple[int, list[str]]:
    """Of the saved findings: how many numbers they state, and those that no table holds.

    A number may be a cell of the tables over prompts or the difference of two of their means; one
    with a sign, the end of an interval of a difference, may stand in any table.
    """
    said = manifest(folder)
    tables = {name: read(folder, name) for name in said["tables"]}
    over_prompts = [one for one in tables.values() if "n_prompts" in one.column_names]
    narrow = sorted(x for one in over_prompts for x in numbers_of(one))
    wide = sorted(x for one in tables.values() for x in numbers_of(one))
    means = (
        _grouped(tables["overall"].to_pylist(), "model", "measure") if "overall" in tables else {}
    )
    differences = sorted(
        a["mean"] - b["mean"]
        for some in means.values()
        for a in some
        for b in some
        if a["mean"] is not None and b["mean"] is not None
    )
    numbers = [one for text in texts_under(said, "findings") for one in stated(text)]
    missing = [
        f"{x:.{places}f}"
        for x, places, signed in numbers
        if not any(
            is_among(x, there, 0.0, 0.5001 * 10.0**-places)
            for there in (narrow, differences, *([wide] if signed else []))
        )
    ]
    return len(numbers), missing


def _where(row: Row, *names: str) -> list[Any]:
    return [digits(v) if isinstance(v := row[name], float) else v for name in names]


def _sign(x: float) -> str:
    return "more" if x > 0 else "less"
