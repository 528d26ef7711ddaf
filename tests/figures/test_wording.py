from __future__ import annotations

import json

from mindshare.figures.selection import Shown, shown
from mindshare.figures.theme import Style
from mindshare.figures.wording import caption, definition, heads_word, interval_word, prompts_word
from mindshare.table import DEFINITIONS

from .samples import ABOUT, made_up, reading, summary

STUDY = {"classes": [["hash", "#"], ["space", "whitespace"]], "policy": "pure"}


def of_reading(**about: str) -> Shown:
    return shown(reading().replace_schema_metadata(ABOUT | about), queries=None, needs=())


def test_the_definition_says_how_the_numbers_were_made() -> None:
    text = definition(of_reading(), about={}, style=Style(), marks=["A mark"])
    for part in (
        DEFINITIONS["mass"], "Query set Q: all.", "Heads: mean over the heads.",
        "Mean over 100 prompts.", "A mark.", "labelled zero-based.",
    ):  # fmt: skip
        assert part in text, part


def test_class_rules_come_from_the_study_or_from_the_caller() -> None:
    carried = of_reading(**{"mindshare.definition": json.dumps(STUDY)})
    text = definition(carried, about={}, style=Style(), marks=[])
    assert "Token classes (policy: pure): hash = #; space = whitespace." in text
    told = {"classes": "hash = # in the map", "policy": "priority", "heads": "mean of 9 heads"}
    text = definition(carried, about=told | {"data": "100 maps"}, style=Style(), marks=[])
    assert "Token classes (policy: priority): hash = # in the map." in text
    assert "Heads: mean of 9 heads." in text
    assert text.endswith("Data: 100 maps.")


def test_an_interval_says_what_was_resampled() -> None:
    alone, together = of_reading(), of_reading(**{"mindshare.unit": "group"})
    assert "t-widened percentile bootstrap over prompts (10,000" in interval_word(alone)
    assert "t-widened percentile bootstrap over groups of prompts (10,000" in interval_word(
        together
    )


def test_the_caption_is_short_and_complete() -> None:
    text = caption(of_reading(), about={"heads": "mean of 9 heads"}, style=Style())
    assert text.endswith("(queries: all; mean of 9 heads; 100 prompts).")
    assert len(text) < 130


def test_a_single_head_is_named() -> None:
    found = shown(made_up(["m"], 2, heads=[3]), queries=None, needs=())
    assert heads_word(found, Style(labels="one-based"), {}) == "head 4"


def test_prompts_are_counted_honestly() -> None:
    assert prompts_word(of_reading()) == "100 prompts"
    row = ("m", "all", 0, None, "a", 0.1)
    assert prompts_word(shown(summary([row], n_prompts=1), queries=None, needs=())) == "1 prompt"
