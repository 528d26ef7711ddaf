"""Five sections from any tables; every number in them carries its cell."""

from __future__ import annotations

from functools import cache

import pytest

from mindshare.errors import SelectionError
from mindshare.facts import Sentence, alignment_notes, describe, insertion_findings
from mindshare.facts.cells import charts_of, derived_tables, group_tables
from mindshare.tables import table

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
    assert "Tuned gives star more attention than Base" in first


@pytest.mark.parametrize("prompts", [1, 5])
def test_few_prompts_are_described_without_a_claim(prompts: int) -> None:
    described = describe(class_tables(Made(prompts=prompts, effect={"star": 0.5})))
    (said,) = described.sections["Key observations"]
    assert said.startswith("Nothing can be told from chance with")
    assert "[" not in described.text
    assert "support no claim" in described.sections["Interpretation"][0]


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
    assert all(one.startswith(("A: ", "B: ")) for one in found)
    assert sum("with x" in one or "after x" in one for one in found) == 8
    assert found[-1].endswith("0.1.")


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
