from __future__ import annotations

import re

from mindshare.report.describing import describe
from mindshare.report.describing.cells import Number
from mindshare.report.describing.class_view import ClassView
from mindshare.report.describing.class_words import details
from mindshare.report.describing.numbers import numbers_of
from mindshare.report.describing.places import Place

from .made import Made, class_tables


def test_the_overview_says_what_was_measured() -> None:
    first, *others = describe(class_tables(Made()), kind="classes").overview.sentences
    assert first == (
        "Mass of 3 token classes (hash, star and space) in 4 layers (0 to 3), mean over the heads, "
        "of 2 models (Base and Tuned), over 12 prompts; attention of the last token."
    )
    assert others[1].startswith(
        "In brackets: 95 % t-widened percentile bootstrap over prompts (200 resamples"
    )
    assert others[2] == (
        "Said to differ from zero: paired differences with p < 0.05 (permutation test, corrected "
        "for all cells of the table, max-T); the others are undecided."
    )


def test_groups_of_prompts_are_said_to_be_groups() -> None:
    summary = class_tables(Made())["summary"]
    about = dict(summary.schema.metadata) | {b"mindshare.unit": b"group"}
    grouped = {"summary": summary.replace_schema_metadata(about)}
    text = describe(grouped, kind="classes").text
    assert (
        "In brackets: 95 % t-widened percentile bootstrap over groups of prompts (200 resamples"
        in text
    )


def test_one_prompt_is_said_to_be_one() -> None:
    text = describe(class_tables(Made(prompts=1)), kind="classes").text
    assert "There is one prompt, so there are no intervals" in text
    assert "[" not in text


def test_prompts_that_are_too_few_are_counted() -> None:
    text = describe(class_tables(Made(prompts=3)), kind="classes").text
    assert "There is one prompt" not in text
    assert "[" not in text
    assert "3 prompts are too few for intervals" in text
    assert "about these prompts" in text


def test_thousands_of_heads_are_not_gone_through_again_and_again() -> None:
    counted = ClassView(numbers_of(class_tables(Made(layers=range(40), heads=range(32)))))
    places = len(counted.places)
    asked = 0

    class Counting(ClassView):
        def at(self, model: str, kind: str, place: Place) -> Number | None:
            nonlocal asked
            asked += 1
            return super().at(model, kind, place)

    view = Counting(counted.numbers)
    details(view)
    assert asked <= 8 * places * len(view.models) * len(view.classes)


def test_layer_by_layer_every_model_and_the_difference() -> None:
    details = describe(class_tables(Made()), kind="classes").details.sentences
    assert len(details) == 4 * 3
    number = r"0\.\d+ \[0\.\d+, 0\.\d+\]"
    line = rf"Layer 0, Base: hash {number}, star {number}, space {number}; together 0\.\d+\."
    assert re.fullmatch(line, details[0])
    assert details[2].startswith("Layer 0, Tuned minus Base: hash ")
    assert details[2].endswith("; undecided.")


def test_many_layers_stay_readable_and_none_is_dropped() -> None:
    description = describe(class_tables(Made(layers=range(48))), kind="classes")
    leads = [s.partition(", Base:")[0] for s in description.details.sentences if ", Base:" in s]
    alone = [int(lead.split()[1]) for lead in leads if lead.startswith("Layer ")]
    grouped = [lead.removeprefix("Layers ") for lead in leads if lead.startswith("Layers ")]
    assert description.details.sentences[0].startswith("One by one, at most twelve: the first and")
    assert 2 < len(alone) <= 12
    assert len(grouped) == 3
    seen = set(alone)
    for words in grouped:
        for run in re.finditer(r"(\d+)(?: to (\d+))?", words):
            seen |= set(range(int(run[1]), int(run[2] or run[1]) + 1))
    assert seen == set(range(48))


def test_heads_are_described_as_heads() -> None:
    text = describe(class_tables(Made(layers=range(6), heads=range(8))), kind="classes").text
    assert "6 layers (0 to 5) and 8 heads (0 to 7)" in text
    assert "Further heads of layers" in text
    assert "mean over the heads" not in text


def test_what_is_missing_or_left_out_is_said() -> None:
    text = describe(class_tables(Made(prompts=1, absent=0.2)), kind="classes").text
    assert "No number: " in text
    assert "Not described, but in the table: “other”." in text


def test_units_and_sums_belong_to_the_measure() -> None:
    lift = describe(class_tables(Made(), "lift"), kind="classes").text
    assert re.search(r"hash \d+\.\d+ times \[", lift)
    assert "together" not in lift
    assert "per token [" in describe(class_tables(Made(), "density"), kind="classes").text
