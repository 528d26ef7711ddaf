from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.report.describing import check_description, describe
from mindshare.report.describing.insertion import describe_insertion
from mindshare.report.describing.numbers import numbers_of

from .made import Made, class_tables, insertion_tables


def test_an_insertion_in_five_sections_that_hold() -> None:
    tables = insertion_tables(Made(models=("m",), heads=(0, 1)), ["/ ×55", "random sentence"])
    description = describe(tables, kind="insertion")
    assert all(part.sentences for part in description)
    assert description.short.startswith("What 2 insertions (“/ ×55” and “random sentence”) did to")
    checked = check_description(description.text, tables)
    assert len(checked) > 100
    assert all(one.holds for one in checked)


def test_a_class_chart_is_no_insertion() -> None:
    with pytest.raises(SelectionError, match="kind='classes'"):
        describe_insertion(numbers_of(class_tables(Made())))
