"""Tables of an insertion → its description."""

from __future__ import annotations

from mindshare.errors import SelectionError
from mindshare.report.describing import insertion_meaning, insertion_words
from mindshare.report.describing.description import Description, described
from mindshare.report.describing.insertion_view import InsertionView
from mindshare.report.describing.numbers import Numbers


def describe_insertion(numbers: Numbers) -> Description:
    if not numbers.conditions:
        raise SelectionError(
            "these tables are not those of an insertion: they have no conditions",
            next_step="describe them with kind='classes'",
        )
    view = InsertionView(numbers)
    overview = insertion_words.overview(view)
    observed = insertion_meaning.observations(view)
    return described(
        overview,
        insertion_words.components(view),
        insertion_words.details(view),
        observed,
        insertion_meaning.interpretation(view),
        summary=[overview[0], *observed],
    )
