"""The response numbers of heads → one word each, by thresholds that travel with the table.

    reconfigured   little of the old shape is left
    smoothed       peaks lower and attention spread over more tokens
    sharpened      peaks higher and attention gathered on fewer tokens
    amplified      the old shape, higher
    damped         the old shape, lower
    unchanged      none of these
    resting        what it gives the compared tokens is too little to say any of these

The order matters. Smoothing and sharpening come before the question whether the shape is kept,
because both lower the correlation by themselves: a peak of one token that becomes a hump over w
tokens correlates 1/√w with itself. So they are asked for less of the old shape (`lost`) than
amplified, damped and unchanged heads are (`shape`). What has less than `lost` in common with the
old profile is neither: its humps stand where no peaks were. The rules are the same both ways: with
the two profiles exchanged, smoothed becomes sharpened, amplified becomes damped, the rest stays.

Knows numbers, not where they come from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from mindshare.errors import SelectionError

RESTING = "resting"
LABELS = ("smoothed", "sharpened", "amplified", "damped", "reconfigured", "unchanged", RESTING)
LABELLED_BY = ("shape", "entropy_change", "peak_ratio", "amplitude")
LEFT = "attention_left"
_KEY = "mindshare.thresholds"


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
        return {_KEY: json.dumps(asdict(self))}


def thresholds_of(response: pa.Table) -> Thresholds:
    """The thresholds a table was labelled by; the usual ones if it does not say."""
    about = {k.decode(): v.decode() for k, v in (response.schema.metadata or {}).items()}
    return thresholds_of_metadata(about)


def thresholds_of_metadata(about: Mapping[str, str]) -> Thresholds:
    """The same from what a table says about itself; one made before there was a floor has none."""
    written = about.get(_KEY)
    return Thresholds() if written is None else Thresholds(**{"floor": 0.0} | json.loads(written))


def meanings(thresholds: Thresholds) -> dict[str, str]:
    """Label → what it says of a head, in the order in which the rules are asked."""
    up, peak = f"{thresholds.amplitude:g}", f"{thresholds.peak:g}"
    kept = f"the shape is kept (correlation {thresholds.shape:g} or more)"
    down = f"the highest peak falls to 1 / {peak} or less, against the sum too, and attention is"
    higher = f"the highest peak rises to {peak} or more, against the sum too, and attention is"
    nats = f"{thresholds.entropy:g} nats"
    rests = f"it gives the compared tokens less than {thresholds.floor:g} of its attention, "
    return ({RESTING: f"{rests}too little to be compared"} if thresholds.floor else {}) | {
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
    found = (np.asarray(numbers[name], np.float64) for name in LABELLED_BY)
    shape, entropy, peak, amplitude = found
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
    words = np.full(shape.shape, "unchanged", dtype=object)
    for applies, word in reversed(rules):  # the first rule that applies has the last word
        words[applies] = word
    return words
