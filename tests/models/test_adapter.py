from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from mindshare.errors import AdapterError, ModelFileError
from mindshare.models.adapter import adapter_files, base_of, merge_adapter

from . import tiny


@pytest.fixture(scope="module")
def shared_lora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.lora_folder(tmp_path_factory.mktemp("lora") / "tiny-lora", tiny.llama())


@pytest.fixture
def lora(tmp_path: Path, shared_lora: Path) -> Path:
    return Path(shutil.copytree(shared_lora, tmp_path / "tiny-lora"))


def _merge_onto(folder: Path, **changes: int) -> None:
    merge_adapter(tiny.llama(**changes), folder, base_name="the-base")


def test_merged_equals_the_adapter_on_its_base(lora: Path) -> None:
    from peft import PeftModel

    ids = torch.arange(2, 20)[None]
    merged = merge_adapter(tiny.llama(), lora, base_name="tiny")
    assert type(merged).__name__ == "LlamaForCausalLM"
    with torch.no_grad():
        plain = tiny.llama()(ids).logits
        beside = PeftModel.from_pretrained(tiny.llama(), lora).eval()(ids).logits
        together = merged(ids).logits
    torch.testing.assert_close(together, beside, atol=1e-5, rtol=1e-4)
    assert (together - plain).abs().max() > 0.01


def test_another_width(lora: Path) -> None:
    with pytest.raises(
        AdapterError, match=r"'tiny-lora' does not fit the base 'the-base'"
    ) as caught:
        _merge_onto(lora, hidden_size=64)
    assert "layers.0.self_attn.q_proj.lora_A.weight is (4, 32) in the adapter" in str(caught.value)


def test_another_depth(lora: Path) -> None:
    with pytest.raises(AdapterError, match=r"it has no .*layers\.2.*which this base needs"):
        _merge_onto(lora, num_hidden_layers=3)
    with pytest.raises(AdapterError, match=r"layers\.1.* has no place in this base"):
        _merge_onto(lora, num_hidden_layers=1)


def test_another_architecture(lora: Path) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    gpt2 = GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=32))
    with pytest.raises(AdapterError, match="does not fit the base 'gpt2': Target modules"):
        merge_adapter(gpt2, lora, base_name="gpt2")


def test_weights_that_are_not_numbers(lora: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = lora / "adapter_model.safetensors"
    weights = load_file(file)
    next(iter(weights.values())).fill_(float("nan"))
    save_file(weights, file)
    with pytest.raises(AdapterError, match="NaN"):
        _merge_onto(lora)


def test_an_adapter_that_adds_tokens(tmp_path: Path) -> None:
    from peft import PrefixTuningConfig, get_peft_model

    config = PrefixTuningConfig(num_virtual_tokens=2, task_type="CAUSAL_LM")
    get_peft_model(tiny.llama(), config).save_pretrained(tmp_path)
    with pytest.raises(AdapterError, match="PREFIX_TUNING adapter adds tokens"):
        _merge_onto(tmp_path)


def test_damaged_files_are_named(lora: Path) -> None:
    file = lora / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ModelFileError, match=r"adapter_model\.safetensors is corrupt"):
        adapter_files(lora)
    file.unlink()
    with pytest.raises(AdapterError, match="is not a PEFT adapter"):
        adapter_files(lora)
    (lora / "adapter_model.bin").write_bytes(b"junk")
    with pytest.raises(AdapterError, match=r"adapter_model\.bin is corrupt"):
        _merge_onto(lora)


def test_an_adapter_of_an_unknown_kind(lora: Path) -> None:
    (lora / "adapter_config.json").write_text('{"peft_type": "MAGIC"}')
    with pytest.raises(AdapterError, match=r"adapter_config\.json cannot be used"):
        _merge_onto(lora)


def test_pickled_adapters_merge_too(lora: Path) -> None:
    from safetensors.torch import load_file

    file = lora / "adapter_model.safetensors"
    torch.save(load_file(file), lora / "adapter_model.bin")
    file.unlink()
    _merge_onto(lora)


def test_which_base(lora: Path) -> None:
    with pytest.raises(AdapterError, match="does not say which model"):
        base_of(lora)
    config = lora / "adapter_config.json"
    stated = json.loads(config.read_text())
    config.write_text(json.dumps({**stated, "base_model_name_or_path": "smollm2"}))
    assert base_of(lora) == "smollm2"
    (lora / "base").mkdir()
    config.write_text(json.dumps({**stated, "base_model_name_or_path": "base"}))
    assert base_of(lora) == str(lora / "base")
