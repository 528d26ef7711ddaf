"""Names that tables use, how labels are written in file names, and layer numbers in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

UNNAMED = ("other", "sink_slot")  # classes that no rule names
WITHOUT = "without"  # the condition of a prompt as it is


def file_word(label: str) -> str:
    """A label as a part of a file's or a table's name: `org/model (2)` → `org-model--2`"""
    return "".join(c if c.isalnum() or c in "_-." else "-" for c in label).strip("-.") or "model"


def layer_ranges(layers: Iterable[int]) -> str:
    """0, 1, 2, 4 → `0–2, 4`"""
    runs = groupby(enumerate(sorted(layers)), key=lambda pair: pair[1] - pair[0])
    consecutive = [[layer for _, layer in run] for _, run in runs]
    return ", ".join(f"{r[0]}–{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in consecutive)


# What a sentence needs for itself: a class, a model or a condition of such a name is quoted.
# Words of the first kind stand before numbers ("total 0.3").
BEFORE_NUMBERS = """
    about above amplified amplitude and approximately around at below between by change damped
    density divergence effect evenness expected factor from head heads in is layer layers least less
    lift margin mass more most nearly of only over p ratio retained roughly seed shape share shift
    than to together total under up
"""
ORDINARY = """
    a after all an are as attention before both but can chance class classes condition conditions
    difference each every few first for get gets has have higher highest how inserted insertion it
    its key larger largest last later left little lower lowest many may mean means middle minus
    model models next no none nor not nothing number old on one or original other others out part
    peak prompt prompts query random rest same single small smallest so standard table text that
    the their there these they this those times token tokens two value values what where which
    with within without word words zero
"""
