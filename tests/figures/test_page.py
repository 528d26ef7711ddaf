from __future__ import annotations

from dataclasses import replace

from mindshare.figures import class_bars
from mindshare.figures.page import numbers, page

from .samples import reading


def test_the_page_says_everything_that_is_known() -> None:
    figure = class_bars(reading())
    text = page(figure, picture="<svg>the picture</svg>", script="/* vega */")
    for part in ("<svg>the picture</svg>", "/* vega */", "0.055", "Whiskers: 95", "Stacked bars"):
        assert part in text, part


def test_a_chart_is_larger_on_a_screen_than_in_print() -> None:
    text = page(class_bars(reading()), picture='<svg class="marks" width="100">', script="")
    assert 'style="--drawn: 100px; --shown: 160px"' in text


def test_words_cannot_break_out_of_the_page() -> None:
    figure = class_bars(reading())
    nasty = "</script><script>alert(1)</script>"
    bad = replace(figure, title=nasty, definition=nasty, spec={**figure.spec, "name": nasty})
    text = page(bad, picture="", script="")
    assert "<script>alert" not in text


def test_the_table_is_for_reading() -> None:
    text = numbers(reading(n_prompts=1))
    assert text.count("<tr>") == 25
    assert "<td>–</td>" in text  # no interval
    assert 'title="mean of the measure over the prompts"' in text
