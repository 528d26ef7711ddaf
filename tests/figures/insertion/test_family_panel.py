from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures import FamilyPanelOptions, Figure, family_panel
from mindshare.figures.theme import WIDTHS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import Inserted, made

NAMES = ["Qwen2.5-Math-7B", "Llama-3.1-8B-Instruct", "Gemma-3-4b-it", "d", "e"]
CONDITIONS = ("/ ×55", "random sentence")


def panel(models: int = 3, **options: object) -> Figure:
    """Each model has its own tokens, its own head and its own length of the random sentence."""
    tables, heads = {}, {}
    for i, name in enumerate(NAMES[:models]):
        both = [Inserted(), Inserted(CONDITIONS[1], n=55 + i, token=" word")]
        content = made(62 + 3 * i, conditions=both, cells=[(0, i)])
        tables[name], heads[name] = (content.sequence, content.places), (0, i)
    return family_panel(
        tables,
        FamilyPanelOptions(**options),
        prompt="p1",
        conditions=CONDITIONS,
        heads=heads,
    )


def columns(figure: Figure) -> list[dict]:
    return [p for view in figure.spec["vconcat"] if "hconcat" in view for p in view["hconcat"]]


def lines(panel: dict) -> dict[str, int]:
    """Colour → number of positions that a line of it reaches."""
    found: dict[str, set[int]] = {}
    for layer in panel["layer"]:
        if layer["mark"]["type"] == "line":
            xs = {row["x"] for row in layer["data"]["values"]}
            found.setdefault(layer["mark"]["color"], set()).update(xs)
    return {colour: len(xs) for colour, xs in found.items()}


def test_one_column_a_model_each_with_both_conditions() -> None:
    figure = panel()
    assert [lines(p) for p in columns(figure)] == [
        {"#2f6fc4": 116, "#ee8a1d": 116},
        {"#2f6fc4": 119, "#ee8a1d": 120},
        {"#2f6fc4": 122, "#ee8a1d": 124},
    ]
    assert figure.table["model"].unique().to_pylist() == NAMES[:3]


def test_titles_legend_and_axes_of_the_published_figure() -> None:
    labels = {"/ ×55": "Meaningless tokens", "random sentence": "Random sentence"}
    texts = words(drawn(panel(labels="one-based", condition_labels=labels)))
    assert {"Meaningless tokens", "Random sentence", "Average attention weight"} <= set(texts)
    assert any("Llama-3.1-8B-Instruct" in text for text in texts)
    assert any("Layer 1 Head 3" in text for text in texts)
    assert texts.count("Token position") == 3


def test_the_runs_of_both_conditions_are_shaded() -> None:
    same, different, _ = columns(panel())
    assert same["layer"][0]["data"]["values"] == [{"x": 15.5, "x2": 70.5}]
    assert different["layer"][0]["data"]["values"] == [
        {"x": 15.5, "x2": 70.5},
        {"x": 15.5, "x2": 71.5},
    ]


def test_the_first_token_is_left_out_where_asked() -> None:
    figure = panel(drop_first={"Gemma-3-4b-it"})
    first = [p["encoding"]["x"]["scale"]["domain"][0] for p in columns(figure)]
    assert first == [-0.5, -0.5, 0.5]
    assert "The first token of Gemma-3-4b-it is not drawn." in figure.description
    everywhere = panel(drop_first=True)
    assert min(everywhere.table["position"].to_pylist()) == 1
    assert "The first token is not drawn." in everywhere.description


def test_both_versions_tell_their_own_token() -> None:
    hover = next(x for x in columns(panel())[0]["layer"] if "tooltip" in x["encoding"])
    row = hover["data"]["values"][20]
    assert (row["token0"], row["token1"]) == ("·/", "·word")


def test_the_description_says_what_the_run_gets() -> None:
    text = panel(2).description
    assert "inside the run (55 tokens) from" in text
    assert "inside the run (56 tokens) from" in text
    assert "(blue)" in text
    assert "(orange)" in text


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("models", [1, 3, 5])
def test_every_panel_fits_its_width_and_cuts_nothing_off(models: int, width: str) -> None:
    figure = panel(models, width=width)
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06


def test_the_panel_is_valid_vega_lite() -> None:
    both = [Inserted(n=2, at=4), Inserted(CONDITIONS[1], n=3, at=4)]
    content = made(9, conditions=both, cells=[(0, 0)])
    tables = {"m": (content.sequence, content.places)}
    figure = family_panel(tables, prompt="p1", conditions=CONDITIONS, heads={"m": (0, 0)})
    compiled(figure)


def test_what_is_missing_is_named_with_its_model() -> None:
    content = made(20, cells=[(0, 0)])
    tables = {"m": (content.sequence, content.places)}
    with pytest.raises(SelectionError, match=r"no condition 'random sentence'.*\(in m\)"):
        family_panel(tables, prompt="p1", conditions=CONDITIONS, heads={"m": (0, 0)})
    with pytest.raises(SelectionError, match="no head is chosen for m"):
        family_panel(tables, prompt="p1", conditions=CONDITIONS, heads={})
    options = FamilyPanelOptions(drop_first=["n"])
    with pytest.raises(SelectionError, match="drop_first names 'n'"):
        family_panel(tables, options, prompt="p1", conditions=CONDITIONS, heads={"m": (0, 0)})
