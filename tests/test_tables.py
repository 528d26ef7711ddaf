"""Schemas whose columns are all defined; missing numbers; what a table says of its first token."""

from __future__ import annotations

import pytest

from mindshare.tables import DEFINITIONS, DROP_FIRST, SCHEMAS, compared, defined, table


def test_every_column_is_defined() -> None:
    for name, schema in SCHEMAS.items():
        for field in schema:
            assert field.metadata[b"definition"].decode() == DEFINITIONS[field.name], name


def test_nan_becomes_null() -> None:
    columns = {name: [None] for name in SCHEMAS["heads"].names} | {"entropy": [float("nan")]}
    assert table("heads", columns, {})["entropy"].null_count == 1


@pytest.mark.parametrize("dropped", ["true", "false"])
def test_a_table_says_whether_its_first_token_counts(dropped: str) -> None:
    about = {DROP_FIRST: dropped}
    words = "without the prompt's first token" if dropped == "true" else "first token counted"
    assert words in compared(about)
    columns: dict[str, list[object]] = {name: [] for name in SCHEMAS["response_summary"].names}
    field = table("response_summary", columns, about).schema.field("measure")
    assert field.metadata[b"definition"].decode().endswith(compared(about))
    assert compared(about) in defined("amplitude", about)
    assert defined("amplitude", {}) == DEFINITIONS["amplitude"]
