"""Markdown has the same content, and nothing of it is taken for markup."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from mindshare.report.document import document
from mindshare.report.markdown import fenced, markdown, plain
from mindshare.report.parts import (
    Bullets,
    Chapter,
    Colour,
    ColouredText,
    Column,
    Document,
    Heading,
    NumberTable,
    Paragraph,
    Part,
    Section,
    every_part,
)
from mindshare.report.saved import Saved


def of(*parts: Part) -> str:
    return markdown(Document("T", (Chapter("C", (Section("S", parts),)),)))


def test_it_has_everything_the_document_has(saved: dict[str, Saved]) -> None:
    made = document([saved["insert"]])
    text = markdown(made)
    for part in every_part(made):
        if isinstance(part, Heading | Paragraph):
            assert plain(part.text) in text
        if isinstance(part, Bullets):
            assert all(plain(item) in text for item in part.items)
    assert len(re.findall(r"!\[[^\n]*\]\(<\w+\.png>\)", text)) == len(made.pictures())


def test_headings_follow_each_other(saved: dict[str, Saved]) -> None:
    text = markdown(document([saved["shares"], saved["insert"]]))
    code = re.sub(r"(?ms)^```.*?^```", "", text)
    levels = [len(found) for found in re.findall(r"^(#+) ", code, re.MULTILINE)]
    assert levels[0] == 1
    assert max(b - a for a, b in pairwise(levels)) == 1


@pytest.mark.parametrize("text", ["# x", "*a* _b_", "<b>", "a | b", "[a](b)", "`x`", "$x$"])
def test_words_stay_words(text: str) -> None:
    escaped = plain(text)
    assert re.sub(r"\\(.)", r"\1", escaped) == text
    assert not re.search(r"(?<!\\)[#*_<|\[`$]", escaped)


def test_tables_are_aligned_and_cut() -> None:
    table = NumberTable(
        "Numbers",
        (Column("class", numeric=False), Column("mean")),
        tuple(("a|b", str(i)) for i in range(70)),
        csv=Path("x/n.csv"),
    )
    text = of(table)
    assert "| --- | ---: |" in text
    assert r"| a\|b | 0 |" in text
    assert "| 60 |" not in text
    assert "The first 60 of 70 rows" in text
    assert "[n.csv](<n.csv>)" in text


def test_tokens_stand_in_brackets() -> None:
    colours = (Colour("hash", "#d63333", "2 tokens"), Colour("other", "#ffffff", "1 token"))
    tokens = (("a", "other"), ("#↵\n", "hash"), ("#", "hash"))
    assert "```\na[hash:#↵]\n[hash:#]\n```" in of(ColouredText("P", tokens, colours))


def test_a_fence_is_longer_than_any_inside() -> None:
    assert fenced("a ``` b", "sh") == "````sh\na ``` b\n````"
