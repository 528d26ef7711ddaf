from __future__ import annotations

import pytest

from mindshare.errors import SelectionError
from mindshare.figures.insertion.sweep_points import Sweep, SweepOptions, choose_points, sweep_table

from .insertions import condition_rows, summarised


def sweep(rows: list[tuple[str, str, int]], *, models: tuple[str, ...] = ("m",)) -> Sweep:
    table = summarised([(None, None)], conditions=[row[0] for row in rows], models=models)
    return choose_points(
        table, condition_rows(rows), SweepOptions(), measures=("shape", "retained"), about={}
    )


LENGTHS = [(f"{unit} ×{n}", "between", n + 1) for unit in ("/", "he") for n in (55, 10, 25)]
TEXTS = [(f"{unit} ×55", "between", 56) for unit in ("/", "?", "random sentence")]
PLACES = [(f"/ ×55 at {place}", place, 56) for place in ("start", "between", "before:question")]


def test_lengths_lie_along_the_axis_and_every_text_is_a_line() -> None:
    found = sweep(LENGTHS)
    assert found.along == "tokens"
    lines = found.lines("shape")
    assert list(lines) == ["/", "he"]
    assert [row["x"] for row in lines["/"]] == [11, 26, 56]  # by length, not as given


def test_texts_are_categories_where_only_they_differ() -> None:
    found = sweep(TEXTS)
    assert found.along == "unit"
    assert found.units == ["/", "?", "random sentence"]
    assert [row["x"] for row in found.lines("shape")["m"]] == found.units


def test_places_are_categories_where_only_they_differ() -> None:
    found = sweep(PLACES)
    assert found.along == "place"
    assert found.units == ["/"]
    assert [row["x"] for row in found.lines("shape")["/"]] == [
        "start",
        "between",
        "before:question",
    ]


def test_texts_and_places_together_are_categories_and_lines() -> None:
    both = [(f"{u} ×5 at {p}", p, 5) for u in ("/", "he") for p in ("start", "end")]
    found = sweep(both, models=("a", "b"))
    assert found.along == "unit"
    assert list(found.lines("shape")) == ["a, start", "a, end", "b, start", "b, end"]


def test_numbers_of_tokens_are_means_over_the_prompts() -> None:
    table = summarised([(None, None)], conditions=["/ ×2", "/ ×4"])
    rows = condition_rows([("/ ×2", "between", 2), ("/ ×4", "between", 4), ("/ ×4", "between", 5)])
    found = choose_points(table, rows, SweepOptions(), measures=("shape",), about={})
    tokens = {name: one.tokens for (_, name), one in found.inserted.items()}
    assert tokens == {"/ ×2": 2, "/ ×4": 4.5}


def test_the_table_says_what_was_inserted_for_each_number() -> None:
    table = sweep_table(sweep(LENGTHS))
    row = table.to_pylist()[0]
    assert (row["insertion"], row["place"], row["n_inserted"]) == ("/", "between", 56)
    assert table.num_rows == 2 * len(LENGTHS)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(SelectionError, match="has no '/ ×10'"):
        choose_points(
            summarised([(None, None)], conditions=["/ ×10"]),
            condition_rows(TEXTS),
            SweepOptions(),
            measures=("shape",),
            about={},
        )
    with pytest.raises(SelectionError, match="mean over heads and layers"):
        choose_points(
            summarised([(0, None)], conditions=["/ ×55"]),
            condition_rows(TEXTS),
            SweepOptions(),
            measures=("shape",),
            about={},
        )
