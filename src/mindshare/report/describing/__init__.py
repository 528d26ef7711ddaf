"""Tables → descriptions in words whose every number is one of theirs; texts → are they right?

describe(tables, kind="classes")         five sections of sentences
check_description(text, table)           each number of a text: holds, does not, can't be read
compare_texts({"a": text, "b": other})   where texts about the same chart contradict each other
read_numbers(path)                       the table to check against, from a file or a folder
"""

from __future__ import annotations

from mindshare.report.describing.checking import Checked, check_description
from mindshare.report.describing.comparing import Disagreement, compare_texts
from mindshare.report.describing.describe import describe
from mindshare.report.describing.description import Description, Section
from mindshare.report.describing.sources import read_numbers

__all__ = [
    "Checked",
    "Description",
    "Disagreement",
    "Section",
    "check_description",
    "compare_texts",
    "describe",
    "read_numbers",
]
