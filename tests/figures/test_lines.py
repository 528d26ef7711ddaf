from __future__ import annotations

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, LineOptions, layer_lines, sweep_curves
from mindshare.figures.theme import WIDTHS

from .drawing import assert_fits, caption, compiled, drawn, marks, panels, words
from .insertions import condition_rows, summarised
from .samples import made_up

LAYERS = [(i, None) for i in range(30)]
SIX = ("/ ×0", "/ ×10", "/ ×25", "/ ×40", "/ ×55", "random sentence ×55")
LONG = ("HuggingFaceTB/SmolLM2-135M-Instruct", "Qwen2.5-1.5B-Instruct", "c")
Rows = list[tuple[str, str, int]]
LENGTHS: Rows = [("/ ×10", "between", 10), ("/ ×55", "between", 55), ("he ×10", "between", 10),
                 ("he ×55", "between", 56)]  # fmt: skip
TEXTS: Rows = [("/ ×55", "between", 56), ("? ×55", "between", 56), ("he ×55", "between", 56)]
PLACES: Rows = [(f"/ ×55 at {place}", place, 55) for place in ("between", "start", "end")]


def series(panel: dict) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for value in panel["data"]["values"]:
        found.setdefault(value["series"], []).append(value)
    return found


# By layer.


def test_the_lines_and_bands_are_the_tables_own_numbers() -> None:
    figure = layer_lines(summarised(LAYERS, conditions=("/ ×55", "he ×55")), "retained")
    ((panel,),) = panels(figure)
    for (words_, line), name in zip(series(panel).items(), ("/ ×55", "he ×55"), strict=True):
        rows = [r for r in figure.table.to_pylist() if r["condition"] == name]
        assert name in words_.replace("\xa0", " ")
        assert [v["x"] for v in line] == list(range(30))
        for key in ("mean", "low", "high", "n_prompts"):
            assert [v[key] for v in line] == [r[key] for r in rows]
    assert len(marks(panel, "area")) == len(marks(panel, "line")) == 1
    dashes = marks(panel, "line")[0]["encoding"]["strokeDash"]["scale"]["range"]
    assert dashes[0] != dashes[1]  # told apart in grey print too


def test_one_condition_of_several_models_has_one_line_per_model() -> None:
    figure = layer_lines(summarised(LAYERS, models=LONG), "shape")
    ((panel,),) = panels(figure)
    assert list(series(panel)) == list(LONG)
    assert set(LONG) <= set(words(drawn(figure)))


def test_several_of_both_have_one_panel_per_model() -> None:
    content = summarised(LAYERS, conditions=SIX[:2], models=LONG)
    figure = layer_lines(content, "shape", LineOptions(width="page"))
    assert [len(series(p)) for row in panels(figure) for p in row] == [2, 2, 2]
    assert "A panel per model" in figure.description


def test_no_line_leads_over_layers_that_were_not_measured() -> None:
    figure = layer_lines(summarised([(i, None) for i in (0, 17, 21, 29)]), "retained")
    panel = panels(figure)[0][0]
    assert marks(panel, "line") == marks(panel, "area") == []
    assert [v["x"] for v in next(iter(series(panel).values()))] == [0, 17, 21, 29]
    assert {"0", "17", "21", "29"} <= set(words(drawn(figure)))
    assert "Whisker: 95" in caption(figure)


def test_any_summary_by_layer_can_be_drawn() -> None:
    classes = layer_lines(made_up(["m"], 5))
    assert list(series(panels(classes)[0][0])) == ["hash", "star", "space"]
    heads = layer_lines(made_up(["a", "b"], 5, measure="distance", classes=(None,)))
    assert list(series(panels(heads)[0][0])) == ["a", "b"]
    assert "Distance (tokens)" in words(drawn(heads))
    one = layer_lines(made_up(["a", "b"], 5), options=LineOptions(classes=("star",)))
    assert "of star" in one.title


def test_no_change_is_marked_where_a_measure_has_it() -> None:
    for measure, middle in (("amplitude", [1.0]), ("entropy_change", [0.0]), ("retained", [])):
        rules = marks(panels(layer_lines(summarised(LAYERS), measure))[0][0], "rule")
        assert [rule["data"]["values"][0]["mean"] for rule in rules] == middle


@pytest.mark.parametrize(("conditions", "n_prompts"), [(1, 1), (6, 20)])
def test_bands_are_left_out_where_there_are_none_or_too_many(
    conditions: int, n_prompts: int
) -> None:
    figure = layer_lines(
        summarised(LAYERS, conditions=SIX[:conditions], n_prompts=n_prompts), "retained"
    )
    assert marks(panels(figure)[0][0], "area") == []
    assert "Bands:" not in figure.definition
    assert "Band" not in caption(figure)


def test_the_words_are_made_from_the_numbers() -> None:
    table = summarised(LAYERS)
    figure = layer_lines(table, "retained", LineOptions(labels="one-based"))
    low = min(figure.table.to_pylist(), key=lambda r: r["mean"])
    where = f"layer\xa0{low['layer']}"
    assert f"lowest {low['mean']:.3g} ({where})" in figure.description
    assert figure.name == "retained_by_layer"
    assert "Bands: 95" in figure.definition


