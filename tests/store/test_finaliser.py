"""The old results or the new or none, never some of each, wherever the work is interrupted."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindshare.errors import OutputError
from mindshare.folders import MANIFEST as OF_TABLES
from mindshare.folders import read_folder
from mindshare.store import Finaliser, RunWriter, finaliser
from mindshare.store.finaliser import MANIFEST, former_files, invalidate

from .finalising import SCHEMA, finalise, table
from .writing import DEFINITION, told_by


def generation(folder: Path) -> float | None:
    """Of a folder whose parts all agree; None: no results."""
    try:
        tables, manifest = read_folder(folder)
    except OutputError:
        return None
    found = {
        one["mass"][1].as_py() - pa.scalar(1 / 3, pa.float32()).as_py() for one in tables.values()
    }
    assert {round(value) for value in found} == {manifest["generation"]}
    assert (folder / "study.toml").read_text() == f"generation = {manifest['generation']}\n"
    return float(manifest["generation"])


def test_tables_are_streamed_into_whole_files(tmp_path: Path) -> None:
    with Finaliser(tmp_path) as building:
        for n in range(100):
            building.add("mass", table(range(n, n + 1)))
        building.add("none", table(range(0)))
        building.commit({"n": 1})
    tables, manifest = read_folder(tmp_path)
    assert tables["mass"].equals(table(range(100)))
    assert tables["mass"].schema.equals(SCHEMA, check_metadata=True)
    assert tables["none"].num_rows == 0
    assert manifest == {
        "n": 1,
        "tables": ["mass", "none"],
        "files": ["mass.parquet", "none.parquet"],
    }
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("manifest.json", "mass.parquet", "none.parquet")
    ]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_row_groups_do_not_depend_on_how_rows_come(sizes: list[int], rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(finaliser, "ROWS", rows)
        with Finaliser(folder) as building:
            for number, size in enumerate(sizes):
                start = sum(sizes[:number])
                building.add("t", table(range(start, start + size)))
            building.commit({})
        written = pq.ParquetFile(Path(folder) / "t.parquet")
        groups = [written.metadata.row_group(n).num_rows for n in range(written.num_row_groups)]
        assert groups[:-1] == [rows] * (len(groups) - 1)
        assert written.read().equals(table(range(sum(sizes))))


def test_the_same_rows_are_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finaliser, "ROWS", 700)
    whole = table(range(5000))
    handed = {
        "at once": [whole],
        "one by one": [whole.slice(n, 1) for n in range(5000)],
        "unevenly": [whole.slice(0, 699), whole.slice(699, 2), whole.slice(701)],
        "in chunks": [pa.concat_tables([whole.slice(0, 10), whole.slice(10)])],
    }
    found = set()
    for name, tables in handed.items():
        (tmp_path / name).mkdir()
        with Finaliser(tmp_path / name) as building:
            for some in tables:
                building.add("t", some)
            building.commit({})
        found.add((tmp_path / name / "t.parquet").read_bytes())
    assert len(found) == 1
    assert pq.ParquetFile(tmp_path / "at once" / "t.parquet").num_row_groups == 8


def test_single_rows_are_not_held_one_by_one(tmp_path: Path) -> None:
    """A table of one row takes kilobytes, and a row group has 65,536 rows."""
    with Finaliser(tmp_path) as building:
        for n in range(2000):
            building.add("t", table(range(n, n + 1)))
        file = building._tables["t"]
        assert len(file._held) + len(file._pieces) < 300
        building.commit({})
    assert pq.read_table(tmp_path / "t.parquet").equals(table(range(2000)))


def test_without_commit_the_old_results_stay(tmp_path: Path) -> None:
    finalise(tmp_path, 1)

    with Finaliser(tmp_path) as building:
        building.add("a", table(range(5)))
    assert generation(tmp_path) == 1
    assert not building.building.exists()


def test_tables_that_are_no_longer_made_go_and_other_files_stay(tmp_path: Path) -> None:
    finalise(tmp_path, 1)
    (tmp_path / "run.sqlite").write_text("the store")
    (tmp_path / "notes.txt").write_text("mine")
    finalise(tmp_path, 2, names=("a",))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        *("a.parquet", "manifest.json", "notes.txt", "run.sqlite", "study.toml")
    ]
    assert json.loads((tmp_path / "manifest.json").read_text())["files"] == [
        *("a.parquet", "study.toml")
    ]


# In folder 1, 2, …: is killed at the n-th time that a name in it is made, changed or removed.
_INTERRUPTED = """
import os, signal, sys
import pyarrow.parquet, mindshare.folders
from pathlib import Path
from tests.store.finalising import finalise, table
table(range(3))  # whatever is imported late is imported now

def kill_at(step, folder):
    def hook(event, arguments):
        nonlocal step
        if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"):
            if str(folder) in str(arguments[0]) or event == "os.rmdir":
                step -= 1
                if step == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
    return hook

