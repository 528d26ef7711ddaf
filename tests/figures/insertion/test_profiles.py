from __future__ import annotations

import numpy as np
import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, ProfileGridOptions, profile_grid
from mindshare.figures.theme import WIDTHS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import Inserted, Made, made

HEADS = [(0, 0), (0, 1), (0, 7), (3, 4), (29, 8)]
NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"


def grid(
    content: Made,
    heads: list[tuple[int | None, int | None]] | None = None,
    *,
    condition: str = "/ ×55",
    model: str = "Qwen2.5-Math-7B",
    **options: object,
) -> Figure:
    return profile_grid(
        content.aligned,
        content.sequence,
        content.places,
        ProfileGridOptions(**options),
        model=model,
        prompt="p1",
        condition=condition,
        heads=heads or HEADS[:3],
    )


def panels(figure: Figure) -> list[list[dict]]:
    """Rows of panels; legends stand alone."""
    return [view["hconcat"] for view in figure.spec["vconcat"] if "hconcat" in view]


def line(panel: dict, colour: str, *, faded: bool = False) -> dict[int, float]:
    """Position → number of every line of this colour."""
    return {
        row["x"]: row["y"]
        for layer in panel["layer"]
        if layer["mark"]["type"] == "line"
        and layer["mark"]["color"] == colour
        and ("opacity" in layer["mark"]) == faded
        for row in layer["data"]["values"]
    }


def test_the_lines_are_the_numbers_of_the_tables() -> None:
    content = made(62)
    (uppers, lowers) = panels(grid(content, few=0))
    rows = content.aligned.to_pylist()
    for (layer, head), upper, lower in zip(HEADS[:3], uppers, lowers, strict=True):
        own = [r for r in rows if (r["layer"], r["head"]) == (layer, head)]
        for column, colour in (("received_without", "#2f6fc4"), ("received_with", "#d63333")):
            expected = {r["position_without"]: r[column] for r in own if r[column] is not None}
            assert line(upper, colour) == pytest.approx(expected, rel=1e-6)
        sequence = {
            r["position"]: r["received"]
            for r in content.sequence.to_pylist()
            if (r["condition"], r["layer"], r["head"]) == ("/ ×55", layer, head)
        }
        del sequence[116]  # no query comes after the last token
        assert line(lower, "#2f6fc4") == pytest.approx(sequence, rel=1e-6)


def test_the_layout_of_the_published_figure() -> None:
    figure = grid(made(62), labels="one-based")
    texts = words(drawn(figure))
    for n in (1, 2, 8):
        assert f"Qwen2.5-Math-7B Layer 1 Head {n}" in texts
    assert texts.count("Average attention weight") == 2
    assert {"without", "with “/\xa0×55”", "Original tokens:", "All tokens:"} <= set(texts)
    assert texts.count("/ ×55") == 3  # the name in the shaded run


def test_the_run_is_shaded_between_dashes() -> None:
    lower = panels(grid(made(62)))[1][0]
    area, dashes, name = lower["layer"][:3]
    assert area["data"]["values"] == [{"x": 15.5, "x2": 70.5}]
    assert [row["x"] for row in dashes["data"]["values"]] == [15.5, 70.5]
    assert name["data"]["values"] == [{"words": ["/ ×55"]}]


def test_every_panel_has_its_own_scale_from_0() -> None:
    tops = [p["encoding"]["y"]["scale"]["domain"] for row in panels(grid(made(62))) for p in row]
    assert all(low == 0 for low, _ in tops)
    assert len({top for _, top in tops}) == 6


def test_few_queries_are_pale_and_said() -> None:
    figure = grid(made(62), few=5)
    upper = panels(figure)[0][0]
    assert max(line(upper, "#2f6fc4")) == 56  # from there on fewer than 5 queries follow
    assert sorted(line(upper, "#2f6fc4", faded=True)) == [56, 57, 58, 59, 60]
    assert "Pale: mean of fewer than 5 queries." in " ".join(figure.spec["title"]["subtitle"])
    assert not line(panels(grid(made(62), few=0))[0][0], "#2f6fc4", faded=True)


def test_unmatched_tokens_leave_a_gap_and_are_counted() -> None:
    figure = grid(made(62, conditions=[Inserted(merged=2)]))
    upper = panels(figure)[0][0]
    assert not {14, 15} & set(line(upper, "#2f6fc4"))
    assert "60 of 62 original tokens stand in both versions; 2 do not: a gap." in figure.description
    strokes = {
        row["stroke"]
        for layer in upper["layer"]
        if layer["mark"]["type"] == "line" and layer["mark"]["color"] == "#d63333"
        for row in layer["data"]["values"]
    }
    assert len(strokes) == 3  # before the gap, after it, and pale


