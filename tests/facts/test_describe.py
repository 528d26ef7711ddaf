"""Five sections from any tables; every number in them carries its cell."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pyarrow as pa
import pytest

from mindshare.errors import SelectionError
from mindshare.facts import (
    Fact,
    Key,
    Number,
    Sentence,
    alignment_notes,
    describe,
    in_short,
    insertion_findings,
    largest,
)
from mindshare.facts.cells import charts_of, derived_tables, group_tables
from mindshare.facts.describe import EFFECT_LIMIT
from mindshare.facts.sentences import for_a_paper
from mindshare.stats import contrast, estimate
from mindshare.tables import one_based, table
from mindshare_checker import check_description
from tests.stats.test_uses import effects

from .made import CONDITIONS, Made, awkward, class_tables, insertion_tables
from .reading import is_carried, looked_up, stated
from .test_cells import study


@cache
def cases() -> list[dict]:
    heads = Made(models=("Base", "b"), layers=range(20), heads=(0, 1), noise=0.02)
    made = [class_tables(awkward(seed)) for seed in range(12)]
    return [*made, insertion_tables(heads, CONDITIONS[:3]), study()]


@pytest.mark.parametrize("case", range(14))
def test_every_number_of_every_section_carries_its_cell(case: int) -> None:
    tables = cases()[case]
    there = dict(tables)
    for group, numbers in zip(group_tables(tables), charts_of(tables), strict=True):
        there |= dict(derived_tables(group, numbers.about))
    described = describe(tables)
    for title in ("Detailed analysis", "Key observations"):
        for one in described.sections[title]:
            words = stated(one)
            if isinstance(one, Sentence):
                assert [word for word in words if not is_carried(word, one)] == []
                for number in one.numbers[:3]:
                    if number.cell is not None and number.cell.column in ("mean", "difference"):
                        assert looked_up(number, there) == number.value
            else:
                assert words == []


def test_what_was_found_comes_first() -> None:
    described = describe(class_tables(Made(effect={"star": 0.2}, layers=range(12))))
    first = described.sections["Key observations"][0]
    assert "Tuned looks significantly more at star tokens than Base" in first


@pytest.mark.parametrize("prompts", [1, 5])
def test_few_prompts_are_described_without_a_claim(prompts: int) -> None:
    described = describe(class_tables(Made(prompts=prompts, effect={"star": 0.5})))
    (said,) = described.sections["Key observations"]
    assert said.startswith("Nothing can be told from chance with")
    assert "[" not in described.markdown
    assert "support no claim" in described.sections["Interpretation"][0]


def test_what_cannot_be_told_is_not_said_to_be_equal() -> None:
    """`No layer, class or model differs` would be a claim."""
    tables = class_tables(Made(prompts=24, layered=False, noise=0.5))
    means = {name: tables[name] for name in ("summary", "Tuned_minus_Base")}
    described = describe(means)
    for said in (described.sections["Key observations"][0], *in_short(means)):
        assert said.startswith("Nothing can be told from chance here")
        assert "none is ruled out" in said
    assert not re.search(r"\b(?:no|nothing|none)\b[^.]*\bdiffers?\b", described.markdown, re.I)
    assert "may differ or not" in described.sections["Interpretation"][-1]


def test_what_counts_as_a_difference_does_not_read_as_a_finding() -> None:
    tables = class_tables(Made(prompts=12))
    (rule,) = [s for s in describe(tables).sections["Overview"] if "margins" in s]
    assert rule.startswith("Two means are said to differ only where")
    (tested,) = [s for s in describe(tables).sections["Overview"] if "0.05" in s]
    assert "count at p < 0.05" in tested
    read = [one for one in check_description(tested, tables) if one.holds is not None]
    assert read == []  # a choice of the analysis


def test_layers_are_counted_as_the_tables_say() -> None:
    tables = class_tables(Made(models=("m",)))
    for first, word in enumerate(("zero", "one")):
        described = describe(tables)
        assert f"counted from {word}." in " ".join(described.sections["Components and axes"])
        assert described.sections["Detailed analysis"][0].startswith(f"Layer {first}, m:")
        tables = {name: one_based(content) for name, content in tables.items()}


def test_all_layers_of_few_and_the_extreme_ones_of_many() -> None:
    few = describe(class_tables(Made(models=("m",), layers=range(12)))).sections[
        "Detailed analysis"
    ]
    assert len(few) == 12
    many = describe(class_tables(Made(models=("m",), layers=range(30)))).sections[
        "Detailed analysis"
    ]
    assert len(many) <= 13
    assert any(one.startswith("Layer 0, ") for one in many)
    assert any(one.startswith("Layer 29, ") for one in many)


def test_what_is_missing_or_left_out_is_said() -> None:
    described = describe(class_tables(Made(absent=0.5, prompts=1, seed=3)))
    text = " ".join(described.sections["Components and axes"])
    assert "No number: " in text
    assert "not described: other." in text


@pytest.mark.parametrize("measure", ["delta_logprob", "correct"])
def test_knock_outs_are_not_described_as_attention(measure: str) -> None:
    lost = effects([0.1], [0.9], prompts=24, measure=measure)
    place = lost.column_names.index("head")  # all heads of the layer
    lost = lost.set_column(place, lost.schema.field(place), pa.nulls(24, pa.int32()))
    sections = describe({"summary": estimate({"m": lost}, measure)}).sections
    overview = " ".join(sections["Overview"])
    assert "hidden from the last token." in overview
    assert "with star hidden, in" in overview
    assert "mean over the heads" not in overview
    assert "attention of" not in overview
    assert EFFECT_LIMIT in sections["Interpretation"]
    assert not any("mean" in one for one in sections["Interpretation"])


def test_the_order_of_the_tables_does_not_matter() -> None:
    tables = study()
    assert describe(tables) == describe(dict(reversed(tables.items())))


def test_without_tables_nothing_is_described() -> None:
    with pytest.raises(SelectionError, match="no table of means"):
        describe({})


def test_findings_of_an_insertion_name_models_and_conditions() -> None:
    made = Made(models=("A", "B"), heads=(0, 1), noise=0.01)
    found = insertion_findings(insertion_tables(made, ("x", "y")), top={"B": [(0, 1)]})
    assert len(found) == 2 * 2 * 4 + 1
    assert all(one.startswith(("“A”: ", "B: ")) for one in found)
    assert sum("inserting x" in one or "with x" in one for one in found) == 9
    assert found[-1].endswith("original tokens from before is largest in layer 0, head 1.")


def test_tokens_without_a_partner_are_counted() -> None:
    rows = [("p", "/ ×3", 8, 2), ("q", "/ ×3", 9, 1), ("p", "#", 10, 0), ("q", "#", 10, 0)]
    size = len(rows)
    words = ("insertion", "place", "inserted_text", "text")
    columns: dict[str, list] = {name: ["x"] * size for name in words}
    columns |= {name: [1] * size for name in ("n_seam", "n_prompt_tokens", "n_inserted")}
    for i, name in enumerate(("prompt", "condition", "n_matched", "n_unmatched")):
        columns[name] = [row[i] for row in rows]
    (note,) = alignment_notes({"conditions_B": table("conditions", columns, {})})
    assert note.startswith("B, “/ ×3”: 3 of 20 original tokens")
    assert note.numbers[0].value == 3


# In short: the largest significant difference of each class comes first.


def change(token_class: str, *values: float, kind: str = "change") -> Fact:
    places = tuple((layer, None) for layer in range(len(values)))
    numbers = tuple(Number(v, v - 0.01, v + 0.01, n_prompts=12) for v in values)
    key = Key("mass", "tuned", token_class=token_class, against="base")
    return Fact(kind, key, 1, places, numbers, len(values), tested=True)


def test_of_each_class_the_largest_difference_by_size() -> None:
    small, large = change("star", 0.1, 0.2), change("star", -0.1, -0.4)
    other, none = change("hash", 0.3), change("space", 0.9, kind="not_significant")
    assert largest([small, other, none, large]) == [large, other]
    head = replace(change("hash", 0.8), places=((0, 3),))
    assert largest([head, other]) == [other]


def test_a_sentence_for_a_paper_has_n_interval_and_test() -> None:
    said = for_a_paper(change("star", 0.1, 0.25))
    assert said.numbers[0].value == 0.25
    for words in ("layer 1", "+0.250 of all attention [", "n = 12", "max-T"):
        assert words in said
    fewer = for_a_paper(replace(change("star", -0.2), side=-1))
    assert "looks less at star tokens" in fewer


def masses(shift: float, prompts: int = 12) -> dict[str, pa.Table]:
    """Two models: `b` gives star more in layer 1, and hash half of its due in both layers."""
    found = {}
    for model, more in (("a", 0.0), ("b", shift)):
        rows = [
            (p, layer, name, mass + 0.001 * ((p * 7 + layer) % 5))
            for p in range(prompts)
            for layer in (0, 1)
            for name, mass in (("star", 0.3 + more * layer), ("hash", 0.05), ("other", 0.5))
        ]
        n = len(rows)
        columns = {
            "prompt": [f"p{row[0]}" for row in rows],
            "queries": ["all"] * n,
            "layer": [row[1] for row in rows],
            "head": pa.nulls(n, pa.int32()),
            "class": [row[2] for row in rows],
            "mass": [row[3] for row in rows],
            "lift": [row[3] / (0.2 if row[2] == "hash" else 0.3) for row in rows],
        }
        columns |= dict.fromkeys(("share", "density", "expected"), [0.1] * n)
        columns |= {"n_tokens": [2.0] * n, "n_queries": [4] * n}
        about = {"mindshare.measure": "mass"}
        found[model] = table("mass", columns, about)
    return found


def shifted(shift: float, prompts: int = 12) -> dict[str, pa.Table]:
    found = masses(shift, prompts)
    return {
        "summary": estimate(found),
        "b_minus_a": contrast(found, a="a", b="b"),
        **{f"mass_{name}": one for name, one in found.items()},
    }


def test_the_answer_comes_first_and_each_number_has_its_cell() -> None:
    said = in_short(shifted(0.2))
    assert said[0].startswith("b looks more at star tokens than “a”")
    assert said[1].startswith("For a paper: b looks more at star tokens than “a” in layer 1")
    less = "hash tokens get less attention than the average token in both layers"
    assert [s for s in said if less in s]
    assert all(number.cell is not None for sentence in said for number in sentence.numbers)


def test_nothing_is_said_once() -> None:
    assert len(in_short(shifted(0.2, prompts=1))) == 1
    assert "1 prompt" in in_short(shifted(0.2, prompts=1))[0]
