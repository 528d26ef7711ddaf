"""What a grid of profiles draws → its title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.strokes import is_thinned
from mindshare.figures.insertion.version_words import sentences, where
from mindshare.figures.insertion.versions import Profile, visible
from mindshare.figures.wording import count, number

if TYPE_CHECKING:
    from mindshare.figures.insertion.profiles import HeadProfiles, Profiles

RECEIVED = "Average attention weight: what a token gets from the queries after it, on average"


def name(profiles: Profiles) -> str:
    return version_words.file_name("profiles", profiles.condition)


def title(profiles: Profiles) -> str:
    return f"Attention that tokens receive, without and with {profiles.words}: {profiles.model}"


def caption(profiles: Profiles) -> str:
    asked = version_words.queries(profiles.about, profiles.metadata)
    facts = "; ".join([*([f"queries: {asked}"] if asked else []), f"prompt: {profiles.prompt}"])
    one_based = profiles.options.labels != "zero-based"
    return sentences(
        [
            f"{RECEIVED} ({facts}).",
            "Each panel has its own scale.",
            pale(profiles.options.few),
            _gaps(profiles),
            "The first token is not drawn." if profiles.options.drop_first else None,
            f"Layers and heads are {profiles.options.labels}." if one_based else None,
        ]
    )


def pale(few: int) -> str | None:
    return f"Pale: mean of fewer than {few} queries." if few > 0 else None


def _gaps(profiles: Profiles) -> str | None:
    if not profiles.unmatched:
        return None
    return (
        f"{count(profiles.unmatched, 'original token')} cut differently beside the run: "
        "a gap in the upper lines."
    )


def definition(profiles: Profiles) -> str:
    marks = [
        "Upper panels: the original tokens that have the same characters and the same id in both "
        "versions, at their position in the version without",
        f"Lower panels: every token of the version with {profiles.words}",
    ]
    if profiles.options.few > 0:
        marks.append(
            f"Late tokens average few queries; where fewer than {profiles.options.few}, lines "
            "are pale"
        )
    if profiles.options.drop_first:
        marks.append("The first token is left out of the picture, not of the sums")
    return version_words.definition(
        ["received"],
        about=profiles.about,
        metadata=profiles.metadata,
        style=profiles.options,
        marks=marks,
    )


def description(profiles: Profiles) -> str:
    n = len(profiles.heads)
    matched = profiles.n_tokens - profiles.unmatched
    return sentences(
        [
            f"Line charts of {count(n, 'head')} of {profiles.model}, two for each: above, what the "
            f"original tokens of prompt {profiles.prompt} receive without (blue) and with "
            f"{profiles.words} ({_red(profiles)}); below, what every token receives with it "
            "(blue).",
            f"{matched:,} of {count(profiles.n_tokens, 'original token')} stand in both versions"
            + _others(profiles),
            _run(profiles),
            *(_head(profiles, one) for one in profiles.heads),
            "The first token is left out of the picture." if profiles.options.drop_first else None,
            thinned([one.whole for one in profiles.heads]),
        ]
    )


def _others(profiles: Profiles) -> str:
    n = profiles.unmatched
    return f"; {n:,} {'does' if n == 1 else 'do'} not: a gap." if n else "."


def thinned(drawn: list[Profile]) -> str | None:
    """Said where not every point is drawn."""
    if not any(is_thinned(one) for one in drawn):
        return None
    return "Of each stretch of these long lines the lowest and the highest token are drawn."


def _red(profiles: Profiles) -> str:
    return "red" if profiles.options.palette == "seed" else "orange-red"


def _run(profiles: Profiles) -> str:
    if profiles.run is None:
        return "Nothing is inserted in this condition."
    first, last = profiles.run
    n = last - first + 1
    return (
        f"The inserted run ({count(n, 'token')}, positions {first:,} to {last:,}) is shaded grey "
        "between dashed lines."
    )


def _head(profiles: Profiles, one: HeadProfiles) -> str:
    parts = [
        f"original tokens without: {peak(one.without)}",
        f"with: {peak(one.with_)}",
        *_phases(profiles, one.whole),
    ]
    return f"{where(one.head, profiles.options)}: {'; '.join(parts)}."


def peak(profile: Profile) -> str:
    """`highest 0.175 at position 15 (·cat), sum 0.91`"""
    if not len(profile.received) or bool(np.isnan(profile.received).all()):
        return "no number"
    i = int(np.nanargmax(profile.received))
    return (
        f"highest {number(profile.received[i])} at position {profile.position[i]:,} "
        f"({visible(profile.tokens[i])}), sum {number(float(np.nansum(profile.received)))}"
    )


def _phases(profiles: Profiles, profile: Profile) -> list[str]:
    """Means before, inside and after the run."""
    if profiles.run is None:
        return []
    first, last = profiles.run
    at = profile.position
    spans = {"before": at < first, "inside": (at >= first) & (at <= last), "after": at > last}
    means = [
        f"{number(float(np.nanmean(profile.received[mask])))} {word}"
        for word, mask in spans.items()
        if (mask & ~np.isnan(profile.received)).any()
    ]
    return [f"mean over the tokens {', '.join(means)} the run"] if means else []
