from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.grid import Grid
from mindshare.figures.theme import WIDTHS, Style


@pytest.mark.parametrize(
    ("panels", "page", "column"), [(1, 1, 1), (2, 2, 2), (3, 3, 2), (4, 4, 2), (5, 3, 2), (8, 4, 2)]
)
def test_how_many_stand_in_a_row(panels: int, page: int, column: int) -> None:
    assert Grid.of(panels, Style(width="page")).columns == page
    assert Grid.of(panels, Style(width="column")).columns == column


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("panels", range(1, 13))
def test_rows_hold_every_panel_and_fit(panels: int, width: str) -> None:
    grid = Grid.of(panels, Style(width=width))
    rows = grid.rows(list(range(panels)))
    assert [n for row in rows for n in row] == list(range(panels))
    assert grid.inner < WIDTHS[width]
    assert grid.panel_width > 80


def test_no_panel_in_a_row_is_refused() -> None:
    with pytest.raises(SelectionError, match="0 panels in a row"):
        Grid.of(3, Style(), most=0)
