"""What the study found → sentences, each made from the numbers in the tables beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ALPHA = 0.05


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
        *(_glyph(found, name) for name in ("hash", "star", "space")),
        _part(found, "system"),
        _heads(found),
    ]


def _method(found: Findings) -> str:
    row = _row(found.in_the_middle, "maps")
    return (
        f"{row['n_prompts']} held-out maps; attention of the last token, mean over the heads; "
        "differences are paired by map, with 95 % bootstrap intervals."
    )


def _answer(found: Findings) -> str:
    row = _row(found.in_the_middle, "maps")
    first = _row(found.by_part_change, "maps", layer=0)
    where = f"In the middle layers ({found.middle[0]} to {found.middle[-1]})"
    if row["low"] > 0:
        verdict = f"So yes: {found.tuned} looks at the maps more in the middle layers"
    elif row["high"] < 0:
        verdict = f"So no: {found.tuned} looks at the maps less in the middle layers"
    else:
        verdict = "So no difference can be told in the middle layers"
    return (
        f"{where} {found.tuned} gives the maps {row['mean_b']:.4f} of its attention and "
        f"{found.base} {row['mean_a']:.4f}: a difference of {_change(row)}. In layer 0 it is "
        f"{first['mean_b']:.4f} against {first['mean_a']:.4f}. {verdict}."
    )


def _glyph(found: Findings, name: str) -> str:
    changes = []
    for layer in found.layers:
        row = _row(found.by_glyph_change, name, layer=layer)
        mark = "" if row["p_adjusted"] < ALPHA else " (not told from 0)"
        changes.append(f"{_change(row)} in layer {layer}{mark}")
    return f"Change in the mass of {name}: {'; '.join(changes)}."


def _part(found: Findings, name: str) -> str:
    rows = [r for r in found.by_part_change.to_pylist() if r["class"] == name]
    least = min(rows, key=lambda r: r["difference"])
    most = max(rows, key=lambda r: r["difference"])
    return (
        f"Change in the mass of the {name} prompt over all layers: from {_change(least)} "
        f"(layer {least['layer']}) to {_change(most)} (layer {most['layer']})."
    )


def _heads(found: Findings) -> str:
    rows = [r for r in found.by_head_change.to_pylist() if r["class"] == "maps"]
    told = [r for r in rows if r["p_adjusted"] < ALPHA]
    more = sum(r["difference"] > 0 for r in told)
    top = max(rows, key=lambda r: abs(r["difference"]))
    return (
        f"Of {len(rows)} heads, {more} give the maps more and {len(told) - more} less after tuning "
        f"(permutation test, {ALPHA:g} after Benjamini–Hochberg over all cells); the largest "
        f"change is {_change(top)} in layer {top['layer']}, head {top['head']}."
    )


def _row(table: pa.Table, name: str, *, layer: int | None = None) -> dict[str, Any]:
    rows = [r for r in table.to_pylist() if r["class"] == name and r["layer"] == layer]
    assert len(rows) == 1, f"{len(rows)} rows for {name} in layer {layer}"
    row: dict[str, Any] = rows[0]
    return row


def _change(row: dict[str, Any]) -> str:
    return f"{row['difference']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}]"
