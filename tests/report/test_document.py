"""Documents of chapters: one answer, three cards, every topic once; charts in order, few words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mindshare.facts import Fact, Key, describe, find, sentence
from mindshare.facts.describe import NO_CLAIM
from mindshare.report import prepare
from mindshare.report.blocks import Attached, Bullets, Details, Heading, NumberTable, Term
from mindshare.report.document import (
    ANSWER,
    ASKED,
    CLAIM,
    TOPICS,
    Claim,
    Document,
    _arranged,
    _claim,
    _labelled,
    _shows,
    chapter,
    document,
    question,
    title_of,
)
from mindshare.report.saved import CAPTION, SavedResults

from ..facts.made import Made, class_tables


@pytest.fixture(scope="module")
def both(saved: dict[str, SavedResults]) -> Document:
    return document([saved["shares"], saved["insert"]])


def claimed(made: Document, *sentences: tuple[str, ...]) -> Document:
    """With these claims in its chapters."""
    chapters = (
        replace(chapter, claims=tuple(_claim(one, "") for one in own))
        for chapter, own in zip(made.chapters, sentences, strict=True)
    )
    return replace(made, chapters=tuple(chapters))


def test_the_answer_is_the_first_finding_however_long(both: Document) -> None:
    """A short one of less weight never takes the place of the largest difference."""
    words = "word " * ANSWER
    made = claimed(both, (f"{words}: +0.17 of all [+0.1, +0.2].", "Third."), ("Second.",))
    assert made.answer == f"{words}."
    assert [card.number for card in made.cards] == ["+0.17 of all [+0.1, +0.2]", "", ""]
    short = "Given: +0.17 of all [+0.1, +0.2]."
    assert replace(made, findings=(short, "Later.")).answer == short
    assert claimed(both, (), ()).answer == both.chapters[0].question


def test_there_are_three_cards_at_most_and_none_repeats_the_answer(both: Document) -> None:
    made = claimed(both, ("a", "c", "e"), ("b", "d"))
    assert (made.answer, [card.sentence for card in made.cards]) == ("a", ["b", "c", "d"])


def test_chips_say_prompts_models_and_date(saved: dict[str, SavedResults], both: Document) -> None:
    when = both.chapters[0].date
    date = f"{when.day} {when:%B %Y}"
    assert document([saved["shares"]]).chips == ["2 prompts", "Base", "Tuned", date]
    three = document([saved["shares"], saved["single"]])
    assert three.chips == ["2 studies", "1 to 2 prompts each", "Base", "Tuned", date]
    for name, each in (("shares", "2 prompts each"), ("single", "1 prompt each")):
        assert each in document([saved[name], saved[name]]).chips


def test_titles_name_the_models_or_are_given(
    saved: dict[str, SavedResults], both: Document
) -> None:
    assert both.title == "Attention of Base and Tuned: 2 studies"
    assert document([saved["shares"], saved["insert"]], title="Both").title == "Both"
    assert document([saved["single"]]).title == document([saved["single"]]).chapters[0].title


def test_every_topic_is_there_once_with_all_chapters(both: Document) -> None:
    assert list(both.appendix) == list(TOPICS)
    for parts in both.appendix.values():
        headings = [part.text for part in parts if isinstance(part, Heading)]
        assert headings == [chapter.title for chapter in both.chapters]


def test_a_definition_is_said_once(saved: dict[str, SavedResults]) -> None:
    made = document([saved["shares"], saved["single"]])
    titles = [part.title for part in made.appendix["methods"] if isinstance(part, Term)]
    assert titles == ["Attention share (mass)"]
    assert len([part for part in made.appendix["methods"] if isinstance(part, Bullets)]) == 2


def test_given_findings_stand_before_the_numbers(saved: dict[str, SavedResults]) -> None:
    made = document([saved["shares"]], findings=["One 0.5.", "Two."])
    assert made.appendix["numbers"][0] == Bullets(("One 0.5.", "Two."))


def test_every_figure_has_a_name_for_links(saved: dict[str, SavedResults]) -> None:
    made = document([saved["shares"], saved["insert"], saved["single"]])
    names = [picture.anchor for picture in made.pictures]
    assert len(set(names)) == len(names)


def test_chapters_made_earlier_are_taken(saved: dict[str, SavedResults]) -> None:
    earlier = replace(document([saved["single"]]).chapters[0], title="Earlier")
    made = document([saved["single"]], ready={saved["single"].path: earlier})
    assert made.chapters == (earlier,)


# Chapters.


def test_titles_and_questions_name_models_and_what_was_looked_at(
    saved: dict[str, SavedResults],
) -> None:
    for one, told in (("shares", "hash, star and space"), ("insert", "“# ×8”")):
        for name in (*saved[one].models, told):
            assert name in title_of(saved[one])
    assert question(saved["shares"]).endswith("Base and Tuned, and do they differ?")
    assert all(len(question(one).split()) <= ASKED for one in saved.values())
    long = {f"a model with a long name {i}": one for i, one in enumerate(saved["shares"].models)}
    summary = saved["shares"].summary
    names = dict(zip(saved["shares"].models, long, strict=True))
    renamed = summary.set_column(
        0, "model", [[names[model] for model in summary["model"].to_pylist()]]
    )
    models = {**saved["shares"].manifest, "models": dict(zip(long, names, strict=True))}
    tables = {**saved["shares"].tables, "summary": renamed}
    asked = question(replace(saved["shares"], manifest=models, tables=tables))
    assert asked == "Where does attention go in the models, and do they differ?"
    assert "differ" not in question(saved["single"])
    assert "“# ×8”" in question(saved["insert"])


def test_the_title_of_knock_outs_is_about_the_answer(saved: dict[str, SavedResults]) -> None:
    one = saved["shares"]
    about = {**one.summary.schema.metadata, b"mindshare.measure": b"delta_logprob"}
    summary = one.summary.replace_schema_metadata(about)
    title = title_of(replace(one, tables={**one.tables, "summary": summary}))
    assert title == "What hiding hash, star and space does to the answer of Base and Tuned"


def test_charts_keep_the_order_of_the_study(saved: dict[str, SavedResults]) -> None:
    for one in saved.values():
        made = chapter(one)
        order = [figure.name for figure in one.figures]
        shown = [picture.name for picture in made.pictures]
        assert sorted(shown) == sorted(order)
        for some in (made.supporting, made.gallery):
            places = [order.index(picture.name) for picture in some]
            assert places == sorted(places)
        assert len(made.supporting) <= 2


def test_the_main_chart_is_wide_and_no_map(saved: dict[str, SavedResults]) -> None:
    made = chapter(saved["insert"])
    assert made.main.wide
    assert not made.main.is_map
    assert not any(picture.is_map for picture in made.supporting)
    assert sum(picture.is_map for picture in made.gallery) == 6


def test_a_study_of_maps_only_has_a_main_one(saved: dict[str, SavedResults]) -> None:
    maps = tuple(figure for figure in saved["insert"].figures if figure.is_map)
    made = chapter(replace(saved["insert"], figures=maps))
    assert made.main.name == maps[0].name
    assert len(made.pictures) == len(maps)


def test_switches_have_short_words_that_differ(saved: dict[str, SavedResults]) -> None:
    gallery = chapter(saved["insert"]).gallery
    labels = [picture.label for picture in gallery]
    assert len(set(labels)) == len(labels)
    assert {"Attention level", "Shape", "Attention retained"} <= set(labels)
    (shape,) = (one for one in gallery if one.label == "Shape")
    twice = _labelled([replace(shape, title=f"Shape: {model}") for model in "ab"])
    assert [one.label for one in twice] == ["Shape: a", "Shape: b"]


def test_words_are_few(saved: dict[str, SavedResults]) -> None:
    for one in saved.values():
        made = chapter(one)
        assert all(len(claim.sentence.split()) <= CLAIM for claim in made.claims)
        for picture in made.pictures:
            assert 0 < len(picture.caption.split()) <= CAPTION
            assert 20 < len(picture.alt) <= 300
            assert picture.description.startswith(picture.alt.rstrip("…"))


def test_claims_are_the_facts_of_the_tables(saved: dict[str, SavedResults]) -> None:
    """In their order, each with the number it states and a figure of the chapter."""
    tables = class_tables(Made(effect={"star": 0.2}, prompts=12))
    made = chapter(replace(saved["shares"], tables={**saved["shares"].tables, **tables}))
    facts = [fact for fact in find({**saved["shares"].tables, **tables}) if fact.tested]
    said = [str(sentence(fact, several=True)) for fact in facts]
    assert [claim.sentence for claim in made.claims] == [
        one for one in said if one in {claim.sentence for claim in made.claims}
    ]
    first = made.claims[0]
    assert "star" in first.words
    (number,) = sentence(facts[0]).numbers
    assert float(first.number.split()[0]) == pytest.approx(number.value, rel=0.05)
    assert first.sentence == f"{first.words.rstrip('.')}: {first.number}."
    lines = "figure-difference_in_mass_by_layer_Tuned_minus_Base"
    assert {claim.anchor for claim in made.claims} == {"figure-class_bars_mass", lines}


@pytest.mark.parametrize(
    ("place", "measure", "name"),
    [((1, 2), "divergence", "map_divergence"), ((0, None), "retained", "retained_by_layer")],
)
def test_a_fact_leads_to_the_figure_of_its_measure(
    saved: dict[str, SavedResults], place: tuple[int, int | None], measure: str, name: str
) -> None:
    fact = Fact("extremes", Key(measure, "Base", condition="# ×8"), places=(place,))
    assert _shows(fact, chapter(saved["insert"], number=2).pictures) == f"figure-{name}-2"


def test_a_fact_leads_to_a_figure_that_shows_its_class(saved: dict[str, SavedResults]) -> None:
    """Also where another chart of the same measure comes first."""
    (chart,) = chapter(saved["shares"]).pictures[:1]
    classes = chart.numbers["class"].to_pylist()
    renamed = ["map" if name == "star" else name for name in classes]
    column = chart.numbers.schema.get_field_index("class")
    other = replace(
        chart, anchor="parts", numbers=chart.numbers.set_column(column, "class", [renamed])
    )
    for name, anchor in (("map", "parts"), ("star", chart.anchor)):
        fact = Fact(
            "change", Key("mass", "Tuned", token_class=name, against="Base"), places=((0, None),)
        )
        assert _shows(fact, [chart, other]) == anchor
        assert _arranged([chart, other], _shows(fact, [chart, other]))[0].anchor == anchor


def test_charts_of_one_title_do_not_stand_side_by_side(saved: dict[str, SavedResults]) -> None:
    (chart,) = chapter(saved["shares"]).pictures[:1]
    wide, column = (replace(chart, name=str(w), size=(w, 200)) for w in (500, 300))
    head_map = replace(chart, name="map", title="Heads", is_map=True)
    main, supporting, gallery = _arranged([column, wide, head_map], "")
    assert (main.name, supporting) == ("500", ())
    assert [one.name for one in gallery] == ["map", "300"]


def test_what_one_chart_claims_the_limits_do_not_deny(saved: dict[str, SavedResults]) -> None:
    flat = class_tables(Made(layered=False, noise=0.3, seed=1, classes=("a", "b", "other")))
    parts = class_tables(Made(effect={"star": 0.3}, classes=("star", "hash", "other")))
    tables = {"summary": flat["summary"], "Tuned_minus_Base": flat["Tuned_minus_Base"]}
    alone = chapter(replace(saved["shares"], tables={**saved["shares"].tables, **tables}))
    assert NO_CLAIM in alone.limits
    tables |= {"by_part": parts["summary"], "by_part_change": parts["Tuned_minus_Base"]}
    made = chapter(replace(saved["shares"], tables={**saved["shares"].tables, **tables}))
    assert made.claims
    assert NO_CLAIM not in made.limits
    described = describe(tables)
    assert NO_CLAIM not in described.sections["Interpretation"]
    assert not any("Nothing can be told" in one for one in described.sections["Key observations"])


def test_brackets_are_explained_where_they_are_shown(both: Document) -> None:
    assert claimed(both, ("Plain.",), ()).legend == ""
    sure, few = (Claim(f"x: {n}.", "x.", n) for n in ("0.1 [0.0, 0.2]", "0.1 ≈[0.0, 0.2]"))
    for card, approximate in ((sure, False), (few, True)):
        chapters = (replace(both.chapters[0], claims=(Claim("A.", "A."), card)), *both.chapters[1:])
        legend = replace(both, chapters=chapters).legend
        assert legend.startswith("In brackets")
        assert ("≈" in legend) == approximate


def test_too_few_prompts_support_no_claim(saved: dict[str, SavedResults]) -> None:
    assert chapter(saved["single"]).claims == chapter(saved["shares"]).claims == ()


def test_few_prompts_are_a_limit(saved: dict[str, SavedResults]) -> None:
    assert "One prompt" in chapter(saved["single"]).limits[0]
    assert "2 prompts" in chapter(saved["shares"]).limits[0]
    noted = {**saved["shares"].manifest, "notes": ["the classes overlap"]}
    assert chapter(replace(saved["shares"], manifest=noted)).notes == ("the classes overlap",)


def test_every_topic_and_every_figures_numbers_are_folded_away(
    saved: dict[str, SavedResults],
) -> None:
    for one in saved.values():
        made = chapter(one)
        assert set(made.folded) == set(TOPICS)
        inside = [part.parts for part in made.folded["numbers"] if isinstance(part, Details)]
        tables = [t for parts in inside for t in parts if isinstance(t, NumberTable) and t.csv]
        assert [table.csv for table in tables] == [figure.file("csv") for figure in one.figures]


def test_a_description_travels_with_the_numbers(both: Document) -> None:
    files = [part for part in both.parts if isinstance(part, Attached)]
    described = {part.name: part.text for part in files if part.name.startswith("description")}
    assert set(described) == {"description-1.md", "description-2.md"}
    for text in described.values():
        assert text.startswith("## Overview\n\n- ")
        assert "## Key observations" in text


def test_findings_of_the_study_stand_with_the_numbers(saved: dict[str, SavedResults]) -> None:
    found = {**saved["shares"].manifest, "findings": ["One.", "Two."]}
    made = chapter(replace(saved["shares"], manifest=found))
    assert made.folded["numbers"][0].items == ("One.", "Two.")  # type: ignore[union-attr]


def test_a_chapter_can_be_made_ahead(
    results: dict[str, Path], saved: dict[str, SavedResults]
) -> None:
    assert prepare(results["single"], number=3) == chapter(saved["single"], number=3)
