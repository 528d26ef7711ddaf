from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindshare.errors import SelectionError
from mindshare.figures import Figure, TokenStripOptions, received_strip, text_strip
from mindshare.figures.theme import WIDTHS
from mindshare.figures.token_strip import flow

from .drawing import assert_fits, caption, compiled, drawn, words
from .insertions import Inserted, Made, changed, made

CELLS = [(None, None)]
ODD = ["<|im_start|>", "\n", "日本語", "😀", "\t\t", " caf", "é", " e\u0301", "\x00", " \u200b",
       "مرحبا", " " * 70, "https://example.com/" + "a" * 150, " end", ".\n", "\u00a0", "<b>",
       "&amp;", '"', "'", "\\"]  # fmt: skip


def strip(content: Made, *, places: bool = True, **options: object) -> Figure:
    return text_strip(
        content.aligned,
        TokenStripOptions(**options),
        model="m",
        prompt="p1",
        condition="/ ×55",
        places=content.places if places else None,
    )


def boxes(figure: Figure) -> list[dict]:
    found: list[dict] = figure.spec["data"]["values"]
    return found


def test_the_text_is_the_prompts_own() -> None:
    figure = strip(made(20, cells=CELLS))
    texts = " ".join(words(drawn(figure)))
    for word in ("You", "are", "assistant", "What", "12", "?"):
        assert word in texts
    assert [b["token"] for b in boxes(figure)][:3] == ["You", "·are", "·a"]
    assert len({b["y"] for b in boxes(figure)}) == 2  # one line end
    are = boxes(figure)[1]  # leading spaces are stepped over
    assert (are["text"], round(are["at"] - are["x"], 2)) == ("are", 3.34)


def test_colours_are_the_change_of_each_token() -> None:
    content = made(30, cells=CELLS)
    rows = {r["position_without"]: r for r in content.aligned.to_pylist()}
    figure = strip(content)
    domain = figure.spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    for box in boxes(figure):
        row = rows[box["position"]]
        if row["received_with"] is None:
            assert box["kind"] == "nothing"
            continue
        ratio = row["received_with"] / row["received_without"]
        assert float(box["change"]) == pytest.approx(ratio, rel=1e-3)
        if domain[0] < box["place"] < domain[-1]:
            assert 2 ** box["place"] == pytest.approx(ratio, rel=1e-6)


def test_from_nothing_to_something_is_at_the_end_of_the_scale() -> None:
    content = made(20, cells=CELLS)
    values = content.aligned["received_without"].to_pylist()
    values[3] = 0.0
    figure = strip(
        Made(content.sequence, content.places, changed(content.aligned, "received_without", values))
    )
    domain = figure.spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert boxes(figure)[3]["place"] == domain[-1]
    assert "(from 0)" in figure.description


def test_unmatched_tokens_are_outlined_and_said() -> None:
    content = made(20, conditions=[Inserted(n=3, at=8, merged=2)], cells=CELLS)
    figure = strip(content)
    assert [b["kind"] for b in boxes(figure)].count("unmatched") == 2
    assert "Outlined" in caption(figure)
    assert "Outlined: 2 tokens split differently" in figure.description
    assert "…" in [b["text"] for b in boxes(strip(content, places=False))]


def test_few_queries_are_pale_and_the_first_token_can_be_left_out() -> None:
    figure = strip(made(20, cells=CELLS), drop_first=True)
    assert [b["position"] for b in boxes(figure) if b["opacity"] < 1] == [15, 16, 17, 18]
    assert "Pale: fewer than 5 queries." in caption(figure)
    assert boxes(figure)[0]["kind"] == "nothing"
    assert boxes(strip(made(20, cells=CELLS)))[0]["kind"] == "change"


def test_the_words_name_who_gains_and_who_loses_most() -> None:
    content = made(30, cells=CELLS)
    figure = strip(content)
    rows = [r for r in content.aligned.to_pylist() if r["received_with"] is not None]
    ratios = {r["position_without"]: r["received_with"] / r["received_without"] for r in rows}
    least = min(ratios, key=lambda at: ratios[at])
    assert f"at position {least} ({ratios[least]:.3g})" in figure.description
    lose = sum(ratio < 1 for ratio in ratios.values())
    assert f"{lose} of {len(ratios)} tokens lose attention" in figure.title
    assert "mean over layers and heads" in caption(figure)
    assert (figure.name, figure.table.num_rows) == ("text_55", 30)


def test_a_part_of_a_long_prompt_can_be_chosen() -> None:
    content = made(40, cells=CELLS)
    assert {b["position"] for b in boxes(strip(content, positions=(3, 9)))} == set(range(3, 9))
    with pytest.raises(SelectionError, match="no tokens from 90 to 99") as caught:
        strip(content, positions=(90, 99))
    assert caught.value.allowed == "0 to 40"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("tokens", [1, 20, 117, ODD])
