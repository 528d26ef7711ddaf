"""`response` tables → means over prompts with intervals, and two conditions compared by prompt.

One row per model, condition, head and measure; or the mean over the heads, over the layers, or
both, taken within each prompt before anything is compared. The prompt is the unit of resampling.
Says nothing about single prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError, nearest
from mindshare.stats.bootstrap import Spread, spread
from mindshare.stats.cells import common_metadata
from mindshare.stats.labels import LABELLED_BY, LABELS, LEFT, RESTING, label, thresholds_of
from mindshare.stats.paired import paired
from mindshare.stats.profiles import WITHOUT, codes
from mindshare.stats.resampling import Resampling
from mindshare.stats.response import PROFILE, RESPONSE
from mindshare.stats.response_cells import Responses, mean, read
from mindshare.stats.units import Groups, units_of
from mindshare.table import joined, table

_SHOWN = 3  # ids named in a message


def summarise_response(
    responses: Mapping[str, pa.Table],
    *,
    measures: Sequence[str] | None = None,
    over_heads: bool = False,
    over_layers: bool = False,
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """Model label → `response` becomes one `response_summary` table.

    The label of a head is that of its mean numbers, by the thresholds the tables carry. A mean over
    heads or layers has none; heads that rest in a prompt are not in its mean, and a head that rests
    on average has no profile numbers. Prompts that share a group are resampled as one.
    """
    options, measures = options or Resampling(), _measures(measures)
    _check_thresholds(responses)
    made = options.metadata(", ".join(measures), grouped=groups is not None)
    about, parts = common_metadata(list(responses.values())) | made, []
    for model, response in responses.items():
        found = read(response, measures, model=model)
        found = found.merged(over_heads=over_heads, over_layers=over_layers)
        single = not (over_heads or over_layers)
        labels = _labels(response, model) if single else None
        if labels is not None:
            found = _without_resting(found, labels)
        units = units_of(found.prompts, groups)
        over = spread(found.values.reshape(len(units), -1), options, units)
        parts.append(table("response_summary", _summary(found, model, labels, over), about))
    return joined(parts)


def _without_resting(found: Responses, labels: np.ndarray) -> Responses:
    """A head that rests on average has no profile, though it may have one in some prompt."""
    rests = (labels == RESTING).reshape(len(found.conditions), -1)
    profile = np.isin(found.measures, PROFILE)
    gone = rests[None, :, :, None] & profile
    return replace(found, values=np.where(gone, np.nan, found.values))


def _summary(
    found: Responses, model: str, labels: np.ndarray | None, over: Spread
) -> dict[str, Any]:
    rows = len(over.mean)
    return {
        "condition": np.repeat(np.array(found.conditions, object), rows // len(found.conditions)),
        "model": [model] * rows,
        **found.columns(len(found.conditions)),
        "mean": over.mean,
        **over.columns(),
        "label": [None] * rows if labels is None else np.repeat(labels, len(found.measures)),
    }


def _labels(response: pa.Table, model: str) -> np.ndarray:
    """[condition × cell]"""
    by = [*LABELLED_BY, *([LEFT] if LEFT in response.column_names else [])]  # older ones lack it
    found = read(response, by, model=model)
    means = mean(found.values, 0).reshape(-1, len(by))
    return label(dict(zip(by, means.T, strict=True)), thresholds_of(response))


def contrast_conditions(
    response: pa.Table,
    *,
    model: str,
    a: str,
    b: str,
    measures: Sequence[str] | None = None,
    over_heads: bool = False,
    over_layers: bool = False,
    options: Resampling | None = None,
    groups: Groups | None = None,
) -> pa.Table:
    """Condition b minus condition a of one model, by prompt, as a `condition_contrast` table.

    Prompts that share a group are resampled and flipped as one.
    """
    options, measures = options or Resampling(), _measures(measures)
    found = read(response, measures, model=model)
    places = [_place(found, name) for name in (a, b)]
    _check_prompts(found, places)
    found = found.merged(over_heads=over_heads, over_layers=over_layers)
    of_a, of_b = (found.values[:, place].reshape(len(found.prompts), -1) for place in places)
    columns: dict[str, Any] = {
        "condition_a": [a] * of_a.shape[1],
        "condition_b": [b] * of_a.shape[1],
        "model": [model] * of_a.shape[1],
        **found.columns(1),
        **paired(of_a, of_b, options, units_of(found.prompts, groups)),
    }
    made = options.metadata(", ".join(measures), grouped=groups is not None)
    return table("condition_contrast", columns, common_metadata([response]) | made)


def label_counts(summary: pa.Table) -> dict[str, dict[str, int]]:
    """Condition → label → number of heads that have it, of all models in the table."""
    heads = summary.select(["model", "condition", "layer", "head", "label"]).to_pylist()
    alike = dict.fromkeys(tuple(row.values()) for row in heads)  # a head has a row per measure
    counts = {c: dict.fromkeys(LABELS, 0) for c in codes(summary["condition"])[0]}
    for _, condition, _, _, word in alike:
        if word is not None:
            counts[condition][word] += 1
    return counts


def _measures(measures: Sequence[str] | None) -> tuple[str, ...]:
    if measures is None:
        return RESPONSE
    for one in measures:
        if one not in RESPONSE:
            raise SelectionError(
                f"unknown measure {one!r}{nearest(one, RESPONSE)}", allowed=", ".join(RESPONSE)
            )
    if not measures:
        raise SelectionError("no measure was named", allowed=", ".join(RESPONSE))
    return tuple(dict.fromkeys(measures))


def _check_thresholds(responses: Mapping[str, pa.Table]) -> None:
    if not responses:
        raise SelectionError(
            "there is no response table to work on",
            next_step="give at least one model's response table",
        )
    if len({thresholds_of(response) for response in responses.values()}) > 1:
        raise SelectionError(
            "the models were labelled by different thresholds",
            next_step="make their response tables with the same thresholds",
        )


def _place(found: Responses, condition: str) -> int:
    if condition == WITHOUT:
        raise SelectionError(
            f"{WITHOUT!r} has no response: it is what the others are compared with",
            allowed=", ".join(found.conditions),
        )
    if condition not in found.conditions:
        raise SelectionError(
            f"there is no condition {condition!r}{nearest(condition, found.conditions)}",
            allowed=", ".join(found.conditions),
        )
    return found.conditions.index(condition)


def _check_prompts(found: Responses, places: Sequence[int]) -> None:
    for one, other in (places, places[::-1]):
        alone = np.flatnonzero(found.measured[:, one] & ~found.measured[:, other])
        if len(alone):
            ids = ", ".join(found.prompts[i] for i in alone[:_SHOWN])
            raise SelectionError(
                f"{len(alone)} prompts have {found.conditions[one]!r} but not "
                f"{found.conditions[other]!r}: {ids}{', …' if len(alone) > _SHOWN else ''}",
                next_step="measure both conditions on the same prompts",
            )
