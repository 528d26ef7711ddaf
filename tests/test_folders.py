"""Results folders: whole or not at all, never over something else, read back or refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mindshare.errors import OutputError
from mindshare.folders import read_folder, whole_folder, write_folder, write_manifest


def tables() -> dict[str, pa.Table]:
    return {"tokens": pa.table({"position": [0, 1], "token": ["a", "b"]})}


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "a" / "b", tables(), {"tables": ["tokens"]})
    assert sorted(p.name for p in folder.iterdir()) == ["manifest.json", "tokens.parquet"]
    assert pq.read_table(folder / "tokens.parquet").num_rows == 2
    assert [p.name for p in folder.parent.iterdir()] == ["b"]  # nothing is left over


def test_what_exists_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", tables(), {"tables": ["tokens"], "n": 1})
    with pytest.raises(OutputError, match="exists already"):
        write_folder(folder, tables(), {"tables": ["tokens"]})
    write_folder(folder, tables(), {"tables": ["tokens"], "n": 2}, replace=True)
    assert read_folder(folder)[1]["n"] == 2
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="is not a folder of mindshare results"):
        write_folder(precious, tables(), {"tables": ["tokens"]}, replace=True)
    assert (precious / "thesis.txt").exists()


def test_a_parent_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="can't write to"):
        write_folder(tmp_path / "file" / "r", tables(), {"tables": ["tokens"]})


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    """The limit on file sizes makes every write fail as a full disk would."""
    code = f"""
import resource, signal
from pathlib import Path
from tests.test_folders import tables
from mindshare.folders import write_folder
from mindshare.errors import OutputError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
content = tables()
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
try:
    write_folder(Path({str(tmp_path / "r")!r}), content, {{"tables": ["tokens"]}})
except OutputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "can't write" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_tables_of_another_study_are_not_taken_for_these(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", tables(), {"tables": ["tokens"], "n": 1})
    before, known = read_folder(folder)[0], read_folder(folder)[0]
    assert known["tokens"].num_rows == 2
    write_folder(folder, tables(), {"tables": ["tokens"], "n": 2}, replace=True)
    with pytest.raises(OutputError, match="no longer those that were read"):
        before["tokens"]
    assert known["tokens"].num_rows == 2  # what was read stays


@pytest.mark.parametrize("damage", ["missing", "manifest", "table"])
def test_what_is_no_result_is_named(tmp_path: Path, damage: str) -> None:
    folder = write_folder(tmp_path / "r", tables(), {"tables": ["tokens"]})
    if damage == "missing":
        folder = tmp_path / "nowhere"
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    else:
        (folder / "tokens.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(OutputError, match=r"is not a folder of|are damaged or not complete"):
        read_folder(folder)


@pytest.mark.parametrize("way", ["name", "absolute", "link"])
def test_no_table_is_read_from_outside(tmp_path: Path, way: str) -> None:
    write_folder(tmp_path / "secret", tables(), {"tables": ["tokens"]})
    outside = tmp_path / "secret" / "tokens"
    name = {"name": "../secret/tokens", "absolute": str(outside), "link": "tokens"}[way]
    folder = write_folder(tmp_path / "r", {}, {"tables": [name]})
    if way == "link":
        (folder / "tokens.parquet").symlink_to(outside.with_suffix(".parquet"))
    with pytest.raises(OutputError, match="leads out of the folder"):
        read_folder(folder)


@pytest.mark.parametrize(
    "manifest", ["[]", '{"tables": 3}', '{"tables": [[]]}', "[" * 9_000, "1e9"]
)
def test_a_manifest_of_another_shape_is_said(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(OutputError, match="are damaged or not complete"):
        read_folder(tmp_path)


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    manifest = {"tables": ["tokens"], "command": "a \udcff \U0001f642", "n": 0.1}
    write_folder(tmp_path / "out", tables(), manifest)
    found = read_folder(tmp_path / "out")[1]
    assert found["command"] == "a ? \U0001f642"
    assert found["n"] == 0.1


def test_a_table_that_was_changed_is_said_when_it_is_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", tables(), {"tables": ["tokens"]})
    content = bytearray((folder / "tokens.parquet").read_bytes())
    content[4:60] = bytes(56)  # its first page; the schema stands at the end
    (folder / "tokens.parquet").write_bytes(content)
    found, _ = read_folder(folder)
    with pytest.raises(OutputError, match="are damaged or not complete"):
        found["tokens"]


def test_the_manifest_is_json_people_can_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "r", tables(), {"tables": ["tokens"], "text": "λ"})
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    assert "λ" in text
    assert json.loads(text)["tables"] == ["tokens"]


def test_any_content_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "picture.png").write_bytes(b"x")
        write_manifest(folder, {"tables": []})

    def fail(folder: Path) -> None:
        fill(folder)
        raise OSError(28, "No space left on device")

    folder = whole_folder(tmp_path / "r", fill)
    assert sorted(p.name for p in folder.iterdir()) == ["manifest.json", "picture.png"]
    assert folder.stat().st_mode & 0o777 == 0o755
    with pytest.raises(OutputError, match="No space left"):
        whole_folder(folder, fail, replace=True)
    assert (folder / "picture.png").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


@pytest.mark.parametrize("name", ["one.pdf", "one.PNG", "results.parquet"])
def test_a_name_of_a_file_is_no_name_of_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="named as a file"):
        write_folder(tmp_path / name, tables(), {"tables": ["tokens"]})
    assert list(tmp_path.iterdir()) == []
    write_folder(tmp_path / "run.v2", tables(), {"tables": ["tokens"]})


def test_a_name_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is no UTF-8"):
        write_folder(tmp_path / "\udcff", tables(), {"tables": ["tokens"]})
    assert list(tmp_path.iterdir()) == []
