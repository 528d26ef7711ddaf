from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, ResponseMapOptions, response_map
from mindshare.figures.insertion.response_cells import SHAPES, SYMBOLS
from mindshare.figures.theme import WIDTHS
from mindshare.stats import LABELS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import MEASURES, changed, summarised


def cells(layers: int, heads: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(layers) for j in range(heads)]


SMALL = summarised(cells(4, 3))


def chart(figure: Figure) -> dict:
    return figure.spec["vconcat"][-1]


def colour(figure: Figure) -> dict:
    return chart(figure)["layer"][0]["encoding"]["color"]


def test_the_numbers_in_the_spec_are_the_tables_own() -> None:
    figure = response_map(SMALL, "shape")
    rows = {(r["layer"], r["head"]): r for r in figure.table.to_pylist()}
    values = chart(figure)["data"]["values"]
    assert len(values) == len(rows) == 12
    for value in values:
        row = rows[value["layer"], value["head"]]
        assert all(value[n] == row[n] for n in ("mean", "low", "high", "label"))
        assert value["place"] == row["mean"]


def test_ratios_are_coloured_by_doublings_with_white_at_1() -> None:
    figure = response_map(SMALL, "amplitude")
    low, middle, high = colour(figure)["scale"]["domain"]
    assert (middle, -low) == (0, high)
    assert colour(figure)["scale"]["range"][1] == "#ffffff"
    places = {v["mean"]: v["place"] for v in chart(figure)["data"]["values"]}
    assert all(2**place == pytest.approx(mean) for mean, place in places.items())
    assert "pow(2, datum.value)" in colour(figure)["legend"]["labelExpr"]


def test_labels_are_symbols_with_a_legend_of_their_counts() -> None:
    figure = response_map(SMALL, "shape")
    labels = [r["label"] for r in figure.table.to_pylist()]
    picture = drawn(figure)
    texts = words(picture)
    for label in set(labels):
        assert f"{label} {labels.count(label)}" in texts
    symbols = [e for e in picture.iter() if e.get("aria-roledescription") == "point"]
    assert len(symbols) == len(labels) + len(set(labels))  # a head each, and the legend


def test_symbols_are_strokes_so_that_no_font_moves_them() -> None:
    figure = response_map(SMALL, "shape")
    marks = [layer["mark"]["type"] for layer in chart(figure)["layer"]]
    assert marks == ["rect", "point", "point"]
    assert set(SHAPES) == set(SYMBOLS) == set(LABELS)


def test_heads_that_rest_are_grey_with_a_symbol_and_counted() -> None:
    """They have no number, and no part in the colours."""
    summary = summarised(cells(2, 3), measures=["amplitude"])
    labels, means = summary["label"].to_pylist(), summary["mean"].to_pylist()
    labels[0], means[0] = "resting", None
    for name, values in (("label", labels), ("mean", means)):
        place = summary.schema.get_field_index(name)
        summary = summary.set_column(place, summary.schema.field(name), [values])
    figure = response_map(summary, "amplitude")
    (rests,) = [v for v in chart(figure)["data"]["values"] if v["label"] == "resting"]
    assert (rests["mean"], "place" in rests) == (None, False)
    assert "1 cell without a number stays grey, 1 because the head rests." in figure.description
    assert "Grey: heads that rest, with less than 0.02" in " ".join(
        figure.spec["title"]["subtitle"]
    )
    assert "resting = it gives the compared tokens less than 0.02" in figure.definition
    assert "resting 1" in words(drawn(figure))


def test_symbols_are_dropped_where_cells_are_too_small_and_this_is_said() -> None:
    large = response_map(summarised(cells(32, 32), measures=["shape"]), "shape")
    small = response_map(summarised(cells(40, 64), measures=["shape"]), "shape")
    assert len(chart(large)["layer"]) == 3
    assert len(chart(small)["layer"]) == 1
    assert "too small for a symbol" in " ".join(small.spec["title"]["subtitle"])
    assert "Heads by label:" in small.description
    without = response_map(SMALL, "shape", ResponseMapOptions(symbols=False))
    assert len(chart(without)["layer"]) == 1


def test_numbers_beyond_the_ends_are_counted() -> None:
    figure = response_map(SMALL, "amplitude", ResponseMapOptions(ends=(0.99, 1.01)))
    means = figure.table["mean"].to_pylist()
    beyond = sum(not 0.99 <= x <= 1.01 for x in means)
    assert f"{beyond} numbers beyond the ends of the scale." in figure.description
    assert max(abs(v["place"]) for v in chart(figure)["data"]["values"]) < 0.015


def test_cells_without_a_number_stay_empty() -> None:
    means = SMALL["mean"].to_pylist()
    means[MEASURES.index("shape")] = None
    figure = response_map(changed(SMALL, "mean", means), "shape")
    assert len(chart(figure)["data"]["values"]) == 11
    assert "1 cell without a number stays grey." in figure.description


def test_a_table_without_labels_has_no_legend_of_them() -> None:
    bare = changed(SMALL, "label", [None] * SMALL.num_rows)
    assert len(response_map(bare, "shape").spec["vconcat"]) == 1


def test_the_words_are_made_from_the_numbers() -> None:
    figure = response_map(SMALL, "amplitude", ResponseMapOptions(labels="one-based"))
    high = max(figure.table.to_pylist(), key=lambda r: r["mean"])
    where = f"(layer {high['layer'] + 1}, head {high['head'] + 1})"
    assert f"Highest {high['mean']:.3g} {where}" in figure.description
    assert figure.title == "Amplitude by layer and head with “/\xa0×55”: m"
    assert "Mean over 20 prompts." in figure.definition
    assert "Intervals in the table: 95" in figure.definition
    assert figure.name == "map_amplitude_55"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (30, 9), (32, 32), (80, 64)])
def test_every_map_fits_its_width_and_cuts_nothing_off(layers: int, heads: int, width: str) -> None:
    table = summarised(cells(layers, heads), measures=["factor"])
    figure = response_map(table, "factor", ResponseMapOptions(width=width))
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_is_valid_vega_lite(measure: str) -> None:
    table = summarised(cells(2, 2))
    compiled(response_map(table, measure, ResponseMapOptions(palette="safe")))


def test_what_cannot_be_mapped_is_refused() -> None:
    with pytest.raises(SelectionError, match="every layer and head by itself"):
        response_map(summarised([(0, None)]), "shape")
    several = summarised(cells(2, 2), conditions=("a", "b"), models=("x", "y"))
    with pytest.raises(SelectionError, match="one model, and the table has several"):
        response_map(several, "shape")
    with pytest.raises(SelectionError, match="one condition, and the table has several"):
        response_map(several, "shape", model="x")
    assert response_map(several, "shape", model="x", condition="b").table.num_rows == 4
    with pytest.raises(SelectionError, match="did you mean 'shape'"):
        response_map(several, "shpe", model="x", condition="b")
