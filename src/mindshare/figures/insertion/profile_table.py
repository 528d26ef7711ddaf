"""Profiles that are drawn → the table of their numbers, a row for each token of each version."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from mindshare.figures.insertion.versions import Head, Profile, columns, pick
from mindshare.table import DEFINITIONS, SCHEMAS

_FROM_PLACES = ("token", "part", "position_without")
_KINDS: dict[str, pa.DataType] = {
    "model": pa.string(),
    **{name: SCHEMAS["sequence"].field(name).type for name in SCHEMAS["sequence"].names[:5]},
    **{name: SCHEMAS["places"].field(name).type for name in _FROM_PLACES},
    "received": pa.float32(),
    "n_queries": pa.int64(),
}
_SCHEMA = pa.schema(
    [pa.field(n, kind, metadata={"definition": DEFINITIONS[n]}) for n, kind in _KINDS.items()]
)


def profile_rows(
    profiles: list[tuple[Head, Profile]], places: pa.Table, *, model: str, prompt: str
) -> pa.Table:
    """One head's profile after the other; `places` are those of the prompt."""
    return pa.concat_tables(
        [_rows(profile, head, places, model, prompt) for head, profile in profiles]
    )


def _rows(profile: Profile, head: Head, places: pa.Table, model: str, prompt: str) -> pa.Table:
    known = pick(places, "places", condition=profile.condition)
    words = {
        row[0]: row[1:] for row in zip(*columns(known, "position", *_FROM_PLACES), strict=True)
    }
    positions = profile.position.tolist()
    same = {
        "model": model,
        "prompt": prompt,
        "condition": profile.condition,
        "layer": head[0],
        "head": head[1],
    }
    values: dict[str, Any] = {name: [value] * len(positions) for name, value in same.items()}
    values |= {name: [words[i][k] for i in positions] for k, name in enumerate(_FROM_PLACES)}
    values |= {"position": positions, "received": profile.received, "n_queries": profile.n_queries}
    arrays = [pa.array(values[f.name], type=f.type, from_pandas=True) for f in _SCHEMA]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)
