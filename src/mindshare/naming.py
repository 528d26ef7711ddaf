"""Labels and numbers → how they are written in file names and sentences. Knows nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def file_word(label: str) -> str:
    """A label as a part of a file's or a table's name."""
    return "".join(c if c.isalnum() or c in "_-." else "-" for c in label).strip("-.") or "model"


def layer_ranges(layers: Iterable[int]) -> str:
    """0, 1, 2, 4 → `0–2, 4`"""
    runs = groupby(enumerate(sorted(layers)), key=lambda pair: pair[1] - pair[0])
    ends = [[layer for _, layer in run] for _, run in runs]
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in ends)
