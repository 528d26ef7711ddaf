"""How labels are written in file names, and layer numbers in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def file_word(label: str) -> str:
    """A label as a part of a file's or a table's name: `org/model (2)` → `org-model--2`"""
    return "".join(c if c.isalnum() or c in "_-." else "-" for c in label).strip("-.") or "model"


def layer_ranges(layers: Iterable[int]) -> str:
    """0, 1, 2, 4 → `0–2, 4`"""
    runs = groupby(enumerate(sorted(layers)), key=lambda pair: pair[1] - pair[0])
    consecutive = [[layer for _, layer in run] for _, run in runs]
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in consecutive)
