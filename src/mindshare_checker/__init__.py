"""Texts about a chart → do they say what its table says, and do they contradict one another?

check_description(text, table)           each number of a text: holds, does not, can't be read
compare_texts({"a": text, "b": other})   where texts about the same chart contradict each other
read_tables(path)                        the tables to check against, from a file or a folder

A user of `mindshare`, not a part of it: it adds the command `mindshare check-description`. Names
arrive on first use, so that `mindshare --help`, which loads the command, stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindshare_checker.check import Checked, check_description, read_tables
    from mindshare_checker.compare import Disagreement, TextComparison, compare_texts

__all__ = [
    "Checked",
    "Disagreement",
    "TextComparison",
    "check_description",
    "compare_texts",
    "read_tables",
]

_COMPARE = ("Disagreement", "TextComparison", "compare_texts")  # the others are in `check`


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "compare" if name in _COMPARE else "check"
    return getattr(import_module(f"{__name__}.{module}"), name)