def test_the_first_token_can_be_left_out_of_the_picture() -> None:
    figure = grid(made(62, conditions=[Inserted(at=0)]), drop_first=True)
    assert min(figure.table["position"].to_pylist()) == 1
    upper, lower = panels(figure)[0][0], panels(figure)[1][0]
    assert min(line(upper, "#2f6fc4")) == 1
    assert lower["layer"][0]["data"]["values"] == [{"x": 0.5, "x2": 54.5}]  # inside the panel
    assert "first token is left out" in figure.description


def test_tokens_can_be_pointed_at() -> None:
    upper, lower = (row[0] for row in panels(grid(made(62))))
    hover = next(layer for layer in upper["layer"] if "tooltip" in layer["encoding"])
    row = hover["data"]["values"][7]
    assert (row["token"], row["position"], row["from"], row["to"]) == ("↵", 7, 6.5, 7.5)
    assert [t["title"] for t in hover["encoding"]["tooltip"]][:3] == [
        "position",
        "token",
        "without",
    ]
    run = next(layer for layer in lower["layer"] if "tooltip" in layer["encoding"])
    assert run["data"]["values"][20]["token"] == "·/"


def test_the_table_holds_what_is_drawn() -> None:
    table = grid(made(62, conditions=[Inserted(merged=1)])).table
    assert table.num_rows == 3 * (61 + 117)
    rows = table.to_pylist()
    assert {r["condition"] for r in rows} == {"without", "/ ×55"}
    assert sum(r["part"] == "inserted" for r in rows) == 3 * 55
    assert all(field.metadata for field in table.schema)
    assert b"mindshare.definition" in table.schema.metadata


def test_long_lines_are_thinned_and_keep_their_peak() -> None:
    content = made(6_000, conditions=[Inserted(at=3_000)], cells=[(0, 0)])
    figure = grid(content, [(0, 0)])
    shown = line(panels(figure)[0][0], "#2f6fc4")
    values = np.array(content.aligned["received_without"].to_pylist(), float)
    assert len(shown) < 2_100
    assert max(shown.values()) == pytest.approx(np.nanmax(values), rel=1e-6)
    assert figure.table.num_rows == 6_000 + 6_055  # the numbers are all there
    assert "lowest and the highest token are drawn" in figure.description


def test_nothing_inserted_is_drawn_without_a_run() -> None:
    content = made(20, conditions=[Inserted("/ ×0", n=0)], cells=[(0, 0)])
    figure = grid(content, [(0, 0)], condition="/ ×0")
    assert "Nothing is inserted" in figure.description
    assert "inserted tokens" not in words(drawn(figure))


def test_a_prompt_of_one_token_has_no_numbers_and_is_still_drawn() -> None:
    figure = grid(made(1, conditions=[Inserted(n=2, at=0)], cells=[(0, 0)]), [(0, 0)])
    assert "original tokens without: no number" in figure.description
    compiled(figure)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("heads", [1, 3, 4, 5])
def test_every_grid_fits_its_width_and_cuts_nothing_off(heads: int, width: str) -> None:
    for content in (made(20, cells=HEADS), made(117, conditions=[Inserted(n=3)], cells=HEADS)):
        figure = grid(content, HEADS[:heads], model=NAME, width=width)
        assert_nothing_is_cut_off(figure)
        assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06


def test_the_grid_is_valid_vega_lite() -> None:
    compiled(grid(made(9, conditions=[Inserted(n=2, at=4, merged=1)], cells=HEADS), HEADS[:1]))


def test_the_safe_palette_and_labels_of_conditions() -> None:
    figure = grid(made(20), palette="safe", condition_labels={"/ ×55": "meaningless tokens"})
    texts = words(drawn(figure))
    assert "with meaningless tokens" in texts
    assert line(panels(figure)[0][0], "#0072b2")
    assert line(panels(figure)[0][0], "#d55e00")


def test_what_cannot_be_drawn_is_refused() -> None:
    content = made(20)
    with pytest.raises(SelectionError, match="can't be 'without' itself"):
        grid(content, condition="without")
    with pytest.raises(SelectionError, match="there is no head 5"):
        grid(content, [(0, 5)])
    with pytest.raises(SelectionError, match="25 heads"):
        grid(content, [(0, 0)] * 25)
