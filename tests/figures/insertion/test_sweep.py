from __future__ import annotations

import pytest

from mindshare.figures import Figure, SweepOptions, sweep_curves
from mindshare.figures.theme import WIDTHS
from tests.figures.drawing import assert_nothing_is_cut_off, compiled, drawn, size, words

from .insertions import condition_rows, summarised
from .test_sweep_points import LENGTHS, PLACES, TEXTS

Rows = list[tuple[str, str, int]]


def sweep(rows: Rows, options: SweepOptions | None = None, **more: object) -> Figure:
    table = summarised([(None, None)], conditions=[row[0] for row in rows])
    return sweep_curves(table, condition_rows(rows), options, **more)


def panels(figure: Figure) -> list[dict]:
    return [p for view in figure.spec["vconcat"] if "hconcat" in view for p in view["hconcat"]]


def marks(panel: dict, kind: str) -> list[dict]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def test_a_panel_for_each_measure_with_the_tables_own_numbers() -> None:
    figure = sweep(LENGTHS, measures=("shape", "retained"))
    assert len(panels(figure)) == 2
    rows = figure.table.to_pylist()
    for panel, measure in zip(panels(figure), ("shape", "retained"), strict=True):
        for line, unit in zip(marks(panel, "line"), ("/", "he"), strict=True):
            expected = {
                r["n_inserted"]: r["mean"]
                for r in rows
                if (r["measure"], r["insertion"]) == (measure, unit)
            }
            assert {v["x"]: v["mean"] for v in line["data"]["values"]} == expected


def test_categories_have_points_and_whiskers_instead_of_lines_and_bands() -> None:
    for rows in (TEXTS, PLACES):
        panel = panels(sweep(rows))[1]  # shape: without a line at no change
        assert marks(panel, "line") == marks(panel, "area") == []
        assert [len(m["data"]["values"]) for m in marks(panel, "rule")] == [3]
        assert [len(m["data"]["values"]) for m in marks(panel, "circle")] == [3]
        assert panel["encoding"]["x"]["type"] == "nominal"


def test_the_words_say_what_lies_along_the_axis() -> None:
    assert sweep(LENGTHS).title == "Response by the number of inserted tokens: m"
    assert sweep(TEXTS).title == "Response by what is inserted: m"
    assert sweep(PLACES).title == "Response by the place of the insertion: m"
    figure = sweep(TEXTS)
    row = next(r for r in figure.table.to_pylist() if r["measure"] == "shape")
    assert f"Shape: / {row['mean']:.3g}, ?" in figure.description
    assert "56 inserted tokens" in " ".join(figure.spec["title"]["subtitle"])
    assert "Whiskers: 95" in figure.definition
    assert "Bands: 95" in sweep(LENGTHS).definition


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [LENGTHS, TEXTS, PLACES, TEXTS[:1]])
def test_every_sweep_fits_its_width_and_cuts_nothing_off(rows: Rows, width: str) -> None:
    figure = sweep(rows, SweepOptions(width=width))
    assert_nothing_is_cut_off(figure)
    assert size(drawn(figure))[0] <= WIDTHS[width] * 1.15  # slanted names may reach out
    assert {"Amplitude", "Shape", "Entropy change", "Retained"} <= set(words(drawn(figure)))


def test_sweeps_are_valid_vega_lite() -> None:
    compiled(sweep(LENGTHS))
    compiled(sweep(PLACES, SweepOptions(palette="safe", bands=False)))
