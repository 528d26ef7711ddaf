"""Tables of single prompts → the tables over prompts that the saved ones imply.

The lift behind a mass: `mass_LABEL` has it for every prompt. The difference of two conditions:
`response` has both for every prompt. Made by the statistics that made the saved tables, with the
same draws. Says nothing in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from mindshare.naming import file_word
from mindshare.stats import Resampling, contrast_conditions, summarise

EVENNESS = ("weight_evenness", "value_evenness", "retained", "divergence", "amplitude")


def implied(tables: Mapping[str, pa.Table], about: Mapping[str, str]) -> Iterator[pa.Table]:
    """The further tables, if what they are made from is there."""
    if about.get("mindshare.unit") == "group":
        return  # which prompts share a group is not saved
    options = Resampling.of(about)
    masses = _by_label(tables, "mass")
    if masses and about.get("mindshare.measure") == "mass":
        yield summarise(masses, measure="lift", options=options)
    for model, response in _by_label(tables, "response").items():
        yield from _against_each_other(response, model, options)


def _by_label(tables: Mapping[str, pa.Table], name: str) -> dict[str, pa.Table]:
    """Model → its table: `NAME_LABEL`, or `NAME` where there is one model."""
    summary = tables.get("summary")
    if summary is None or "model" not in summary.column_names:  # a single table of differences
        return {}
    models, found = summary["model"].unique().to_pylist(), {}
    for model in models:
        own = tables.get(f"{name}_{file_word(model)}")
        if own is None and len(models) == 1:
            own = tables.get(name)
        if own is not None:
            found[model] = own
    return found


def _against_each_other(response: pa.Table, model: str, options: Resampling) -> Iterator[pa.Table]:
    """The first condition minus each of the others, over all heads."""
    first, *others = [c for c in response["condition"].unique().to_pylist() if c != "without"]
    for other in others:
        yield contrast_conditions(
            response,
            model=model,
            a=other,
            b=first,
            measures=EVENNESS,
            over_heads=True,
            over_layers=True,
            options=options,
        )
