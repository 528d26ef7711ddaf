"""Tables of files and folders, as numbers to look up."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from mindshare.errors import OutputError, SelectionError
from mindshare.facts import Key
from mindshare.folders import write_folder
from mindshare_checker import check_description
from mindshare_checker.tables import TableNumbers, read_tables
from tests.facts.made import Made, class_tables


def test_a_folder_gives_everything_that_is_known_of_it(tmp_path: Path) -> None:
    tables = class_tables(Made(effect={"star": 0.1}))
    folder = write_folder(tmp_path / "results", tables, {"tables": sorted(tables)})
    rows = [row for row in tables["summary"].to_pylist() if row["class"] == "star"]
    lines = [f"Layer {r['layer']}, {r['model']}: star {r['mean']:.4f}." for r in rows]
    change = tables["Tuned_minus_Base"].to_pylist()[1]
    lines.append(f"Layer 0, Tuned minus Base: star {change['difference']:+.4f}.")
    checked = check_description("\n".join(lines), read_tables(folder))
    assert [one.holds for one in checked] == [True] * 9


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("measure", ["mass", "lift"])
def test_the_table_of_a_chart(tmp_path: Path, ending: str, measure: str) -> None:
    """A CSV file does not say its measure, but its name does."""
    summary = class_tables(Made(), measure)["summary"]
    path = tmp_path / f"class_bars_{measure}.{ending}"
    {"csv": csv.write_csv, "parquet": pq.write_table}[ending](summary, path)
    row = summary.to_pylist()[0]
    text = f"Base, layer {row['layer']}: {measure} of {row['class']} {row['mean']:.4f}"
    (one,) = check_description(text, read_tables(path))
    assert one.holds


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.parquet").write_text("x")
    csv.write_csv(pa.table({"x": [1]}), tmp_path / "a.csv")
    for name, words in {
        "a.txt": "is no table",
        "a.parquet": "can't be read",
        "missing.csv": "can't be read",
        "": "not a folder of mindshare results",
    }.items():
        with pytest.raises(OutputError, match=words):
            read_tables(tmp_path / name)
    with pytest.raises(SelectionError, match="no table of means"):
        read_tables(tmp_path / "a.csv")


def test_names_of_a_table_and_what_people_call_them() -> None:
    made = Made(models=("Qwen", "Qwen-Phys"), classes=("hash", "star", "other"))
    words = TableNumbers.of(class_tables(made)).vocabulary
    text = "Qwen-Phys and Qwen: `# (Hash)`, Star (blue) and “other”; lift, mass, attention share"
    found = [one.content.name for one in words.tokens(text) if one.what == "name"]
    assert found == ["Qwen-Phys", "Qwen", "hash", "star", "other", "lift", "mass", "mass"]


def test_several_charts_of_a_folder_keep_what_they_show() -> None:
    glyphs = class_tables(Made(models=("Base",)))["summary"]
    parts = class_tables(Made(models=("Base",), classes=("system", "maps"), layers=(0, 1)))
    numbers = TableNumbers.of({"summary": glyphs, "by_part": parts["summary"]})
    assert sorted(numbers.counts("classes")) == [2, 3]
    assert sorted(numbers.counts("layers")) == [2, 4]
    assert numbers.counts("prompts") == [12, 12]
    assert numbers.whole("maps") == ("system", "maps")
    assert numbers.whole(None) == ()  # of which chart is not said
    assert Key("mass", "Base", 1, token_class="maps") in numbers.cells
    assert Key("mass", "Base", 3, token_class="star") in numbers.cells
