from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import torch

from mindshare.models.fingerprint import content_sha256, files_fingerprint, sampled_fingerprint

from . import tiny


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
