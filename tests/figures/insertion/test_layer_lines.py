from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, LayerLinesOptions, layer_lines
from mindshare.figures.theme import WIDTHS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import summarised

LAYERS = [(i, None) for i in range(30)]
SIX = ("/ ×0", "/ ×10", "/ ×25", "/ ×40", "/ ×55", "random sentence ×55")
LONG = ("HuggingFaceTB/SmolLM2-135M-Instruct", "Qwen2.5-1.5B-Instruct", "c")


def panels(figure: Figure) -> list[dict]:
    return [p for view in figure.spec["vconcat"] if "hconcat" in view for p in view["hconcat"]]


def marks(panel: dict, kind: str) -> list[dict]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def test_the_lines_and_bands_are_the_tables_own_numbers() -> None:
    table = summarised(LAYERS, conditions=("/ ×55", "random sentence"))
    figure = layer_lines(table)
    (panel,) = panels(figure)
    for condition, line, band in zip(
        ("/ ×55", "random sentence"), marks(panel, "line"), marks(panel, "area"), strict=True
    ):
        rows = [r for r in figure.table.to_pylist() if r["condition"] == condition]
        assert {r["measure"] for r in rows} == {"retained"}
        drawn_rows = line["data"]["values"]
        assert [v["mean"] for v in drawn_rows] == [r["mean"] for r in rows]
        assert [v["x"] for v in drawn_rows] == list(range(30))
        assert [(v["low"], v["high"]) for v in band["data"]["values"]] == [
            (r["low"], r["high"]) for r in rows
        ]


def test_one_condition_of_several_models_is_a_line_a_model() -> None:
    figure = layer_lines(summarised(LAYERS, models=LONG), "shape")
    assert len(panels(figure)) == 1
    assert len(marks(panels(figure)[0], "line")) == 3
    assert set(LONG) <= set(words(drawn(figure)))


def test_several_of_both_are_a_panel_a_model() -> None:
    table = summarised(LAYERS, conditions=SIX[:2], models=LONG)
    figure = layer_lines(table, "shape", LayerLinesOptions(width="page"))
    assert [len(marks(p, "line")) for p in panels(figure)] == [2, 2, 2]
    assert "A panel for each model" in figure.description


def test_no_change_is_marked_where_a_measure_has_it() -> None:
    table = summarised(LAYERS)
    for measure, middle in (("amplitude", [1.0]), ("entropy_change", [0.0]), ("retained", [])):
        rules = marks(panels(layer_lines(table, measure))[0], "rule")
        assert [rule["data"]["values"][0]["mean"] for rule in rules] == middle


def test_one_prompt_has_no_bands() -> None:
    figure = layer_lines(summarised(LAYERS, n_prompts=1))
    assert marks(panels(figure)[0], "area") == []
    assert "No intervals are drawn" in figure.definition
    assert "Bands" not in " ".join(figure.spec["title"]["subtitle"])


def test_the_words_are_made_from_the_numbers() -> None:
    figure = layer_lines(summarised(LAYERS), options=LayerLinesOptions(labels="one-based"))
    rows = figure.table.to_pylist()
    low = min(rows, key=lambda r: r["mean"])
    assert f"lowest {low['mean']:.3g} (layer {low['layer'] + 1})" in figure.description
    assert "(1 to 30, one-based)" in figure.description
    assert figure.title == "Retained by layer with “/\xa0×55”: m"
    assert figure.name == "retained_by_layer"
    assert "Bands: 95" in figure.definition


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("layers", [1, 4, 30, 80])
@pytest.mark.parametrize("conditions", [1, 6])
def test_every_chart_fits_its_width_and_cuts_nothing_off(
    layers: int, conditions: int, width: str
) -> None:
    cells = [(i, None) for i in range(layers)]
    table = summarised(cells, measures=["retained"], conditions=SIX[:conditions], models=LONG)
    figure = layer_lines(table, "retained", LayerLinesOptions(width=width))
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06


def test_lines_are_valid_vega_lite() -> None:
    compiled(layer_lines(summarised(LAYERS[:3], conditions=SIX[:2]), "amplitude"))
    compiled(layer_lines(summarised(LAYERS[:1]), "retained"))


def test_what_is_not_by_layer_is_refused() -> None:
    with pytest.raises(SelectionError, match="has single heads"):
        layer_lines(summarised([(0, 0), (0, 1)]))
    with pytest.raises(SelectionError, match="the mean over the layers"):
        layer_lines(summarised([(None, None)]))
    with pytest.raises(SelectionError, match="9 lines are more than can be told apart"):
        layer_lines(summarised(LAYERS, conditions=[f"c{i}" for i in range(9)]))
    chosen = LayerLinesOptions(conditions=("c3", "c8"))
    figure = layer_lines(
        summarised(LAYERS, conditions=[f"c{i}" for i in range(9)]), "shape", chosen
    )
    assert figure.table.num_rows == 60
