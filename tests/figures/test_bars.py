from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.facts import find, largest
from mindshare.figures import ClassBarsOptions, Figure, class_bars
from mindshare.figures.colours import PALETTES
from mindshare.figures.theme import WIDTHS, text_width
from mindshare.measures import at_level
from mindshare.tables import DEPTH

from .drawing import assert_fits, caption, compiled, drawn, marks, panels, places, size, words
from .samples import CLASSES, INSTRUCT, PHYS, contrasted, made_up, reading, summary

NAMES = ["Qwen2.5-1.5B-Instruct", "Qwen2.5-Math-1.5B", "SmolLM2-135M", "d", "e", "f"]


def inner(spec: dict) -> dict:
    return spec.get("spec", spec)


def values(spec: dict, kind: str = "bar") -> list[dict]:
    return [value for value in spec["data"]["values"] if value["kind"] == kind]


def totals() -> Any:
    """The sums of the reading's classes, as a summary."""
    sums: dict[tuple, float] = {}
    for row in reading().to_pylist():
        key = (row["model"], "all", row["layer"], None, "total")
        sums[key] = sums.get(key, 0.0) + row["mean"]
    return summary([(*key, mean) for key, mean in sums.items()])


def test_the_numbers_in_the_spec_are_the_tables_own() -> None:
    figure = class_bars(reading())
    rows = {(r["model"], r["layer"], r["class"]): r for r in figure.table.to_pylist()}
    assert len(values(figure.spec)) == len(rows) == 24
    for value in values(figure.spec):
        row = rows[value["model"], value["layer"], value["class"]]
        assert all(value[name] == row[name] for name in ("mean", "low", "high", "n_prompts"))


def test_classes_are_stacked_in_the_order_given() -> None:
    spec = class_bars(reading(), ClassBarsOptions(class_order=("star", "space", "hash"))).spec
    stack = marks(inner(spec), "bar")[0]["transform"][1]
    assert stack["sort"] == [{"field": "order", "order": "ascending"}]
    assert {v["class"]: v["order"] for v in values(spec)} == {"star": 0, "space": 1, "hash": 2}


@pytest.mark.parametrize("models", [["m"], ["a", "b"]])
def test_titles_of_rows_do_not_overlap(models: list[str]) -> None:
    """Each row has its own, which is longer than a row is high by itself."""
    figure = class_bars(made_up(models, 1, measure="delta_logprob"))
    title = "Change in log-probability (nats)"
    ends = [y for text, _, y in places(drawn(figure)) if text == title]  # turned: of its middle
    assert len(ends) == len(CLASSES)
    assert min(np.diff(sorted(ends))) >= text_width(title) + 10


def test_by_itself_the_first_rule_is_on_top_in_the_published_colours() -> None:
    spec = class_bars(reading()).spec
    assert {v["class"]: v["order"] for v in values(spec)} == {"space": 0, "star": 1, "hash": 2}
    scale = inner(spec)["layer"][0]["encoding"]["color"]["scale"]
    assert scale == {"domain": list(CLASSES), "range": list(PALETTES["seed"].classes[:3])}


def test_the_bars_are_where_the_numbers_say() -> None:
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
    labels = {"hash": "# (it's a hash)", "space": "Whitespace"}
    svg = drawn(class_bars(reading(), ClassBarsOptions(label=labels)))
    texts = words(svg)
    assert texts.count("Qwen-Phys") == texts.count("Qwen-Instruct") == 4
    layers = [t for t in texts if t.startswith("Layer")]
    assert layers == ["Layer 0", "Layer 16", "Layer 20", "Layer 27"]
    one = words(drawn(class_bars(reading(), ClassBarsOptions(labels="one-based"))))
    assert "Layer 17" in one
    assert "Layer 16" not in one
    where = {text: x for text, x, _ in places(svg)}  # the legend is on top, in the middle
    middle = (where["# (it's a hash)"] + where["Whitespace"]) / 2
    assert abs(middle - size(svg)[0] / 2) < 60


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("models", "layers"), [(1, 4), (2, 1), (2, 30), (3, 4), (6, 30)])
def test_every_chart_fits_its_width(models: int, layers: int, width: str) -> None:
    figure = class_bars(made_up(NAMES[:models], layers), ClassBarsOptions(width=width))
    if models < 3:
        assert_fits(figure, WIDTHS[width])
    assert size(drawn(figure))[0] <= 96 * WIDTHS[width] * 1.06


