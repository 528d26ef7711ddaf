"""Arrays ⇄ bytes: a short header, then the arrays in a row. And the numbers of one layer as such.

What is the same for every head (`expected`, where heads share their mask) is written once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from mindshare.errors import ExactnessError

if TYPE_CHECKING:
    from mindshare.attention.measures import LayerNumbers

_LENGTH = struct.Struct("<I")


def pack(numbers: LayerNumbers) -> bytes:
    arrays = {name: np.asarray(x, "<f4") for name, x in vars(numbers).items() if x is not None}
    expected = arrays["expected"]
    if (expected == expected[:, :1]).all():
        arrays["expected"] = expected[:, :1]
    return pack_arrays(arrays)


def unpack(data: bytes) -> LayerNumbers:
    from mindshare.attention.measures import LayerNumbers

    arrays = unpack_arrays(data)
    arrays["expected"] = np.broadcast_to(arrays["expected"], arrays["mass"].shape)
    return LayerNumbers(**{f.name: arrays.get(f.name) for f in fields(LayerNumbers)})  # type: ignore[arg-type]


def pack_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    little = {name: x.astype(x.dtype.newbyteorder("<"), copy=False) for name, x in arrays.items()}
    header = json.dumps({name: [x.dtype.str, x.shape] for name, x in little.items()}).encode()
    parts = (np.ascontiguousarray(x).tobytes() for x in little.values())
    return b"".join([_LENGTH.pack(len(header)), header, *parts])


def unpack_arrays(data: bytes) -> dict[str, np.ndarray]:
    try:
        return _arrays(data)
    except (struct.error, ValueError, TypeError) as error:
        raise ExactnessError(
            f"stored numbers can't be read: {error}",
            next_step="remove the run's store, or measure into another folder",
        ) from error


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    found: dict[str, np.ndarray] = {}
    for name, (kind, shape) in json.loads(data[_LENGTH.size : start]).items():
        size = int(np.prod(shape))
        found[name] = np.frombuffer(data, kind, size, start).reshape(shape)
        start += found[name].nbytes
    return found
