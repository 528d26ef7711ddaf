"""The question and the definition say what was asked, for both kinds of results."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from mindshare.report.parts import Bullets, Details, Formula, Paragraph, Part
from mindshare.report.question import definition, folded, notes, question, title_of
from mindshare.report.saved import Saved
from mindshare.stats import LABELS


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
    assert "2 prompts are few: there are no intervals" in words(notes(saved["shares"]))
    assert notes(with_intervals(saved["shares"])) == []


def with_intervals(saved: Saved, unit: str = "prompt") -> Saved:
    """As if there had been enough prompts."""
    summary = saved.summary
    column = summary.column_names.index("low")
    numbers = pa.array([0.1] * summary.num_rows, pa.float64())
    about = {**summary.schema.metadata, b"mindshare.unit": unit}
    filled = summary.set_column(column, "low", numbers).replace_schema_metadata(about)
    return replace(saved, tables={**saved.tables, "summary": filled})


def test_intervals_are_defined_where_there_are_any(saved: dict[str, Saved]) -> None:
    assert "resamples" not in words(definition(saved["shares"]))
    text = words(definition(with_intervals(saved["shares"])))
    assert "95 % t-widened percentile bootstrap over the prompts (200 resamples, seed 0)" in text
    text = words(definition(with_intervals(saved["shares"], "group")))
    assert "bootstrap over the groups of prompts (200" in text


def test_the_definition_has_words_and_a_formula(saved: dict[str, Saved]) -> None:
    parts = definition(saved["shares"])
    text = words(parts)
    assert sum(isinstance(part, Formula) for part in parts) == 1
    assert "Mass: mean over Q of the sum over the class's keys" in text
    assert "hash = #; star = *; space = whitespace; other = all the rest" in text
    assert "Heads: the mean over the heads" in text


def test_an_insertion_defines_its_response_numbers(saved: dict[str, Saved]) -> None:
    parts = definition(saved["insert"])
    assert sum(isinstance(part, Formula) for part in parts) == 8
    assert "Retained: 1 - sum over inserted tokens" in words(parts)


def test_whether_the_first_token_counts_is_said(saved: dict[str, Saved]) -> None:
    def told(counted: str) -> str:
        one = saved["insert"]
        about = {**(one.summary.schema.metadata or {}), b"mindshare.drop_first": counted.encode()}
        summary = one.summary.replace_schema_metadata(about)
        return words(definition(replace(one, tables={**one.tables, "summary": summary})))

    assert words(definition(saved["insert"])) == told("true")
    assert told("true").count("without the prompt's first token") >= 5
    assert "M are the compared tokens (matched in both versions, without the" in told("true")
    assert "without the prompt's first token" not in told("false")
    assert told("false").count("the prompt's first token counted") >= 5


def test_every_label_has_a_sentence(saved: dict[str, Saved]) -> None:
    text = words(definition(saved["insert"]))
    for label in LABELS:
        assert f"{label.capitalize()}: " in text
    assert "Amplified: " not in words(definition(saved["shares"]))


def test_long_lists_are_folded_and_nothing_is_lost() -> None:
    items = [str(i) for i in range(20)]
    first, rest = folded(items, "notes")
    assert isinstance(first, Bullets)
    assert isinstance(rest, Details)
    assert rest.summary == "13 more notes"
    assert [*first.items, *rest.parts[0].items] == items
    assert folded(items[:9], "notes") == [Bullets(tuple(items[:9]))]
