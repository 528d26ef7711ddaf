"""What an insertion does to each head: its response numbers, and one word for them.

A head has two profiles over the same tokens: what they receive without the insertion (a) and with
it (b). The numbers compare a with b; the label is drawn from them by thresholds that travel with
the table:

    reconfigured   little of the old shape is left
    smoothed       peaks lower and attention spread over more tokens
    sharpened      peaks higher and attention gathered on fewer tokens
    amplified      the old shape, higher
    damped         the old shape, lower
    unchanged      none of these
    resting        it gives the compared tokens too little to say any of these

The order matters. Smoothing and sharpening come before the question whether the shape is kept,
because both lower the correlation by themselves: a peak of one token that becomes a hump over w
tokens correlates 1/√w with itself. So they are asked for less of the old shape (`lost`) than
amplified, damped and unchanged heads are (`shape`). What has less than `lost` in common with the
old profile is neither: its humps stand where no peaks were. The rules are the same both ways: with
the two profiles exchanged, smoothed becomes sharpened, amplified becomes damped, the rest stays.

Numbers that do not exist (a profile that is flat, empty or a single token) are null, and so are
those of a head that rests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError
from mindshare.measures import MEASURES, at_level
from mindshare.stats.matrices import codes, common_metadata, require_columns
from mindshare.stats.profiles import VersionPair, VersionProfile, pair_columns, pairs
from mindshare.tables import DROP_FIRST, table

RESPONSE = at_level("response")
RESCALING = tuple(name for name in RESPONSE if MEASURES[name].table == "rescaling")
PROFILE = ("amplitude", "shape", "entropy_change", "divergence", "peak_shift", "peak_ratio")
LEFT = "attention_left"
LABELLED_BY = ("shape", "entropy_change", "peak_ratio", "amplitude")
RESTING = "resting"  # the word that tables have for it
LABELS = ("smoothed", "sharpened", "amplified", "damped", "reconfigured", "unchanged", RESTING)
_THRESHOLDS = "mindshare.thresholds"
_KEY = ("prompt", "condition", "layer", "head")
FEWEST_TOKENS = 3  # that are compared: the correlation of two is ±1, whatever happened
# The tables hold float32: a profile that varies by less than this is a flat one and rounding.
_FLAT = float(np.finfo(np.float32).eps) ** 0.75


@dataclass(frozen=True)
class Thresholds:
    """From where on a change counts.

    A fifth can be seen in a chart, and is more than any token brings: with one `/` inserted instead
    of 55, 99 to 100 of 100 heads of SmolLM2-135M are unchanged by these (six prompts, as plain text
    and as chat, with and without the first token).

    shape      Pearson's r from which the shape is kept: 0.8, two thirds of the variance in common.
    lost       r below which nothing else is asked: 0.5, a peak spread evenly over 4 tokens.
    amplitude  ratio from which a sum has moved: 1.2 up, 1 / 1.2 down.
    peak       ratio from which a peak has moved, for itself and against the sum: 1.2, 1 / 1.2.
               The second keeps a head whose every weight fell alike from being called smoothed.
    entropy    nats: 0.1, a tenth more or fewer tokens (exp 0.1). Lower than the others, because it
               is asked for together with `peak`; a profile of a few sharp peaks on a broad floor
               that melt into humps of six tokens gains about 0.2.
    floor      share of its attention that a head must give the compared tokens to have a profile:
               0.02. Of the 270 heads of SmolLM2-135M (six word problems, without the first token)
               268 give them 0.033 or more in every prompt; two give almost all they have to the
               first token, 0.006 to 0.011 and some millionths to the others, and how those few
               are spread is chance.
    """

    shape: float = 0.8
    lost: float = 0.5
    amplitude: float = 1.2
    peak: float = 1.2
    entropy: float = 0.1
    floor: float = 0.02

    def __post_init__(self) -> None:
        if not -1 <= self.lost <= self.shape <= 1:
            raise SelectionError(
                f"the thresholds shape={self.shape} and lost={self.lost} can't be used",
                allowed="-1 ≤ lost ≤ shape ≤ 1, e.g. lost=0.5 and shape=0.8",
            )
        for name in ("amplitude", "peak"):
            if not getattr(self, name) > 1:
                raise SelectionError(
                    f"the threshold {name}={getattr(self, name)} is no ratio above 1",
                    allowed="e.g. 1.2: counts from 1.2 up and from 1 / 1.2 down",
                )
        if not self.entropy > 0:
            raise SelectionError(
                f"the threshold entropy={self.entropy} is not above 0", allowed="e.g. 0.1 (nats)"
            )
        if not 0 <= self.floor < 1:
            raise SelectionError(
                f"the threshold floor={self.floor} is no share of attention",
                allowed="from 0 (no head rests) to below 1, e.g. 0.02",
            )

    def metadata(self) -> dict[str, str]:
        """Goes into the table that was labelled this way."""
        return {_THRESHOLDS: json.dumps(asdict(self))}


def thresholds_of(source: pa.Table | Mapping[str, str]) -> Thresholds:
    """The thresholds by which a table, or one with this metadata, was labelled.

    The usual ones if it does not say; a table made before there was a floor has none.
    """
    about = common_metadata([source]) if isinstance(source, pa.Table) else source
    written = about.get(_THRESHOLDS)
    return Thresholds() if written is None else Thresholds(**{"floor": 0.0} | json.loads(written))


def meanings(thresholds: Thresholds) -> dict[str, str]:
    """Label → what it says of a head, in the order in which the rules are asked."""
    up, peak = f"{thresholds.amplitude:g}", f"{thresholds.peak:g}"
    kept = f"the shape is kept (correlation {thresholds.shape:g} or more)"
    down = f"the highest peak falls to 1 / {peak} or less, against the sum too, and attention is"
    higher = f"the highest peak rises to {peak} or more, against the sum too, and attention is"
    nats = f"{thresholds.entropy:g} nats"
    resting = f"it gives the compared tokens less than {thresholds.floor:g} of its attention, "
    return ({RESTING: f"{resting}too little to be compared"} if thresholds.floor else {}) | {
        "reconfigured": f"little of the old shape is left (correlation below {thresholds.lost:g}; "
        f"or below {thresholds.shape:g}, and neither smoothed nor sharpened)",
        "smoothed": f"{down} spread over more tokens (by {nats} or more)",
        "sharpened": f"{higher} gathered on fewer tokens (by {nats} or more)",
        "amplified": f"{kept}, and the tokens receive at least {up} times as much",
        "damped": f"{kept}, and the tokens receive at most 1 / {up} of what they did",
        "unchanged": "none of these",
    }


def label(numbers: Mapping[str, np.ndarray], thresholds: Thresholds) -> np.ndarray:
    """Numbers of LABELLED_BY, one entry per head → their labels; None where a number is missing.

    A head rests if LEFT is given and below the floor.
    """
    shape, entropy, peak, amplitude = (np.asarray(numbers[n], np.float64) for n in LABELLED_BY)
    left = np.asarray(numbers.get(LEFT, np.inf), np.float64)
    missing = np.isnan(shape + entropy + peak + amplitude)
    against_sum = peak / np.where(amplitude > 0, amplitude, np.nan)
    peaks_down = np.maximum(peak, against_sum) <= 1 / thresholds.peak
    peaks_up = np.minimum(peak, against_sum) >= thresholds.peak
    rules: list[tuple[np.ndarray, str | None]] = [
        (np.broadcast_to(left < thresholds.floor, shape.shape), RESTING),
        (missing, None),
        (shape < thresholds.lost, "reconfigured"),
        (peaks_down & (entropy >= thresholds.entropy), "smoothed"),
        (peaks_up & (entropy <= -thresholds.entropy), "sharpened"),
        (shape < thresholds.shape, "reconfigured"),
        (amplitude >= thresholds.amplitude, "amplified"),
        (amplitude <= 1 / thresholds.amplitude, "damped"),
    ]
    labels = np.full(shape.shape, "unchanged", dtype=object)
    for applies, word in reversed(rules):  # the first rule that applies has the last word
        labels[applies] = word
    return labels


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
    columns = pair_columns(
        pairs(sequence, places),
        lambda pair: _pair_numbers(pair, drop_first=drop_first, floor=thresholds.floor),
    )
    columns |= _rescaling_numbers(rescaling, columns)
    # As the table holds them, so that nobody can come to another label.
    columns["label"] = label({name: columns[name] for name in (*LABELLED_BY, LEFT)}, thresholds)
    about = {**thresholds.metadata(), DROP_FIRST: str(drop_first).lower()}
    return table("response", columns, common_metadata([sequence]) | about)


def _pair_numbers(pair: VersionPair, *, drop_first: bool, floor: float) -> dict[str, np.ndarray]:
    """[head] each: the numbers of one prompt and condition, as float32."""
    a, b = pair.received()
    tokens = ~(np.isnan(a) | np.isnan(b)).any(0)  # a key without queries has none in any head
    if drop_first:
        tokens &= pair.places[:, 0] != 0
    # Inserted tokens stand in one version only, so all that read them count: one another, too.
    inserted = pair.with_.received_from_all[:, pair.with_.inserted]
    numbers = compare(a[:, tokens], b[:, tokens]) | {"weight_evenness": evenness(inserted)}
    without, with_ = pair.places[tokens].T
    if tokens.sum() < FEWEST_TOKENS:  # so there is no label either
        numbers["shape"] = np.full(len(a), np.nan)
    numbers[LEFT] = np.maximum(_share_on(pair.without, without), _share_on(pair.with_, with_))
    rounded = {name: values.astype(np.float32) for name, values in numbers.items()}
    resting = rounded[LEFT].astype(np.float64) < floor
    rounded |= {name: np.where(resting, np.float32(np.nan), rounded[name]) for name in PROFILE}
    return {"layer": pair.with_.layers, "head": pair.with_.heads, **rounded}


def _share_on(version: VersionProfile, tokens: np.ndarray) -> np.ndarray:
    """[head]: the share of the queries' attention that goes to these tokens, NaN without any."""
    n = version.n_queries
    if not len(tokens):
        return np.full(len(n), np.nan)
    mass = (version.received[:, tokens] * n[:, tokens]).sum(1)
    return _ratio(mass, n.max(1))  # n.max: all the queries there are


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


def _rescaling_numbers(
    rescaling: pa.Table, columns: Mapping[str, pa.Array]
) -> dict[str, np.ndarray]:
    """The numbers of `rescaling` in the order of the response; NaN where it has no such row."""

    def keys(rows: pa.Table | Mapping[str, pa.Array]) -> Iterator[tuple[object, ...]]:
        return zip(*(rows[name].to_pylist() for name in _KEY), strict=True)

    place = {key: i for i, key in enumerate(keys(rescaling))}
    rows = [place.get(key, len(place)) for key in keys(columns)]
    values = {name: rescaling[name].to_numpy(zero_copy_only=False) for name in RESCALING}
    return {name: np.append(column, np.nan)[rows] for name, column in values.items()}


def label_counts(summary: pa.Table) -> dict[str, dict[str, int]]:
    """Condition → label → number of heads that have it, of all models in the table."""
    rows = summary.select(["model", "condition", "layer", "head", "label"]).to_pylist()
    heads = dict.fromkeys(tuple(row.values()) for row in rows)  # a head has a row per measure
    counts = {c: dict.fromkeys(LABELS, 0) for c in codes(summary["condition"])[0]}
    for _, condition, _, _, word in heads:
        if word is not None:
            counts[condition][word] += 1
    return counts
