from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import HeadMapOptions, head_map
from mindshare.figures.theme import WIDTHS

from .drawing import assert_nothing_is_cut_off, compiled, drawn, places, size
from .samples import contrasted, made_up, reading, summary


def colour(spec: dict) -> dict:
    return spec["layer"][0]["encoding"]["color"]


def test_the_numbers_in_the_spec_are_the_tables_own() -> None:
    for content, column in (
        (made_up(["m"], 4, heads=range(3)), "mean"),
        (contrasted(4, 3), "difference"),
    ):
        figure = head_map(content, "star")
        rows = {(r["layer"], r["head"]): r[column] for r in figure.table.to_pylist()}
        assert len(rows) == len(figure.spec["data"]["values"]) == 12
        for value in figure.spec["data"]["values"]:
            assert value[column] == rows[value["layer"], value["head"]]


def test_amounts_start_at_0() -> None:
    figure = head_map(made_up(["m"], 4, heads=range(3)), "star")
    domain = colour(figure.spec)["scale"]["domain"]
    assert domain[0] == 0
    assert domain[-1] == pytest.approx(max(figure.table["mean"].to_pylist()))
    assert colour(figure.spec)["legend"]["title"] == "Mass"


def test_differences_have_white_in_the_middle() -> None:
    figure = head_map(contrasted(6, 4), "star")
    low, middle, high = colour(figure.spec)["scale"]["domain"]
    assert (middle, -low) == (0, high)
    assert high == max(abs(x) for x in figure.table["difference"].to_pylist())
    assert colour(figure.spec)["scale"]["range"][1] == "#ffffff"


def test_dots_mark_what_survives_the_correction() -> None:
    figure = head_map(contrasted(30, 9), "star")
    assert figure.spec["layer"][1]["transform"] == [
        {"filter": "isValid(datum.p_family) && datum.p_family < 0.05"}
    ]
    strong = sum(p < 0.05 for p in figure.table["p_family"].to_pylist())
    assert f"{strong} of 270 heads have p_family < 0.05" in figure.description


def test_no_difference_at_all_is_said_and_still_drawn() -> None:
    figure = head_map(contrasted(5, 4, planted=False), "star")
    assert "All differences are exactly 0." in " ".join(figure.spec["title"]["subtitle"])
    assert "All differences are exactly 0." in figure.description
    assert colour(figure.spec)["scale"]["domain"] == [-1.0, 0.0, 1.0]
    compiled(figure)


def test_layer_0_is_at_the_bottom() -> None:
    figure = head_map(made_up(["m"], 4, heads=range(20, 24)), "star")
    height = {text: y for text, _, y in places(drawn(figure)) if text in "0123"}
    assert height["0"] > height["1"] > height["2"] > height["3"]
    assert "Layer (0 at the bottom)" in [text for text, _, _ in places(drawn(figure))]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (30, 9), (48, 40), (80, 64)])
def test_every_map_fits_its_width_and_cuts_nothing_off(layers: int, heads: int, width: str) -> None:
    for content in (made_up(["m"], layers, heads=range(heads)), contrasted(layers, heads)):
        figure = head_map(content, "star", HeadMapOptions(width=width))
        assert_nothing_is_cut_off(figure)
        assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06


@pytest.mark.parametrize("palette", ["seed", "safe"])
def test_both_kinds_are_valid_vega_lite(palette: str) -> None:
    options = HeadMapOptions(palette=palette, labels="one-based")
    compiled(head_map(contrasted(4, 3), "space", options))
    compiled(head_map(made_up(["m"], 4, heads=range(3)), "space", options))


def test_cells_without_a_number_stay_empty() -> None:
    rows = [("m", "all", 0, head, "a", x) for head, x in ((0, 0.1), (1, float("nan")))]
    figure = head_map(summary(rows, measure="lift"), "a")
    assert len(figure.spec["data"]["values"]) == 1
    assert "1 cell without a number" in figure.description


def test_what_cannot_be_mapped_is_refused() -> None:
    with pytest.raises(SelectionError, match="every layer and head by itself"):
        head_map(reading(), "star", HeadMapOptions(model="Qwen-Phys"))
    several = made_up(["a", "b"], 2, heads=range(2))
    with pytest.raises(SelectionError, match="the table has several") as caught:
        head_map(several, "star")
    assert caught.value.allowed == "a, b"
    assert head_map(several, "star", HeadMapOptions(model="b")).table.num_rows == 4
    with pytest.raises(SelectionError, match="did you mean 'star'"):
        head_map(several, "satr", HeadMapOptions(model="b"))