@pytest.mark.parametrize("measure", [*at_level("class"), *at_level("head")])
def test_every_measure_can_be_drawn(measure: str) -> None:
    classes = CLASSES if measure in at_level("class") else (None,)
    figure = class_bars(made_up(NAMES[:2], 4, measure=measure, classes=classes))
    assert figure.name == f"class_bars_{measure}"
    assert marks(inner(figure.spec), "bar")


@pytest.mark.parametrize(("measure", "layers"), [("mass", 4), ("lift", 30)])
def test_bars_are_valid_vega_lite(measure: str, layers: int) -> None:
    compiled(class_bars(made_up(NAMES[:2], layers, measure=measure)))


def test_a_measure_of_heads_has_no_classes_to_name() -> None:
    figure = class_bars(made_up(["m"], 4, measure="entropy", classes=(None,)))
    colour = inner(figure.spec)["layer"][0]["encoding"]["color"]
    assert colour == {"value": PALETTES["seed"].series[0]}
    assert len(values(figure.spec, "whisker")) == 4
    assert "Entropy (nats)" in " ".join(words(drawn(figure)))
    assert "class" not in figure.title


def test_many_layers_get_a_row_for_each_model() -> None:
    spec = class_bars(made_up(["base", "tuned"], 30)).spec
    assert list(spec["facet"]) == ["row"]
    assert spec["facet"]["row"]["sort"] == ["base", "tuned"]


@pytest.mark.parametrize("measure", ["density", "lift"])
def test_what_does_not_add_up_is_not_stacked(measure: str) -> None:
    spec = class_bars(made_up(["a", "b"], 4, measure=measure)).spec
    assert all("stack" not in step for step in marks(inner(spec), "bar")[0]["transform"])
    assert spec["facet"]["row"]["sort"] == list(CLASSES)
    rules = [one for one in inner(spec)["layer"] if one["encoding"]["y"] == {"datum": 1.0}]
    assert len(rules) == (measure == "lift")
    assert len(values(spec, "whisker")) == 2 * 4 * 3  # each bar its own


def test_single_heads_get_a_row_each() -> None:
    spec = class_bars(made_up(["a", "b"], 4, heads=[0, 3])).spec
    assert spec["facet"]["row"]["sort"] == ["Head 0", "Head 3"]


def test_a_stack_has_one_whisker_that_of_its_total() -> None:
    figure = class_bars(reading(), totals=totals())
    expected = {(r["model"], r["layer"]): (r["low"], r["high"]) for r in totals().to_pylist()}
    drawn_as = {
        (v["model"], v["layer"]): (v["low"], v["high"]) for v in values(figure.spec, "whisker")
    }
    assert drawn_as == expected
    assert len(drawn_as) == 8
    rules = [e for e in drawn(figure).iter() if e.get("aria-roledescription") == "rule mark"]
    assert len(rules) == 8
    assert "of the total" in caption(figure)
    beside = [row for row in figure.table.to_pylist() if row["class"] == "total"]
    assert {(r["model"], r["layer"]): (r["low"], r["high"]) for r in beside} == expected
    for without in (class_bars(reading()), class_bars(reading(), ClassBarsOptions(whiskers=False))):
        assert values(without.spec, "whisker") == []  # the classes' own are in the table
        assert "Whisker" not in caption(without)


def test_shares_reach_from_0_to_1_and_two_have_one_whisker_between_them() -> None:
    three = class_bars(made_up(["a", "b"], 4, measure="share"))
    assert inner(three.spec)["layer"][0]["encoding"]["y"]["scale"] == {"domain": [0, 1]}
    assert values(three.spec, "whisker") == []
    pair = class_bars(made_up(["a", "b"], 1, measure="share", classes=("system", "maps")))
    assert {v["class"] for v in values(pair.spec, "whisker")} == {"maps"}  # the lower one
    assert "of the share of maps" in caption(pair)


def test_two_shares_by_layer_are_one_line_per_model() -> None:
    content = made_up(["a", "b"], 4, measure="share", classes=("system", "maps"))
    figure = class_bars(content, ClassBarsOptions())
    ((panel,),) = panels(figure)
    drawn_as = {(v["series"], v["x"]): v["mean"] for v in panel["data"]["values"]}
    rows = [row for row in content.to_pylist() if row["class"] == "system"]
    assert drawn_as == {(row["model"], row["layer"]): row["mean"] for row in rows}
    assert panel["encoding"]["y"]["scale"]["domain"] == [0, 1]
    assert panel["encoding"]["y"]["axis"]["title"] == "Share of system"
    assert "The rest: maps." in caption(figure)
    assert figure.name == "class_bars_share"
    named = class_bars(content, ClassBarsOptions(y_title="Mine", label={"maps": "Maps"}))
    assert panels(named)[0][0]["encoding"]["y"]["axis"]["title"] == "Mine"
    assert "The rest: Maps." in caption(named)


