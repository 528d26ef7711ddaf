from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.figures import Figure, ProfileOptions, family_panel, profile_grid
from mindshare.figures.profile_panels import MOST_POINTS, Profile, strokes
from mindshare.figures.theme import WIDTHS
from mindshare.tables import DROP_FIRST, SCHEMAS, table

from .drawing import assert_fits, caption, compiled, drawn, marks, panels, words
from .insertions import Inserted, Made, changed, made

HEADS = [(0, 0), (0, 1), (0, 7), (3, 4), (29, 8)]
NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
WITH = "with “/\xa0×55”"
MODELS = ["Qwen2.5-Math-7B", "Llama-3.1-8B-Instruct", "Gemma-3-4b-it", "d", "e"]
CONDITIONS = ("/ ×55", "random sentence")


def grid(
    content: Made,
    heads: list[tuple[int | None, int | None]] | None = None,
    *,
    condition: str = "/ ×55",
    model: str = "m",
    response: pa.Table | None = None,
    **options: object,
) -> Figure:
    return profile_grid(
        content.aligned,
        content.sequence,
        content.places,
        ProfileOptions(**options),
        model=model,
        prompt="p1",
        condition=condition,
        heads=heads or HEADS[:3],
        response=response,
    )


def line(panel: dict, series: str, *, pale: bool = False) -> dict[int, float]:
    """Position → number of one line, where it is pale or where it is not."""
    return {
        row["x"]: row["y"]
        for layer in (*marks(panel, "line"), *marks(panel, "circle"))
        for row in layer["data"]["values"]
        if row["series"] == series and (row["opacity"] < 1) == pale
    }


def family(models: int = 3, **options: object) -> Figure:
    """Each model has its own tokens, its own head and its own length of the random sentence."""
    tables, heads = {}, {}
    for i, name in enumerate(MODELS[:models]):
        both = [Inserted(), Inserted(CONDITIONS[1], n=55 + i, token=" word")]
        content = made(62 + 3 * i, conditions=both, cells=[(0, i)])
        tables[name], heads[name] = (content.sequence, content.places), (0, i)
    return family_panel(
        tables, ProfileOptions(**options), prompt="p1", conditions=CONDITIONS, heads=heads
    )


# One column per head.


def test_pale_tokens_set_no_scale() -> None:
    content = made(62)
    rows = content.aligned.to_pylist()
    late = [row["received_without"] * (50 if row["n_queries_without"] == 1 else 1)
            if row["received_without"] is not None else None for row in rows]  # fmt: skip
    content = Made(
        content.sequence, content.places, changed(content.aligned, "received_without", late)
    )
    highest = max(x for x in late if x is not None)
    top = panels(grid(content))[0][0]["encoding"]["y"]["scale"]["domain"][1]
    assert top < highest
    assert max(line(panels(grid(content))[0][0], "without").values()) < top
    all_solid = panels(grid(content, few=0))[0][0]["encoding"]["y"]["scale"]["domain"][1]
    assert all_solid > top


def test_the_lines_are_the_numbers_of_the_tables() -> None:
    content = made(62)
    uppers, lowers = panels(grid(content, few=0))
    for (layer, head), upper, lower in zip(HEADS[:3], uppers, lowers, strict=True):
        own = [r for r in content.aligned.to_pylist() if (r["layer"], r["head"]) == (layer, head)]
        for column, series in (("received_without", "without"), ("received_with", WITH)):
            expected = {r["position_without"]: r[column] for r in own if r[column] is not None}
            assert line(upper, series) == pytest.approx(expected, rel=1e-6)
        sequence = {
            r["position"]: r["received"]
            for r in content.sequence.to_pylist()
            if (r["condition"], r["layer"], r["head"]) == ("/ ×55", layer, head)
        }
        del sequence[116]  # no query comes after the last token
        assert line(lower, WITH) == pytest.approx(sequence, rel=1e-6)


def test_a_version_has_one_colour_above_and_below() -> None:
    figure = grid(made(62), labels="one-based")
    scales = {
        str(marks(panel, "line")[0]["encoding"]["color"]["scale"])
        for row in panels(figure)
        for panel in row
    }
    assert len(scales) == 1
    texts = words(drawn(figure))
    for n in (1, 2, 8):
        assert f"Layer\xa01, head\xa0{n}" in texts
    assert {"without", WITH, "inserted tokens"} <= set(texts)
    assert texts.count("Attention received") == 2
    assert texts.count("/ ×55") == 3  # the name in the shaded run


