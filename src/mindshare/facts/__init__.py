"""Tables → facts → sentences: what saved results support, and how it is said.

    find(tables)                 facts: what, where, which numbers with their cells
    sentence(fact)               one sentence, which carries the numbers it states
    describe(tables)             five sections of sentences, as Markdown
    in_short(tables)             the answer of class charts, the largest difference first
    insertion_findings(tables)   what each insertion did, in one line per fact

Made from tables only. A number is right because it carries its cell.
"""

from __future__ import annotations

from mindshare.facts.cells import Cell, Key, Number
from mindshare.facts.describe import (
    Description,
    alignment_notes,
    describe,
    in_short,
    insertion_findings,
)
from mindshare.facts.find import Fact, find, largest
from mindshare.facts.sentences import Sentence, sentence

__all__ = [
    "Cell",
    "Description",
    "Fact",
    "Key",
    "Number",
    "Sentence",
    "alignment_notes",
    "describe",
    "find",
    "in_short",
    "insertion_findings",
    "largest",
    "sentence",
]