def test_a_class_keeps_its_colour_where_others_are_not_drawn() -> None:
    def colours(figure: Figure) -> dict[str, str]:
        scale = inner(figure.spec)["layer"][0]["encoding"]["color"]["scale"]
        return dict(zip(scale["domain"], scale["range"], strict=True))

    one = class_bars(reading(), ClassBarsOptions(class_order=("star",)))
    assert colours(one) == {"star": colours(class_bars(reading()))["star"]}


def test_classes_of_another_set_get_other_colours() -> None:
    def colours(**options: Any) -> list[str]:
        spec = class_bars(reading(), ClassBarsOptions(**options)).spec
        found: list[str] = inner(spec)["layer"][0]["encoding"]["color"]["scale"]["range"]
        return found

    assert colours(first_colour=3)[2] == colours()[2]  # whitespace is grey
    assert not set(colours(first_colour=3)[:2]) & set(colours()[:2])


def test_other_is_drawn_only_when_asked() -> None:
    content = made_up(["m"], 2, classes=("hash", "other", "sink_slot"))
    assert {v["class"] for v in values(class_bars(content).spec)} == {"hash"}
    both = class_bars(content, ClassBarsOptions(class_order=("hash", "other")))
    assert {v["class"] for v in values(both.spec)} == {"hash", "other"}


def test_a_class_that_no_prompt_has_is_left_out_and_said() -> None:
    rows = [("m", "all", 0, None, "a", 0.1), ("m", "all", 0, None, "b", float("nan"))]
    figure = class_bars(summary(rows, measure="lift"))
    assert len(values(figure.spec)) == 1
    assert "m, b: No prompt has this number." in figure.description


def test_layers_and_the_title_can_be_chosen() -> None:
    options = ClassBarsOptions(layers=(16,), title="Mine", name="mine")
    figure = class_bars(reading(), options)
    assert (figure.title, figure.name, figure.table.num_rows) == ("Mine", "mine", 6)
    assert figure.spec["title"]["text"] == ["Mine"]


def test_the_words_are_made_from_the_numbers() -> None:
    figure = class_bars(reading(), totals=totals())
    for number in ("0.055 (layer\xa016)", "total: 0.112 (layer\xa00)"):  # each bar of so few
        assert number in figure.description


def test_of_two_models_the_title_tells_the_largest_finding() -> None:
    content, differences = made_up([INSTRUCT, PHYS], 30), contrasted(30, None)
    fact, *others = largest(find({"differences": differences}))
    other = next(one for one in others if one.side != fact.side)
    looks, way = ("more", "less") if fact.side > 0 else ("less", "more")
    title = class_bars(content, contrast=differences).title
    claim = f"{PHYS} looks {looks} at {fact.subject.token_class} ({len(fact.places)} layers)"
    assert title == f"{claim}, {way} at {other.subject.token_class} ({len(other.places)})"
    layers = sorted(layer for layer, _ in fact.places)
    few = ClassBarsOptions(layers=(layers[0], layers[1]), labels="one-based", label={PHYS: "Phys"})
    only = class_bars(content, few, contrast=differences).title
    assert only.startswith(f"Phys looks {looks} at ")
    assert re.findall(r"\d+", only) == [str(1 + layers[0]), str(1 + layers[1])]


def test_a_title_claims_no_difference_that_can_not_be_told() -> None:
    content, neutral = made_up([INSTRUCT, PHYS], 5), "Attention share by token class and layer"
    assert class_bars(content).title == neutral
    same = contrasted(5, None, planted=False)
    assert class_bars(content, contrast=same).title == neutral
    content, found = made_up([INSTRUCT, PHYS], 30), contrasted(30, None)
    by_depth = found.replace_schema_metadata({**found.schema.metadata, DEPTH: "layers by depth"})
    titles = [class_bars(content, contrast=one).title for one in (found, by_depth)]
    assert [title == neutral for title in titles] == [False, True]


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(SelectionError, match="did you mean 'hash'"):
        class_bars(reading(), ClassBarsOptions(class_order=("hahs",)))
    with pytest.raises(SelectionError, match="twice"):
        class_bars(reading(), ClassBarsOptions(class_order=("hash", "hash")))
    with pytest.raises(SelectionError, match=r"27 rows \(head × class\)") as caught:
        class_bars(made_up(["m"], 2, heads=range(9), measure="lift"))
    assert "head map" in str(caught.value.next_step)
    with pytest.raises(SelectionError, match="no column 'mean'"):
        class_bars(reading().drop_columns(["mean"]))
