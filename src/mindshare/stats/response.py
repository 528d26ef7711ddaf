"""`sequence`, `places` and `rescaling` → `response`: what an insertion does to each head.

A head has two profiles over the same tokens: what they receive without the insertion (a) and with
it (b). The numbers compare a with b; the label is drawn from the numbers. Numbers that do not
exist (a profile that is flat, empty or a single token) are null, and so are those of a head that
gives these tokens next to nothing in either version: it rests. One prompt at a time: knows nothing
of averages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from mindshare.stats.cells import common_metadata
from mindshare.stats.labels import LABELLED_BY, LEFT, Thresholds, label
from mindshare.stats.profiles import Pair, Version, pairs, require_columns, versioned
from mindshare.table import DROP_FIRST, table

PROFILE = ("amplitude", "shape", "entropy_change", "divergence", "peak_shift", "peak_ratio")
RESCALING = ("retained", "factor", "affine_r2", "affine_r2_after", "value_evenness")
RESPONSE = (*PROFILE, LEFT, "weight_evenness", *RESCALING)
_KEY = ("prompt", "condition", "layer", "head")
# The tables hold float32: a profile that varies by less than this is a flat one and rounding.
_FLAT = float(np.finfo(np.float32).eps) ** 0.75


def respond(
    sequence: pa.Table,
    places: pa.Table,
    rescaling: pa.Table,
    *,
    thresholds: Thresholds | None = None,
    drop_first: bool = False,
) -> pa.Table:
    """One row per prompt, condition and head, as a `response` table.

    `drop_first` leaves the first token of the prompt, where many heads put most of their attention,
    out of both profiles. What is left of a head then may be too little: see `Thresholds.floor`.
    """
    thresholds = thresholds or Thresholds()
    require_columns(rescaling, (*_KEY, *RESCALING), name="rescaling")
    columns = versioned(
        pairs(sequence, places),
        lambda pair: _of_pair(pair, drop_first=drop_first, floor=thresholds.floor),
    )
    columns |= _rescaling(rescaling, columns)
    # As the table holds them, so that nobody can come to another label.
    columns["label"] = label({name: columns[name] for name in (*LABELLED_BY, LEFT)}, thresholds)
    about = {**thresholds.metadata(), DROP_FIRST: str(drop_first).lower()}
    return table("response", columns, common_metadata([sequence]) | about)


def _of_pair(pair: Pair, *, drop_first: bool, floor: float) -> dict[str, np.ndarray]:
    a, b = pair.received()
    kept = ~(np.isnan(a) | np.isnan(b)).any(0)  # a key without queries has none in any head
    if drop_first:
        kept &= pair.places[:, 0] != 0
    inserted = pair.with_.received[:, pair.with_.tokens.inserted]
    numbers = compare(a[:, kept], b[:, kept]) | {"weight_evenness": evenness(inserted)}
    without, with_ = pair.places[kept].T
    numbers[LEFT] = np.maximum(left(pair.without, without), left(pair.with_, with_))
    rounded = {name: values.astype(np.float32) for name, values in numbers.items()}
    rests = rounded[LEFT].astype(np.float64) < floor
    rounded |= {name: np.where(rests, np.float32(np.nan), rounded[name]) for name in PROFILE}
    return {"layer": pair.with_.layers, "head": pair.with_.heads, **rounded}


def left(version: Version, tokens: np.ndarray) -> np.ndarray:
    """[head]: the share of the queries' attention that goes to these tokens, NaN without any."""
    n = version.n_queries
    if not len(tokens):
        return np.full(len(n), np.nan)
    given = (version.received[:, tokens] * n[:, tokens]).sum(1)
    return _ratio(given, n.max(1))


def compare(a: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """Two profiles per head, [head, token], without and with → one number per head."""
    if a.shape[1] < 2:  # one token is no profile
        return {name: np.full(len(a), np.nan) for name in PROFILE}
    p, q = (_ratio(x, x.sum(1, keepdims=True)) for x in (a, b))
    of_a, of_b = _entropy(p), _entropy(q)
    between = (_entropy((p + q) / 2) - (of_a + of_b) / 2) / np.log(2)
    return {
        "amplitude": _ratio(b.sum(1), a.sum(1)),
        "shape": _correlation(a, b),
        "entropy_change": of_b - of_a,
        "divergence": between.clip(0.0, 1.0),
        "peak_shift": _peak_shift(a, b),
        "peak_ratio": _ratio(b.max(1), a.max(1)),
    }


def evenness(received: np.ndarray) -> np.ndarray:
    """[head, token] → entropy / its largest value, for tokens that have a number."""
    received = received[:, ~np.isnan(received).any(0)]
    tokens = received.shape[1]
    if tokens < 2:
        return np.full(len(received), np.nan)
    even: np.ndarray = _entropy(_ratio(received, received.sum(1, keepdims=True))) / np.log(tokens)
    return even


def _entropy(p: np.ndarray) -> np.ndarray:
    """Nats; NaN where the profile is."""
    logs = np.log(np.where(p > 0, p, 1.0))
    entropy: np.ndarray = -(p * logs).sum(1)
    return entropy


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Pearson's, NaN where a profile is flat."""
    x, y = (values - values.mean(1, keepdims=True) for values in (a, b))
    size = np.sqrt((x * x).sum(1) * (y * y).sum(1))
    r = _ratio((x * y).sum(1), size).clip(-1.0, 1.0)
    return np.where(_flat(a) | _flat(b), np.nan, r)


def _flat(values: np.ndarray) -> np.ndarray:
    flat: np.ndarray = values.max(1) - values.min(1) <= _FLAT * values.max(1)
    return flat


def _peak_shift(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A flat profile has no peak to be shifted."""
    shift = (b.argmax(1) - a.argmax(1)).astype(np.float64)
    return np.where(_flat(a) | _flat(b), np.nan, shift)


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """NaN where there is nothing to divide by: there is no such number."""
    ratio: np.ndarray = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)
    return ratio


def _rescaling(rescaling: pa.Table, columns: Mapping[str, pa.Array]) -> dict[str, np.ndarray]:
    """The numbers of `rescaling` in the order of the response; NaN where it has no such row."""
    place = {key: i for i, key in enumerate(_keys(rescaling))}
    rows = [place.get(key, len(place)) for key in _keys(columns)]
    values = {name: rescaling[name].to_numpy(zero_copy_only=False) for name in RESCALING}
    return {name: np.append(column, np.nan)[rows] for name, column in values.items()}


def _keys(rows: pa.Table | Mapping[str, pa.Array]) -> Iterator[tuple[object, ...]]:
    return zip(*(rows[name].to_pylist() for name in _KEY), strict=True)