@pytest.mark.parametrize(("margin", "told"), [(0.0, True), (0.5, False)])
def test_a_title_names_the_lowest_only_if_it_can_be_told(margin: float, told: bool) -> None:
    table = summarised(LAYERS)
    place = table.column_names.index("margin_family")
    margins = pa.array([margin] * table.num_rows)
    figure = layer_lines(table.set_column(place, "margin_family", margins), "retained")
    low = min(figure.table.to_pylist(), key=lambda r: r["mean"])
    assert (f"lowest in layer\xa0{low['layer']}" in figure.title) is told


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("layers", "conditions"), [(1, 6), (30, 6), (80, 1)])
def test_every_chart_fits_its_width(layers: int, conditions: int, width: str) -> None:
    cells = [(i, None) for i in range(layers)]
    content = summarised(cells, measures=["retained"], conditions=SIX[:conditions], models=LONG)
    assert_fits(layer_lines(content, "retained", LineOptions(width=width)), WIDTHS[width])


def test_lines_are_valid_vega_lite() -> None:
    compiled(layer_lines(summarised(LAYERS[:3], conditions=SIX[:2]), "amplitude"))
    compiled(layer_lines(summarised(LAYERS[:1]), "retained"))


def test_what_is_not_by_layer_is_refused() -> None:
    nine = summarised(LAYERS, conditions=[f"c{i}" for i in range(9)])
    for content, message in (
        (summarised([(0, 0), (0, 1)]), "has single heads"),
        (summarised([(None, None)]), "the mean over the layers"),
        (nine, "9 lines are more than can be told apart"),
    ):
        with pytest.raises(SelectionError, match=message):
            layer_lines(content, "retained")
    chosen = layer_lines(nine, "shape", LineOptions(conditions=("c3", "c8")))
    assert chosen.table.num_rows == 60


# Sweeps.


def sweep(rows: Rows, options: LineOptions | None = None, **more: object) -> Figure:
    content = summarised([(None, None)], conditions=[row[0] for row in rows])
    return sweep_curves(content, condition_rows(rows), options, **more)


def test_a_panel_for_each_measure_with_the_tables_own_numbers() -> None:
    figure = sweep(LENGTHS, measures=("shape", "retained"))
    rows = figure.table.to_pylist()
    (row,) = panels(figure)
    for panel, measure in zip(row, ("shape", "retained"), strict=True):
        assert list(series(panel)) == ["/", "he"]
        for unit, line in series(panel).items():
            expected = {
                r["n_inserted"]: r["mean"]
                for r in rows
                if (r["measure"], r["insertion"]) == (measure, unit)
            }
            assert {v["x"]: v["mean"] for v in line} == expected
        assert panel["encoding"]["x"]["axis"]["values"] == [10, 55, 56]  # where the data are
    assert figure.table.column_names[-3:] == ["insertion", "place", "n_inserted"]


@pytest.mark.parametrize(("rows", "names"), [(TEXTS, ["/", "?", "he"]), (PLACES, None)])
def test_categories_have_points_and_whiskers(rows: Rows, names: list[str] | None) -> None:
    panel = panels(sweep(rows))[0][1]  # shape: without a line at no change
    assert marks(panel, "line") == marks(panel, "area") == []
    assert len(marks(panel, "rule")) == len(marks(panel, "circle")) == 1
    x = panel["encoding"]["x"]
    assert (x["type"], x["sort"]) == ("nominal", names or ["between", "start", "end"])
    assert [v["x"] for v in panel["data"]["values"]] == x["sort"]


def test_each_model_has_its_own_numbers_of_tokens() -> None:
    content = summarised([(None, None)], conditions=["/ ×9", "/ ×5"], models=("a", "b"))
    own = {
        "a": condition_rows([("/ ×9", "end", 9), ("/ ×5", "end", 5)]),
        "b": condition_rows([("/ ×9", "end", 7), ("/ ×5", "end", 4)]),
    }
    figure = sweep_curves(content, own, LineOptions(width="page"))
    lines = series(panels(figure)[0][0])
    assert {name: [v["x"] for v in line] for name, line in lines.items()} == {
        "a": [5, 9],
        "b": [4, 7],
    }
    with pytest.raises(SelectionError, match="no table of conditions for 'b'"):
        sweep_curves(content, {"a": own["a"]})


def test_the_words_say_what_lies_along_the_axis() -> None:
    for rows, along in (
        (LENGTHS, "the number of inserted tokens"),
        (TEXTS, "what is inserted"),
        (PLACES, "the place of the insertion"),
    ):
        assert sweep(rows).title == f"Response by {along}: m"
    figure = sweep(TEXTS)
    row = next(r for r in figure.table.to_pylist() if r["measure"] == "shape")
    assert f"Shape: {row['mean']:.3g} (/)" in figure.description
    assert "56 inserted tokens" in caption(figure)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [LENGTHS, PLACES, TEXTS[:1]])
def test_every_sweep_fits_its_width(rows: Rows, width: str) -> None:
    figure = sweep(rows, LineOptions(width=width))
    assert_fits(figure, WIDTHS[width], spare=1.15)  # slanted names may reach out
    titles = {"Attention level", "Shape", "Change in evenness (nats)", "Attention retained"}
    assert titles <= set(words(drawn(figure)))


def test_sweeps_are_valid_vega_lite() -> None:
    compiled(sweep(LENGTHS))
    compiled(sweep(PLACES, LineOptions(palette="safe", bands=False)))


def test_what_cannot_be_swept_is_refused() -> None:
    with pytest.raises(SelectionError, match="mean over heads and layers"):
        sweep_curves(summarised(LAYERS), condition_rows([("/ ×55", "end", 5)]))
    with pytest.raises(SelectionError, match="no condition '/ ×55'"):
        sweep_curves(summarised([(None, None)]), condition_rows([("x", "end", 5)]))
    with pytest.raises(SelectionError, match="did you mean 'shape'"):
        sweep(LENGTHS, measures=("shap",))
