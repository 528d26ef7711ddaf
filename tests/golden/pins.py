"""A table → what is pinned of it, as JSON; and how a table of today is compared with its pin.

Of each table: the names and types of its columns in order, the number of rows, a SHA-256 of every
column that holds no floats, and the floats by value: all of them if they are few, otherwise their
sum, sum of squares, extremes and every k-th. Beside that a SHA-256 of the exact bytes of all
columns, by the kind of machine that made them: compared only where the same kind of machine runs.
Of a figure: its rows in any order, and of charts by class only who, where and how much. Metadata
and definitions are not pinned.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

Pin = dict[str, Any]
_ALL, _SOME = 48, 24  # so many floats of a column are all kept; of more, about so many
# A figure by class is drawn in some composition or other: what it says is in these columns.
_BY_CLASS = (
    *("model", "model_a", "model_b", "queries", "layer", "head", "class"),
    *("mean", "difference", "low", "high", "p_family"),
)


@cache
def machine() -> str:
    """The kind of machine on which the exact bytes are the same: MKL has code for each maker."""
    import torch

    info = Path("/proc/cpuinfo")
    found = re.search(r"vendor_id\s*:\s*(\w+)", info.read_text() if info.exists() else "")
    capability = torch.backends.cpu.get_cpu_capability()
    maker = f"{found[1]} " if found else ""
    return f"{maker}{capability}, torch {torch.__version__}, numpy {np.__version__}"


def pin_table(table: pa.Table) -> Pin:
    columns = list(zip(table.column_names, table.columns, strict=True))
    return {
        "columns": [[name, str(column.type)] for name, column in columns],
        "rows": table.num_rows,
        "exact": {
            name: _sha(column.to_pylist()) for name, column in columns if not _floats(column)
        },
        "floats": {name: _pin_floats(one) for name, one in columns if _floats(one)},
        "bytes": {machine(): _bytes(table)},
    }


def pin_figure(table: pa.Table, old: Pin | None = None) -> Pin:
    """The numbers that a figure draws, in no order; of the columns of an old pin, if there is one.

    A figure may carry more columns than it did, in another order.
    """
    names = table.column_names if old is None else [name for name, _ in old["columns"]]
    if "class" in names:
        names = [name for name in _BY_CLASS if name in names]
    table = table.select([name for name in names if name in table.column_names])
    keys = [(name, "ascending") for name in table.column_names if not _floats(table[name])]
    return pin_table(table.sort_by([*keys, *_float_keys(table)]))


def _float_keys(table: pa.Table) -> list[tuple[str, str]]:
    return [(name, "ascending") for name in table.column_names if _floats(table[name])]


def differences(old: Pin, new: Pin, *, rtol: float, atol: float) -> Iterator[str]:
    """How a table of today differs from its pin; nothing if it does not."""
    if old["columns"] != new["columns"]:
        yield f"columns were {old['columns']} and are {new['columns']}"
        return
    if old["rows"] != new["rows"]:
        yield f"{old['rows']} rows were there, {new['rows']} are"
        return
    for name, was in old["exact"].items():
        if was != new["exact"][name]:
            yield f"column {name!r} holds other values, or in another order"
    for name, was in old["floats"].items():
        for one in _float_differences(was, new["floats"][name], rtol, atol):
            yield f"{name}: {one}"
    for here, now in new["bytes"].items():
        if old["bytes"].get(here, now) != now:
            yield f"the exact bytes differ from those of {here}"


def close(a: Any, b: Any, *, rtol: float, atol: float) -> bool:
    """Whether two facts are the same, numbers within the tolerance."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(close(a[k], b[k], rtol=rtol, atol=atol) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(
            close(x, y, rtol=rtol, atol=atol) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isclose(a, b, rel_tol=rtol, abs_tol=atol)
    return type(a) is type(b) and a == b


def _floats(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type))


def _sha(content: Any) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _bytes(table: pa.Table) -> str:
    """SHA-256 of every column: which values are missing, and the bytes of the others."""
    digest = hashlib.sha256()
    for column in table.columns:
        if _floats(column):
            whole = column.combine_chunks()
            digest.update(np.asarray(whole.is_null().to_pylist(), dtype=np.uint8).tobytes())
            digest.update(whole.fill_null(0.0).to_numpy(zero_copy_only=False).tobytes())
        else:
            digest.update(_sha(column.to_pylist()).encode())
    return digest.hexdigest()


def _pin_floats(column: pa.ChunkedArray) -> Pin:
    values = column.to_pylist()
    if len(values) <= _ALL:
        return {"all": [_short(x) for x in values]}
    there = np.asarray([x for x in values if x is not None], dtype=np.float64)
    step = len(values) // _SOME
    return {
        "nulls": len(values) - len(there),
        "sum": _short(there.sum()),
        "absolute": _short(np.abs(there).sum()),
        "squares": _short((there**2).sum()),
        "min": _short(there.min()) if len(there) else None,
        "max": _short(there.max()) if len(there) else None,
        f"every {step}": [_short(x) for x in values[::step]],
    }


def _short(x: float | None) -> float | str | None:
    """Eight significant digits; what is no number, by name."""
    if x is None:
        return None
    return float(f"{x:.8g}") if math.isfinite(x) else str(float(x))


def _float_differences(old: Pin, new: Pin, rtol: float, atol: float) -> Iterator[str]:
    if list(old) != list(new):
        yield f"{list(old)} were pinned, {list(new)} are found"
        return
    for what, was in old.items():
        now = new[what]
        if what in ("sum", "absolute", "squares"):  # errors of single values add up
            size = max(abs(old["absolute"]), abs(old["squares"]))
            if not close(was, now, rtol=rtol, atol=atol + rtol * size):
                yield f"{what} was {was}, is {now}"
        elif isinstance(was, list):
            for row, (x, y) in enumerate(zip(was, now, strict=True)):
                if not close(x, y, rtol=rtol, atol=atol):
                    yield f"{what}, number {row}: was {x}, is {y}"
                    break
        elif not close(was, now, rtol=rtol, atol=atol):
            yield f"{what} was {was}, is {now}"
