from __future__ import annotations

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.figures.selection import shown

from .samples import ABOUT, made_up, reading, summary


def test_lists_are_in_the_order_of_drawing() -> None:
    rows = [("m", "all", layer, head, "a", 0.1) for layer in (7, 2) for head in (None, 3)]
    found = shown(summary(rows), queries=None, needs=())
    assert found.layers == [2, 7]
    assert found.heads == [3, None]
    assert found.measure == "mass"


def test_several_query_sets_need_a_choice() -> None:
    rows = [("m", queries, 0, None, "a", 0.1) for queries in ("all", "last")]
    with pytest.raises(SelectionError, match="several query sets") as caught:
        shown(summary(rows), queries=None, needs=())
    assert caught.value.allowed == "all, last"
    assert shown(summary(rows), queries="last", needs=()).table.num_rows == 1


@pytest.mark.parametrize(
    ("column", "value", "hint"),
    [
        ("class", "hsah", "did you mean 'hash'"),
        ("layer", 99, "there is no layer 99"),
        ("model", "Qwen-Fys", "did you mean 'Qwen-Phys'"),
    ],
)
def test_what_is_not_there_is_named(column: str, value: object, hint: str) -> None:
    found = shown(reading(), queries=None, needs=())
    with pytest.raises(SelectionError, match=hint):
        found.only(column, [value])


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(SelectionError, match="no column 'mean'"):
        shown(reading().drop_columns(["mean"]), queries=None, needs=("mean",))
    with pytest.raises(SelectionError, match="no word about its measure"):
        shown(reading().replace_schema_metadata({}), queries=None, needs=())
    empty = made_up(["m"], 1).slice(0, 0)
    assert isinstance(empty, pa.Table)
    with pytest.raises(SelectionError, match="no rows"):
        shown(empty.replace_schema_metadata(ABOUT), queries=None, needs=())
