"""Classes of a source by layer → the figure that a report would draw of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mindshare.errors import SelectionError
from mindshare.figures import ClassBarsOptions, Figure, class_bars
from mindshare.tables import SCHEMAS, table
from mindshare_explore.shapes import ChartBody
from mindshare_explore.source import ClassView, ExplorerSource


def class_chart(
    sources: Sequence[ExplorerSource], body: ChartBody, *, head: int | None = None
) -> Figure:
    """Bars by layer, of one head or of the mean over the heads; sources side by side."""
    views = [(source, source.classes(body)) for source in sources]
    if not any(name != "other" for _, view in views for name in view.names):
        raise SelectionError("there is no class to draw", next_step="paint one, or write a rule")
    labels = _labels(sources)
    rows: dict[str, list[object]] = {}
    for (source, view), label in zip(views, labels, strict=True):
        _add(rows, source, view, label, body.measure, head)
    queries = "all" if body.token is None else f"token {body.token}"
    summary = table(
        "summary",
        {**rows, "queries": [queries] * len(rows["layer"])},
        {"mindshare.measure": body.measure, "mindshare.queries": queries},
    )
    where = "mean over the heads" if head is None else f"head {head}"
    return class_bars(summary, ClassBarsOptions(width="page"), about={"heads": where})


def _labels(sources: Sequence[ExplorerSource]) -> list[str]:
    if len({one.model for one in sources}) == len(sources):
        return [one.model for one in sources]
    return [f"{one.model} {letter}" for one, letter in zip(sources, "AB", strict=False)]


def _add(
    rows: dict[str, list[object]],
    source: ExplorerSource,
    view: ClassView,
    label: str,
    measure: str,
    head: int | None,
) -> None:
    whole = view.measures[measure]
    values = _mean_of_heads(whole) if head is None else whole[:, head]
    for place, layer in enumerate(source.layers):
        for column, name in enumerate(view.names):
            value = float(values[place, column])
            # No spread, no interval, nothing that a test could say: those are in reports.
            row: dict[str, object] = dict.fromkeys(SCHEMAS["summary"].names)
            row |= {"model": label, "layer": layer, "head": head, "class": name, "mean": value}
            row |= {"n_prompts": source.prompts, "n_absent": 0, "n_groups": source.prompts}
            row["reliable"] = False
            if np.isfinite(value):
                for key, cell in row.items():
                    rows.setdefault(key, []).append(cell)


def _mean_of_heads(whole: np.ndarray) -> np.ndarray:
    """[layer, head, class] → [layer, class]; NaN where no head has a number."""
    there = np.isfinite(whole)
    sums, counts = np.where(there, whole, 0.0).sum(1), there.sum(1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
