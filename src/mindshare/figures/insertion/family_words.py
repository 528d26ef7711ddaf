"""What the panels of several models draw → their title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.profile_words import RECEIVED, pale, peak, thinned
from mindshare.figures.insertion.version_words import sentences, where
from mindshare.figures.wording import count, listed, number

if TYPE_CHECKING:
    from mindshare.figures.insertion.family_panel import Family, Member


def name(family: Family) -> str:
    return version_words.file_name("panel", *family.conditions)


def title(family: Family) -> str:
    a, b = (family.words(one) for one in family.conditions)
    models = [one.model for one in family.members]
    return f"Attention that tokens receive, with {a} and with {b}" + (
        f": {models[0]}" if len(models) == 1 else ""
    )


def caption(family: Family) -> str:
    asked = version_words.queries(family.about, family.metadata)
    facts = "; ".join([*([f"queries: {asked}"] if asked else []), f"prompt: {family.prompt}"])
    one_based = family.options.labels != "zero-based"
    own = "Each model has its own tokens, head and scale." if len(family.members) > 1 else None
    return sentences(
        [
            f"{RECEIVED} ({facts}).",
            own,
            pale(family.options.few),
            _dropped(family),
            f"Layers and heads are {family.options.labels}." if one_based else None,
        ]
    )


def _dropped(family: Family) -> str | None:
    names = [one.model for one in family.members if one.dropped]
    if not names:
        return None
    everyone = len(names) == len(family.members)
    return f"The first token {'' if everyone else f'of {listed(names)} '}is not drawn."


def definition(family: Family) -> str:
    heads = [f"{one.model} {where(one.head, family.options)}" for one in family.members]
    marks = [
        f"One head a model: {'; '.join(heads)}",
        "Every token of a version stands at its own position; models cut the text differently, so "
        "the same position is not the same text",
    ]
    if family.options.few > 0:
        marks.append(
            f"Late tokens average few queries; where fewer than {family.options.few}, lines are "
            "pale"
        )
    if _dropped(family):
        marks.append("A first token that is not drawn is left out of the picture, not of the sums")
    return version_words.definition(
        ["received"],
        about=family.about,
        metadata=family.metadata,
        style=family.options,
        marks=marks,
    )


def description(family: Family) -> str:
    a, b = (family.words(one) for one in family.conditions)
    return sentences(
        [
            f"Line charts of {count(len(family.members), 'model')}, one head each: what every "
            f"token of prompt {family.prompt} receives with {a} (blue) and with {b} (orange), by "
            "position. The inserted tokens are shaded grey between dashed lines.",
            *(_member(family, one) for one in family.members),
            _dropped(family),
            thinned([profile for one in family.members for profile in one.profiles]),
        ]
    )


def _member(family: Family, one: Member) -> str:
    parts = []
    for profile, run in zip(one.profiles, one.runs, strict=True):
        what = f"{family.words(profile.condition)} {peak(profile)}"
        if run:
            inside = (profile.position >= run[0]) & (profile.position <= run[1])
            values = profile.received[inside & ~np.isnan(profile.received)]
            if len(values):
                what += (
                    f"; inside the run ({count(run[1] - run[0] + 1, 'token')}) from "
                    f"{number(values.min())} to {number(values.max())}"
                )
        parts.append(what)
    return f"{one.model} {where(one.head, family.options)}: {'; '.join(parts)}."
