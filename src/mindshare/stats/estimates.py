"""Tables of single prompts → tables over prompts, for any measure of the registry.

    estimate(tables, "lift")            one row per model and cell: mean, sd, interval
    contrast(tables, a="x", b="y")      b minus a, paired by prompt, with p-values
    ranked(contrast)                    its cells, the largest difference first

The level of a measure says which table it stands in (`mass`, `heads` or `response`), which columns
make a cell, and what is contrasted: two models, or two conditions of one. `matrices` turns the rows
into an array; `inference` computes every mean, interval and p-value from it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError, require_known
from mindshare.naming import WITHOUT
from mindshare.stats.inference import family_margins, paired_contrast
from mindshare.stats.intervals import Groups, first_few, mean, mean_intervals, units_of
from mindshare.stats.matrices import (
    AXES,
    Key,
    Layout,
    PromptMatrix,
    common_metadata,
    layout_of,
    read_matrix,
)
from mindshare.stats.resampling import ALPHA, Resampling
from mindshare.stats.response import LABELLED_BY, LEFT, PROFILE, RESTING, label, thresholds_of
from mindshare.tables import DEFINITIONS, joined, table

Tables = Mapping[str, pa.Table]  # label of the model → its table
SUMS = ("mass", "expected", "contribution")  # of a class: no ratios of what could be averaged
RANKED_BY = ("difference", "effect")


def estimate(
    tables: Tables,
    measure: str | Sequence[str] = "mass",
    *,
    over: Collection[str] = (),
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """Means over the prompts with intervals: a `summary`, or a `response_summary`.

    Prompts that do not have the number (the class is absent) are left out: `n_prompts` says how
    many have it, `n_absent` how many have not. `over` ("heads", "layers") takes the mean over these
    within each prompt first. The label of a head is that of its mean numbers, by the thresholds
    the tables carry. A mean over heads or layers has none; heads that rest in a prompt are
    not in its mean, and a head that rests on average has no profile numbers.
    """
    options = options or Resampling()
    measures, layout = _check_request(tables, measure, over)
    name = "response_summary" if layout.condition else "summary"
    about = common_metadata(list(tables.values()))
    about |= options.metadata(", ".join(measures), grouped=groups is not None)
    parts = []
    for model, content in tables.items():
        matrix = read_matrix(content, measures, model=model, absent=options.absent).averaged(over)
        labels = None
        if layout.table == "response" and not over:
            labels = _mean_labels(content, model=model)
            matrix = _without_resting(matrix, labels)
        units = units_of(matrix.prompts, groups)
        values = matrix.values.reshape(len(units), -1)
        intervals = mean_intervals(values, options, units)
        rows = len(intervals.mean)
        # Each measure is a family; all that a table claims is wrong with probability ALPHA.
        margins = family_margins(
            values,
            intervals,
            options,
            units,
            families=np.arange(rows) % len(measures),
            alpha=ALPHA / (len(tables) * len(measures)),
        )
        columns: dict[str, Any] = {
            "model": [model] * rows,
            **matrix.key_columns(matrix.conditions),
            **intervals.columns,
            "margin_family": margins,
            "n_absent": np.repeat(matrix.measured.sum(0), rows // len(matrix.conditions))
            - intervals.n_prompts,
            "label": [None] * rows if labels is None else np.repeat(labels, len(measures)),
        }
        parts.append(table(name, columns, about))
    return joined(parts)


def contrast(
    tables: Tables,
    *,
    a: str,
    b: str,
    measure: str | Sequence[str] = "mass",
    over: Collection[str] = (),
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """b minus a, by prompt: a `contrast` of two models, or a `condition_contrast` of one.

    Both have seen the same prompts; each prompt is its own control. The cells must be the same too.
    Prompts that share a group count as one.
    """
    options = options or Resampling()
    measures, layout = _check_request(tables, measure, over)
    read_pair = _read_conditions if layout.condition else _read_models
    matrix, values_a, values_b, sources = read_pair(tables, (a, b), measures, over, options.absent)
    compared = "condition" if layout.condition else "model"
    rows = values_a.shape[1]
    paired = paired_contrast(values_a, values_b, options, units_of(matrix.prompts, groups))
    columns: dict[str, Any] = {
        "model": [next(iter(tables))] * rows,
        f"{compared}_a": [a] * rows,
        f"{compared}_b": [b] * rows,
        **matrix.key_columns([None]),
        **paired,
        "n_absent": len(matrix.prompts) - paired["n_prompts"],
    }
    about = options.metadata(", ".join(measures), grouped=groups is not None)
    name = "condition_contrast" if layout.condition else "contrast"
    return table(name, columns, common_metadata(sources) | about)


def ranked(contrast: pa.Table, *, by: str = "difference", most: int | None = None) -> pa.Table:
    """The rows of a contrast by |difference| or |effect|, with a `rank`; null ones come last.

    A difference that hardly varies has a large effect, however small it is: what is large to a
    reader is the difference, and its effect stands beside it. What too few prompts have to be
    tested comes behind all that was tested.

    With `most` at most so many. Whoever picks the first of many cells picks chance too, so every
    row keeps p_family, which is corrected for all cells of the contrast, also for those that are
    not kept.
    """
    require_known(by, RANKED_BY, f"can't rank by {by!r}")
    missing = [name for name in (by, "p_family") if name not in contrast.column_names]
    if missing:
        raise SelectionError(
            f"the table has no column {missing[0]!r}", next_step="make it with stats.contrast"
        )
    size = np.abs(contrast[by].to_numpy(zero_copy_only=False).astype(np.float64))
    tested = ~np.isnan(contrast["p_family"].to_numpy(zero_copy_only=False).astype(np.float64))
    # NaN last, equals as they stood
    order = np.lexsort((-size, ~tested, np.isnan(size)))
    rank = pa.array(range(1, len(order) + 1), pa.int64(), mask=np.isnan(size[order]))
    field = pa.field("rank", pa.int64(), metadata={"definition": DEFINITIONS["rank"]})
    rows = contrast.take(order).add_column(0, field, rank)
    about = {
        **(contrast.schema.metadata or {}),
        "mindshare.ranked_by": by,
        "mindshare.correction": f"p_family over {contrast.num_rows:,} cells",
    }
    return (rows if most is None else rows.slice(0, most)).replace_schema_metadata(about)


# What is asked for, checked.


def _check_request(
    tables: Tables, measure: str | Sequence[str], over: Collection[str]
) -> tuple[tuple[str, ...], Layout]:
    measures = (measure,) if isinstance(measure, str) else tuple(dict.fromkeys(measure))
    layout = layout_of(measures)
    if len(measures) > 1 and not layout.condition:
        raise SelectionError(f"{', '.join(measures)} are too many", allowed="one measure at a time")
    ratios = [name for name in measures if name not in SUMS]
    if over and layout.table == "mass" and ratios:
        raise SelectionError(
            "ratios of masses can't be averaged", next_step="average the masses: stats.averaged"
        )
    for axis in over:
        require_known(axis, AXES, f"can't average over {axis!r}")
    if not tables:
        raise SelectionError(
            f"there is no {layout.table} table to work on",
            next_step=f"give at least one model's {layout.table} table",
        )
    if len({thresholds_of(content) for content in tables.values()}) > 1:
        raise SelectionError(
            "the models were labelled by different thresholds",
            next_step="make their response tables with the same thresholds",
        )
    return measures, layout


# A matrix for its keys, [prompt, cell] of a and of b, and the tables they are from.
_Pair = tuple[PromptMatrix, np.ndarray, np.ndarray, list[pa.Table]]


def _read_models(
    tables: Tables,
    pair: tuple[str, str],
    measures: Sequence[str],
    over: Collection[str],
    absent: str,
) -> _Pair:
    for name in pair:
        require_known(name, tables, f"there is no model {name!r}")
    sources = [tables[name] for name in pair]
    matrices = {
        name: read_matrix(tables[name], measures, model=name, absent=absent).averaged(over)
        for name in pair
    }
    _check_partners(matrices, pair)
    a, b = (matrices[name] for name in pair)
    values_a, values_b = (matrix.values.reshape(len(matrix.prompts), -1) for matrix in (a, b))
    if a.keys != b.keys:  # the same cells, in another order
        place = {key: i for i, key in enumerate(b.keys)}
        values_b = values_b[:, [place[key] for key in a.keys]]
    return a, values_a, values_b, sources


def _read_conditions(
    tables: Tables,
    pair: tuple[str, str],
    measures: Sequence[str],
    over: Collection[str],
    absent: str,
) -> _Pair:
    if len(tables) > 1:
        raise SelectionError(
            f"conditions are compared within one model, not in {', '.join(tables)}",
            next_step="give one model's table",
        )
    ((model, content),) = tables.items()
    matrix = read_matrix(content, measures, model=model, absent=absent)
    for name in pair:
        if name == WITHOUT and name not in matrix.conditions:
            raise SelectionError(
                f"{WITHOUT!r} has no response: it is what the others are compared with",
                allowed=", ".join(map(str, matrix.conditions)),
            )
        require_known(name, map(str, matrix.conditions), f"there is no condition {name!r}")
    places = [matrix.conditions.index(name) for name in pair]
    for one, other in (places, places[::-1]):
        alone = np.flatnonzero(matrix.measured[:, one] & ~matrix.measured[:, other])
        if len(alone):
            raise SelectionError(
                f"{len(alone)} prompts have {matrix.conditions[one]!r} but not "
                f"{matrix.conditions[other]!r}: {first_few([matrix.prompts[i] for i in alone])}",
                next_step="measure both conditions on the same prompts",
            )
    matrix = matrix.averaged(over)
    a, b = (matrix.values[:, place].reshape(len(matrix.prompts), -1) for place in places)
    return matrix, a, b, [content]


def _check_partners(matrices: Mapping[str, PromptMatrix], pair: tuple[str, str]) -> None:
    """Two models must have the same prompts and the same cells."""
    for one, other in (pair, pair[::-1]):
        prompts = matrices[one].prompts
        alone = sorted(set(prompts) - set(matrices[other].prompts))
        if alone:
            raise SelectionError(
                f"{len(alone)} of {len(prompts)} prompts of {one!r} have no partner in {other!r}: "
                f"{first_few(alone)}",
                next_step="measure both models on the same prompts, with the same ids",
            )
    for one, other in (pair, pair[::-1]):
        known, names = set(matrices[other].keys), matrices[one].layout.keys
        cells = [_key_text(names, key) for key in matrices[one].keys if key not in known]
        if cells:
            raise SelectionError(
                f"{len(cells)} cells of {one!r} are not in {other!r}: {first_few(cells, '; ')}",
                next_step="measure both models with the same study, or keep only the rows "
                "(layers, heads, classes) that both have",
            )


def _key_text(names: Sequence[str], key: Key) -> str:
    """`class 'x', head mean, layer 3, queries 'all'`"""
    pairs = sorted(zip(names, key, strict=True))
    return ", ".join(f"{name} {'mean' if value is None else repr(value)}" for name, value in pairs)


# Labels of heads over all prompts.


def _mean_labels(response: pa.Table, *, model: str) -> np.ndarray:
    """[condition, cell]: the labels of the mean numbers, by the thresholds the table carries."""
    names = [*LABELLED_BY, *([LEFT] if LEFT in response.column_names else [])]  # older ones lack it
    matrix = read_matrix(response, names, model=model)
    means = mean(matrix.values, 0).reshape(-1, len(names))
    labels = label(dict(zip(names, means.T, strict=True)), thresholds_of(response))
    labels = labels.reshape(len(matrix.conditions), -1)
    # A few of many prompts are no ground for a word about the head; all of a few are.
    have = (~np.isnan(matrix.values[..., names.index("shape")])).sum(0)
    few = have < np.minimum(matrix.measured.sum(0), Resampling().fewest)[:, None]
    labels[few & (labels != RESTING)] = None
    return labels


def _without_resting(matrix: PromptMatrix, labels: np.ndarray) -> PromptMatrix:
    """A head that rests on average has no profile, though it may have one in some prompt."""
    resting = (labels == RESTING)[None, :, :, None] & np.isin(matrix.measures, PROFILE)
    return replace(matrix, values=np.where(resting, np.nan, matrix.values))
