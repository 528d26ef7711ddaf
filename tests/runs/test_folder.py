"""Where a run may begin, and which files may be tidied away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import OutputError
from mindshare.folders import MANIFEST as OF_TABLES
from mindshare.runs import Store
from mindshare.runs.folder import MANIFEST, former_files, invalidate

from .writing import DEFINITION


def test_a_folder_is_made_with_those_above(tmp_path: Path) -> None:
    Store.open(tmp_path / "a" / "b", DEFINITION).close()
    assert (tmp_path / "a" / "b" / "run.sqlite").is_file()


def test_a_run_that_is_not_there_is_not_made_unless_asked(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(OutputError, match="there is no run in"):
            Store.open(folder, DEFINITION, create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="neither a run nor results"):
        Store.open(tmp_path, DEFINITION, replace=replace)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OutputError, match=r"is not a folder|can't be used"):
            Store.open(folder, DEFINITION)


def test_results_without_a_store_are_only_replaced_if_asked(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text('{"tables": []}')
    with pytest.raises(OutputError, match=r"holds results, but no run\.sqlite"):
        Store.open(tmp_path, DEFINITION)
    Store.open(tmp_path, DEFINITION, replace=True).close()
    assert not (tmp_path / MANIFEST).exists()


def test_a_run_that_was_killed_while_it_was_made_can_begin_again(tmp_path: Path) -> None:
    for leftover in ("run.lock", ".run.sqlite.new", "run.sqlite-wal"):
        (tmp_path / leftover).write_bytes(b"torn")
    Store.open(tmp_path, DEFINITION).close()
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
