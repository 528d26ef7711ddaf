from __future__ import annotations

from mindshare.figures.insertion.panel_words import column_titles, run_label
from mindshare.figures.theme import SMALL, text_width


def test_titles_of_a_row_have_as_many_lines() -> None:
    short, long = ("a", "Layer 1 Head 1"), ("Meta-Llama-3.1-8B-Instruct", "Layer 1 Head 27")
    assert column_titles([short, short], 200) == [("a Layer 1 Head 1",)] * 2
    assert column_titles([short, long], 200) == [
        ("a", "Layer 1 Head 1"),
        ("Meta-Llama-3.1-8B-Instruct", "Layer 1 Head 27"),
    ]


def test_long_names_are_cut_at_hyphens_and_lose_nothing() -> None:
    (title,) = column_titles([("Meta-Llama-3.1-8B-Instruct", "Layer 1 Head 27")], 90)
    assert len(title) > 2
    assert "".join(title[:-1]) == "Meta-Llama-3.1-8B-Instruct"


def test_the_name_of_a_run_stands_in_it_beside_it_or_across_it() -> None:
    inside = run_label("/ ×55", 200, 50, 150)
    assert (inside.x, inside.align, inside.across) == (100, "center", False)
    after = run_label("a long name", 200, 50, 60)
    assert (after.x, after.align) == (64, "left")
    before = run_label("a long name", 200, 150, 160)
    assert (before.x, before.align) == (146, "right")
    across = run_label("meaningless tokens", 100, 15, 70)
    half = max(text_width(line, SMALL) for line in across.lines) / 2
    assert across.across
    assert across.x - half >= 0
    assert across.x + half <= 100
