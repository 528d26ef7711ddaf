from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, HeadMapOptions, head_map, response_map
from mindshare.figures.heat_map import SHAPES, TOP
from mindshare.figures.theme import WIDTHS
from mindshare.measures import at_level
from mindshare.stats import LABELS

from .drawing import assert_fits, caption, compiled, drawn, marks, places, words
from .insertions import MEASURES, changed, summarised
from .samples import PHYS, contrasted, made_up, reading, summary


def grid(layers: int, heads: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(layers) for j in range(heads)]


SMALL = summarised(grid(4, 3))


def values(figure: Figure) -> list[dict]:
    found: list[dict] = figure.spec["data"]["values"]
    return found


def scale(figure: Figure) -> dict:
    colours = [one["encoding"].get("color") for one in figure.spec["layer"]]
    found: dict = next(colour for colour in colours if colour)["scale"]
    return found


@pytest.mark.parametrize(
    ("figure", "column"),
    [
        (head_map(made_up(["m"], 4, heads=range(3)), "star"), "mean"),
        (head_map(contrasted(4, 3), "star"), "difference"),
        (response_map(SMALL, "shape"), "mean"),
        (head_map(made_up(["m"], 4, heads=range(3), measure="entropy", classes=(None,))), "mean"),
    ],
)
def test_the_numbers_in_the_spec_are_the_tables_own(figure: Figure, column: str) -> None:
    rows = {(r["layer"], r["head"]): r for r in figure.table.to_pylist()}
    assert len(values(figure)) == len(rows) == 12
    for value in values(figure):
        row = rows[value["layer"], value["head"]]
        assert all(value[name] == row[name] for name in (column, "low", "high", "n_prompts"))
        assert value["place"] == row[column]


def test_amounts_start_at_0() -> None:
    figure = head_map(made_up(["m"], 4, heads=range(3)), "star")
    assert scale(figure)["domain"][0] == 0
    assert scale(figure)["domain"][-1] == pytest.approx(max(figure.table["mean"].to_pylist()))


def test_conditions_of_one_table_share_their_colours() -> None:
    content = summarised([(i, j) for i in range(4) for j in range(3)], conditions=("a", "b"))
    maps = [response_map(content, "shape", condition=name) for name in ("a", "b")]
    domains = [one.spec["layer"][0]["encoding"]["color"]["scale"]["domain"] for one in maps]
    assert domains[0] == domains[1]


def test_models_of_one_table_share_their_colours() -> None:
    content = made_up(["a", "b"], 4, heads=range(3))
    two = [head_map(content, "star", HeadMapOptions(model=model)) for model in "ab"]
    assert scale(two[0]) == scale(two[1])
    most = max(x for one in two for x in one.table["mean"].to_pylist())
    assert scale(two[0])["domain"][-1] == most
    both = summarised(grid(4, 3), models=("x", "y"))
    maps = [response_map(both, "divergence", model=model) for model in "xy"]
    assert scale(maps[0]) == scale(maps[1])


def test_differences_have_white_in_the_middle() -> None:
    figure = head_map(contrasted(6, 4), "star")
    low, middle, high = scale(figure)["domain"]
    assert (middle, -low) == (0, high)
    assert high == max(abs(x) for x in figure.table["difference"].to_pylist())
    assert scale(figure)["range"][1] == "#ffffff"


def test_ratios_are_coloured_by_doublings_with_white_at_1() -> None:
    figure = response_map(SMALL, "amplitude")
    low, middle, high = scale(figure)["domain"]
    assert (middle, -low) == (0, high)
    assert all(2 ** v["place"] == pytest.approx(v["mean"]) for v in values(figure))


def test_the_largest_significant_differences_are_marked_with_their_sign() -> None:
    figure = head_map(contrasted(30, 9), "star")
    rows = [r for r in figure.table.to_pylist() if r["p_family"] < 0.05]
    told = [r for r in rows if r["low"] > 0 or r["high"] < 0]
    top = sorted(told, key=lambda r: -abs(r["difference"]))[:TOP]
    assert len(told) > TOP
    expected = {(r["layer"], r["head"]): "more" if r["difference"] > 0 else "less" for r in top}
    assert {(v["layer"], v["head"]): v["mark"] for v in values(figure) if "mark" in v} == expected
    more, less = (sum(sign * r["difference"] > 0 for r in told) for sign in (1, -1))
    first, second = ("more", "less") if top[0]["difference"] > 0 else ("less", "more")
    counts = {"more": more, "less": less}
    looks = f"looks {first} at star in {counts[first]} heads, {second} in {counts[second]}"
    assert figure.title == f"{PHYS} {looks}"
    symbols = [e for e in drawn(figure).iter() if e.get("aria-roledescription") == "point"]
    assert len(symbols) == TOP


def test_differences_fill_their_cells_only_where_they_are_significant() -> None:
    figure = head_map(contrasted(30, 9), "star")
    areas = {True: set(), False: set()}
    for layer in figure.spec["layer"][1:3]:
        flag = layer["transform"][0]["filter"] == "datum.significant"
        areas[flag].add(layer["mark"].get("width", {"band": 1})["band"])
    assert max(areas[False]) < 0.5 < min(areas[True])
    told = {(v["layer"], v["head"]) for v in values(figure) if v["significant"]}
    rows = (r for r in figure.table.to_pylist() if r["p_family"] < 0.05)
    assert told == {(r["layer"], r["head"]) for r in rows if r["low"] > 0 or r["high"] < 0}
    assert "Full cells: significant; small ones may be chance" in caption(figure)
    few = contrasted(4, 3)
    few = changed(changed(few, "n_prompts", [5] * 36), "n_groups", [5] * 36)
    assert not any("significant" in value for value in values(head_map(few, "star")))


