from __future__ import annotations

from mindshare.report.describing import describe

from .made import Made, insertion_tables

MADE = Made(models=("m",), layers=range(20), heads=(0, 1, 2))


def test_the_overview_says_what_was_inserted() -> None:
    description = describe(insertion_tables(MADE, ["/ ×55", "random sentence"]), kind="insertion")
    first, second, *_ = description.overview.sentences
    assert first == (
        "What 2 insertions (“/ ×55” and “random sentence”) did to the attention of 1 model (m), "
        "over 12 prompts."
    )
    assert second == "Measured: 20 layers (0 to 19) and 3 heads (0 to 2)."


def test_units_are_those_of_the_measures() -> None:
    details = describe(insertion_tables(MADE, ["a1"]), kind="insertion").details.sentences
    first = details[0]
    assert first.startswith("All layers, m, a1: amplitude ")
    for unit in (" times [", " nats [", " bits [", " tokens ["):
        assert unit in first


def test_conditions_are_compared_over_all_heads() -> None:
    tables = insertion_tables(MADE, ["a1", "b1"])
    text = describe(tables, kind="insertion").text
    assert "All layers, m, a1 minus b1: weight evenness " in text
    assert " (undecided)" in text


def test_layers_in_detail_in_groups_and_the_first_heads() -> None:
    details = describe(insertion_tables(MADE, ["a1"]), kind="insertion").details.sentences
    assert 2 < sum(s.startswith("Layer ") and ", head " not in s for s in details) <= 12
    assert any(s.startswith("One by one, at most twelve: ") for s in details)
    assert sum(s.startswith("Layers ") for s in details) == 3
    assert sum(", head " in s.partition(":")[0] for s in details) == 6


def test_further_conditions_are_said_to_be_in_the_table() -> None:
    text = describe(insertion_tables(MADE, ["a1", "b1", "c1", "d1"]), kind="insertion").text
    assert "single layers being in the table: c1 and d1." in text
    assert "Layer 0, m, c1" not in text
    assert "All layers, m, c1: amplitude" in text
