from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.figures import ClassBarsOptions, class_bars
from mindshare.figures.theme import PALETTES, WIDTHS

from .drawing import assert_nothing_is_cut_off, compiled, drawn, places, size, words
from .samples import CLASSES, made_up, reading, summary

NAMES = ["Qwen2.5-1.5B-Instruct", "Qwen2.5-Math-1.5B", "SmolLM2-135M", "d", "e", "f"]


def inner(spec: dict) -> dict:
    return spec.get("spec", spec)


def test_the_numbers_in_the_spec_are_the_tables_own() -> None:
    figure = class_bars(reading())
    rows = {(r["model"], r["layer"], r["class"]): r for r in figure.table.to_pylist()}
    values = figure.spec["data"]["values"]
    assert len(values) == len(rows) == 24
    for value in values:
        row = rows[value["model"], value["layer"], value["class"]]
        assert all(value[name] == row[name] for name in ("mean", "low", "high", "n_prompts"))


def test_classes_are_stacked_in_the_order_given() -> None:
    order = ("star", "space", "hash")
    spec = class_bars(reading(), ClassBarsOptions(class_order=order)).spec
    stack = inner(spec)["transform"][0]
    assert stack["sort"] == [{"field": "order", "order": "ascending"}]
    placed = {value["class"]: value["order"] for value in spec["data"]["values"]}
    assert placed == {"star": 0, "space": 1, "hash": 2}


