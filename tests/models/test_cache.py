from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest

from mindshare.models.cache import cache_directory, file_sha256


def test_the_environment_chooses_the_place(cache: Path) -> None:
    assert cache_directory() == cache


def test_without_it_the_place_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINDSHARE_CACHE")
    assert cache_directory().name == "mindshare"


def test_a_hash_is_the_content_and_follows_it(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    assert file_sha256(file) == sha256(b"one").hexdigest()
    file.write_bytes(b"three")
    assert file_sha256(file) == sha256(b"three").hexdigest()


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    before = file.stat()
    first = file_sha256(file)
    # Other content behind the same size and time: only a remembered hash can still be the first.
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_sha256(file) == first


def test_a_damaged_note_or_an_unwritable_cache_costs_only_time(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"one")
    file_sha256(file)
    for note in (cache / "hashes").iterdir():
        note.write_text("{")
    assert file_sha256(file) == sha256(b"one").hexdigest()
    monkeypatch.setenv("MINDSHARE_CACHE", str(file))  # a file, so nothing can be made below it
    assert file_sha256(file) == sha256(b"one").hexdigest()
