from __future__ import annotations

import pytest

from mindshare.figures import Figure, TextStripOptions, text_strip
from mindshare.figures.theme import WIDTHS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import Inserted, Made, made

CELLS = [(None, None)]
ODD = ["<|im_start|>", "\n", "日本語", "😀", "\t\t", " caf", "é", " e\u0301", "\x00", " \u200b",
       "مرحبا", " " * 70, "https://example.com/" + "a" * 150, " end", ".\n", "\u00a0", "<b>",
       "&amp;", '"', "'", "\\"]  # fmt: skip


def strip(content: Made, *, places: bool = True, **options: object) -> Figure:
    return text_strip(
        content.aligned,
        TextStripOptions(**options),
        model="m",
        prompt="p1",
        condition="/ ×55",
        places=content.places if places else None,
    )


def boxes(figure: Figure) -> list[dict]:
    return figure.spec["vconcat"][-1]["data"]["values"]


def test_the_text_is_the_prompts_own() -> None:
    figure = strip(made(20, cells=CELLS))
    texts = " ".join(words(drawn(figure)))
    for word in ("You", "are", "assistant", "What", "12", "?"):
        assert word in texts
    assert [b["token"] for b in boxes(figure)][:3] == ["You", "·are", "·a"]
    assert sorted({b["y"] for b in boxes(figure)}) == [0, 17]  # one line end


def test_colours_are_the_change_of_each_token() -> None:
    content = made(30, cells=CELLS)
    rows = {r["position_without"]: r for r in content.aligned.to_pylist()}
    for kind in ("ratio", "difference"):
        figure = strip(content, change=kind, ends=(0.001, 1000) if kind == "ratio" else (-1, 1))
        for box in boxes(figure):
            row = rows[box["position"]]
            if row["received_with"] is None:
                assert box["kind"] == "nothing"
                continue
            ratio = row["received_with"] / row["received_without"]
            difference = row["received_with"] - row["received_without"]
            expected = ratio if kind == "ratio" else difference
            drawn_as = 2 ** box["place"] if kind == "ratio" else box["place"]
            assert drawn_as == pytest.approx(expected, rel=1e-6)


def test_unmatched_tokens_are_outlined_and_said() -> None:
    content = made(20, conditions=[Inserted(n=3, at=8, merged=2)], cells=CELLS)
    figure = strip(content)
    assert [b["kind"] for b in boxes(figure)].count("unmatched") == 2
    assert "cut differently beside the insertion" in words(drawn(figure))
    assert "2 tokens cut differently by the insertion: outlined." in figure.description
    assert "…" in [b["text"] for b in boxes(strip(content, places=False))]


def test_few_queries_are_pale() -> None:
    figure = strip(made(20, cells=CELLS))
    pale = [b["position"] for b in boxes(figure) if b["opacity"] < 1]
    assert pale == [15, 16, 17, 18]
    assert "Pale: mean of fewer than 5 queries." in " ".join(figure.spec["title"]["subtitle"])


def test_leading_spaces_are_stepped_over() -> None:
    are = boxes(strip(made(20, cells=CELLS)))[1]
    assert are["text"] == "are"
    assert are["at"] - are["x"] == pytest.approx(2.78)


def test_the_words_name_who_gains_and_who_loses_most() -> None:
    content = made(30, cells=CELLS)
    figure = strip(content)
    rows = [r for r in content.aligned.to_pylist() if r["received_with"] is not None]
    least = min(rows, key=lambda r: r["received_with"] / r["received_without"])
    ratio = least["received_with"] / least["received_without"]
    assert f"at position {least['position_without']} ({ratio:.3g})" in figure.description
    assert "mean over layers and heads" in figure.description
    assert figure.table.num_rows == 30
    assert figure.name == "text_55"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("tokens", [1, 20, 117, ODD])
def test_every_strip_fits_its_width_and_cuts_nothing_off(
    tokens: int | list[str], width: str
) -> None:
    figure = strip(made(tokens, conditions=[Inserted(at=1)], cells=CELLS), width=width)
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.06
    assert max(box["x2"] for box in boxes(figure)) <= WIDTHS[width] + 0.1


def test_strips_are_valid_vega_lite() -> None:
    compiled(strip(made(ODD[:5], conditions=[Inserted(at=3, merged=1)], cells=CELLS)))
    compiled(strip(made(9, cells=CELLS), change="difference", palette="safe"))
