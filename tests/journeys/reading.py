"""What was printed, read back: the numbers of the mass table, line by line."""

from __future__ import annotations

import re


def printed_masses(out: str) -> dict[int, list[float]]:
    """layer → the masses of its row, in the order of the columns."""
    rows = re.finditer(r"^ *(\d+)((?: +\d\.\d{4} +(?:×\S+|–))+) *$", out, re.MULTILINE)
    return {int(row[1]): [float(x) for x in re.findall(r" (\d\.\d{4})", row[2])] for row in rows}
