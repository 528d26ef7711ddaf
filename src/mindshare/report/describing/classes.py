"""Tables of a class chart → its description.

The way from numbers to words: view (what is shown), findings (what it supports), sentences.
"""

from __future__ import annotations

from mindshare.report.describing import class_meaning, class_words
from mindshare.report.describing.class_findings import find
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.description import Description, described
from mindshare.report.describing.numbers import Numbers


def describe_classes(numbers: Numbers) -> Description:
    view = ClassView(numbers)
    found = find(view)
    overview = class_words.overview(view)
    return described(
        overview,
        class_words.components(view),
        class_words.details(view),
        class_meaning.observations(view, found),
        class_meaning.interpretation(view, found),
        summary=[overview[0], *class_meaning.headlines(view, found)],
    )