def test_every_strip_fits_its_width(tokens: int | list[str], width: str) -> None:
    figure = strip(made(tokens, conditions=[Inserted(at=1)], cells=CELLS), width=width)
    assert_fits(figure, WIDTHS[width])
    assert max(box["x2"] for box in boxes(figure)) <= 96 * WIDTHS[width] + 0.1


def test_strips_are_valid_vega_lite() -> None:
    compiled(strip(made(ODD[:5], conditions=[Inserted(at=3, merged=1)], cells=CELLS)))


# What tokens receive.


def received(
    values: list[float], words: list[str], *, queries: int = 9, near: int = -1, **look: object
) -> Figure:
    n = len(values)
    got = pa.table(
        {
            "queries": ["last"] * n,
            "layer": pa.nulls(n, pa.int32()),
            "head": pa.nulls(n, pa.int32()),
            "position": list(range(n)),
            "received": values,
            "n_queries": [queries] * (n - 1) + [1],
        },
    ).replace_schema_metadata({"mindshare.definition": f'{{"near": {near}, "queries": ["last"]}}'})
    places = [
        {"position": i, "token": word, "start": i, "stop": i + 1} for i, word in enumerate(words)
    ]
    options = TokenStripOptions(**look)
    return received_strip(got, pa.Table.from_pylist(places), options, model="m")


@pytest.mark.parametrize(
    ("values", "few", "title"),
    [
        ([0.1, 0.2, 0.5, 0.2], 1, "“the” at position 2 receives most: m"),
        ([0.6, 0.1, 0.2, 0.1], 1, "Besides the first token, “the” at position 2 receives most: m"),
        ([0.6, 0.3, 0.0, 0.1], 1, "Besides the first token, “hi” receives most: m"),
        ([0.5, 0.0, 0.1, 0.4], 1, "Besides the first token, the last token (“¶”) receives most: m"),
        ([0.1, 0.2, 0.3, 0.4], 5, "Besides pale tokens, “the” at position 2 receives most: m"),
    ],
)
def test_the_title_names_the_largest_and_says_what_it_leaves_out(
    values: list[float], few: int, title: str
) -> None:
    figure = received(values, ["the", " hi", " the", "\n"], few=few)
    assert figure.title == title
    assert ("Darkest: first token," in caption(figure)) == (values[0] >= 0.5)
    assert ("Pale: fewer than 5 queries." in caption(figure)) == (few == 5)
    assert "Grey" not in caption(figure)


def test_what_tokens_receive_is_written_in_percent_with_their_text() -> None:
    figure = received([0.5, 0.0312, 0.4], ["a", " b", "c"], few=1)
    assert figure.table["token"].to_pylist() == ["a", " b", "c"]
    assert figure.table["model"].unique().to_pylist() == ["m"]
    assert boxes(figure)[1]["change"] == "3.12\u00a0%"
    assert "·b at position 1 (3.12\u00a0%)" in figure.description
    assert any("40 %" in word for word in words(drawn(figure)))  # in the legend
    assert "Query set Q: last, i ≥ j." in figure.definition
    assert "i > j." in received([0.5, 0.1], ["a", "b"], near=0).definition


# Where characters stand.


def laid(tokens: list[str], width: float = 100) -> list[str]:
    found: dict[int, str] = {}
    for box in flow(tokens, width, 10):
        found[box.line] = found.get(box.line, "") + box.text.replace("\u00a0", " ")
    return [found[i] for i in sorted(found)]


def test_words_stay_whole_lines_end_and_long_tokens_are_cut() -> None:
    assert laid(["The", " help", "ful", " assist", "ant"], 60) == ["The helpful", " assistant"]
    assert laid(["a", ".\n", "\n\n", "b", " \n c"]) == ["a.¶", "¶", "¶", "b ¶", " c"]
    assert "".join(laid(["x" * 50])) == "x" * 50
    assert len(laid(["x" * 50])) > 1
    assert laid(["\t\x00 a"]) == ["→\\x00 a"]  # what can't be drawn is escaped
    assert all(box.width > 0 for box in flow(["🤯", "", "x"], 100, 10))


@given(st.lists(st.text("ab /.\n\t日é😀\x00", max_size=30), max_size=30), st.integers(40, 300))
def test_every_character_stands_somewhere_and_no_two_boxes_meet(
    tokens: list[str], width: int
) -> None:
    found = flow(tokens, width, 10)
    marks = {" ": "\u00a0", "\t": "→", "\n": "¶", "\x00": "\\x00"}
    for number, token in enumerate(tokens):
        own = [box.text for box in found if box.token == number]
        assert "".join(own) == "".join(marks.get(c, c) for c in token)
        assert own
    for one, other in itertools.pairwise(found):
        assert one.line < other.line or one.x + one.width <= other.x + 0.02
    assert all(box.x + box.width <= width + 0.02 or len(box.text) <= 1 for box in found)
