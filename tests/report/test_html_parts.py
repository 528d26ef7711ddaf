"""Parts become HTML; nothing that someone wrote becomes markup."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.report.html_parts import Look, ink_on, part_html, parts_html
from mindshare.report.parts import (
    Attached,
    Bullets,
    Code,
    Colour,
    ColouredText,
    Column,
    Details,
    Facts,
    Heading,
    NumberTable,
    Paragraph,
    Part,
)

BAD = '<img src=x onerror="alert(1)">'
TABLE = NumberTable(
    "Numbers",
    (Column("layer", "a layer"), Column("class", numeric=False), Column("mean")),
    tuple((str(i), "hash", "0.5") for i in range(9)),
    csv=Path("/results/a/numbers.csv"),
)


@pytest.mark.parametrize(
    "part",
    [
        Heading(BAD),
        Paragraph(BAD),
        Bullets((BAD,)),
        NumberTable(BAD, (Column(BAD, BAD),), ((BAD,),)),
        ColouredText(BAD, ((BAD, BAD),), (Colour(BAD, "#ffffff", BAD),)),
        Code(BAD),
        Attached(BAD, BAD),
        Facts(((BAD, BAD),)),
        Details(BAD, (Paragraph(BAD),)),
    ],
)
def test_words_stay_words(part: Part) -> None:
    text = part_html(part, Look())
    assert "<img" not in text
    assert 'onerror="' not in text


def test_a_table_says_what_its_cells_are() -> None:
    text = part_html(TABLE, Look())
    assert text.count('<th scope="col"') == 3
    assert text.count('<th scope="row"') == 9
    assert "<caption>Numbers" in text
    assert 'title="a layer"' in text


def test_a_cut_table_says_where_the_rest_is() -> None:
    text = part_html(TABLE, Look(rows=4, file_name=lambda path: f"2-{path.name}"))
    assert text.count("<tr>") == 5
    assert "The first 4 of 9 rows" in text
    assert '<a href="2-numbers.csv">' in text


def test_headings_have_the_level_that_is_asked_for() -> None:
    assert part_html(Heading("x"), Look(level=4)) == "<h4>x</h4>"


def test_paper_has_nothing_folded_away() -> None:
    folded = Details("More", (Paragraph("inside"),))
    assert "<details>" in part_html(folded, Look())
    assert "<details open>" in part_html(folded, Look(still=True))


def test_paper_is_short() -> None:
    """Further prompts and long tables are left out; a line says where a table is."""
    paper = Look(still=True, rows=5)
    tokens = tuple((f"t{i} ", "a") for i in range(400))
    prompt = ColouredText("", tokens, (Colour("a", "#ffffff"),))
    assert part_html(Details("Prompt 2", (prompt,)), paper) == ""
    assert "and 220 more tokens" in part_html(prompt, paper)
    line = part_html(Details("The numbers of this chart", (TABLE,)), paper)
    assert line == "<p>Numbers: 9 rows, in numbers.csv beside this report.</p>"
    assert part_html(Attached("study-1.toml", "x"), paper) == (
        "<p>study-1.toml stands beside this report.</p>"
    )


def test_tokens_carry_their_class_not_only_a_colour() -> None:
    text = part_html(
        ColouredText(
            "Prompt a",
            (("##", "hash"), (" end", "other")),
            (Colour("hash", "#d63333", "1 token"), Colour("other", "#ffffff", "1 token")),
            left_out=3,
        ),
        Look(),
    )
    assert '<span class="k0">##</span><span class="k1"> end</span>' in text
    assert "--k0:#d63333;--i0:#ffffff" in text
    assert "… and 3 more tokens" in text


@pytest.mark.parametrize(
    ("colour", "ink"), [("#ffffff", "#000000"), ("#000000", "#ffffff"), ("#2f6fc4", "#ffffff")]
)
def test_ink_can_be_read(colour: str, ink: str) -> None:
    assert ink_on(colour) == ink


def test_parts_follow_each_other() -> None:
    assert parts_html([Paragraph("a"), Paragraph("b")], Look()) == "<p>a</p>\n<p>b</p>"
