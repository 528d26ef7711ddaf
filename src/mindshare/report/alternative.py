"""A saved figure → the text that stands in for it where it can't be seen.

A chart of token classes is told by the generated description of its own rows: what is shown, then
what can be told, differences between models first. Every other chart, and one without intervals,
is told by its own words: axes, colours, where it is highest and lowest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mindshare.report.describing import describe
from mindshare.report.saved import Saved, SavedFigure

if TYPE_CHECKING:
    import pyarrow as pa

LENGTH = 300  # characters


def alternative(saved: Saved, figure: SavedFigure) -> str:
    table = figure.table()
    if not _has_means_of_classes(table):
        return shortened(figure.description, LENGTH)
    described = describe({"summary": table, **dict(_differences(saved, table))}, kind="classes")
    kind = figure.description.partition(" of ")[0]  # Stacked bars, Map
    first, *rest = described.summary
    return replace(described, summary=(f"{kind}: {first}", *rest)).short


def _has_means_of_classes(table: pa.Table) -> bool:
    columns = set(table.column_names)
    return {"model", "class", "mean", "low"} <= columns and table["low"].null_count < len(table)


def _differences(saved: Saved, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The saved differences between models in the cells that the chart shows."""
    import pyarrow.compute as pc

    shown = set(table["class"].unique().to_pylist())
    for name, other in saved.tables.items():
        if "model_b" not in other.column_names or _measure(other) != _measure(table):
            continue
        if not shown <= set(other["class"].unique().to_pylist()):  # of another set of classes
            continue
        keep = pc.and_(
            *(pc.is_in(other[c], value_set=table[c].unique()) for c in ("layer", "class"))
        )
        own_heads = pc.is_in(other["head"], value_set=table["head"].unique())
        yield name, other.filter(pc.and_(keep, own_heads))


def _measure(table: pa.Table) -> bytes | None:
    found: bytes | None = (table.schema.metadata or {}).get(b"mindshare.measure")
    return found


def shortened(text: str, length: int) -> str:
    """Whole sentences, as many as fit; a long first one is cut at a word."""
    kept = ""
    for sentence in text.replace(". ", ".\n").splitlines():
        longer = f"{kept} {sentence}".strip()
        if len(longer) > length:
            break
        kept = longer
    return kept or text[: length - 1].rsplit(" ", 1)[0] + "…"