def test_the_run_is_shaded_between_dashes() -> None:
    lower = panels(grid(made(62)))[1][0]
    area, dashes, name = lower["layer"][:3]
    (span,) = area["data"]["values"]
    assert (span["x"], span["x2"]) == (15.5, 70.5)
    assert [row["x"] for row in dashes["data"]["values"]] == [15.5, 70.5]
    assert name["data"]["values"][0]["words"] == "/ ×55"


def test_every_panel_has_its_own_scale_from_0() -> None:
    tops = [p["encoding"]["y"]["scale"]["domain"] for row in panels(grid(made(62))) for p in row]
    assert all(low == 0 for low, _ in tops)
    assert len({top for _, top in tops}) == 6


def test_few_queries_are_pale_and_said() -> None:
    figure = grid(made(62), few=5)
    upper = panels(figure)[0][0]
    assert max(line(upper, "without")) == 56  # from there on fewer than 5 queries follow
    assert sorted(line(upper, "without", pale=True)) == [56, 57, 58, 59, 60]
    assert "Pale: fewer than 5 queries." in caption(figure)
    assert not line(panels(grid(made(62), few=0))[0][0], "without", pale=True)


def test_unmatched_tokens_leave_a_gap_and_are_counted() -> None:
    figure = grid(made(62, conditions=[Inserted(merged=2)]))
    upper = panels(figure)[0][0]
    assert not {14, 15} & set(line(upper, "without"))
    assert "60 of 62 original tokens stand in both versions" in figure.description
    assert not re.search("blue|orange", figure.description)
    assert "2 tokens split differently" in caption(figure)
    rows = marks(upper, "line")[0]["data"]["values"]
    assert len({r["stroke"] for r in rows if r["series"] == WITH}) == 3  # before, after, pale


def test_the_first_token_can_be_left_out_of_the_picture() -> None:
    figure = grid(made(62, conditions=[Inserted(at=0)]), drop_first=True)
    assert min(figure.table["position"].to_pylist()) == 1
    upper, lower = panels(figure)[0][0], panels(figure)[1][0]
    assert min(line(upper, "without")) == 1
    (span,) = lower["layer"][0]["data"]["values"]
    assert (span["x"], span["x2"]) == (0.5, 54.5)  # inside the panel
    assert "First token not drawn." in caption(figure)


def test_tokens_can_be_pointed_at() -> None:
    upper, lower = (row[0] for row in panels(grid(made(62))))
    hover = upper["layer"][-1]
    row = hover["data"]["values"][7]
    assert (row["token"], row["x"]) == ("↵", 7)
    titles = [t["title"] for t in hover["encoding"]["tooltip"]]
    assert titles[:3] == ["position", "token", "without"]
    assert lower["layer"][-1]["data"]["values"][20]["token"] == "·/"


def test_the_table_holds_what_is_drawn() -> None:
    table = grid(made(62, conditions=[Inserted(merged=1)])).table
    assert table.num_rows == 3 * (61 + 117)
    rows = table.to_pylist()
    assert {r["condition"] for r in rows} == {"without", "/ ×55"}
    assert sum(r["part"] == "inserted" for r in rows) == 3 * 55
    assert all(field.metadata for field in table.schema)
    assert b"mindshare.definition" in table.schema.metadata


def response(*levels: float | None) -> pa.Table:
    """What maps and labels say of the first heads: their attention levels."""
    n = len(levels)
    columns: dict[str, list] = {name: [None] * n for name in SCHEMAS["response"].names}
    columns |= {"prompt": ["p1"] * n, "condition": ["/ ×55"] * n, "label": ["unchanged"] * n}
    columns |= {"layer": [0] * n, "head": [0, 1, 7][:n], "amplitude": list(levels)}
    return table("response", columns, {DROP_FIRST: "true"})


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ((1.446, 1.005, 0.868), "Original tokens receive more with “/\xa0×55” in 2 of 3 heads"),
        ((0.9, 1.1, 0.8), "Original tokens receive less with “/\xa0×55” in 2 of 3 heads"),
        ((0.9, None, None), "Original tokens receive less with “/\xa0×55” in 1 of 3 heads"),
        ((1.0, 1.0, None), "Attention that tokens receive with “/\xa0×55” in 3 heads"),
    ],
)
def test_the_title_goes_by_the_same_levels_as_maps_and_labels(
    levels: tuple[float | None, ...], words: str
) -> None:
    figure = grid(made(62), response=response(*levels))
    assert figure.title.startswith(words)
    assert "without the prompt's first token" in figure.definition
    assert figure.name == "profiles_55"


