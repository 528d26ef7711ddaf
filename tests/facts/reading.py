"""What a sentence states, and where it says it has it from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from mindshare.facts import Number, Sentence

_STATED = re.compile(r"(?<![\w.])[+−]?\d+\.\d+(?:e−?\d+)?")


def stated(text: str) -> list[str]:
    """The decimal numbers of a sentence; names in quotes are none."""
    return _STATED.findall(re.sub(r"“[^”]*”", "", text))


def told(text: str) -> tuple[int, int]:
    """(words, numbers) of a sentence, its interval one number and no word; no layers and counts."""
    plain = re.sub(r"≈?\[[^\]]*\]", "", text)
    return len(plain.split()), len(stated(plain)) + ("[" in text)


def is_carried(word: str, sentence: Sentence) -> bool:
    """Whether it is one of the sentence's numbers, as exactly as it is written."""
    value = float(word.replace("−", "-"))
    if "e" in word:
        slack = 0.051 * 10.0 ** float(word.replace("−", "-").partition("e")[2])
    else:
        slack = 0.5001 * 10.0 ** -len(word.partition(".")[2])
    known = [x for number in sentence.numbers for x in _parts(number)]
    return any(abs(x - value) <= slack for x in known)


def _parts(number: Number) -> list[float]:
    found = (number.value, number.low, number.high, number.detectable_family)
    return [x for x in found if x is not None]


def looked_up(number: Number, tables: Mapping[str, pa.Table]) -> Any:
    """What the table has in the number's cell."""
    assert number.cell is not None
    keys = dict(number.cell.keys)
    (row,) = [
        row
        for row in tables[number.cell.table].to_pylist()
        if all(row[name] == value for name, value in keys.items())
    ]
    return row[number.cell.column]
