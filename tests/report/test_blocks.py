"""Tables to read: rounded, pivoted, with intervals; every number is one of the results."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mindshare.report.blocks import (
    NumberTable,
    figure_table,
    overview_tables,
    plain_table,
    shown_value,
    with_interval,
)
from mindshare.report.saved import SavedResults


def tables(saved: SavedResults) -> list[NumberTable]:
    return [part for part in overview_tables(saved) if isinstance(part, NumberTable)]


def test_layers_go_down_and_classes_across(saved: dict[str, SavedResults]) -> None:
    base, tuned, contrast, largest = tables(saved["shares"])
    assert [column.name for column in base.columns] == ["layer", "hash", "star", "space", "other"]
    assert [row[0] for row in base.rows] == ["0", "1"]
    assert "Tuned" in tuned.caption
    for word in ("Tuned minus Base", "all but hash, star and space", "table Tuned_minus_Base"):
        assert word in contrast.caption
    rows = saved["shares"].tables["Tuned_minus_Base"].to_pylist()
    shown = [column.name for column in contrast.columns]
    assert shown == ["layer", "class", "mean_a", "mean_b", "difference", "effect", "p_family"]
    assert largest.columns[0].name == "rank"
    assert [row[4] for row in contrast.rows] == [with_interval(row, "difference") for row in rows]


def test_cells_are_the_numbers_of_the_summary(saved: dict[str, SavedResults]) -> None:
    base = tables(saved["shares"])[0]
    row = next(
        r
        for r in saved["shares"].summary.to_pylist()
        if (r["model"], r["layer"], r["class"]) == ("Base", 1, "hash")
    )
    cell = base.rows[1][1]
    assert cell == with_interval(row) == shown_value(row["mean"])  # two prompts are too few


def test_an_interval_stands_beside_its_number() -> None:
    row = {"mean": 0.0613, "low": -0.0541, "high": 0.07}
    assert with_interval(row) == "0.0613 [−0.0541, 0.0700]"


def test_a_measure_of_heads_has_a_column_of_its_name(saved: dict[str, SavedResults]) -> None:
    summary = saved["single"].summary
    summary = summary.filter(pc.equal(summary["class"], "hash"))
    place = summary.column_names.index("class")
    nothing = pa.nulls(summary.num_rows, pa.string())
    about = {**summary.schema.metadata, b"mindshare.measure": b"entropy"}
    of_heads = summary.set_column(place, "class", nothing).replace_schema_metadata(about)
    tables_ = {**saved["single"].tables, "summary": of_heads}
    (only,) = tables(replace(saved["single"], tables=tables_))
    assert [column.name for column in only.columns] == ["layer", "entropy"]
    assert "class" not in only.caption
    assert [row[1] for row in only.rows] == [with_interval(row) for row in of_heads.to_pylist()]


def test_a_single_prompt_has_no_interval(saved: dict[str, SavedResults]) -> None:
    (only,) = tables(saved["single"])
    assert "interval" not in only.caption
    assert all("[" not in cell for row in only.rows for cell in row)


def test_an_insertion_has_its_response_numbers_and_its_heads(
    saved: dict[str, SavedResults],
) -> None:
    overall, labels = tables(saved["insert"])
    assert "amplitude" in [row[0] for row in overall.rows]
    assert [column.name for column in overall.columns] == ["measure", "# ×8"]
    assert sum(int(cell) for cell in labels.rows[0][2:]) == 2 * 4  # layers × heads
    assert labels.columns[-1].name == "resting"
    assert "too little to be compared" in str(labels.columns[-1].definition)


def test_columns_say_whether_the_first_token_counts(saved: dict[str, SavedResults]) -> None:
    (amplitude,) = [c for c in plain_table(saved["insert"].tables["response"], "x").columns
                    if c.name == "amplitude"]  # fmt: skip
    assert "without the prompt's first token" in str(amplitude.definition)


def test_a_figure_has_all_its_rows(saved: dict[str, SavedResults]) -> None:
    for figure in saved["insert"].figures:
        table = figure_table(figure)
        assert len(table.rows) == figure.numbers.num_rows
        assert table.csv == figure.file("csv")
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_what_all_rows_share_goes_into_the_caption() -> None:
    table = plain_table(pa.table({"model": ["m", "m"], "layer": [0, 0], "mean": [0.5, None]}), "It")
    assert table.caption == "It (model m)"
    assert [column.name for column in table.columns] == ["layer", "mean"]
    assert table.rows == (("0", "0.5"), ("0", "–"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0612345, "0.06123"),
        (-0.5, "−0.5"),
        (12, "12"),
        (True, "yes"),
        ("# a", "# a"),
    ],
)
def test_values_are_shown(value: object, shown: str) -> None:
    assert shown_value(value) == shown
