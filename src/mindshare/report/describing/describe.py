"""The door: tables of saved results → a description in five sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pyarrow as pa

from mindshare.errors import SelectionError, nearest
from mindshare.report.describing.classes import describe_charts
from mindshare.report.describing.description import Description
from mindshare.report.describing.insertion import describe_insertion
from mindshare.report.describing.numbers import Numbers, charts_of

Kind = Literal["classes", "insertion"]
KINDS = ("classes", "insertion")


def describe(
    tables: Mapping[str, pa.Table], *, kind: Kind, only: tuple[str, ...] | None = None
) -> Description:
    """What the tables say, layer by layer or head by head, and what can be told from it.

    `tables` are those of a folder of results, by name; `summary` is enough, but differences
    between models, lift and differences between conditions need the others. `only` names the token
    classes (or, of an insertion, the conditions) that are described.
    """
    if kind not in KINDS:
        raise SelectionError(
            f"there are no results of the kind {kind!r}{nearest(kind, KINDS)}",
            allowed=", ".join(KINDS),
        )
    charts = charts_of(tables)
    if only is not None:
        _check(charts, only)
        kept = [_kept(one, only) for one in charts]
        charts = [one for one in kept if one.cells]
    return describe_charts(charts) if kind == "classes" else describe_insertion(charts[0])


def _check(charts: Sequence[Numbers], only: tuple[str, ...]) -> None:
    known = list(dict.fromkeys(n for one in charts for n in (*one.classes, *one.conditions)))
    for name in only:
        if name not in known:
            raise SelectionError(
                f"{name!r} is not in the tables{nearest(name, known)}", allowed=", ".join(known)
            )


def _kept(numbers: Numbers, only: tuple[str, ...]) -> Numbers:
    """The cells of these classes or conditions."""
    cells = {
        key: number
        for key, number in numbers.cells.items()
        if key.kind in only or key.condition in only
    }
    return replace(numbers, cells=cells)
