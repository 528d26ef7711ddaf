from __future__ import annotations

from mindshare.report.describing.description import TITLES, described

PARTS = (["One."], ["Two *stars* and a_b."], ["Three.", "Four."], ["Five."], ["Six."])


def test_five_sections_in_order_as_text() -> None:
    made = described(*PARTS, summary=["One."])
    assert [part.title for part in made] == list(TITLES)
    assert made.details.sentences == ("Three.", "Four.")
    assert made.text.startswith("Overview\nOne.\n\nComponents and axes\nTwo *stars* and a_b.\n\n")
    assert str(made) == made.text


def test_markdown_keeps_names_as_they_are() -> None:
    made = described(*PARTS, summary=["One."])
    assert "### Overview\n\n- One.\n" in made.markdown
    assert r"- Two \*stars\* and a\_b." in made.markdown


def test_the_short_text_holds_what_fits() -> None:
    made = described(*PARTS, summary=["a" * 150 + ".", "b" * 140 + ".", "c" * 100 + "."])
    assert made.short == "a" * 150 + ". " + "b" * 140 + "."
    long = described(*PARTS, summary=["word, " * 100])
    assert len(long.short) <= 300
    assert long.short.endswith("word…")
