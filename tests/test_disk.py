"""Files that are there whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.disk import flush, write_whole


def test_a_file_is_written_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "new" / "note.json"
    for content in (b"first", b"second"):
        write_whole(file, content)
        assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_take_its_place_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "there" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="there"):
        write_whole(tmp_path / "there", b"content")
    assert (tmp_path / "there" / "inside").is_dir()
    assert len(list(tmp_path.iterdir())) == 1


def test_files_and_folders_are_flushed(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"x")
    flush(tmp_path / "a")
    flush(tmp_path)
    with pytest.raises(FileNotFoundError):
        flush(tmp_path / "b")
