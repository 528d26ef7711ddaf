"""What the study found → sentences, each made from the numbers in the tables beside it.

A difference is said to differ from zero by the rule of the generated descriptions, and what can't
be tested is said to be so. What says nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindshare.report.describing import phrases, telling
from mindshare.report.describing.cells import Number, number_of
from mindshare.stats import ranked
from mindshare.stats.student import ALPHA

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
WHOSE = "last token, mean over heads"


@dataclass(frozen=True)
class Findings:
    """The study's tables; `change` is tuned minus base, paired by map."""

    base: str
    tuned: str
    layers: tuple[int, ...]  # of the chart
    middle: range
    by_glyph: pa.Table
    by_glyph_change: pa.Table
    by_part: pa.Table
    by_part_change: pa.Table
    in_the_middle: pa.Table
    by_head_change: pa.Table

    def tables(self) -> dict[str, pa.Table]:
        names = ("by_glyph", "by_glyph_change", "by_part", "by_part_change", "in_the_middle")
        return {name: getattr(self, name) for name in (*names, "by_head_change")}


def sentences(found: Findings) -> list[str]:
    return [
        _method(found),
        _answer(found),
        *(s for name in ("hash", "star", "space") for s in _glyph(found, name)),
        _part(found, "system"),
        _heads(found),
    ]


def _method(found: Findings) -> str:
    row = _row(found.in_the_middle, "maps")
    maps = f"{row['n_prompts']} held-out maps; attention of the {WHOSE}"
    if row["low"] is None:
        few = f"nothing can be told from chance with {phrases.count(row['n_prompts'], 'map')}"
        return f"{maps}; differences are paired by map; {few}."
    return (
        f"{maps}; differences are paired by map, with 95 % bootstrap intervals; they are said to "
        "differ from zero where p < 0.05 (permutation test, corrected for all cells of the table, "
        "max-T)."
    )


def _answer(found: Findings) -> str:
    """The window in the middle, and every single layer: a window is a choice."""
    row = _row(found.in_the_middle, "maps")
    window = f"mean of layers {found.middle[0]} to {found.middle[-1]}"
    return (
        f"Maps ({WHOSE}): {found.tuned} gives them {row['mean_b']:.4f} of its attention and "
        f"{found.base} {row['mean_a']:.4f} in the {window}, the window that was asked about: a "
        f"difference of {_change(row)}, {_verdict(row)}. {_by_layer(found, 'maps')}"
    )


def _by_layer(found: Findings, name: str) -> str:
    """Where a part gets more or less, layer by layer."""
    rows = {r["layer"]: r for r in found.by_part_change.to_pylist() if r["class"] == name}
    told = {layer: row for layer, row in rows.items() if _differs(row)}
    if not told:
        few = all(row["low"] is None for row in rows.values())
        return "Single layers can't be tested." if few else "In single layers it is undecided."
    parts = []
    for word, sign in (("more", 1), ("less", -1)):
        own = {layer: row for layer, row in told.items() if sign * row["difference"] > 0}
        if own:
            top = max(own, key=lambda layer: abs(own[layer]["difference"]))
            most = f"layer {top} ({_change(own[top])})"
            at = f"{phrases.layers(list(own))}, of these most in {most}" if len(own) > 1 else most
            parts.append(f"{word} in {at}")
    rest = "; undecided in the others" if len(told) < len(rows) else ""
    return f"Of all {len(rows)} layers: {'; '.join(parts)}{rest}."


def _glyph(found: Findings, name: str) -> Iterator[str]:
    rows = {layer: _row(found.by_glyph_change, name, layer=layer) for layer in found.layers}
    changes = [f"{_change(r)} in layer {n}" for n, r in rows.items() if _differs(r)]
    if not changes:
        return
    rest = [layer for layer, row in rows.items() if not _differs(row)]
    undecided = f"; undecided in {phrases.layers(rest)}" if rest else ""
    yield f"Change in the mass of {name} ({_minus(found)}): {'; '.join(changes)}{undecided}."


def _part(found: Findings, name: str) -> str:
    return f"Change in the mass of the {name} prompt ({_minus(found)}). {_by_layer(found, name)}"


def _minus(found: Findings) -> str:
    return f"{found.tuned} minus {found.base}; {WHOSE}"


def _heads(found: Findings) -> str:
    """Single heads, the largest effect first."""
    import pyarrow.compute as pc

    heads = found.by_head_change.filter(pc.equal(found.by_head_change["class"], "maps"))
    told = [row for row in ranked(heads, alpha=ALPHA).to_pylist() if _differs(row)]
    if not told:
        return _no_head(heads.to_pylist())
    more = sum(row["difference"] > 0 for row in told)
    top, effect = told[0], _effect(told[0])
    return (
        f"Of {heads.num_rows} heads, {more} give the maps more and {len(told) - more} less after "
        f"tuning (last token; p < 0.05, corrected for all cells, max-T); the largest effect is "
        f"that of layer {top['layer']}, head {top['head']}: {_change(top)}{effect}."
    )


def _no_head(rows: list[Row]) -> str:
    if all(row["low"] is None for row in rows):
        return f"{len(rows)} heads: no test is possible with so few maps."
    sizes = [row["detectable_family"] for row in rows if row["detectable_family"] is not None]
    power = f"; a difference of {max(sizes):.4f} could have been found in each with 80 % power"
    return (
        f"Whether any of {len(rows)} heads gives the maps more or less after tuning is undecided"
        f"{power if sizes else ''}."
    )


def _effect(row: Row) -> str:
    return "" if row["effect"] is None else f", {abs(row['effect']):.1f} standard deviations"


def _number(row: Row) -> Number:
    return number_of(row, row["difference"])


def _differs(row: Row) -> bool:
    return telling.differs(_number(row))


def _verdict(row: Row) -> str:
    if row["low"] is None:
        return "which can't be tested"
    if _differs(row):
        return "which differs from zero (p < 0.05, corrected)"
    size = row["detectable_family"]
    power = f"; a difference of {size:.4f} could have been found with 80 % power" if size else ""
    return f"which is undecided{power}"


def _row(table: pa.Table, name: str, *, layer: int | None = None) -> Row:
    rows = [r for r in table.to_pylist() if r["class"] == name and r["layer"] == layer]
    assert len(rows) == 1, f"{len(rows)} rows for {name} in layer {layer}"
    row: Row = rows[0]
    return row


def _change(row: Row) -> str:
    def signed(value: float) -> str:
        return phrases.written(value, 4, sign=True)

    interval = "" if row["low"] is None else f" [{signed(row['low'])}, {signed(row['high'])}]"
    return f"{signed(row['difference'])}{interval}"
