"""The tables of the study → what it found, each sentence with the numbers that carry it.

Over all layers first, then the layer that the source draws. A side is named only where the test of
the generated descriptions, corrected for all that is asked here, names one; else it is undecided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mindshare.charts import Chart
from mindshare.report.describing import phrases, telling
from mindshare.report.describing.cells import Number, number_of
from mindshare.report.describing.implied import EVENNESS
from mindshare.report.describing.insertion_meaning import OVERALL
from mindshare.stats import LABELS, Resampling, contrast_conditions, label_counts
from mindshare.stats.bootstrap import spread
from mindshare.table import DROP_FIRST

FIRST = 0  # the layer that the source draws
ASKED = 2 * len(OVERALL)  # as a description counts: so many numbers of two insertions
SIDES = {1: "more", -1: "less", 0: "undecided"}


@dataclass(frozen=True)
class Estimate:
    """A mean over the problems."""

    number: Number

    def __str__(self) -> str:
        return self._written()

    @property
    def signed(self) -> str:
        return self._written(sign=True)

    def _written(self, *, sign: bool = False) -> str:
        ends = (self.number.low, self.number.high)
        mean, *found = (
            phrases.written(x, 3, sign=sign) for x in (self.number.value, *ends) if x is not None
        )
        return f"{mean} [{', '.join(found)}]" if found else mean

    def side(self, middle: float, *, asked: int = ASKED) -> int:
        """1 above, −1 below, 0 undecided."""
        return telling.beyond(self.number, middle, comparisons=asked)


@dataclass(frozen=True)
class Responses:
    """The `response` table and its means over problems, as the tables beside it have them."""

    table: pa.Table
    by_layer: pa.Table
    overall: pa.Table

    @classmethod
    def of(cls, chart: Chart) -> Responses:
        return cls(*(chart.tables[name] for name in ("response", "by_layer", "overall")))

    def per_prompt(self, condition: str, measure: str, layer: int | None = None) -> np.ndarray:
        chosen = pc.equal(self.table["condition"], condition)
        if layer is not None:
            chosen = pc.and_(chosen, pc.equal(self.table["layer"], layer))
        rows = self.table.filter(chosen).group_by("prompt").aggregate([(measure, "mean")])
        rows = rows.sort_by("prompt")
        return np.asarray(rows[f"{measure}_mean"].to_numpy(), dtype=float)

    def mean(self, condition: str, measure: str, layer: int | None = None) -> Estimate:
        """A cell of `by_layer` or, over all layers, of `overall`."""
        (row,) = (
            row
            for row in (self.overall if layer is None else self.by_layer).to_pylist()
            if (row["condition"], row["measure"], row["layer"]) == (condition, measure, layer)
        )
        return Estimate(number_of(row, row["mean"]))

    def differ(self, a: tuple[str, str], b: tuple[str, str], layer: int | None = None) -> Estimate:
        """b − a, paired by problem; each is (condition, measure)."""
        return estimate(self.per_prompt(*b, layer) - self.per_prompt(*a, layer))

    def evener(self, run: str, other: str, layer: int | None = None) -> Number:
        """The run minus the other, tested as a description does it."""
        table = self.table
        if layer is not None:
            table = table.filter(pc.equal(table["layer"], layer))
        found = contrast_conditions(
            table, model="", a=other, b=run, measures=EVENNESS, over_heads=True, over_layers=True
        )
        (row,) = (row for row in found.to_pylist() if row["measure"] == "weight_evenness")
        return number_of(row, row["difference"])

    @property
    def testable(self) -> bool:
        return len(self.table["prompt"].unique()) >= telling.FEWEST

    @property
    def tokens(self) -> str:
        """Whose attention is compared."""
        left_out = (self.table.schema.metadata or {}).get(DROP_FIRST.encode()) == b"true"
        return "original tokens, without the prompt's first" if left_out else "original tokens"


def estimate(values: np.ndarray) -> Estimate:
    found = spread(values[:, None], Resampling())
    row = {name: None if np.isnan(x[0]) else x[0].item() for name, x in found.columns().items()}
    return Estimate(number_of(row, float(found.mean[0])))


def answers(chart: Chart) -> list[str]:
    responses = Responses.of(chart)
    run, other = pc.unique(chart.tables["conditions"]["condition"]).to_pylist()
    return [
        _method(chart, run, other),
        _weight(responses, run),
        _evenness(responses, run, other),
        _constant(responses, run),
        _labels(chart.tables["summary"], run, other),
    ]


def _method(chart: Chart, run: str, other: str) -> str:
    responses = Responses.of(chart)
    conditions = chart.tables["conditions"].to_pylist()
    problems = len({row["prompt"] for row in conditions})
    inserted = {row["n_inserted"] for row in conditions}
    tokens = f"{min(inserted)} to {max(inserted)}" if len(inserted) > 1 else f"{min(inserted)}"
    spread_over = (
        "intervals are 95 % bootstraps over the problems; more and less are said where p < 0.05 "
        "(Student's t, Bonferroni)"
        if responses.testable
        else f"nothing can be told from chance with {phrases.count(problems, 'problem')}"
    )
    return (
        f"{phrases.count(problems, 'word problem')}, each as it is, with {run!r} and with as many "
        f"tokens of random words, drawn once ({other!r}; {tokens} inserted tokens); compared are "
        f"the {responses.tokens}; {spread_over}."
    )


def _weight(found: Responses, run: str) -> str:
    parts = []
    for layer, where in ((None, "over all layers"), (FIRST, f"in layer {FIRST}")):
        amplitude, peak = (found.mean(run, name, layer) for name in ("amplitude", "peak_ratio"))
        parts.append(
            f"{where} they receive {amplitude} times as much as without{_side(found, amplitude, 1)}"
            f" and their highest peak is {peak} times as high{_side(found, peak, 1)}"
        )
    lists = _layers(found.by_layer, run) if found.testable else ""
    return f"With {run!r}, {found.tokens} (mean over heads): {'; '.join(parts)}.{lists}"


def _side(found: Responses, one: Estimate, middle: float) -> str:
    """Nothing where nothing can be tested."""
    low, high = one.number.low, one.number.high
    if not found.testable or low is None or high is None:
        return ""
    outside = one.side(middle) == 0 and not low <= middle <= high
    return f" ({SIDES[one.side(middle)]}{' after correction' if outside else ''})"


def _layers(by_layer: pa.Table, run: str) -> str:
    """In which layers the tokens receive less, and in which more."""
    rows = _of(by_layer, run, "amplitude")
    sides = {layer: telling.beyond(n, 1.0, comparisons=len(rows)) for layer, n in rows.items()}
    parts = [
        f"{word} in {phrases.layers(own)}"
        for side, word in ((-1, "less"), (1, "more"))
        if (own := [layer for layer, one in sides.items() if one == side])
    ]
    if not parts:
        return " In single layers it is undecided."
    rest = "; undecided in the others" if 0 in sides.values() else ""
    return f" By layer they receive {', '.join(parts)}{rest}."


def _of(by_layer: pa.Table, run: str, measure: str) -> dict[int, Number]:
    return {
        row["layer"]: number_of(row, row["mean"])
        for row in by_layer.to_pylist()
        if (row["condition"], row["measure"]) == (run, measure) and row["mean"] is not None
    }


def _evenness(found: Responses, run: str, other: str) -> str:
    parts = []
    for layer, where in ((None, "over all layers"), (FIRST, f"in layer {FIRST}")):
        ours, theirs = (found.mean(name, "weight_evenness", layer) for name in (run, other))
        gap = found.evener(run, other, layer)
        evener = "more even" if gap.value > 0 else "less even"
        verdict = f", {evener if telling.differs(gap) else 'undecided'}" if found.testable else ""
        parts.append(f"{ours} against {theirs} {where} ({Estimate(gap).signed}{verdict})")
    return (
        f"Evenness of the weights inside {run!r} against those inside {other!r} (mean over heads; "
        f"1 is perfectly even; in brackets the difference): {'; '.join(parts)}."
    )


def _constant(found: Responses, run: str) -> str:
    after = found.mean(run, "affine_r2_after", FIRST)
    whole = found.mean(run, "affine_r2", FIRST)
    everywhere = found.mean(run, "affine_r2")
    factor, kept = (found.mean(run, name, FIRST) for name in ("factor", "retained"))
    gap = found.differ((run, "retained"), (run, "factor"), FIRST)
    sides = {1: "above it", -1: "below it", 0: "undecided"}
    verdict = f", {sides[gap.side(0)]}" if found.testable else ""
    mostly = _mostly(found.by_layer, run)
    return (
        f"One factor a query explains {everywhere} of the weights A' of all original tokens over "
        f"all layers, {whole} in layer {FIRST}, and {after} there of those of the tokens after "
        f"the run{mostly}. In layer {FIRST} the factor is {factor} and what is "
        f"retained, λ, {kept} (difference {gap.signed}{verdict})."
    )


def _mostly(by_layer: pa.Table, run: str) -> str:
    rows = _of(by_layer, run, "affine_r2")
    most = [n for n, one in rows.items() if telling.beyond(one, 0.9, comparisons=len(rows)) == 1]
    return f"; more than 0.9 in {phrases.layers(most)}" if most else ""


def _labels(summary: pa.Table, run: str, other: str) -> str:
    counts = label_counts(summary)

    def named(condition: str) -> str:
        return ", ".join(f"{counts[condition][x]} {x}" for x in LABELS if counts[condition].get(x))

    return f"Heads by label, with {run!r}: {named(run)}; with {other!r}: {named(other)}."
