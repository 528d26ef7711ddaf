"""Tables of class charts → their description.

The way from numbers to words: view (what is shown), findings (what it supports), sentences. Charts
of several sets of classes are described one after the other; nothing is added up over them.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindshare.report.describing import class_meaning, class_words, phrases
from mindshare.report.describing.class_findings import find
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.description import Description, described, joined
from mindshare.report.describing.numbers import Numbers


def describe_classes(numbers: Numbers, *, aside: bool = False) -> Description:
    """One chart; `aside`: beside another of another measure."""
    view = ClassView(numbers, aside=aside)
    found = find(view)
    overview = class_words.overview(view)
    return described(
        overview,
        class_words.components(view),
        class_words.details(view),
        class_words.aside(view, class_meaning.observations(view, found)),
        class_meaning.interpretation(view, found),
        summary=[overview[0], *class_meaning.headlines(view, found)],
    )


def describe_charts(charts: Sequence[Numbers]) -> Description:
    """All charts of a folder, the main one first; each sentence that they share is said once."""
    first, *others = charts
    if not others:
        return describe_classes(first)
    sets = dict.fromkeys(tuple(one.named) for one in charts)
    words = phrases.listed([f"({phrases.names(names)})" for names in sets])
    lead = (
        f"The tables hold more than one chart, described one after the other; their token classes "
        f"can overlap: {words}."
        if len(sets) > 1
        else "The tables hold more than one chart, described one after the other."
    )
    each = [describe_classes(one, aside=one.measure != first.measure) for one in charts]
    return joined(each, lead)
