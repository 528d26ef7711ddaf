"""Looked at, carried, used: what is drawn is what the tables hold."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.figures import DotOptions, layer_lines, use_dots, use_lines
from mindshare.figures.theme import TEXT, text_width
from mindshare.stats import estimate, uses
from mindshare.stats.uses import LOOKS
from tests.stats.test_uses import effects

from .drawing import caption, drawn, places

MASS, EFFECT = [0.1, 0.2, 0.9, 0.3], [-0.4, -1.0, 0.0, -2.0]
NAMES = ("mass", "contribution", "delta_logprob")


def test_a_dot_for_every_head_and_a_name_for_those_that_stand_out() -> None:
    mass, _, effect = three = [estimate({"m": effects(MASS, EFFECT)}, name) for name in NAMES]
    found = use_dots(uses(effect, mass, three[1]), "star", DotOptions())
    dots = found.spec["data"]["values"]
    assert [dot["mass"] for dot in dots] == pytest.approx(MASS)
    assert [dot["kind"] for dot in dots] == ["", "", LOOKS, ""]
    named = next(one for one in found.spec["layer"] if one["mark"]["type"] == "text")
    assert [one["place"] for one in named["data"]["values"]] == ["0.2", "0.3", "0.1"]
    assert "Looks without using: 0.2." in found.description
    assert "Largest effect: 0.3 and 0.1." in found.description


def test_names_of_heads_that_lie_close_cover_neither_dots_nor_one_another() -> None:
    mass = [0.9 + i / 1000 for i in range(4)] + [0.1] * 36
    tables = [estimate({"m": effects(mass, [-0.001] * 4 + [-1.0] * 36)}, n) for n in NAMES]
    found = use_dots(uses(tables[2], *tables[:2]), "star")
    names = [(x, y) for text, x, y in places(drawn(found)) if text in {"0.0", "0.1", "0.2", "0.3"}]
    names = [(x, y) for x, y in names if x > 200]  # not the ticks
    assert len(names) == 4
    for (x, y), (x2, y2) in itertools.combinations(names, 2):
        assert abs(x - x2) >= text_width("0.0") or abs(y - y2) >= TEXT


def test_three_columns_by_layer() -> None:
    tables = {"m": effects(MASS, EFFECT)}
    found = use_lines(*(estimate(tables, name, over=["heads"]) for name in NAMES))
    (row,) = found.spec["vconcat"]
    means = [panel["data"]["values"][0]["mean"] for panel in row["hconcat"]]
    assert means == pytest.approx([0.375, 0.375, -0.85], abs=1e-3)


def test_all_that_is_drawn_is_beside_the_picture() -> None:
    three = [estimate({"m": effects(MASS, EFFECT)}, name, over=["heads"]) for name in NAMES]
    found = use_lines(*three)
    told = {(row["measure"], row["class"], row["layer"]): row for row in found.table.to_pylist()}
    for name, one in zip(NAMES, three, strict=True):
        for row in one.to_pylist():
            same = told[name, row["class"], row["layer"]]
            assert [same[n] for n in ("mean", "low", "high")] == [
                row[n] for n in ("mean", "low", "high")
            ]
    assert len(told) == found.table.num_rows


@pytest.mark.parametrize(
    ("effect", "title"),
    [(EFFECT, "m needs star in layer 0"), ([0.0] * 4, "Looked at, carried, used: m")],
)
def test_the_title_says_what_is_needed_where_that_can_be_told(
    effect: list[float], title: str
) -> None:
    tables = {"m": effects(MASS, effect, prompts=30)}
    found = use_lines(*(estimate(tables, name, over=["heads"]) for name in NAMES))
    assert found.title == title


def test_bands_of_what_is_a_part_of_something_leave_no_room_below_zero() -> None:
    masses = estimate({"m": effects([0.0, 0.0, 0.0, 0.01], EFFECT)}, "mass", over=["heads"])
    low = pa.array([-0.01] * masses.num_rows)
    at = masses.column_names.index("low")
    below = masses.set_column(at, masses.schema.field("low"), low)
    assert not any(text.startswith("−") for text, _, _ in places(drawn(layer_lines(below))))


def test_which_way_is_a_loss_is_said() -> None:
    three = [estimate({"m": effects(MASS, EFFECT)}, name, over=["heads"]) for name in NAMES]
    assert "Below 0: the answer needs it." in caption(use_lines(*three))
    assert "Below 0: the answer needs it." in use_lines(*three).description
    assert "Below" not in layer_lines(three[0]).description


def test_dots_need_a_model_if_there_are_several() -> None:
    tables = {"a": effects(MASS, EFFECT), "b": effects(MASS, EFFECT)}
    both = uses(*(estimate(tables, n) for n in ("delta_logprob", "mass", "contribution")))
    with pytest.raises(SelectionError, match="shows one model"):
        use_dots(both, "star")
    assert len(use_dots(both, "star", DotOptions(model="b")).spec["data"]["values"]) == 4
