"""`0,5-9`, `mean`, `all`. What can't be read is in test_bad_input."""

from __future__ import annotations

import pytest

from mindshare.cli.selection import parse_selection


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, None),
        ("all", "all"),
        (" mean ", "mean"),
        ("3", [3]),
        ("0,5-9", [0, 5, 6, 7, 8, 9]),
        ("7-7, 2 - 3 ,0", [7, 2, 3, 0]),
    ],
)
def test_what_people_write(text: str | None, found: object) -> None:
    assert parse_selection(text, "--layers") == found
