"""Descriptions by people against the table they are about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindshare.facts import Key, describe
from mindshare_checker import check_description
from mindshare_checker.check import table_values
from mindshare_checker.statements import read_statements
from mindshare_checker.tables import TableNumbers, UnreadError
from tests.facts.made import Made, class_tables, insertion_tables
from tests.figures.samples import reading

from .readings import FIRST, SECOND, THIRD

TABLE = reading()
NUMBERS = TableNumbers.of(class_tables(Made(models=("Base",))))


def verdicts(text: str, tolerance: float = 0.0) -> list[bool | None]:
    return [one.holds for one in check_description(text, TABLE, tolerance=tolerance)]


def test_the_careful_reader_is_right() -> None:
    checked = check_description(FIRST, TABLE, tolerance=0.0005)
    wrong = [one for one in checked if one.holds is False]
    assert [one.statement.said for one in wrong] == ["0.01 to 0.03"]  # one bar has 0.002
    assert sum(one.holds is True for one in checked) == 35


def test_the_hasty_reader_is_not() -> None:
    checked = check_description(SECOND, TABLE, tolerance=0.002)
    wrong = {
        (one.statement.given.get("token_class"), one.table) for one in checked if one.holds is False
    }
    assert ("hash", (0.026,)) in wrong
    assert ("space", (0.03,)) in wrong
    assert sum(one.holds is False for one in checked) > sum(one.holds is True for one in checked)


def test_the_third_reader_is_wrong_about_one_bar() -> None:
    wrong = [one for one in check_description(THIRD, TABLE, tolerance=0.002) if one.holds is False]
    first = wrong[0]
    assert (first.statement.given["layer"], first.statement.given["model"]) == (0, "Qwen-Instruct")
    assert str(first).startswith("does not hold: line 9, 'Hash (~0.05'")
    assert str(first).endswith("says ~0.05; the table says 0.0320")
    assert "~60%; the table says 73.3%" in str(wrong[2])


@pytest.mark.parametrize(
    "text",
    [
        "In layer 0, Qwen-Phys gives hash 0.026.",
        "Qwen-Phys gives 0.026 to hash and 0.042 to star in layer 0.",
        "In layer 16, star falls from 0.055 (Qwen-Phys) to 0.017 (Qwen-Instruct).",
        "The total in layer 0 is 0.112 for Qwen-Instruct.",
        "Qwen-Phys, layer 20: whitespace 0.022, asterisk 0.03.",
        "Layer 16, Qwen-Phys minus Qwen-Instruct: star +0.038.",
        "Star stays below 0.06.",
        "In layer 0, star is at least 0.04.",
        "There are 2 models, 4 layers, 3 classes and 100 prompts.",
    ],
)
def test_ways_to_say_it(text: str) -> None:
    found = check_description(text, TABLE)
    read = [one for one in found if one.holds is not None]
    assert read
    assert all(one.holds for one in read), [str(one) for one in found]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("In layer 0, hash gets 0.026.", "which model"),
        ("Qwen-Phys gives hash 0.026.", "which layer"),
        ("In layer 0, Qwen-Phys shows 0.026.", "which token class"),
        ("In layer 9, Qwen-Phys gives hash 0.026.", "no such number"),
        ("In 2024 nobody knew.", "what this number is about"),
        ("In layer 0, Qwen-Phys gives star 1.6 times what hash gets.", "a ratio"),
        ("In layer 0, hash rises by 0.006 in Qwen-Instruct.", "a change"),
        ("The difference between Qwen-Phys and Qwen-Instruct for star is 0.009.", "a change"),
        ("The axis runs from 0.00 to 0.10.", "about the picture"),
        ("Within a margin of 0.01 in layer 0.", "a choice"),
        ("Layer 0, Qwen-Phys minus Qwen-Instruct: star -0.009 [-0.02, 0.001].", "no such number"),
        ("There are 14 heads.", "not clear"),
        ("The 2 layers shown.", "of 4 layers"),
        ("Colour: star of Qwen-Phys in layer 0, from 0.01 (light) to 0.2 (dark).", "the picture"),
        ("In layer 16, Qwen-Phys gives star 0.055; over all, hash gets 0.016.", "which layer"),
    ],
)
def test_what_is_not_said_is_not_guessed(text: str, why: str) -> None:
    unread = [one for one in check_description(text, TABLE) if one.holds is None]
    assert unread
    assert why in unread[-1].why
    assert False not in verdicts(text)


def test_digits_and_about_and_tolerance() -> None:
    said = "Layer 0, Qwen-Phys: hash {}."
    assert verdicts(said.format("0.03")) == [True]  # 0.026, to two digits
    assert verdicts(said.format("0.030")) == [False]
    assert verdicts(said.format("0.030"), 0.004) == [True]
    assert verdicts(said.format("~0.02")) == [True]  # twice half a unit
    assert verdicts(said.format("0.02")) == [False]
    assert verdicts(said.format("about 0.029"), 0.001) == [True]


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("Layer 0, Qwen-Phys: hash 2.6e-2.", True),
        ("Layer 0, Qwen-Phys: hash 2.6 × 10⁻².", True),
        ("Layer 0, Qwen-Phys: hash 2.7e-2.", False),
        ("Layer 16, Qwen-Phys minus Qwen-Instruct: star +0.038.", True),
        ("Layer 16, Qwen-Phys minus Qwen-Instruct: star −0.038.", False),
        ("Layer 0, Qwen-Phys minus Qwen-Instruct: space −0.00.", False),  # it is +0.001
        ("Layer 0, Qwen-Phys minus Qwen-Instruct: space +0.00.", True),
        ("In layer 16 Qwen-Phys gives star 5.5 % of its attention.", True),
        ("In layer 16 Qwen-Phys gives star 73 % of its attention.", False),
        ("In layer 16 Qwen-Phys gives star 73 %.", True),  # of what the classes get
        ("Qwen-Phys: star is highest in layer 16.", True),
        ("Qwen-Phys: star is highest in layer 0.", False),
        ("Qwen-Instruct: hash is lowest in layer 16 and highest in layer 0.", True),
        ("Qwen-Phys: star peaks in layer 16.", True),
        ("In layer 0, Qwen-Instruct gives star more than Qwen-Phys.", True),
        ("In layer 16, Qwen-Instruct gives star more than Qwen-Phys.", False),
        ("Star is larger than hash in layer 16 of Qwen-Phys.", True),
        ("In layer 0 of Qwen-Phys, star is smaller than hash.", False),
    ],
)
def test_signs_orders_and_what_of_its_attention_means(said: str, holds: bool) -> None:
    found = verdicts(said)
    assert found
    assert all(found) is holds
    assert None not in found


def test_no_tolerance_mends_a_wrong_sign() -> None:
    said = "Layer 16, Qwen-Phys minus Qwen-Instruct: star −0.001."
    assert verdicts(said, tolerance=1.0) == [False]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("The last layer is layer 31.", "the table has no layer 31"),
        ("Qwen-Phys gives star three times as much in layer 0.", "a ratio in words"),
        ("Star is highest in layer 16.", "which model"),
        ("Qwen-Phys is highest in layer 16.", "which token class"),
        ("Qwen-Phys gives star more than Qwen-Instruct.", "which layer"),
        ("Qwen-Phys: star is highest in layer 9.", "no such number"),
        ("In layer 0, Qwen-Instruct gives star 0.009 more than before.", "a change"),
    ],
)
def test_what_holds_no_number_is_listed_too(text: str, why: str) -> None:
    (one,) = [one for one in check_description(text, TABLE) if one.holds is None]
    assert why in one.why


def test_an_order_says_what_the_table_says() -> None:
    (one,) = check_description("Qwen-Phys: star is highest in layer 0.", TABLE)
    assert str(one).endswith("says layer 0; the table says layer 16 (0.0550)")


def test_layers_that_the_table_has_are_no_statements() -> None:
    assert check_description("Look at layers 0 and 16.", TABLE) == []


def test_escapes_of_markdown_are_undone_and_tables_code_and_origin_skipped() -> None:
    text = (
        "- Layer 0, Qwen-Phys: hash 0.0260 \\[0.0239, 0.0281\\]\n\n"
        "| layer | hash |\n| --- | --- |\n| 0 | 0.9 |\n\n"
        "```\nLayer 0, Qwen-Phys: hash 0.9\n```\n"
        "## Origin\n### Versions\nLayer 0, Qwen-Phys: hash 0.9\n"
        "## Description\nLayer 0, Qwen-Phys: star 0.042\n"
    )
    found = check_description(text, TABLE)
    assert [one.statement.what for one in found] == ["value", "low", "high", "value"]
    assert all(one.holds for one in found)


def test_names_of_headings_hold_until_the_next() -> None:
    text = "## Layer 16\nQwen-Phys:\n  - star: 0.055\n## Layer 20\nQwen-Phys:\n  - star: 0.030\n"
    assert verdicts(text) == [True, True]
    assert verdicts(text + "- Qwen-Instruct: star 0.011\n- star 0.011\n")[2] is True


def test_differences_with_their_intervals_need_their_table() -> None:
    tables = class_tables(Made(effect={"star": 0.1}))
    row = tables["Tuned_minus_Base"].to_pylist()[1]
    assert (row["class"], row["layer"]) == ("star", 0)
    ends = f"[{row['low']:.4f}, {row['high']:.4f}]"
    text = f"Layer 0, Tuned minus Base: star {row['difference']:+.4f} {ends}."
    assert [one.holds for one in check_description(text, tables)] == [True, True, True]
    alone = check_description(text, {"summary": tables["summary"]})
    assert [one.holds for one in alone] == [True, None, None]


def told(text: str) -> tuple[tuple[float, ...], str]:
    """What the table of one model says to the one statement of a text, or why nothing."""
    (one,) = [s for s in read_statements(text, NUMBERS.vocabulary) if s.what != "mention"]
    try:
        return table_values(NUMBERS, one), ""
    except UnreadError as reason:
        return (), str(reason)


def cell(kind: str, layer: int, measure: str = "mass") -> float:
    return NUMBERS.cells[Key(measure, "Base", layer, token_class=kind)].value


def test_what_the_table_leaves_no_choice_about_need_not_be_said() -> None:
    assert told("Layer 2: hash 0.1") == ((cell("hash", 2),), "")  # there is one model
    assert told("Layer 1, hash: lift 2.0 times") == ((cell("hash", 1, "lift"),), "")


def test_sums_shares_and_bounds() -> None:
    parts = [cell(kind, 1) for kind in ("hash", "star", "space")]
    assert told("Layer 1: total 0.5")[0] == (pytest.approx(sum(parts)),)
    assert told("Layer 1: 60% star")[0] == (pytest.approx(parts[1] / sum(parts)),)
    values, _ = told("hash stays below 0.5")  # about everything that is meant
    assert sorted(values) == sorted(cell("hash", layer) for layer in range(4))


@pytest.mark.parametrize(
    ("text", "values", "why"),
    [
        ("4 layers", (4.0,), ""),
        ("12 prompts", (12.0,), ""),
        ("200 resamples", (200.0,), ""),
        ("95 % bootstrap", (0.95,), ""),
        ("3 heads", (), "it is not clear what this number is"),
        ("hash 0.1", (), "it is not said which layer"),
        ("Layer 9: hash 0.1", (), "the table has no such number"),
        ("Layer 1: hash 3 times", (), "a ratio, and not clearly said of what"),
    ],
)
def test_counts_how_it_was_made_and_why_there_is_no_answer(
    text: str, values: tuple[float, ...], why: str
) -> None:
    assert told(text) == (values, why)


def test_p_of_a_difference() -> None:
    tables = class_tables(Made(effect={"star": 0.1}))
    p = tables["Tuned_minus_Base"].to_pylist()[1]["p_family"]
    said = "Layer 0, Tuned minus Base: star +0.09 (p = {:.4f})"
    assert [one.holds for one in check_description(said.format(p), tables)] == [True, True]
    assert check_description(said.format(p + 0.1), tables)[1].holds is False


@pytest.mark.parametrize(
    "tables",
    [
        class_tables(Made(effect={"star": 0.1})),
        class_tables(Made(effect={"star": 0.1}, heads=(0, 1, 2))),
        class_tables(Made(models=("Base",)), "lift"),
        insertion_tables(Made(models=("m",), heads=(0, 1)), ["/ ×55", "random"]),
    ],
)
def test_nothing_that_mindshare_says_of_its_tables_is_called_wrong(tables: dict) -> None:
    checked = check_description(describe(tables).markdown, tables)
    assert [str(one) for one in checked if one.holds is False] == []
    assert sum(one.holds is True for one in checked) > 20


@settings(deadline=None)  # the machine may be busy
@given(st.text(alphabet="Layerhd star#*0123456789.,;:~%–-+[]()“”'\n<>→minustotalby ", max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    for one in check_description(text, TABLE):
        assert one.holds in (True, False, None)
        assert str(one)
