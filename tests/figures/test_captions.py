from __future__ import annotations

import pytest

from mindshare.figures import (
    ClassBarsOptions,
    Figure,
    captions,
    class_bars,
    head_map,
    layer_lines,
    response_map,
    titles,
)
from mindshare.figures.selection import Selection, select
from mindshare.figures.theme import Style
from mindshare.measures import MEASURES

from .drawing import caption
from .insertions import summarised
from .samples import contrasted, made_up, reading, summary

GRID = [(i, j) for i in range(4) for j in range(3)]


def data(measure: str, rows: list[float], *, n_prompts: int = 9) -> Selection:
    cells = [("m", "all", i, None, None, x) for i, x in enumerate(rows)]
    return select(summary(cells, measure=measure, n_prompts=n_prompts), Style())


@pytest.mark.parametrize(
    ("measure", "values", "word", "layer"),
    [
        ("mass", [0.1, 0.3, 0.2], "highest", 1),
        ("retained", [0.9, 0.95, 0.2], "lowest", 2),
        ("amplitude", [0.25, 3.0, 1.0], "lowest", 0),  # a quarter is further from 1 than three
        ("entropy_change", [-0.1, 0.3, 0.2], "highest", 1),
    ],
)
def test_what_stands_out_is_furthest_from_nothing_happens(
    measure: str, values: list[float], word: str, layer: int
) -> None:
    found = data(measure, values)
    said, row = titles.stands_out(found, found.drawn) or ("", {})
    assert (said, row["layer"]) == (word, layer)
    title = titles.summary_title(found, found.drawn, by="layer")
    assert f"{word} in layer\xa0{layer}" in title


def test_too_few_prompts_make_no_message() -> None:
    found = data("mass", [0.1, 0.3], n_prompts=1)
    assert "highest" not in titles.summary_title(found, found.drawn, by="layer")


def figures() -> list[Figure]:
    by_layer = summarised([(i, None) for i in range(5)], conditions=("/ ×55", "he ×55"))
    return [
        class_bars(reading()),
        class_bars(made_up(["m"], 30, measure="lift")),
        class_bars(reading(n_prompts=1), ClassBarsOptions(labels="one-based")),
        head_map(contrasted(30, 9), "star"),
        head_map(made_up(["m"], 4, heads=range(3)), "star"),
        *(response_map(summarised(GRID), measure) for measure in ("amplitude", "divergence")),
        layer_lines(by_layer, "retained"),
    ]


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.name)
def test_titles_and_captions_are_short_and_definitions_whole(figure: Figure) -> None:
    assert len(figure.title.split(" ")) <= 12
    assert len(caption(figure).split(" ")) <= captions.CAPTION_WORDS
    assert "A[i,j] is the attention that query token i gives to key token j" in figure.definition
    assert "labelled" in figure.definition
    assert "prompt" in caption(figure)


@pytest.mark.parametrize("name", [n for n, m in MEASURES.items() if m.level in ("class", "head")])
def test_any_measure_of_the_registry_has_its_words(name: str) -> None:
    """With what it rests on, and its unit on the axis."""
    found = data(name, [0.1, 0.3])
    shown, definition, _ = captions.summary_words(found, captions.Encoding(name=["x"], title=""))
    for each in (name, *MEASURES[name].needs):
        assert MEASURES[each].definition.rstrip(".") in definition
    assert MEASURES[name].unit in captions.axis_title(found) + "ratio"
    assert MEASURES[name].title in shown


def test_the_definition_carries_the_study_and_what_the_caller_knows() -> None:
    study = {"mindshare.definition": '{"classes": [["hash", "#"]], "policy": "pure"}'}
    content = reading()
    content = content.replace_schema_metadata({**content.schema.metadata, **study})
    figure = class_bars(content, about={"heads": "mean of 12 heads", "data": "maps"})
    for part in (
        "(policy: pure): hash = #",
        "Heads: mean of 12 heads",
        "Data: maps.",
        "Set Q: all",
    ):
        assert part.lower() in figure.definition.lower(), part


def test_names_of_conditions_end_somewhere() -> None:
    style = Style(label={"/ ×5": "slashes"})
    assert captions.condition_label("/ ×5", style) == "slashes"
    assert captions.condition_label("? ×5", style) == "“?\xa0×5”"
    assert captions.condition_label("random sentence", style) == "random sentence"
    assert captions.visible(" a\n\t\x00") == "·a↵⇥\\x00"
    assert captions.file_name("map", "/ ×55") == "map_55"
