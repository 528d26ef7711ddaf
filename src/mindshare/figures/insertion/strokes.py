"""Numbers by position → the strokes of a line: gaps, faded stretches, thinned where too many.

A stroke is drawn in one go and in one way. Where a number is missing or positions are left out, the
line breaks. Knows numbers, nothing about tables or marks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from mindshare.figures.insertion.versions import Floats, Integers, Profile
from mindshare.figures.theme import Palette

MOST = 5_000  # points of a line; above, each stretch gives its lowest and its highest
_KEPT = 1_000  # stretches of a line that is thinned
_SERIES = (1, 4, 3, 5, 0, 6, 2, 7)  # places in the palette: blue, orange, green, purple, red, …


@dataclass(frozen=True)
class Stroke:
    """Points of a line that are joined; `faded` says how."""

    points: Integers  # which of the profile's points
    faded: bool


def strokes(profile: Profile, *, few: int) -> list[Stroke]:
    """From few queries on the line is faded: the step to or from such a point too."""
    found = [
        Stroke(_thinned(stroke.points, profile.received, len(profile.position)), stroke.faded)
        for piece in _pieces(profile)
        for stroke in _by_fading(piece, profile.n_queries < few)
    ]
    return [stroke for stroke in found if len(stroke.points)]


def is_thinned(profile: Profile) -> bool:
    return len(profile.position) > MOST


def series_colours(palette: Palette) -> tuple[str, ...]:
    """For lines that stand beside one another, the first one blue."""
    return tuple(palette.classes[i] for i in _SERIES)


def without_and_with(palette: Palette) -> tuple[str, str]:
    """Blue and red."""
    return palette.classes[1], palette.classes[0]


def _pieces(profile: Profile) -> list[Integers]:
    """Between the gaps."""
    there = np.flatnonzero(~np.isnan(profile.received))
    broken = np.flatnonzero((np.diff(there) != 1) | (np.diff(profile.position[there]) != 1))
    return [piece for piece in np.split(there, broken + 1) if len(piece)]


def _by_fading(piece: Integers, few: np.ndarray) -> list[Stroke]:
    """Strokes that meet share a point, so that the line does not break."""
    if len(piece) == 1:
        return [Stroke(piece, bool(few[piece[0]]))]
    faded = few[piece[:-1]] | few[piece[1:]]  # of each step
    turns = np.flatnonzero(faded[1:] != faded[:-1]) + 1
    bounds = [0, *turns.tolist(), len(faded)]
    return [Stroke(piece[a : b + 1], bool(faded[a])) for a, b in itertools.pairwise(bounds)]


def _thinned(points: Integers, values: Floats, total: int) -> Integers:
    """The ends, and of each stretch the lowest and the highest."""
    if total <= MOST or len(points) <= 2 * _KEPT:
        return points
    stretches = np.array_split(points, _KEPT)
    lowest = [s[np.argmin(values[s])] for s in stretches]
    highest = [s[np.argmax(values[s])] for s in stretches]
    return np.unique([points[0], *lowest, *highest, points[-1]])
