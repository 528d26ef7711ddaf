from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from mindshare.errors import OutputError, SelectionError
from mindshare.folders import write_folder
from mindshare.report.describing import check_description, describe, read_numbers

from .made import Made, class_tables


def test_a_folder_gives_everything_that_is_known_of_it(tmp_path: Path) -> None:
    tables = class_tables(Made(effect={"star": 0.1}))
    folder = write_folder(tmp_path / "results", tables, {"tables": sorted(tables)})
    checked = check_description(describe(tables, kind="classes").text, read_numbers(folder))
    assert len(checked) > 50
    assert all(one.holds for one in checked)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_of_a_chart(tmp_path: Path, ending: str) -> None:
    summary = class_tables(Made())["summary"]
    write = {"csv": csv.write_csv, "parquet": pq.write_table}[ending]
    write(summary, tmp_path / f"chart.{ending}")
    row = summary.to_pylist()[0]
    text = f"{row['model']}, layer {row['layer']}: {row['class']} {row['mean']:.4f}"
    (one,) = check_description(text, read_numbers(tmp_path / f"chart.{ending}"))
    assert one.holds


def test_the_name_of_a_csv_file_says_its_measure(tmp_path: Path) -> None:
    summary = class_tables(Made(), "lift")["summary"]
    csv.write_csv(summary, tmp_path / "class_bars_lift.csv")
    row = summary.to_pylist()[0]
    text = f"Base, layer {row['layer']}: lift of {row['class']} {row['mean']:.3f} times"
    (one,) = check_description(text, read_numbers(tmp_path / "class_bars_lift.csv"))
    assert one.holds


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.parquet").write_text("x")
    csv.write_csv(pa.table({"x": [1]}), tmp_path / "a.csv")
    with pytest.raises(OutputError, match="is no table"):
        read_numbers(tmp_path / "a.txt")
    with pytest.raises(OutputError, match="can't be read"):
        read_numbers(tmp_path / "a.parquet")
    with pytest.raises(OutputError, match="can't be read"):
        read_numbers(tmp_path / "missing.csv")
    with pytest.raises(SelectionError, match="no table of means"):
        read_numbers(tmp_path / "a.csv")
    with pytest.raises(OutputError, match="not a folder of mindshare results"):
        read_numbers(tmp_path)