def test_no_difference_at_all_is_said_and_still_drawn() -> None:
    figure = head_map(contrasted(5, 4, planted=False), "star")
    assert "All differences are exactly 0." in caption(figure)
    assert "All differences are exactly 0." in figure.description
    assert scale(figure)["domain"] == [-1.0, 0.0, 1.0]
    assert not any("mark" in value for value in values(figure))
    compiled(figure)


def test_labels_are_symbols_with_a_legend_of_their_counts() -> None:
    figure = response_map(SMALL, "shape")
    labels = [r["label"] for r in figure.table.to_pylist()]
    picture = drawn(figure)
    for label in set(labels):
        assert f"{label} {labels.count(label)}" in words(picture)
    symbols = [e for e in picture.iter() if e.get("aria-roledescription") == "point"]
    assert len(symbols) == len(labels)
    assert set(SHAPES) == set(LABELS)
    assert len(response_map(SMALL, "shape", HeadMapOptions(symbols=False)).spec["layer"]) == 1
    bare = changed(SMALL, "label", [None] * SMALL.num_rows)
    assert len(response_map(bare, "shape").spec["layer"]) == 1


def test_symbols_are_dropped_where_cells_are_too_small_and_this_is_said() -> None:
    large = response_map(summarised(grid(32, 32), measures=["shape"]), "shape")
    small = response_map(summarised(grid(40, 64), measures=["shape"]), "shape")
    assert [len(marks(one.spec, "point")) for one in (large, small)] == [1, 0]
    assert "too small for symbols" in caption(small)
    assert "Heads by label:" in small.description


def test_heads_that_rest_are_grey_with_a_symbol_and_counted() -> None:
    """They have no number, and no part in the colours."""
    content = summarised(grid(2, 3), measures=["amplitude"])
    labels, means = content["label"].to_pylist(), content["mean"].to_pylist()
    labels[0], means[0] = "resting", None
    content = changed(changed(content, "label", labels), "mean", means)
    figure = response_map(content, "amplitude")
    (rests,) = [v for v in values(figure) if v["label"] == "resting"]
    assert (rests["mean"], "place" in rests, rests["mark"]) == (None, False, "resting")
    assert "1 cell without a number stays grey, 1 because the head rests." in figure.description
    assert "under 2\xa0% of attention" in caption(figure)
    assert "resting = it gives the compared tokens less than 0.02" in figure.definition


def test_cells_without_a_number_stay_empty() -> None:
    rows = [("m", "all", 0, head, "a", x) for head, x in ((0, 0.1), (1, float("nan")))]
    figure = head_map(summary(rows, measure="lift"), "a")
    assert len(values(figure)) == 1
    assert "1 cell without a number" in figure.description


def test_layer_0_is_at_the_bottom() -> None:
    figure = head_map(made_up(["m"], 4, heads=range(20, 24)), "star")
    height = {text: y for text, _, y in places(drawn(figure)) if text in "0123"}
    assert height["0"] > height["1"] > height["2"] > height["3"]
    one_based = head_map(
        made_up(["m"], 12, heads=range(4)), "star", HeadMapOptions(labels="one-based")
    )
    assert "Layer (1 at the bottom)" in words(drawn(one_based))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (30, 9), (80, 64)])
def test_every_map_fits_its_width(layers: int, heads: int, width: str) -> None:
    options = HeadMapOptions(width=width)
    response = summarised(grid(layers, heads), measures=["factor"])
    assert_fits(head_map(contrasted(layers, heads), "star", options), WIDTHS[width])
    if layers < 80:
        assert_fits(response_map(response, "factor", options), WIDTHS[width])


def test_every_measure_can_be_drawn() -> None:
    options = HeadMapOptions(palette="safe", labels="one-based")
    for measure in MEASURES:
        assert len(values(response_map(summarised(grid(2, 2)), measure, options))) == 4
    for measure in (*at_level("class"), *at_level("head")):
        kind = "star" if measure in at_level("class") else None
        content = made_up(["m"], 2, heads=range(2), measure=measure, classes=(kind,))
        assert len(values(head_map(content, kind, options))) == 4


def test_maps_are_valid_vega_lite() -> None:
    compiled(head_map(contrasted(4, 3), "space", HeadMapOptions(palette="safe")))
    compiled(response_map(summarised(grid(2, 2)), "amplitude"))


def test_names_are_made_from_what_is_shown() -> None:
    assert head_map(contrasted(4, 3), "star").name == "head_map_difference_mass_star"
    assert response_map(SMALL, "amplitude").name == "map_amplitude_55"


def test_what_cannot_be_mapped_is_refused() -> None:
    with pytest.raises(SelectionError, match="every layer and head by itself"):
        head_map(reading(), "star", HeadMapOptions(model="Qwen-Phys"))
    with pytest.raises(SelectionError, match="every layer and head by itself"):
        response_map(summarised([(0, None)]), "shape")
    pair = made_up(["a", "b"], 2, heads=range(2))
    with pytest.raises(SelectionError, match="one model, and the table has several"):
        head_map(pair, "star")
    with pytest.raises(SelectionError, match="did you mean 'star'"):
        head_map(pair, "satr", HeadMapOptions(model="b"))
    several = summarised(grid(2, 2), conditions=("a", "b"), models=("x", "y"))
    with pytest.raises(SelectionError, match="one condition, and the table has several"):
        response_map(several, "shape", model="x")
    assert response_map(several, "shape", model="x", condition="b").table.num_rows == 4