def test_a_token_far_above_the_rest_is_cut_off_and_told() -> None:
    content = made(62)
    places = content.aligned["position_without"].to_pylist()
    for ending in ("without", "with"):
        name = f"received_{ending}"
        spiked = [
            0.9 if at == 0 else x
            for at, x in zip(places, content.aligned[name].to_pylist(), strict=True)
        ]
        content = Made(content.sequence, content.places, changed(content.aligned, name, spiked))
    figure = grid(content)
    panel = panels(figure)[0][0]
    rest = [y for s in ("without", WITH) for x, y in line(panel, s).items() if x > 0]
    low, high = panel["encoding"]["y"]["scale"]["domain"]
    assert low == 0
    assert max(rest) < high < 2 * max(rest)
    (mark,) = [one for one in marks(panel, "text") if "↑" in str(one["data"])]
    assert mark["data"]["values"] == [{"x": 0, "words": "↑ 0.9, 0.9"}]
    assert "Cut off (↑): far above the rest." in caption(figure)
    assert "Pale" in caption(figure)
    assert "highest 0.9 at position 0" in figure.description
    assert "Cut off" not in caption(grid(made(62)))


def test_long_lines_are_thinned_and_keep_their_peak() -> None:
    content = made(6_000, conditions=[Inserted(at=3_000)], cells=[(0, 0)])
    figure = grid(content, [(0, 0)])
    shown = line(panels(figure)[0][0], "without")
    values = np.array(content.aligned["received_without"].to_pylist(), float)
    assert len(shown) < 2_100
    assert max(shown.values()) == pytest.approx(np.nanmax(values), rel=1e-6)
    assert figure.table.num_rows == 6_000 + 6_055  # the numbers are all there
    assert "lowest and the highest token are drawn" in figure.description


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("heads", [1, 3, 5])
def test_every_grid_fits_its_width(heads: int, width: str) -> None:
    content = made(20 if heads == 3 else 117, conditions=[Inserted(n=3)], cells=HEADS)
    assert_fits(grid(content, HEADS[:heads], model=NAME, width=width), WIDTHS[width])


def test_odd_prompts_are_still_drawn() -> None:
    nothing = grid(made(20, conditions=[Inserted("/ ×0", n=0)]), condition="/ ×0")
    assert "Nothing is inserted" in nothing.description
    assert "inserted tokens" not in words(drawn(nothing))
    single = grid(made(1, conditions=[Inserted(n=2, at=0)], cells=[(0, 0)]), [(0, 0)])
    assert "without no number" in single.description
    labelled = {"/ ×55": "meaningless tokens"}
    safe = grid(made(20), palette="safe", label=labelled)
    assert "meaningless tokens" in words(drawn(safe))
    compiled(single)


def test_what_cannot_be_drawn_is_refused() -> None:
    content = made(20)
    with pytest.raises(SelectionError, match="can't be 'without' itself"):
        grid(content, condition="without")
    with pytest.raises(SelectionError, match="there is no head 5"):
        grid(content, [(0, 5)])
    with pytest.raises(SelectionError, match="25 heads"):
        grid(content, [(0, 0)] * 25)


# One panel per model.


def test_one_panel_per_model_each_with_both_conditions() -> None:
    figure = family()
    ((a, b, c),) = panels(figure)
    counts = [
        [len(line(p, s, pale=False) | line(p, s, pale=True)) for s in ("“/\xa0×55”", CONDITIONS[1])]
        for p in (a, b, c)
    ]
    assert counts == [[116, 116], [119, 120], [122, 124]]
    assert figure.table["model"].unique().to_pylist() == MODELS[:3]
    spans = [[(v["x"], v["x2"]) for v in p["layer"][0]["data"]["values"]] for p in (a, b)]
    assert spans == [[(15.5, 70.5)], [(15.5, 70.5), (15.5, 71.5)]]
    hover = a["layer"][-1]["data"]["values"][20]
    assert (hover["token0"], hover["token1"]) == ("·/", "·word")


