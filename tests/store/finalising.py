"""Results of which every part tells its generation."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mindshare.store import Finaliser

SCHEMA = pa.schema({"prompt": pa.string(), "mass": pa.float32()}, metadata={"about": "x"})


def table(numbers: range, generation: float = 0.0) -> pa.Table:
    masses = [None if n % 7 == 0 else n / 3 + generation for n in numbers]
    return pa.table({"prompt": [f"p{n // 5}" for n in numbers], "mass": masses}, schema=SCHEMA)


def finalise(folder: Path, generation: int, names: tuple[str, ...] = ("a", "b", "c")) -> Path:
    with Finaliser(folder) as building:
        for name in names:
            building.add(name, table(range(10), generation))
            building.add(name, table(range(3)))
        building.text("study.toml", f"generation = {generation}\n")
        return building.commit({"generation": generation})
