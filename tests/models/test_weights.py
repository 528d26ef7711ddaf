from __future__ import annotations

import json
from pathlib import Path

import pytest

from mindshare.errors import ModelFileError
from mindshare.models.weights import check_safetensors, has_whole_weights, read_json, weight_files

from . import tiny


def test_one_file(shared_llama: Path) -> None:
    assert [file.name for file in weight_files(shared_llama)] == ["model.safetensors"]
    check_safetensors(shared_llama / "model.safetensors")


def test_shards_must_all_be_there(tmp_path: Path) -> None:
    tiny.llama().save_pretrained(tmp_path, max_shard_size="20KB")
    shards = weight_files(tmp_path)
    assert len(shards) > 1
    shards[1].unlink()
    with pytest.raises(ModelFileError, match=f"the shard {shards[1].name} is missing"):
        weight_files(tmp_path)
    assert not has_whole_weights(tmp_path)


def test_an_index_without_a_map(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {}}))
    with pytest.raises(ModelFileError, match="has no weight_map"):
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
