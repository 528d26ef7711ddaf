from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.bar_layout import Layout, layout, quoted
from mindshare.figures.selection import shown
from mindshare.figures.theme import Style

from .samples import made_up


def plan(models: list[str], layers: int, *, width: str = "column", **more: object) -> Layout:
    content = made_up(models, layers, **more)  # type: ignore[arg-type]
    found = shown(content, queries=None, needs=())
    return layout(found, Style(width=width), stacked=True, label=str)


def test_few_bars_stand_in_groups_and_many_in_rows() -> None:
    assert plan(["a", "b"], 4).along == "model"
    assert plan(["a", "b"], 30).along == "layer"
    assert plan(["a", "b"], 30, width="page").along == "layer"
    assert plan(["a"], 4).along == "layer"  # one model needs no name under its bars


@pytest.mark.parametrize(
    ("names", "layers", "angle"),
    [
        (["a", "b"], 4, 0),
        (["Qwen-Phys", "Qwen-Instruct"], 4, -45),
        ([f"model-{x}" for x in "abcdef"], 3, -90),
    ],
)
def test_names_are_level_slanted_or_upright_as_they_fit(
    names: list[str], layers: int, angle: int
) -> None:
    assert plan(names, layers).axis["labelAngle"] == angle


def test_long_names_lose_their_middle_but_stay_different() -> None:
    long = [f"organisation/a-very-long-model-name-v{i}" for i in (1, 2)]
    assert "organisati…ng-model-n" not in plan(long, 2).axis["labelExpr"]
    assert "…" in plan(long, 2).axis["labelExpr"]
    alike = ["x" * 20 + "1" + "y" * 20, "x" * 20 + "2" + "y" * 20]
    assert "labelExpr" not in plan(alike, 2).axis


def test_layer_numbers_are_thinned_to_what_fits() -> None:
    assert plan(["a"], 4).axis["values"] == [0, 1, 2, 3]
    assert plan(["a"], 30).axis["values"] == list(range(0, 30, 2))
    assert plan(["a"], 80).axis["values"] == list(range(0, 80, 5))


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(SelectionError, match="60 rows") as caught:
        plan(["a", "b"], 30, heads=list(range(30)))
    assert "head map" in str(caught.value.next_step)


def test_text_is_safe_inside_an_expression() -> None:
    assert quoted("it's \\ here") == "'it\\'s \\\\ here'"
