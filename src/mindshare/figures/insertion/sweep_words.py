"""What a sweep draws → its title, caption, definition and description.

Every sentence is made from the drawn numbers. Knows nothing about marks.
"""

from __future__ import annotations

from mindshare.figures.insertion import version_words
from mindshare.figures.insertion.response_measures import MIDDLE, first_word, needed, short
from mindshare.figures.insertion.sweep_points import Sweep
from mindshare.figures.insertion.version_words import named, sentences
from mindshare.figures.selection import Row
from mindshare.figures.wording import count, interval_word, level, listed, number, prompts_word

_ALONG = {
    "tokens": "the number of inserted tokens",
    "unit": "what is inserted",
    "place": "the place of the insertion",
}


def title(sweep: Sweep) -> str:
    models = sweep.shown.models
    return f"Response by {_ALONG[sweep.along]}" + (f": {models[0]}" if len(models) == 1 else "")


def caption(sweep: Sweep) -> str:
    facts = ["mean over the heads and layers", prompts_word(sweep.shown)]
    if sweep.along != "tokens":
        facts.append(_lengths(sweep))
    middles = [m for m in sweep.measures if m in MIDDLE]
    what = "Bands" if sweep.along == "tokens" else "Whiskers"
    return sentences(
        [
            f"{'; '.join(facts)}.".capitalize(),
            " ".join(f"{short(measure)}." for measure in sweep.measures),
            f"{what}: {level(sweep.shown)} bootstrap interval." if sweep.has_intervals else None,
            "Dashed: no change." if middles else None,
            *(f"{words.capitalize()}." for words in first_word(sweep.measures, sweep.shown.about)),
        ]
    )


def _lengths(sweep: Sweep) -> str:
    lengths = sorted({one.tokens for one in sweep.inserted.values()})
    ends = " to ".join(f"{n:,.4g}" for n in dict.fromkeys((lengths[0], lengths[-1])))
    return f"{ends} inserted tokens"


def definition(sweep: Sweep) -> str:
    what = "Bands" if sweep.along == "tokens" else "Whiskers"
    marks = [
        "Each number is the mean over the heads and layers of a prompt, then over prompts",
        f"Mean over {prompts_word(sweep.shown)}",
        "Inserted tokens are those that hold an inserted character, mean over the prompts",
        f"{what}: {interval_word(sweep.shown)}"
        if sweep.has_intervals
        else "No intervals are drawn",
    ]
    return version_words.definition(
        needed(sweep.measures),
        about=sweep.about,
        metadata=sweep.shown.about,
        style=sweep.options,
        marks=marks,
    )


def description(sweep: Sweep) -> str:
    n = len(sweep.measures)
    names = list(sweep.lines(sweep.measures[0]))
    kind = "Lines" if sweep.along == "tokens" else "Points"
    lines = f" {count(len(names), 'line')}: {listed(names)}." if len(names) > 1 else ""
    return sentences(
        [
            f"{kind} over {_ALONG[sweep.along]} in {count(n, 'panel')}, one a response number: "
            f"{listed([named(m).lower() for m in sweep.measures])}.{lines}",
            *(_measure(sweep, measure) for measure in sweep.measures),
        ]
    )


def _measure(sweep: Sweep, measure: str) -> str:
    lines = sweep.lines(measure)
    parts = []
    for words, rows in lines.items():
        told = ", ".join(_point(sweep, row) for row in rows)
        parts.append(f"{words}: {told}" if len(lines) > 1 else told)
    return f"{named(measure)}: {'; '.join(parts)}."


def _point(sweep: Sweep, row: Row) -> str:
    value = "no number" if row["mean"] is None else number(row["mean"])
    at = f"{row['x']:,.4g} tokens" if sweep.along == "tokens" else row["x"]
    return f"{value} at {at}" if sweep.along == "tokens" else f"{at} {value}"
