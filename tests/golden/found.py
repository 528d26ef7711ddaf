"""What a journey came back with, and how it is read from a folder of results.

Only what is promised to users is relied on: a folder holds `manifest.json`, which lists `tables`
and `figures` by name, and `NAME.parquet` for each of both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mindshare.figures import Figure, saved_figure
from mindshare.folders import read_folder

Tables = dict[str, pa.Table]
# The name that a table or figure has today → the name that it is pinned under, where they differ.
PINNED_AS: dict[str, str] = {}


@dataclass
class Found:
    """Tables and figures by name, facts that are computed from them, and what must be true."""

    tables: Tables = field(default_factory=dict)
    figures: Tables = field(default_factory=dict)  # the numbers that each figure draws
    plain: Tables = field(default_factory=dict)  # arrays that came as no table: no definitions
    facts: dict[str, Any] = field(default_factory=dict)  # JSON-able
    holds: dict[str, bool] = field(default_factory=dict)  # each must be true
    rtol: float = 2e-5
    atol: float = 5e-7  # a few units of float32 at 1: `retained` is 1 minus a sum

    def add(self, folder: Path, name: str = "") -> None:
        """All tables and figures of a folder of results, under a name."""
        lead = f"{name}/" if name else ""
        shown = manifest(folder)
        drawn = sorted(shown.get("figures", {}))
        self.tables |= {f"{lead}{pinned_as(one)}": read(folder, one) for one in shown["tables"]}
        self.figures |= {f"{lead}{pinned_as(one)}": figure(folder, one).table for one in drawn}
        for one in drawn:
            files = [folder / f"{one}.{end}" for end in ("png", "svg", "pdf")]
            self.holds[f"{lead}{one}: drawn in every format"] = all(
                file.is_file() and file.stat().st_size > 500 for file in files
            )
            missing = not_drawn(folder, one)
            self.holds[f"{lead}{one}: the picture holds its numbers {missing}"] = not missing

    def add_chart(self, chart: Any, name: str = "") -> None:
        """The tables and figures of a chart in memory."""
        lead = f"{name}/" if name else ""
        self.tables |= {f"{lead}{pinned_as(one)}": table for one, table in chart.tables.items()}
        self.figures |= {f"{lead}{pinned_as(one.name)}": one.table for one in chart.figures}


def pinned_as(name: str) -> str:
    return PINNED_AS.get(name, name)


def manifest(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return content


def read(folder: Path, name: str) -> pa.Table:
    return pq.read_table(folder / f"{name}.parquet")


def figure(folder: Path, name: str) -> Figure:
    """A saved figure, drawn again."""
    tables, known = read_folder(folder, of_figures=True)
    return saved_figure(folder, name, known["figures"][name], tables)


def same_files(a: Path, b: Path) -> bool:
    """Whether both folders hold the same tables, byte by byte."""
    names = sorted(file.name for file in a.glob("*.parquet"))
    return (
        bool(names)
        and names == sorted(file.name for file in b.glob("*.parquet"))
        and all((a / name).read_bytes() == (b / name).read_bytes() for name in names)
    )


def texts_under(content: Any, word: str) -> list[str]:
    """Every text that stands anywhere below a key of that name."""
    if isinstance(content, Mapping):
        found = [text for key, one in content.items() if key == word for text in _texts(one)]
        return found + [t for one in content.values() for t in texts_under(one, word)]
    if isinstance(content, list):
        return [text for one in content for text in texts_under(one, word)]
    return []


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping | list):
        values = content.values() if isinstance(content, Mapping) else content
        for one in values:
            yield from _texts(one)


def numbers_of(table: pa.Table, columns: set[str] | None = None) -> list[float]:
    """The numbers of the float columns, those that are missing left out."""
    found: list[float] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type) and (columns is None or name in columns):
            found += [x for x in column.to_pylist() if x is not None and x == x]
    return found


_DRAWN = ("mean", "difference", "received")


def not_drawn(folder: Path, name: str) -> list[float]:
    """Main numbers of a figure's table that are nowhere in its Vega-Lite spec."""
    one = figure(folder, name)
    there = sorted(_numbers(one.spec))
    return [x for x in numbers_of(one.table, set(_DRAWN)) if not is_among(x, there, 2e-5)][:3]


def _numbers(content: Any) -> Iterator[float]:
    if isinstance(content, Mapping):
        for one in content.values():
            yield from _numbers(one)
    elif isinstance(content, list):
        for one in content:
            yield from _numbers(one)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield float(content)


def is_among(x: float, ordered: list[float], rtol: float, atol: float = 1e-7) -> bool:
    """Whether a number stands in a sorted list, within the tolerance."""
    from bisect import bisect_left

    margin = atol + rtol * abs(x)
    at = bisect_left(ordered, x - margin)
    return at < len(ordered) and ordered[at] <= x + margin


_QUOTED = re.compile(r"'[^']*'|“[^”]*”")
_STATED = re.compile(r"(?P<limit>[<>≤≥]\s*)?(?P<number>[+−-]?\d+\.\d{2,})")


def stated(text: str) -> list[tuple[float, int, bool]]:
    """Numbers with two or more decimals, how many, and whether with a sign.

    Names in quotes and thresholds (`p < 0.05`) are no statements.
    """
    found = []
    for match in _STATED.finditer(_QUOTED.sub("", text)):
        if match["limit"] is None:
            written = match["number"].replace("−", "-")
            decimals = len(written.partition(".")[2])
            found.append((float(written), decimals, written[0] in "+-"))
    return found