for folder in sorted(Path(sys.argv[1]).iterdir(), key=lambda folder: int(folder.name)):
    process = os.fork()
    if process == 0:
        sys.addaudithook(kill_at(int(folder.name), folder))
        finalise(folder, 2, names=("a", "c"))
        os._exit(0)
    print(os.waitpid(process, 0)[1], flush=True)
"""


def test_interrupted_at_each_step(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    before = finalise(tmp_path / "before", 1, names=("a", "b"))
    folders = [tmp_path / "steps" / str(step) for step in range(1, 32)]
    for folder in folders:
        shutil.copytree(before, folder)
    ended = [int(line) for line in told_by(_INTERRUPTED, tmp_path / "steps").split()]
    killed = ended.count(signal.SIGKILL)
    assert ended == [signal.SIGKILL] * killed + [0] * (len(folders) - killed)
    assert 12 < killed < len(folders), "every step, and then none"
    seen = [generation(folder) for folder in folders]
    old, none, new = (seen.count(found) for found in (1, None, 2))
    assert seen == [1] * old + [None] * none + [2] * new
    assert min(old, none) >= 3
    assert new > len(folders) - killed, "also killed when all was in place"
    for folder in folders[:killed:2]:
        finalise(folder, 3, names=("a",))
        assert generation(folder) == 3
        assert sorted(p.name for p in folder.iterdir()) == [
            *("a.parquet", "manifest.json", "study.toml")
        ]


_FULL = """
import resource, sys
from pathlib import Path
from tests.store.finalising import table
from mindshare.errors import OutputError
from mindshare.store import Finaliser
rows = table(range(20_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
try:
    with Finaliser(sys.argv[1]) as building:
        building.add("a", rows)
        building.commit({"generation": 2})
except OutputError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_results(tmp_path: Path) -> None:
    finalise(tmp_path, 1)
    said = told_by(_FULL, tmp_path)
    assert f"the tables can't be written to {tmp_path}" in said
    assert "the earlier tables are as they were" in said
    assert generation(tmp_path) == 1
    assert not (tmp_path / ".finalising").exists()


_READ_ONLY = """
import sys
from tests.store.writing import be_nobody_special
from mindshare.errors import OutputError
from mindshare.store import Finaliser
be_nobody_special()
try:
    with Finaliser(sys.argv[1]):
        pass
except OutputError as error:
    print(error)
"""


def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    said = told_by(_READ_ONLY, tmp_path)
    tmp_path.chmod(0o755)
    assert "Permission denied" in said


def test_a_folder_is_made_with_those_above(tmp_path: Path) -> None:
    RunWriter.open(tmp_path / "a" / "b", DEFINITION).close()
    assert (tmp_path / "a" / "b" / "run.sqlite").is_file()


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="neither a run nor results"):
        RunWriter.open(tmp_path, DEFINITION, replace=replace)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match=r"is not a folder|can't be used"):
            RunWriter.open(folder, DEFINITION)


def test_results_without_a_store_are_only_replaced_if_asked(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"tables": []}')
    with pytest.raises(OutputError, match=r"holds results, but no run\.sqlite"):
        RunWriter.open(tmp_path, DEFINITION)
    RunWriter.open(tmp_path, DEFINITION, replace=True).close()
    assert not (tmp_path / MANIFEST).exists()


def test_a_run_that_was_killed_while_it_was_made_can_begin_again(tmp_path: Path) -> None:
    for leftover in ("run.lock", ".run.sqlite.new", "run.sqlite-wal"):
        (tmp_path / leftover).write_bytes(b"torn")
    RunWriter.open(tmp_path, DEFINITION).close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.lock", "run.sqlite"]


def test_only_files_of_a_manifest_are_ever_tidied(tmp_path: Path) -> None:
    names = ["../elsewhere", "run.sqlite", ".hidden", "study.toml"]
    content = {"tables": ["mass"], "files": names, "figures": {"bars": {}, "run": {}}}
    (tmp_path / MANIFEST).write_text(json.dumps(content))
    for name in ("bars.png", "run.sqlite", "run.sqlite-wal", "run.lock", "mine.txt"):
        (tmp_path / name).write_text("")
    files = {"mass.parquet", "study.toml", "bars.png"}
    assert former_files(tmp_path) == files
    invalidate(tmp_path)
    assert not (tmp_path / MANIFEST).exists()
    assert former_files(tmp_path) == files, "still known"


def test_the_manifest_has_one_name() -> None:
    assert MANIFEST == OF_TABLES


@pytest.mark.parametrize("key", ["files", "tables", "figures"])
@pytest.mark.parametrize(
    "value", ["5", '"name"', "[[1], {}, null, 7]", "{" * 9, "[" * 50_000 + "]" * 50_000, None]
)
def test_a_manifest_that_is_damaged_names_nothing(
    tmp_path: Path, key: str, value: str | None
) -> None:
    if value is None:
        (tmp_path / MANIFEST).symlink_to("/dev/null")  # what is no file has no end
    else:
        (tmp_path / MANIFEST).write_text(f'{{"{key}": {value}}}')
    assert former_files(tmp_path) == set()
    assert finaliser.figures_drawn(tmp_path) == {}
