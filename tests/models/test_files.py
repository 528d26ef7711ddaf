"""Weight files are whole, and their hashes are remembered and say which weights were used."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest
import torch

from mindshare.errors import ModelFileError
from mindshare.models.files import (
    cache_directory,
    check_safetensors,
    content_sha256,
    file_sha256,
    files_fingerprint,
    has_whole_weights,
    read_json,
    sampled_fingerprint,
    weight_files,
)

from . import tiny


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


# Fingerprints of weights.


def test_one_file_is_its_own_hash(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x")
    assert files_fingerprint([file]) == f"sha256:{sha256(b'x').hexdigest()}"


def test_several_files_count_in_any_order_by_name_and_content(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"x")
    b.write_bytes(b"y")
    together = files_fingerprint([a, b])
    assert files_fingerprint([b, a]) == together
    b.write_bytes(b"longer")
    assert files_fingerprint([a, b]) != together


def test_a_hub_blob_is_already_named_by_its_content(tmp_path: Path) -> None:
    blob = tmp_path / "blobs" / ("ab" * 32)
    blob.parent.mkdir()
    blob.write_bytes(b"not read")
    link = tmp_path / "model.safetensors"
    link.symlink_to(blob)
    assert content_sha256(link) == "ab" * 32


def test_a_sample_is_stable_and_sees_one_changed_weight() -> None:
    model = tiny.llama()
    first = sampled_fingerprint(model)
    assert first.startswith("sampled:")
    assert sampled_fingerprint(tiny.llama()) == first
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[3, 3] += 1e-3
    assert sampled_fingerprint(model) != first


def test_a_sample_sees_the_config_and_the_dtype() -> None:
    first = sampled_fingerprint(tiny.llama())
    assert sampled_fingerprint(tiny.llama(rms_norm_eps=1e-3)) != first
    assert sampled_fingerprint(tiny.llama().to(torch.bfloat16)) != first


def test_a_sample_works_without_data() -> None:
    assert sampled_fingerprint(tiny.llama().to("meta")).startswith("sampled:")


# Weight files.


def test_one_file(shared_llama: Path) -> None:
    assert [file.name for file in weight_files(shared_llama)] == ["model.safetensors"]
    check_safetensors(shared_llama / "model.safetensors")


def test_shards_must_all_be_there(tmp_path: Path) -> None:
    tiny.llama().save_pretrained(tmp_path, max_shard_size="20KB")
    shards = weight_files(tmp_path)
    assert len(shards) > 1
    shards[1].unlink()
    with pytest.raises(ModelFileError, match=f"the shard {shards[1].name}, which is missing"):
        weight_files(tmp_path)
    assert not has_whole_weights(tmp_path)


def test_an_index_without_a_map(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {}}))
    with pytest.raises(ModelFileError, match="has no weight_map"):
        weight_files(tmp_path)


@pytest.mark.parametrize("file_of", [3, "model.safetensors", ["model.safetensors"], None, {}])
def test_a_map_of_another_type(tmp_path: Path, file_of: object) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": file_of}))
    with pytest.raises(ModelFileError, match="has no weight_map"):
        weight_files(tmp_path)


@pytest.mark.parametrize("content", [[1], "model.safetensors", 3, None])
def test_an_index_of_another_type(tmp_path: Path, content: object) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match="is not a JSON object"):
        weight_files(tmp_path)


def test_no_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="has no weights"):
        weight_files(tmp_path)


@pytest.mark.parametrize("kept", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_safetensors_file_is_named(llama_folder: Path, kept: float) -> None:
    file = llama_folder / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ModelFileError, match=r"model\.safetensors is corrupt or truncated"):
        check_safetensors(file)


@pytest.mark.parametrize(("content", "why"), [("{", "as JSON"), ("[1]", "not a JSON object")])
def test_broken_json_is_named(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(content)
    with pytest.raises(ModelFileError, match=why):
        read_json(file)


@pytest.mark.parametrize("shard", [["a"], 3, None, "../outside.safetensors", "/outside"])
def test_an_index_names_files_of_its_folder_only(tmp_path: Path, shard: object) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": shard}}))
    with pytest.raises(ModelFileError, match="no file of its folder"):
        weight_files(tmp_path)
