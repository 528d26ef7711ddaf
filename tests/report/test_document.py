"""A document has every section, in order, with all figures and the description."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from mindshare.report.document import described_by, document
from mindshare.report.html import page
from mindshare.report.markdown import markdown
from mindshare.report.parts import Bullets, Details, Heading, NumberTable, every_part
from mindshare.report.saved import Saved

SECTIONS = [
    "The question",
    "How it is measured",
    "The prompts",
    "Charts",
    "Description",
    "The numbers",
    "Models",
    "Origin",
    "Make it again",
]


def test_every_section_is_there_in_order(saved: dict[str, Saved]) -> None:
    for one in saved.values():
        made = document([one])
        assert [section.title for _, section in made.sections] == SECTIONS


def test_every_figure_is_there_with_its_numbers(saved: dict[str, Saved]) -> None:
    made = document([saved["insert"]])
    assert [p.name for p in made.pictures()] == [f.name for f in saved["insert"].figures]
    tables = [p.csv for p in every_part(made) if isinstance(p, NumberTable) and p.csv]
    assert tables == [f.file("csv") for f in saved["insert"].figures]


def test_the_description_is_that_of_the_tables(saved: dict[str, Saved]) -> None:
    described = described_by(saved["shares"])
    made = document([saved["shares"]])
    section = next(s for _, s in made.sections if s.title == "Description")
    headings = [part.text for part in section.parts if isinstance(part, Heading)]
    folded = [one for part in section.parts if isinstance(part, Details) for one in part.parts]
    lists = [one for one in (*section.parts, *folded) if isinstance(one, Bullets)]
    sentences = sorted(item for one in lists for item in one.items)
    assert headings == [one.title for one in described.sections]
    assert sentences == sorted(text for one in described.sections for text in one.sentences)
    assert made.summary == described.short


def test_several_results_become_chapters(saved: dict[str, Saved]) -> None:
    made = document([saved["shares"], saved["insert"]])
    assert made.title == "Attention of Base and Tuned: 2 studies"
    assert document([saved["shares"], saved["insert"]], title="Both").title == "Both"
    assert [len(chapter.sections) for chapter in made.chapters] == [9, 9]


def test_findings_come_first(saved: dict[str, Saved]) -> None:
    made = document([saved["shares"]], findings=["One <b> 0.5.", "Two."])
    text = page(made)
    assert text.index("One &lt;b&gt; 0.5.") < text.index("The question</h2>")
    assert '<li><a href="#findings">Findings</a></li>' in text
    lines = markdown(made).splitlines()
    assert lines[2:6] == ["## Findings", "", "1. One \\<b\\> 0.5.", "2. Two."]


def test_every_chart_has_a_name_for_links(saved: dict[str, Saved]) -> None:
    made = document([saved["insert"], saved["single"]])
    names = [p.name for p in every_part(made) if isinstance(p, Heading) and p.name]
    assert len(set(names)) == len(names) == len(made.pictures())
    assert names[0] == f"chart-{saved['insert'].figures[0].name}-1"


def test_long_tables_are_folded_away(saved: dict[str, Saved]) -> None:
    one = saved["shares"]
    many = pa.concat_tables([one.tables["Tuned_minus_Base"]] * 12)
    made = document([replace(one, tables={**one.tables, "Tuned_minus_Base": many})])
    section = next(s for _, s in made.sections if s.title == "The numbers")
    assert [type(part) for part in section.parts] == [NumberTable, NumberTable, Details]
    assert section.parts[2].summary == section.parts[2].parts[0].caption


def test_alternative_texts_are_short_and_whole(saved: dict[str, Saved]) -> None:
    for picture in document([saved["insert"]]).pictures():
        assert 20 < len(picture.alt) <= 300


def test_every_figure_explains_itself(saved: dict[str, Saved]) -> None:
    made = document([saved["single"]])
    folded = [part.summary for part in every_part(made) if isinstance(part, Details)]
    for words in ("was made", "The numbers of this chart"):
        assert any(words in summary for summary in folded), words
