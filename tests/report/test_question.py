"""The question and the definition say what was asked, for both kinds of results."""

from __future__ import annotations

from mindshare.report.parts import Bullets, Details, Formula, Paragraph, Part
from mindshare.report.question import definition, folded, notes, question, title_of
from mindshare.report.saved import Saved


def words(parts: list[Part]) -> str:
    found = [part.text for part in parts if isinstance(part, Paragraph)]
    found += [item for part in parts if isinstance(part, Bullets) for item in part.items]
    return "\n".join(found)


def test_titles_name_the_models_and_what_was_looked_at(saved: dict[str, Saved]) -> None:
    assert title_of(saved["shares"]) == "Attention of Base and Tuned to hash, star and space"
    assert title_of(saved["insert"]) == "What inserting “# ×8” does to the attention of Base"


def test_a_question_is_asked(saved: dict[str, Saved]) -> None:
    text = words(question(saved["shares"]))
    assert "How much attention does each class of tokens get" in text
    assert "do the models differ?" in text
    assert "2 prompts" in text
    assert "“# ×8”" in words(question(saved["insert"]))


def test_a_single_prompt_is_warned_of(saved: dict[str, Saved]) -> None:
    assert "there are no intervals" in words(notes(saved["single"]))
    assert notes(saved["shares"]) == []


def test_the_definition_has_words_and_a_formula(saved: dict[str, Saved]) -> None:
    parts = definition(saved["shares"])
    text = words(parts)
    assert sum(isinstance(part, Formula) for part in parts) == 1
    assert "Mass: mean over Q of the sum over the class's keys" in text
    assert "hash = #; star = *; space = whitespace; other = all the rest" in text
    assert "200 resamples, seed 0" in text
    assert "Heads: the mean over the heads" in text


def test_an_insertion_defines_its_response_numbers(saved: dict[str, Saved]) -> None:
    parts = definition(saved["insert"])
    assert sum(isinstance(part, Formula) for part in parts) == 7
    assert "Retained: 1 - sum over inserted tokens" in words(parts)


def test_long_lists_are_folded_and_nothing_is_lost() -> None:
    items = [str(i) for i in range(20)]
    first, rest = folded(items, "notes")
    assert isinstance(first, Bullets)
    assert isinstance(rest, Details)
    assert rest.summary == "13 more notes"
    assert [*first.items, *rest.parts[0].items] == items
    assert folded(items[:9], "notes") == [Bullets(tuple(items[:9]))]
