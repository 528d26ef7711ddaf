"""What a strip of text draws → its title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks or colours beyond their
names.
"""

from __future__ import annotations

import math

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.profile_words import pale
from mindshare.figures.insertion.strip import Strip, StripToken
from mindshare.figures.insertion.version_words import sentences, where
from mindshare.figures.insertion.versions import visible
from mindshare.figures.wording import count, number

_TOLD = 5  # tokens named at each end


def name(strip: Strip) -> str:
    return version_words.file_name("text", strip.condition)


def title(strip: Strip) -> str:
    return f"What the tokens of the prompt gain and lose with {strip.words}: {strip.model}"


def legend(strip: Strip) -> str:
    ratio = strip.options.change == "ratio"
    return "Received with / without" if ratio else "Received with minus without"


def caption(strip: Strip) -> str:
    asked = version_words.queries(strip.about, strip.metadata)
    facts = [
        *([f"queries: {asked}"] if asked else []),
        _cell(strip),
        f"prompt: {strip.prompt}",
    ]
    any_pale = any(strip.is_pale(token) for token in strip.tokens)
    lines = any("\n" in token.text for token in strip.tokens)
    return sentences(
        [
            f"Received: what a token gets from the queries after it, on average "
            f"({'; '.join(facts)}).",
            pale(strip.options.few) if any_pale else None,
            _outside(strip),
            "¶ is a line end." if lines else None,
        ]
    )


def _cell(strip: Strip) -> str:
    return where(strip.head, strip.options).lower()


def _outside(strip: Strip) -> str | None:
    n = strip.shade.outside(strip.changes)
    return f"{count(n, 'token')} beyond the ends of the colours." if n else None


def definition(strip: Strip) -> str:
    change = "received with the insertion / received without"
    if strip.options.change == "difference":
        change = "received with the insertion minus received without"
    marks = [
        f"Colour: {change}, for each original token",
        f"Shown: {_cell(strip)}",
        "Tokens that the insertion cut differently have no partner and are outlined",
    ]
    if strip.options.few > 0:
        marks.append(
            f"Late tokens average few queries; where fewer than {strip.options.few} in either "
            "version, they are pale"
        )
    if strip.options.drop_first:
        marks.append("The first token is not coloured")
    return version_words.definition(
        ["received"],
        about=strip.about,
        metadata=strip.metadata,
        style=strip.options,
        marks=marks,
    )


def description(strip: Strip) -> str:
    low, high = number(strip.shade.low), number(strip.shade.high)
    last = "red" if strip.options.palette == "seed" else "orange"
    unmatched = sum(not token.matched for token in strip.tokens)
    missing = len(strip.tokens) - unmatched - len(strip.changes)
    return sentences(
        [
            f"The text of prompt {strip.prompt}, {count(len(strip.tokens), 'token')} one after the "
            f"other, each on a colour: {legend(strip).lower()} {strip.words} in {strip.model}, "
            f"{_cell(strip)}, from {low} (blue) over {strip.shade.middle:g} (white) to {high} "
            f"({last}).",
            *_extremes(strip),
            _outside(strip),
            f"{count(unmatched, 'token')} cut differently by the insertion: outlined."
            if unmatched
            else None,
            f"{count(missing, 'token')} without a number: grey." if missing else None,
        ]
    )


def _extremes(strip: Strip) -> list[str]:
    """Who gains, who loses, and the tokens that do so most."""
    middle = strip.shade.middle or 0.0
    changes = [(token, strip.change(token)) for token in strip.tokens]
    found = [(token, x) for token, x in changes if x is not None]
    if not found:
        return []
    gain = sorted((p for p in found if p[1] > middle), key=lambda p: -p[1])
    lose = sorted((p for p in found if p[1] < middle), key=lambda p: p[1])
    parts = [f"Tokens that gain: {len(gain):,}, that lose: {len(lose):,}."]
    for word, pairs in (("Most gained", gain), ("Most lost", lose)):
        if pairs:
            parts.append(f"{word}: {', '.join(_token(*pair) for pair in pairs[:_TOLD])}.")
    return parts


def _token(token: StripToken, change: float) -> str:
    value = number(change) if math.isfinite(change) else "from 0"
    return f"{visible(token.text)} at position {token.position:,} ({value})"
