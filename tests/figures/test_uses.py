"""Looked at, carried, used: what is drawn is what the tables hold."""

from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import DotOptions, use_dots, use_lines
from mindshare.stats import estimate, uses
from mindshare.stats.uses import LOOKS
from tests.stats.test_uses import effects

MASS, EFFECT = [0.1, 0.2, 0.9, 0.3], [-0.4, -1.0, 0.0, -2.0]
NAMES = ("mass", "contribution", "delta_logprob")


def test_a_dot_for_every_head_and_a_name_for_those_that_stand_out() -> None:
    mass, _, effect = three = [estimate({"m": effects(MASS, EFFECT)}, name) for name in NAMES]
    found = use_dots(uses(effect, mass, three[1]), "star", DotOptions())
    dots = found.spec["data"]["values"]
    assert [dot["mass"] for dot in dots] == pytest.approx(MASS)
    assert [dot["kind"] for dot in dots] == ["", "", LOOKS, ""]
    named = next(one for one in found.spec["layer"] if one["mark"]["type"] == "text")
    assert [one["place"] for one in named["data"]["values"]] == ["0.2"]
    assert "Looks without using: 0.2." in found.description


def test_three_columns_by_layer() -> None:
    tables = {"m": effects(MASS, EFFECT)}
    found = use_lines(*(estimate(tables, name, over=["heads"]) for name in NAMES))
    (row,) = found.spec["vconcat"]
    drawn = [panel["data"]["values"][0]["mean"] for panel in row["hconcat"]]
    assert drawn == pytest.approx([0.375, 0.375, -0.85], abs=1e-3)


def test_dots_need_a_model_if_there_are_several() -> None:
    tables = {"a": effects(MASS, EFFECT), "b": effects(MASS, EFFECT)}
    both = uses(*(estimate(tables, n) for n in ("delta_logprob", "mass", "contribution")))
    with pytest.raises(SelectionError, match="shows one model"):
        use_dots(both, "star")
    assert len(use_dots(both, "star", DotOptions(model="b")).spec["data"]["values"]) == 4