def test_by_itself_the_first_rule_is_on_top_as_in_the_published_chart() -> None:
    spec = class_bars(reading()).spec
    assert {v["class"]: v["order"] for v in spec["data"]["values"]} == {
        "space": 0,
        "star": 1,
        "hash": 2,
    }
    scale = inner(spec)["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == list(CLASSES)
    assert scale["range"] == list(PALETTES["seed"].classes[:3])


def test_the_bars_are_where_the_numbers_say() -> None:
    """The reading's tallest bar ends at 0.112; every segment ends where the next begins."""
    import vl_convert

    graph = vl_convert.vegalite_to_scenegraph(class_bars(reading()).spec)
    found: list[dict] = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            if node.get("marktype") == "rect" and node.get("role") == "mark":
                found.extend(node["items"])
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(graph)
    heights = sorted(item["height"] for item in found if item.get("height"))
    means = sorted(value for value in reading()["mean"].to_pylist() if value)
    assert len(heights) == len(means) == 23
    assert np.array(heights) / heights[-1] == pytest.approx(np.array(means) / means[-1], rel=0.01)


def test_the_layout_of_the_published_chart() -> None:
    texts = words(drawn(class_bars(reading())))
    assert texts.count("Qwen-Phys") == texts.count("Qwen-Instruct") == 4
    assert [t for t in texts if t.startswith("Layer")] == [
        "Layer 0",
        "Layer 16",
        "Layer 20",
        "Layer 27",
    ]
    one = words(drawn(class_bars(reading(), ClassBarsOptions(labels="one-based"))))
    assert "Layer 17" in one
    assert "Layer 16" not in one


def test_the_legend_is_on_top_in_the_middle_in_the_words_given() -> None:
    labels = {"hash": "# (it's a hash)", "space": "Whitespace"}
    svg = drawn(class_bars(reading(), ClassBarsOptions(class_labels=labels)))
    where = {text: x for text, x, _ in places(svg)}
    assert {"# (it's a hash)", "star", "Whitespace"} <= set(where)
    middle = (where["# (it's a hash)"] + where["Whitespace"]) / 2
    assert abs(middle - size(svg)[0] / 2) < 60


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("models", [1, 2, 3, 6])
@pytest.mark.parametrize("layers", [1, 4, 30])
def test_every_chart_fits_its_width_and_cuts_nothing_off(
    models: int, layers: int, width: str
) -> None:
    figure = class_bars(made_up(NAMES[:models], layers), ClassBarsOptions(width=width))
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06
    compiled(figure)


@pytest.mark.parametrize("measure", ["mass", "share", "density", "expected", "lift"])
def test_every_measure_is_valid_vega_lite(measure: str) -> None:
    for layers in (4, 30):
        compiled(class_bars(made_up(NAMES[:2], layers, measure=measure)))


def test_many_layers_get_a_row_for_each_model() -> None:
    spec = class_bars(made_up(["base", "tuned"], 30)).spec
    assert list(spec["facet"]) == ["row"]
    assert spec["facet"]["row"]["sort"] == ["base", "tuned"]


def test_shares_reach_from_0_to_1() -> None:
    spec = class_bars(made_up(["a", "b"], 4, measure="share")).spec
    assert inner(spec)["layer"][0]["encoding"]["y"]["scale"] == {"domain": [0, 1]}


@pytest.mark.parametrize("measure", ["density", "lift"])
def test_what_does_not_add_up_is_not_stacked(measure: str) -> None:
    spec = class_bars(made_up(["a", "b"], 4, measure=measure)).spec
    assert all("stack" not in step for step in inner(spec)["transform"])
    assert spec["facet"]["row"]["sort"] == list(CLASSES)
    rules = [layer for layer in inner(spec)["layer"] if layer["encoding"]["y"] == {"datum": 1}]
    assert len(rules) == (measure == "lift")


def test_single_heads_get_a_row_each() -> None:
    spec = class_bars(made_up(["a", "b"], 4, heads=[0, 3])).spec
    assert spec["facet"]["row"]["sort"] == ["Head 0", "Head 3"]


def test_whiskers_are_drawn_only_where_there_are_intervals() -> None:
    drawn_layers = [
        len(inner(class_bars(*how).spec)["layer"])
        for how in (
            (reading(),),
            (reading(n_prompts=1),),
            (reading(), ClassBarsOptions(whiskers=False)),
        )
    ]
    assert drawn_layers == [2, 1, 1]


def test_whiskers_stand_on_the_foot_of_their_own_segment_side_by_side() -> None:
    whisker = inner(class_bars(reading()).spec)["layer"][1]
    assert whisker["transform"][1] == {
        "calculate": "datum.from + datum.low",
        "as": "whisker_low",
    }
    assert whisker["encoding"]["xOffset"]["field"] == "class"


def test_no_whisker_of_a_share_passes_1() -> None:
    content = made_up(["a", "b"], 4, measure="share")
    picture = drawn(class_bars(content))
    rules = [e for e in picture.iter() if e.get("aria-roledescription") == "rule mark"]
    assert len(rules) == 2 * 4 * (len(CLASSES) - 1)  # not of the top class
    few = inner(class_bars(content, ClassBarsOptions(class_order=("star", "hash"))).spec)
    assert few["layer"][1]["transform"][0] == {"filter": "isValid(datum.low)"}
    assert "min(1, " in few["layer"][1]["transform"][2]["calculate"]


def test_classes_of_another_set_get_other_colours() -> None:
    def colours(**options: Any) -> list[str]:
        spec = class_bars(reading(), ClassBarsOptions(**options)).spec
        found: list[str] = inner(spec)["layer"][0]["encoding"]["color"]["scale"]["range"]
        return found

    assert colours(first_colour=3)[2] == colours()[2]  # whitespace is grey
    assert not set(colours(first_colour=3)[:2]) & set(colours()[:2])


def test_other_is_drawn_only_when_asked() -> None:
    content = made_up(["m"], 2, classes=("hash", "other", "sink_slot"))
    assert {v["class"] for v in class_bars(content).spec["data"]["values"]} == {"hash"}
    both = ClassBarsOptions(class_order=("hash", "other"))
    assert {v["class"] for v in class_bars(content, both).spec["data"]["values"]} == {
        "hash",
        "other",
    }


def test_a_class_that_no_prompt_has_is_left_out_and_said() -> None:
    rows = [("m", "all", 0, None, "a", 0.1), ("m", "all", 0, None, "b", float("nan"))]
    figure = class_bars(summary(rows, measure="lift"))
    assert len(figure.spec["data"]["values"]) == 1
    assert "m: no prompt has this number for b." in figure.description


def test_layers_models_and_the_title_can_be_chosen() -> None:
    options = ClassBarsOptions(layers=(16,), models=("Qwen-Phys",), title="Mine", name="mine")
    figure = class_bars(reading(), options)
    assert (figure.title, figure.name, figure.table.num_rows) == ("Mine", "mine", 3)
    assert figure.spec["title"]["text"] == ["Mine"]


def test_a_wrong_order_is_refused() -> None:
    with pytest.raises(SelectionError, match="did you mean 'hash'"):
        class_bars(reading(), ClassBarsOptions(class_order=("hahs",)))
    with pytest.raises(SelectionError, match="twice"):
        class_bars(reading(), ClassBarsOptions(class_order=("hash", "hash")))
