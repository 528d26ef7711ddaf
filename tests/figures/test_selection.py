from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.selection import pick, select
from mindshare.figures.theme import Style
from mindshare.measures import MEASURES

from .insertions import summarised
from .samples import ABOUT, contrasted, made_up, reading, summary

GRID = [(i, j) for i in range(4) for j in range(3)]


def test_lists_are_in_the_order_of_drawing() -> None:
    rows = [("m", "all", layer, head, "a", 0.1) for layer in (7, 2) for head in (None, 3)]
    found = select(summary(rows), Style())
    assert found.layers == [2, 7]
    assert found.heads == [3, None]
    assert found.measure == MEASURES["mass"]
    assert select(contrasted(2, 2), Style()).models == ["Qwen-Phys", "Qwen-Instruct"]


def test_several_query_sets_are_refused() -> None:
    rows = [("m", queries, 0, None, "a", 0.1) for queries in ("all", "last")]
    with pytest.raises(SelectionError, match="several query sets: all, last"):
        select(summary(rows), Style())
    assert select(summary(rows[1:]), Style()).queries == "last"


@pytest.mark.parametrize(
    ("column", "value", "hint"),
    [
        ("class", "hsah", "did you mean 'hash'"),
        ("layer", 99, "there is no layer 99"),
        ("layer", None, "there is no layer mean"),
        ("model", "Qwen-Fys", "did you mean 'Qwen-Phys'"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(column: str, value: object, hint: str) -> None:
    with pytest.raises(SelectionError, match=hint) as caught:
        select(reading(), Style()).only(column, [value])
    assert caught.value.allowed


def test_one_of_several_must_be_chosen() -> None:
    with pytest.raises(SelectionError, match="a map shows one model") as caught:
        select(reading(), Style()).single("model", None, "a map")
    assert caught.value.allowed == "Qwen-Phys, Qwen-Instruct"
    assert "model='Qwen-Phys'" in str(caught.value.next_step)


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(SelectionError, match="no column 'low'"):
        select(reading().drop_columns(["low"]), Style())
    with pytest.raises(SelectionError, match="no word about its measure"):
        select(reading().replace_schema_metadata({}), Style())
    with pytest.raises(SelectionError, match="no rows"):
        select(made_up(["m"], 1).slice(0, 0).replace_schema_metadata(ABOUT), Style())
    with pytest.raises(SelectionError, match="no column 'prompt'"):
        pick(reading(), "sequence")
    with pytest.raises(SelectionError, match="did you mean 'shape'"):
        select(summarised(GRID), Style(), measure="shpe")
