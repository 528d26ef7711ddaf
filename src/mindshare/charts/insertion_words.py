"""What an insertion did, in sentences made from the numbers they state; and what to know first.

Claims nothing that the tests do not carry. Knows tables, draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mindshare.stats import LABELS, Resampling, contrast_conditions, label_counts, ranked
from mindshare.stats.student import ALPHA

if TYPE_CHECKING:
    import pyarrow as pa

    from mindshare.charts.insertion_figures import Looked
    from mindshare.study import Versions

Row = dict[str, Any]
# What a description of the same results compares too: one difference, one correction, one verdict.
_FAMILY = ("weight_evenness", "value_evenness", "retained", "divergence", "amplitude")


def alignment_notes(readings: Mapping[str, Sequence[Versions]]) -> tuple[str, ...]:
    """Which tokens could not be matched, and what else a reader must know."""
    notes: dict[str, None] = {}
    for label, prompts in readings.items():
        for one in prompts:
            notes |= dict.fromkeys(one.notes)
        notes |= dict.fromkeys(_unmatched(label, prompts))
    return tuple(notes)


def _unmatched(label: str, prompts: Sequence[Versions]) -> Iterator[str]:
    for versions in zip(*(one.versions for one in prompts), strict=True):
        lost = sum(len(one.alignment.unmatched) for one in versions)
        if not lost:
            continue
        total = sum(len(one.alignment.without) for one in versions)
        example = next(one.alignment for one in versions if one.alignment.unmatched)
        piece = example.without.pieces[example.unmatched[0]]
        seams = sum(len(one.holding("seam")) for one in versions)
        yield (
            f"{label}, {versions[0].condition!r}: {lost} of {total:,} original tokens have no "
            f"partner, e.g. {piece!r}, because the tokens at the seam are cut differently "
            f"({seams} hold inserted and original characters); they are left out of the comparison"
        )


def findings(
    looked: Looked, responses: Mapping[str, pa.Table], options: Resampling
) -> tuple[str, ...]:
    """The answers to the questions of the study, for each model and insertion."""
    found: list[str] = []
    for label, response in responses.items():
        numbers = _Numbers(looked, label, response, options)
        lead = f"{label}: " if looked.several else ""
        for condition in looked.study.conditions:
            found += [f"{lead}{sentence}" for sentence in numbers.of(condition)]
        if looked.against is not None:
            found.append(f"{lead}{numbers.evenness()}")
    return tuple(found)


class _Numbers:
    def __init__(self, looked: Looked, model: str, response: pa.Table, options: Resampling) -> None:
        self.looked, self.model, self.response, self.options = looked, model, response, options
        self.overall = self._rows(looked.overall)
        self.by_layer = self._rows(looked.by_layer)
        self.labels = label_counts(looked.summary.filter(_is(looked.summary, "model", model)))

    def _rows(self, table: pa.Table) -> dict[tuple[str, str, int | None], Row]:
        return {
            (row["condition"], row["measure"], row["layer"]): row
            for row in table.to_pylist()
            if row["model"] == self.model
        }

    def of(self, condition: str) -> Iterator[str]:
        yield self._weights(condition)
        yield self._rescaled(condition)
        yield self._labels(condition)

    def _weights(self, condition: str) -> str:
        amplitude = self.overall[condition, "amplitude", None]
        peak = self.overall[condition, "peak_ratio", None]
        kept = self.overall[condition, "retained", None]
        if amplitude["mean"] is None:
            return f"Under {condition!r} too few original tokens are left to be compared."
        later = f"; later original tokens keep {_value(kept)} of their attention for original ones"
        later = "" if kept["mean"] is None else later
        return (
            f"Under {condition!r} the original tokens{self._but_the_first()} receive "
            f"{_value(amplitude)} times what they received without it, their highest peak "
            f"{_value(peak)} times ({_n(amplitude)}, mean over all heads){later}."
        )

    def _but_the_first(self) -> str:
        about = self.response.schema.metadata or {}
        return " but the first" if about.get(b"mindshare.drop_first") == b"true" else ""

    def _rescaled(self, condition: str) -> str:
        first = min(layer for _, _, layer in self.by_layer if layer is not None)
        rows = {
            layer: row
            for (name, measure, layer), row in self.by_layer.items()
            if (name, measure) == (condition, "affine_r2") and row["mean"] is not None
        }
        if not rows:
            return f"No original token stands after {condition!r}: nothing can be rescaled."
        low = min(rows, key=lambda layer: rows[layer]["mean"])
        everywhere = self.overall[condition, "affine_r2", None]
        after = self.by_layer[condition, "affine_r2_after", first]
        factor = self.overall[condition, "factor", None]
        kept = self.overall[condition, "retained", None]
        return (
            f"One factor for each query explains {_value(everywhere)} of the new weights of all "
            f"original tokens over all layers, {_value(rows[first])} in layer {first}, and "
            f"{_value(after)} there of those of the tokens after {condition!r}; the smallest mean "
            f"of a layer is {_value(rows[low])} (layer {low}); the mean factor is "
            f"{_value(factor)}, the mean of retained {_value(kept)}."
        )

    def _labels(self, condition: str) -> str:
        counts = self.labels.get(condition, {})
        named = [f"{counts[label]} {label}" for label in LABELS if counts.get(label)]
        if not named:
            return f"No head has enough numbers under {condition!r} to be labelled."
        return f"Heads under {condition!r}: {', '.join(named)}."

    def evenness(self) -> str:
        run, other = self.looked.condition, self.looked.against
        assert other is not None
        found = contrast_conditions(
            self.response,
            model=self.model,
            a=other,
            b=run,
            measures=_FAMILY,
            over_heads=True,
            over_layers=True,
            options=self.options,
        )
        found = found.filter(_is(found, "measure", _FAMILY[0]))
        (row,) = found.to_pylist()
        if row["difference"] is None:
            return f"Inside {run!r} or {other!r} there are too few tokens to be even or uneven."
        return (
            f"Evenness of the weights, mean over all heads: inside {run!r} {row['mean_b']:.3f}, "
            f"inside {other!r} {row['mean_a']:.3f}, difference {_change(row)}: {_evener(found)}."
        )


def _evener(contrast: pa.Table) -> str:
    """What the test says of one difference."""
    (row,) = contrast.to_pylist()
    if row["low"] is None:
        return f"nothing can be told from chance with {_n(row)}"
    told = ranked(contrast, alpha=ALPHA).num_rows and (row["low"] > 0 or row["high"] < 0)
    if told:
        more = "more" if row["difference"] > 0 else "less"
        return f"{more} even in the first (differs from zero, p < {ALPHA:g})"
    size = row["detectable_family"]
    power = f"; a difference of {size:.3f} could have been found with 80 % power" if size else ""
    return f"undecided{power}"


def _value(row: Row) -> str:
    """`0.812 [0.790, 0.834]`"""
    if row["mean"] is None:
        return "–"
    return _minus(f"{row['mean']:.3f}{_interval(row, '.3f')}")


def _change(row: Row) -> str:
    return _minus(f"{row['difference']:+.3f}{_interval(row, '+.3f')}")


def _interval(row: Row, how: str) -> str:
    return "" if row["low"] is None else f" [{row['low']:{how}}, {row['high']:{how}}]"


def _minus(numbers: str) -> str:
    return numbers.replace("-", "−")


def _n(row: Row) -> str:
    return "1 prompt" if row["n_prompts"] == 1 else f"{row['n_prompts']:,} prompts"


def _is(table: pa.Table, column: str, value: str) -> Any:
    import pyarrow.compute as pc

    return pc.equal(table[column], value)