def test_titles_and_legend_of_the_published_figure() -> None:
    labels = {"/ ×55": "Meaningless tokens", "random sentence": "Random sentence"}
    texts = words(drawn(family(labels="one-based", label=labels)))
    assert {"Meaningless tokens", "Random sentence", "Attention received"} <= set(texts)
    assert any("Llama-3.1-8B-Instruct" in text for text in texts)
    assert any("head\xa03" in text for text in texts)
    assert texts.count("Token position") == 3


def test_no_colour_is_named_that_another_style_would_change() -> None:
    assert not re.search("blue|orange", family().description)


def test_the_first_token_can_be_left_out() -> None:
    everywhere = family(drop_first=True)
    assert min(everywhere.table["position"].to_pylist()) == 1
    assert "First token not drawn." in everywhere.description


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("models", [1, 5])
def test_every_family_fits_its_width(models: int, width: str) -> None:
    figure = family(models, width=width)
    assert_fits(figure, WIDTHS[width])
    if (models, width) == (1, "page"):
        compiled(figure)


def test_what_is_missing_is_named_with_its_model() -> None:
    content = made(20, cells=[(0, 0)])
    tables = {"m": (content.sequence, content.places)}
    with pytest.raises(SelectionError, match=r"no condition 'random sentence'.*\(in m\)"):
        family_panel(tables, prompt="p1", conditions=CONDITIONS, heads={"m": (0, 0)})
    with pytest.raises(SelectionError, match="no head is chosen for m"):
        family_panel(tables, prompt="p1", conditions=CONDITIONS, heads={})
    with pytest.raises(SelectionError, match="0 models"):
        family_panel({}, prompt="p1", conditions=CONDITIONS, heads={})


# Strokes.


def profile(received: object, *, position: object = None, queries: object = None) -> Profile:
    values = np.array(received, float)
    n = len(values)
    where = np.arange(n) if position is None else np.array(position)
    counts = np.arange(n)[::-1] if queries is None else np.array(queries)
    columns = zip(where.tolist(), values, counts.tolist(), strict=True)
    names = ("position", "received", "n_queries")
    return Profile("c", [dict(zip(names, row, strict=True)) for row in columns])


@pytest.mark.parametrize(
    ("one", "few", "expected"),
    [
        (profile([1, 2, np.nan, 4, 5]), 0, [([0, 1], False), ([3, 4], False)]),
        (profile([1, 2, 3], position=[0, 2, 3]), 0, [([0], False), ([1, 2], False)]),
        (profile([np.nan, np.nan]), 0, []),
        (profile([1, 2, 3, 4, 5]), 2, [([0, 1, 2], False), ([2, 3, 4], True)]),  # share a point
        (
            profile([1, 2, 3, 4, 5], queries=[9, 9, 1, 9, 9]),
            5,
            [([0, 1], False), ([1, 2, 3], True), ([3, 4], False)],
        ),
    ],
)
def test_lines_break_at_gaps_and_pale_where_few_ask(
    one: Profile, few: int, expected: list[tuple[list[int], bool]]
) -> None:
    assert [(points.tolist(), pale) for points, pale in strokes(one, few=few)] == expected


def test_a_long_line_keeps_its_ends_its_peaks_and_its_floor() -> None:
    values = np.random.default_rng(0).random(20_000)
    values[12_345], values[777] = 9.0, -1.0
    ((points, _),) = strokes(profile(values, queries=np.full(20_000, 99)), few=5)
    assert len(points) <= 2_002
    assert {0, 777, 12_345, 19_999} <= set(points.tolist())
    assert (np.diff(points) > 0).all()
    short = profile(np.ones(MOST_POINTS), queries=np.full(MOST_POINTS, 99))
    assert [len(points) for points, _ in strokes(short, few=5)] == [MOST_POINTS]
