"""The tables of the study → answers to its questions, each with the numbers that carry it.

A claim is made only where its 95 % interval over the problems lies on one side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.charts import Chart
from mindshare.naming import layer_ranges
from mindshare.stats import LABELS, Resampling, label_counts
from mindshare.stats.bootstrap import spread

FIRST = 0  # the layer that the source draws


@dataclass(frozen=True)
class Estimate:
    """A mean over the problems and its interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def side(self, middle: float) -> int:
        """1 above, −1 below, 0 if the interval holds the middle."""
        return int(self.low > middle) - int(self.high < middle)


@dataclass(frozen=True)
class Responses:
    """A `response` table, asked for means over heads, problem by problem."""

    table: pa.Table

    def per_prompt(self, condition: str, measure: str, layer: int | None = None) -> np.ndarray:
        chosen = pc.equal(self.table["condition"], condition)
        if layer is not None:
            chosen = pc.and_(chosen, pc.equal(self.table["layer"], layer))
        rows = self.table.filter(chosen).group_by("prompt").aggregate([(measure, "mean")])
        rows = rows.sort_by("prompt")
        return np.asarray(rows[f"{measure}_mean"].to_numpy(), dtype=float)

    def mean(self, condition: str, measure: str, layer: int | None = None) -> Estimate:
        return estimate(self.per_prompt(condition, measure, layer))

    def differ(self, a: tuple[str, str], b: tuple[str, str], layer: int | None = None) -> Estimate:
        """b − a, paired by problem; each is (condition, measure)."""
        return estimate(self.per_prompt(*b, layer) - self.per_prompt(*a, layer))


def estimate(values: np.ndarray) -> Estimate:
    found = spread(values[:, None], Resampling())
    return Estimate(float(found.mean[0]), float(found.low[0]), float(found.high[0]))


def answers(chart: Chart) -> list[str]:
    responses = Responses(chart.tables["response"])
    run, other = pc.unique(chart.tables["conditions"]["condition"]).to_pylist()
    return [
        _method(chart, run, other),
        _weight(responses, run),
        _evenness(responses, run, other),
        _constant(responses, run),
        _layers(chart.tables["by_layer"], run),
        _labels(chart.tables["summary"], run, other),
    ]


def _method(chart: Chart, run: str, other: str) -> str:
    conditions = chart.tables["conditions"].to_pylist()
    problems = len({row["prompt"] for row in conditions})
    inserted = {row["n_inserted"] for row in conditions}
    tokens = f"{min(inserted)} to {max(inserted)}" if len(inserted) > 1 else f"{min(inserted)}"
    return (
        f"{problems} word problems, each as it is, with {run!r} and with a {other} of the same "
        f"length ({tokens} inserted tokens); intervals are 95 % bootstraps "
        "over the problems, response numbers leave the first token out."
    )


def _weight(found: Responses, run: str) -> str:
    first = found.mean(run, "amplitude", FIRST)
    peak = found.mean(run, "peak_ratio", FIRST)
    more = found.differ((run, "amplitude"), (run, "peak_ratio"), FIRST)
    everywhere = found.mean(run, "amplitude")
    lose = {-1: "Yes", 0: "Not clearly", 1: "No"}[first.side(1)]
    peaks = {
        -1: "Yes: their highest peak loses more than the whole",
        0: "No: their highest peak loses neither more nor less than the whole",
        1: "No: their highest peak loses less than the whole",
    }[more.side(0)]
    return (
        f"Do the original tokens lose weight? {lose}: in layer {FIRST} they receive {first} times "
        f"as much as without, over all layers {everywhere}. Mostly at their peaks? {peaks} (in "
        f"layer {FIRST} it is {peak} times as high; difference {more})."
    )


def _evenness(found: Responses, run: str, other: str) -> str:
    parts = []
    for layer, where in ((FIRST, f"in layer {FIRST}"), (None, "over all layers")):
        ours, theirs = (found.mean(name, "weight_evenness", layer) for name in (run, other))
        gap = found.differ((other, "weight_evenness"), (run, "weight_evenness"), layer)
        parts.append(f"{where} {ours} against {theirs} (difference {gap})")
    gap = found.differ((other, "weight_evenness"), (run, "weight_evenness"), FIRST)
    said = {1: "Yes", 0: "Not clearly", -1: "No"}[gap.side(0)]
    return (
        f"Does the run get even weights and the random sentence uneven ones? {said}: evenness "
        f"{'; '.join(parts)}; 1 is perfectly even."
    )


def _constant(found: Responses, run: str) -> str:
    after = found.mean(run, "affine_r2_after", FIRST)
    whole = found.mean(run, "affine_r2", FIRST)
    everywhere = found.mean(run, "affine_r2")
    factor, kept = (found.mean(run, name, FIRST) for name in ("factor", "retained"))
    gap = found.differ((run, "retained"), (run, "factor"), FIRST)
    same = {0: "is", 1: "is above", -1: "is below"}[gap.side(0)]
    return (
        f"Is A'/A constant, and is it λ? In layer {FIRST}, for tokens after the run, yes: one "
        f"factor a query explains {after} of A'. Over all original tokens it explains {whole} "
        f"there and {everywhere} on average over the layers. In layer {FIRST} the factor {same} "
        f"λ: {factor} against {kept} (difference {gap})."
    )


def _layers(by_layer: pa.Table, run: str) -> str:
    rows = [r for r in by_layer.to_pylist() if r["condition"] == run]

    def where(measure: str, test: Any) -> str:
        return (
            layer_ranges(r["layer"] for r in rows if r["measure"] == measure and test(r)) or "none"
        )

    return (
        "In which layers? The original tokens receive less than without in layers "
        f"{where('amplitude', lambda r: r['high'] < 1)}, more in layers "
        f"{where('amplitude', lambda r: r['low'] > 1)} (interval on one side of 1); one factor a "
        f"query explains at least 0.9 of A' in layers "
        f"{where('affine_r2', lambda r: r['low'] >= 0.9)}."
    )


def _labels(summary: pa.Table, run: str, other: str) -> str:
    counts = label_counts(summary)

    def named(condition: str) -> str:
        return ", ".join(f"{counts[condition][x]} {x}" for x in LABELS if counts[condition].get(x))

    return f"How many heads? With {run!r}: {named(run)}. With the {other}: {named(other)}."
