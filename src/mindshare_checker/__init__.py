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
    from mindshare_checker.check import Checked, check_description
    from mindshare_checker.compare import Disagreement, TextComparison, compare_texts
    from mindshare_checker.tables import read_tables

__all__ = [
    "Checked",
    "Disagreement",
    "TextComparison",
    "check_description",
    "compare_texts",
    "read_tables",
]

_OTHERS = {"read_tables": "tables"} | dict.fromkeys(  # those that are not in `check`
    ("Disagreement", "TextComparison", "compare_texts"), "compare"
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_OTHERS.get(name, 'check')}"), name)
